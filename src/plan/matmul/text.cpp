// A matmul's problem string (docs/reference/problem-string.md).
#include "plan/product/text.hpp"
#include "operation.hpp"
#include "problem.hpp"

namespace sectile::detail {

namespace {

using P = MatmulProblem;

Result<void> parse_c(P& p, Token token) {
  if (token.text != "d") return refuse("c", token, "d");
  p.c_is_d = true;
  return {};
}

constexpr Stage<P> kStages[] = {
    {"scale", 0, [](P& p) { p.scale = PerAxis::column; }},    {"scale.m", 0, [](P& p) { p.scale = PerAxis::row; }},
    {"bias", 1, [](P& p) { p.bias = PerAxis::column; }},      {"bias.m", 1, [](P& p) { p.bias = PerAxis::row; }},
    {"residual", kResidual, [](P& p) { p.residual = true; }},
};

Result<void> parse_prologue(P& p, Token token) {
  if (token.text != "scale") return refuse("pro", token, "scale");
  p.a_scale = true;
  return {};
}

constexpr Option<P> kOptions[] = {
    {"batch", [](P& p, Token t) { return parse_into("batch", t, p.batch); }},
    {"a", [](P& p, Token t) { return parse_type("a", t, p.a_type); }},
    {"b",
     [](P& p, Token t) { return parse_weights("b", t, {WeightFormat::q8, WeightFormat::q4}, p.b_type, p.b_format); }},
    {"acc", [](P& p, Token t) { return parse_type("acc", t, p.acc); }},
    {"out", [](P& p, Token t) { return parse_type("out", t, p.out); }},
    {"lda", [](P& p, Token t) { return parse_into("lda", t, p.lda); }},
    {"ldb", [](P& p, Token t) { return parse_into("ldb", t, p.ldb); }},
    {"ldc", [](P& p, Token t) { return parse_into("ldc", t, p.ldc); }},
    {"ldd", [](P& p, Token t) { return parse_into("ldd", t, p.ldd); }},
    {"ldr", [](P& p, Token t) { return parse_into("ldr", t, p.ldr); }},
    {"a.batch", [](P& p, Token t) { return parse_batch("a.batch", t, p.a_batch); }},
    {"b.batch", [](P& p, Token t) { return parse_batch("b.batch", t, p.b_batch); }},
    {"c.batch", [](P& p, Token t) { return parse_batch("c.batch", t, p.c_batch); }},
    {"d.batch", [](P& p, Token t) { return parse_batch("d.batch", t, p.d_batch); }},
    {"r.batch", [](P& p, Token t) { return parse_batch("r.batch", t, p.r_batch); }},
    {"alpha", [](P& p, Token t) { return parse_number("alpha", t, p.alpha); }},
    {"beta", [](P& p, Token t) { return parse_number("beta", t, p.beta); }},
    {"c", parse_c},
    {"epi", [](P& p, Token t) { return parse_epilogue(p, t, kStages, "scale or scale.m, bias or bias.m"); }},
    {"pro", parse_prologue},
    {"align",
     [](P& p, Token t) {
       auto ok = parse_into("align", t, p.a_align);
       p.b_align = p.d_align = p.a_align;
       return ok;
     }},
    {"a.align", [](P& p, Token t) { return parse_into("a.align", t, p.a_align); }},
    {"b.align", [](P& p, Token t) { return parse_into("b.align", t, p.b_align); }},
    {"d.align", [](P& p, Token t) { return parse_into("d.align", t, p.d_align); }},
};

constexpr std::string_view kLayouts[] = {"nn", "nt", "tn", "tt"};  // by 2 * transpose_a + transpose_b

Result<void> parse_sizes(P& p, Token token) {
  Split items(token, 'x');
  for (std::int64_t* const size : {&p.m, &p.n, &p.k}) {
    const auto item = items.next();
    if (!item) return refuse("sizes", token, "MxNxK, as in 960x2304x770");
    if (auto ok = parse_into("sizes", *item, *size); !ok) return ok;
  }
  if (items.next()) return refuse("sizes", token, "MxNxK, as in 960x2304x770");
  return {};
}

void add_strides(OptionText& words, const P& p) {
  words.add("lda", p.lda, 0);
  words.add("ldb", p.ldb, 0);
  words.add("ldc", p.ldc, 0);
  words.add("ldd", p.ldd, 0);
  words.add("ldr", p.ldr, 0);
  words.add("a.batch", p.a_batch, P::kPacked);
  words.add("b.batch", p.b_batch, P::kPacked);
  words.add("c.batch", p.c_batch, P::kPacked);
  words.add("d.batch", p.d_batch, P::kPacked);
  words.add("r.batch", p.r_batch, P::kPacked);
}

std::string_view per_axis(PerAxis axis, std::string_view column, std::string_view row) {
  return axis == PerAxis::none ? "" : axis == PerAxis::row ? row : column;
}

}  // namespace

Result<Problem> Operation<MatmulProblem>::parse(Split words) {
  const auto type = words.word();
  if (!type) return fail(ErrorKind::parse, "type", "not there", "matmul TYPE nn|nt|tn|tt MxNxK ...");
  DType parsed{};
  if (auto ok = parse_type("type", *type, parsed); !ok) return std::unexpected(std::move(ok.error()));
  P p = matmul_defaults(parsed);
  const auto layout = words.word();
  if (!layout) return fail(ErrorKind::parse, "layout", "not there", "nn, nt, tn or tt");
  const auto found = std::ranges::find(kLayouts, lower(layout->text));
  if (found == std::end(kLayouts)) return refuse("layout", *layout, "nn, nt, tn or tt");
  p.transpose_a = found - std::begin(kLayouts) >= 2;
  p.transpose_b = (found - std::begin(kLayouts)) % 2 != 0;
  const auto sizes = words.word();
  if (!sizes) return fail(ErrorKind::parse, "sizes", "not there", "MxNxK, as in 960x2304x770");
  if (auto ok = parse_sizes(p, *sizes); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = parse_options(words, p, kOptions); !ok) return std::unexpected(std::move(ok.error()));
  return p;
}

std::string Operation<MatmulProblem>::print(const P& p) {
  const P defaults = matmul_defaults(p.type);
  const std::size_t layout = (p.transpose_a ? 2u : 0u) + (p.transpose_b ? 1u : 0u);
  OptionText words("matmul " + std::string(name(p.type)) + " " + std::string(kLayouts[layout]) + " " +
                   std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k));
  words.add("batch", p.batch, 1);
  if (p.a_type != defaults.a_type) words.add("a", name(p.a_type));
  if (p.b_format != WeightFormat::plain)
    words.add("b", format_name(p.b_format));
  else if (p.b_type != defaults.b_type)
    words.add("b", name(p.b_type));
  if (p.acc != defaults.acc) words.add("acc", name(p.acc));
  if (p.out != defaults.out) words.add("out", name(p.out));
  add_strides(words, p);
  if (p.alpha != 1) words.add("alpha", float_text(p.alpha));
  if (p.beta != 0) words.add("beta", float_text(p.beta));
  if (p.c_is_d) words.add("c", "d");
  const std::string activation = activation_text(activation_words(p));
  words.add_stages(
      "epi", {per_axis(p.scale, "scale", "scale.m"), per_axis(p.bias, "bias", "bias.m"),
              p.activation_last ? "" : activation, p.residual ? "residual" : "", p.activation_last ? activation : ""});
  if (p.a_scale) words.add("pro", "scale");
  words.add_alignments({{"a.align", p.a_align}, {"b.align", p.b_align}, {"d.align", p.d_align}}, defaults.a_align);
  return std::move(words).text();
}

}  // namespace sectile::detail
