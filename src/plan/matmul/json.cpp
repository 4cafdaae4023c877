#include "base/json_text.hpp"
#include "problem.hpp"

namespace sectile::detail {

using nlohmann::json;

namespace {

constexpr std::string_view kAxes[] = {"", "row", "column"};

// A word of JSON, where it is there, as one of an enumeration's.
template <class Parse>
void read_word(JsonObject& o, const std::string& what, const char* key, Parse&& parse) {
  std::string word;
  if (o.find(key) == nullptr) return;
  o.optional(key, word);
  if (auto ok = parse(word); !ok)
    o.fail({ErrorKind::parse, what + "." + key, JsonObject::cut(word), std::move(ok.error().limit)});
}

void read_type(JsonObject& o, const std::string& what, const char* key, DType& out) {
  read_word(o, what, key, [&](const std::string& word) -> Result<void> {
    auto type = parse_dtype(word);
    if (!type) return std::unexpected(std::move(type.error()));
    out = *type;
    return {};
  });
}

void read_axis(JsonObject& o, const std::string& what, const char* key, PerAxis& out) {
  read_word(o, what, key, [&](const std::string& word) -> Result<void> {
    for (const PerAxis axis : {PerAxis::row, PerAxis::column}) {
      if (word != kAxes[std::to_underlying(axis)]) continue;
      out = axis;
      return {};
    }
    return sectile::fail(ErrorKind::parse, "", "", "row or column");
  });
}

// Numbers that are no integers are strings, so that they read back as they were on every machine.
void read_number(JsonObject& o, const std::string& what, const char* key, float& out) {
  read_word(o, what, key, [&](const std::string& word) -> Result<void> {
    auto number = parse_float(key, {word, 1});
    if (!number) return std::unexpected(std::move(number.error()));
    out = *number;
    return {};
  });
}

void read_b(JsonObject& o, const std::string& what, MatmulProblem& p) {
  read_word(o, what, "b", [&](const std::string& word) -> Result<void> {
    for (const WeightFormat format : {WeightFormat::q8, WeightFormat::q4}) {
      if (word != format_name(format)) continue;
      p.b_format = format;
      p.b_type = DType::i8;
      return {};
    }
    auto type = parse_dtype(word);
    if (!type) return std::unexpected(std::move(type.error()));
    p.b_type = *type;
    return {};
  });
}

void read_activation(JsonObject& o, const std::string& what, MatmulProblem& p) {
  read_word(o, what, "activation", [&](const std::string& word) -> Result<void> {
    for (const Activation one : {Activation::relu, Activation::gelu, Activation::gelu_tanh, Activation::silu}) {
      if (word != activation_name(one)) continue;
      p.activation = one;
      return {};
    }
    return sectile::fail(ErrorKind::parse, "", "", "relu, gelu, gelu_tanh or silu");
  });
}

// One list for both ways; numbers, and what they are where they are left out.
void each_stride(auto& p, auto&& visit) {
  visit("lda", p.lda, 0);
  visit("ldb", p.ldb, 0);
  visit("ldc", p.ldc, 0);
  visit("ldd", p.ldd, 0);
  visit("ldr", p.ldr, 0);
}

}  // namespace

void write(JsonWriter& w, const MatmulProblem& p) {
  const MatmulProblem defaults = matmul_defaults(p.type);
  const auto field = [&](std::string_view key, const auto& value, const auto& left_out) {
    if (value != left_out) w.field(key, value);
  };
  const auto type = [&](std::string_view key, DType value, DType left_out) {
    if (value != left_out) w.field(key, name(value));
  };
  w.begin('{');
  type("a", p.a_type, defaults.a_type);
  field("a_align", p.a_align, defaults.a_align);
  field("a_batch", p.a_batch, MatmulProblem::kPacked);
  field("a_scale", p.a_scale, false);
  type("acc", p.acc, defaults.acc);
  field("activation", activation_name(p.activation), std::string_view());
  if (p.alpha != 1) w.field("alpha", std::string_view(float_text(p.alpha)));
  if (p.b_format != WeightFormat::plain)
    w.field("b", format_name(p.b_format));
  else
    type("b", p.b_type, defaults.b_type);
  field("b_align", p.b_align, defaults.b_align);
  field("b_batch", p.b_batch, MatmulProblem::kPacked);
  field("batch", p.batch, defaults.batch);
  if (p.beta != 0) w.field("beta", std::string_view(float_text(p.beta)));
  field("bias", kAxes[std::to_underlying(p.bias)], std::string_view());
  field("c_batch", p.c_batch, MatmulProblem::kPacked);
  field("c_is_d", p.c_is_d, false);
  field("d_align", p.d_align, defaults.d_align);
  field("d_batch", p.d_batch, MatmulProblem::kPacked);
  w.field("k", p.k);
  each_stride(p, [&](std::string_view key, std::int64_t value, std::int64_t left_out) { field(key, value, left_out); });
  w.field("m", p.m);
  w.field("n", p.n);
  w.field("operation", "matmul");
  type("out", p.out, defaults.out);
  field("r_batch", p.r_batch, MatmulProblem::kPacked);
  field("residual", p.residual, false);
  field("scale", kAxes[std::to_underlying(p.scale)], std::string_view());
  field("transpose_a", p.transpose_a, false);
  field("transpose_b", p.transpose_b, false);
  w.field("type", name(p.type));
  w.end('}');
}

Result<Problem> read_matmul(const json& value, const std::string& what) {
  JsonObject o(value, what);
  std::string operation;
  o.required("operation", operation);
  std::string type_word;
  o.required("type", type_word);
  DType type{};
  read_type(o, what, "type", type);
  MatmulProblem p = matmul_defaults(type);
  o.required("m", p.m);
  o.required("n", p.n);
  o.required("k", p.k);
  o.optional("batch", p.batch);
  o.optional("transpose_a", p.transpose_a);
  o.optional("transpose_b", p.transpose_b);
  read_type(o, what, "a", p.a_type);
  read_b(o, what, p);
  read_type(o, what, "acc", p.acc);
  read_type(o, what, "out", p.out);
  each_stride(p, [&](const char* key, std::int64_t& number, std::int64_t) { o.optional(key, number); });
  o.optional("a_batch", p.a_batch);
  o.optional("b_batch", p.b_batch);
  o.optional("c_batch", p.c_batch);
  o.optional("d_batch", p.d_batch);
  o.optional("r_batch", p.r_batch);
  read_number(o, what, "alpha", p.alpha);
  read_number(o, what, "beta", p.beta);
  o.optional("c_is_d", p.c_is_d);
  read_axis(o, what, "scale", p.scale);
  read_axis(o, what, "bias", p.bias);
  read_activation(o, what, p);
  o.optional("residual", p.residual);
  o.optional("a_scale", p.a_scale);
  o.optional("a_align", p.a_align);
  o.optional("b_align", p.b_align);
  o.optional("d_align", p.d_align);
  if (auto ok = o.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return p;
}

}  // namespace sectile::detail
