// A convolution's problem string (docs/reference/problem-string.md).
#include "plan/product/text.hpp"
#include "operation.hpp"
#include "problem.hpp"

#include <array>
#include <span>

namespace sectile::detail {

namespace {

constexpr std::string_view kWantSizes = "NxCxHxW, as in 2x320x64x64";
constexpr std::string_view kWantLayout = "nchw, nhwc, nchw4c or nchw8c, or one for x and one for y, as in nchw:nhwc";

// One of the names, by the enumeration's order.
template <class T>
Result<void> parse_name(std::string_view what, Token token, std::span<const std::string_view> names,
                        std::string_view want, T& out) {
  const auto found = std::ranges::find(names, lower(token.text));
  if (found == names.end()) return refuse(what, token, want);
  out = static_cast<T>(found - names.begin());
  return {};
}

Result<void> parse_layouts(Conv2dProblem& p, Token token) {
  Split sides(token, ':');
  const Token x = sides.next().value_or(token);
  const Token y = sides.next().value_or(x);
  if (sides.next()) return refuse("layout", token, kWantLayout);
  if (auto ok = parse_name("layout", x, kImageLayouts, kWantLayout, p.x_layout); !ok) return ok;
  return parse_name("layout", y, kImageLayouts, kWantLayout, p.y_layout);
}

// As many numbers as the list has places.
Result<void> parse_sizes(std::string_view what, Token token, char separator, std::string_view want,
                         std::initializer_list<std::int64_t*> places) {
  Split items(token, separator);
  for (std::int64_t* const size : places) {
    const auto item = items.next();
    if (!item) return refuse(what, token, want);
    if (auto ok = parse_into(what, *item, *size); !ok) return ok;
  }
  if (items.next()) return refuse(what, token, want);
  return {};
}

bool is_list(Token token, char separator) { return token.text.find(separator) != std::string_view::npos; }

// One number for both axes, or height and width.
Result<void> parse_pair(std::string_view what, Token token, char separator, std::string_view want, std::int64_t& height,
                        std::int64_t& width) {
  if (is_list(token, separator)) return parse_sizes(what, token, separator, want, {&height, &width});
  auto ok = parse_into(what, token, height);
  width = height;
  return ok;
}

Result<void> parse_padding(Conv2dProblem& p, Token token) {
  constexpr std::string_view kWant = "1 number, 2 (vertical, horizontal) or 4 (top, left, bottom, right)";
  if (std::ranges::count(token.text, ',') > 1)
    return parse_sizes("p", token, ',', kWant, {&p.pad_top, &p.pad_left, &p.pad_bottom, &p.pad_right});
  auto ok = parse_pair("p", token, ',', kWant, p.pad_top, p.pad_left);
  p.pad_bottom = p.pad_top;
  p.pad_right = p.pad_left;
  return ok;
}

Result<void> parse_flag(std::string_view what, Token token, std::string_view only, bool& out) {
  if (token.text != only) return refuse(what, token, only);
  out = true;
  return {};
}

constexpr Stage<Conv2dProblem> kEpilogue[] = {
    {"scale", 0, [](Conv2dProblem& p) { p.scale = true; }},
    {"bias", 1, [](Conv2dProblem& p) { p.bias = true; }},
    {"residual", kResidual, [](Conv2dProblem& p) { p.residual = true; }},
};
constexpr Stage<Conv2dProblem> kPrologue[] = {
    {"scale", 0, [](Conv2dProblem& p) { p.x_scale = true; }},
    {"bias", 1, [](Conv2dProblem& p) { p.x_bias = true; }},
    {"relu", 2, [](Conv2dProblem& p) { p.x_relu = true; }},
};
constexpr std::string_view kWantPrologue = "scale, bias, relu, joined by + in this order";
constexpr std::string_view kWantFilter = "1 number, or height x width, as in 3x3";
constexpr std::string_view kWantPair = "1 number, or 2: vertical, horizontal";

constexpr Option<Conv2dProblem> kConv2dOptions[] = {
    {"k", [](Conv2dProblem& p, Token t) { return parse_into("k", t, p.k); }, true},
    {"r", [](Conv2dProblem& p, Token t) { return parse_pair("r", t, 'x', kWantFilter, p.r, p.s); }, true},
    {"s", [](Conv2dProblem& p, Token t) { return parse_pair("s", t, ',', kWantPair, p.stride_h, p.stride_w); }},
    {"p", parse_padding},
    {"d", [](Conv2dProblem& p, Token t) { return parse_pair("d", t, ',', kWantPair, p.dilation_h, p.dilation_w); }},
    {"g", [](Conv2dProblem& p, Token t) { return parse_into("g", t, p.groups); }},
    {"weights", [](Conv2dProblem& p,
                   Token t) { return parse_name("weights", t, kFilterLayouts, "kcrs, krsc or rsck", p.w_layout); }},
    {"x", [](Conv2dProblem& p, Token t) { return parse_type("x", t, p.x_type); }},
    {"w", [](Conv2dProblem& p, Token t) { return parse_weights("w", t, {WeightFormat::q8}, p.w_type, p.w_format); }},
    {"acc", [](Conv2dProblem& p, Token t) { return parse_type("acc", t, p.acc); }},
    {"out", [](Conv2dProblem& p, Token t) { return parse_type("out", t, p.out); }},
    {"x.pitch", [](Conv2dProblem& p, Token t) { return parse_into("x.pitch", t, p.x_pitch); }},
    {"y.pitch", [](Conv2dProblem& p, Token t) { return parse_into("y.pitch", t, p.y_pitch); }},
    {"c.pitch", [](Conv2dProblem& p, Token t) { return parse_into("c.pitch", t, p.c_pitch); }},
    {"r.pitch", [](Conv2dProblem& p, Token t) { return parse_into("r.pitch", t, p.r_pitch); }},
    {"alpha", [](Conv2dProblem& p, Token t) { return parse_number("alpha", t, p.alpha); }},
    {"beta", [](Conv2dProblem& p, Token t) { return parse_number("beta", t, p.beta); }},
    {"c", [](Conv2dProblem& p, Token t) { return parse_flag("c", t, "y", p.c_is_d); }},
    {"epi", [](Conv2dProblem& p, Token t) { return parse_epilogue(p, t, kEpilogue, "scale, bias"); }},
    {"pro", [](Conv2dProblem& p, Token t) { return parse_stages("pro", p, t, kPrologue, kWantPrologue); }},
    {"exact", [](Conv2dProblem& p, Token t) { return parse_flag("exact", t, "1", p.exact); }},
    {"align",
     [](Conv2dProblem& p, Token t) {
       auto ok = parse_into("align", t, p.x_align);
       p.w_align = p.y_align = p.x_align;
       return ok;
     }},
    {"x.align", [](Conv2dProblem& p, Token t) { return parse_into("x.align", t, p.x_align); }},
    {"w.align", [](Conv2dProblem& p, Token t) { return parse_into("w.align", t, p.w_align); }},
    {"y.align", [](Conv2dProblem& p, Token t) { return parse_into("y.align", t, p.y_align); }},
};

// The numbers as text, as few as say all of them.
std::string list_text(std::initializer_list<std::int64_t> numbers, char separator) {
  std::string text;
  for (const std::int64_t number : numbers) {
    if (!text.empty()) text += separator;
    text += std::to_string(number);
  }
  return text;
}

void add_pair(OptionText& text, std::string_view key, std::int64_t height, std::int64_t width, std::int64_t left_out) {
  if (height == width) return text.add(key, height, left_out);
  text.add(key, list_text({height, width}, ','));
}

void add_padding(OptionText& text, const Conv2dProblem& p) {
  if (p.pad_top == p.pad_bottom && p.pad_left == p.pad_right) return add_pair(text, "p", p.pad_top, p.pad_left, 0);
  text.add("p", list_text({p.pad_top, p.pad_left, p.pad_bottom, p.pad_right}, ','));
}

void add_types(OptionText& text, const Conv2dProblem& p, const Conv2dProblem& defaults) {
  if (p.x_type != defaults.x_type) text.add("x", name(p.x_type));
  if (p.w_format != WeightFormat::plain)
    text.add("w", format_name(p.w_format));
  else if (p.w_type != defaults.w_type)
    text.add("w", name(p.w_type));
  if (p.acc != defaults.acc) text.add("acc", name(p.acc));
  if (p.out != defaults.out) text.add("out", name(p.out));
}

}  // namespace

Result<Problem> Operation<Conv2dProblem>::parse(Split words) {
  const auto failed = [](Result<void>& ok) { return std::unexpected(std::move(ok.error())); };
  const auto type = words.word();
  if (!type) return fail(ErrorKind::parse, "type", "not there", "conv2d TYPE LAYOUT NxCxHxW k=K r=RxS ...");
  DType parsed{};
  if (auto ok = parse_type("type", *type, parsed); !ok) return failed(ok);
  Conv2dProblem p = conv2d_defaults(parsed);
  const auto layout = words.word();
  if (!layout) return fail(ErrorKind::parse, "layout", "not there", std::string(kWantLayout));
  if (auto ok = parse_layouts(p, *layout); !ok) return failed(ok);
  const auto sizes = words.word();
  if (!sizes) return fail(ErrorKind::parse, "sizes", "not there", std::string(kWantSizes));
  if (auto ok = parse_sizes("sizes", *sizes, 'x', kWantSizes, {&p.n, &p.c, &p.h, &p.w}); !ok) return failed(ok);
  if (auto ok = parse_options(words, p, kConv2dOptions); !ok) return failed(ok);
  return p;
}

std::string Operation<Conv2dProblem>::print(const Conv2dProblem& p) {
  const Conv2dProblem defaults = conv2d_defaults(p.type);
  std::string start = "conv2d ";
  start.append(name(p.type)).append(" ").append(layout_name(p.x_layout));
  if (p.y_layout != p.x_layout) start.append(":").append(layout_name(p.y_layout));
  OptionText text(start + " " + list_text({p.n, p.c, p.h, p.w}, 'x'));
  text.add("k", std::to_string(p.k));
  text.add("r", list_text({p.r, p.s}, 'x'));
  add_pair(text, "s", p.stride_h, p.stride_w, 1);
  add_padding(text, p);
  add_pair(text, "d", p.dilation_h, p.dilation_w, 1);
  text.add("g", p.groups, 1);
  if (p.w_layout != defaults.w_layout) text.add("weights", layout_name(p.w_layout));
  add_types(text, p, defaults);
  text.add("x.pitch", p.x_pitch, 0);
  text.add("y.pitch", p.y_pitch, 0);
  text.add("c.pitch", p.c_pitch, 0);
  text.add("r.pitch", p.r_pitch, 0);
  if (p.alpha != 1) text.add("alpha", float_text(p.alpha));
  if (p.beta != 0) text.add("beta", float_text(p.beta));
  if (p.c_is_d) text.add("c", "y");
  const std::string activation = activation_text(activation_words(p));
  text.add_stages("epi", {p.scale ? "scale" : "", p.bias ? "bias" : "", p.activation_last ? "" : activation,
                          p.residual ? "residual" : "", p.activation_last ? activation : ""});
  text.add_stages("pro", {p.x_scale ? "scale" : "", p.x_bias ? "bias" : "", p.x_relu ? "relu" : ""});
  if (p.exact) text.add("exact", "1");
  text.add_alignments({{"x.align", p.x_align}, {"w.align", p.w_align}, {"y.align", p.y_align}}, defaults.x_align);
  return std::move(text).text();
}

}  // namespace sectile::detail
