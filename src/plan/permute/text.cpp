// A permute's problem string (docs/reference/problem-string.md).
#include "operation.hpp"
#include "plan/activation.hpp"

namespace sectile::detail {

namespace {

template <class T>
void append_list(std::string& text, const std::vector<T>& items, char separator) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += std::to_string(items[i]);
  }
}

Result<void> parse_axes(PermuteProblem& p, Token value) { return parse_list("axes", value, ',', p.axes); }

Result<void> parse_layouts(PermuteProblem& p, Token value) {
  const std::size_t colon = value.text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.text.size() ||
      value.text.find(':', colon + 1) != std::string_view::npos)
    return refuse("layout", value, "source layout, a colon, destination layout");
  const auto letter_or_digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':';
  };
  if (!std::ranges::all_of(value.text, letter_or_digit)) return refuse("layout", value, "letters and numbers");
  p.src_layout = layout_letters(value.text.substr(0, colon));
  p.dst_layout = layout_letters(value.text.substr(colon + 1));
  return {};
}

Result<void> parse_extents(PermuteProblem& p, Token value) {
  Split items(value, ',');
  while (const auto item = items.next()) {
    const char letter = item->text.empty() ? '\0' : upper(item->text[0]);
    if (item->text.size() < 3 || letter < 'A' || letter > 'Z' || item->text[1] != ':')
      return refuse("extent", *item, "a letter, a colon, a size");
    auto size = parse_integer<std::int64_t>("extent", {item->text.substr(2), item->column + 2});
    if (!size) return std::unexpected(std::move(size.error()));
    if (std::ranges::any_of(p.extents, [&](const auto& e) { return e.first == letter; }))
      return refuse("extent", *item, "each letter once");
    p.extents.emplace_back(letter, *size);
  }
  std::ranges::sort(p.extents);
  return {};
}

Result<void> parse_out(PermuteProblem& p, Token value) {
  auto type = parse_dtype(value.text);
  if (!type) return refuse("out", value, type.error().limit);
  p.stage.out = *type;
  return {};
}

Result<void> parse_alpha(PermuteProblem& p, Token value) {
  auto number = parse_float("alpha", value);
  if (!number) return std::unexpected(std::move(number.error()));
  p.stage.alpha = *number;
  return {};
}

// An axis of the source: a number if the problem has axes, a letter if it has layouts. Options come in any order, so
// validate() checks which of the two it must be.
Result<void> parse_axis(std::string_view what, Token value, std::string& out) {
  const char letter = value.text.size() == 1 ? upper(value.text[0]) : '\0';
  if (letter >= 'A' && letter <= 'Z') {
    out = letter;
    return {};
  }
  auto number = parse_integer<int>(what, value);
  if (!number || *number < 0 || std::to_string(*number) != value.text)
    return refuse(what, value, "the number of an axis, or a letter");
  out = value.text;
  return {};
}

Result<void> parse_stage_activation(std::string_view what, PermuteProblem& p, Token value, bool last) {
  if (p.stage.activation != Activation::none) return refuse(what, value, "one activation: act or act.last");
  ActivationWords words{.last = last};
  if (auto ok = parse_activation(what, value, activation_names(true), words); !ok) return ok;
  set_activation(p.stage, words);
  return {};
}

Result<void> parse_add(PermuteProblem& p, Token value) {
  p.stage.add = true;
  if (value.text == "packed") return {};
  return parse_list("add", value, 'x', p.stage.add_strides);
}

constexpr Option<PermuteProblem> kOptions[] = {
    {"axes", parse_axes},
    {"layout", parse_layouts},
    {"extent", parse_extents},
    {"src.strides", [](PermuteProblem& p, Token t) { return parse_list("src.strides", t, 'x', p.src_strides); }},
    {"dst.strides", [](PermuteProblem& p, Token t) { return parse_list("dst.strides", t, 'x', p.dst_strides); }},
    {"src.offset", [](PermuteProblem& p, Token t) { return parse_into("src.offset", t, p.src_offset); }},
    {"dst.offset", [](PermuteProblem& p, Token t) { return parse_into("dst.offset", t, p.dst_offset); }},
    {"out", parse_out},
    {"alpha", parse_alpha},
    {"scale", [](PermuteProblem& p, Token t) { return parse_axis("scale", t, p.stage.scale); }},
    {"bias", [](PermuteProblem& p, Token t) { return parse_axis("bias", t, p.stage.bias); }},
    {"act", [](PermuteProblem& p, Token t) { return parse_stage_activation("act", p, t, false); }},
    {"add", parse_add},
    {"act.last", [](PermuteProblem& p, Token t) { return parse_stage_activation("act.last", p, t, true); }},
    {"align",
     [](PermuteProblem& p, Token t) {
       auto ok = parse_into("align", t, p.src_align);
       p.dst_align = p.src_align;
       return ok;
     }},
    {"src.align", [](PermuteProblem& p, Token t) { return parse_into("src.align", t, p.src_align); }},
    {"dst.align", [](PermuteProblem& p, Token t) { return parse_into("dst.align", t, p.dst_align); }},
};

}  // namespace

Result<Problem> Operation<PermuteProblem>::parse(Split words) {
  PermuteProblem p;
  const auto type = words.word();
  if (!type) return fail(ErrorKind::parse, "type", "not there", "permute TYPE SIZES axes=... or layout=...");
  auto parsed = parse_dtype(type->text);
  if (!parsed) return refuse("type", *type, parsed.error().limit);
  p.type = *parsed;
  const auto shape = words.word();
  if (!shape) return fail(ErrorKind::parse, "shape", "not there", "sizes, as in 2x3x4");
  if (auto ok = parse_list("shape", *shape, 'x', p.shape); !ok) return std::unexpected(std::move(ok.error()));
  if (auto ok = parse_options(words, p, kOptions); !ok) return std::unexpected(std::move(ok.error()));
  return p;
}

std::string Operation<PermuteProblem>::print(const PermuteProblem& p) {
  const PermuteProblem defaults;
  std::string text = "permute ";
  text += name(p.type);
  text += ' ';
  append_list(text, p.shape, 'x');
  if (!p.axes.empty()) append_list(text += " axes=", p.axes, ',');
  if (!p.src_layout.empty() || !p.dst_layout.empty()) text += " layout=" + p.src_layout + ":" + p.dst_layout;
  for (std::size_t i = 0; i < p.extents.size(); ++i) {
    text += i == 0 ? " extent=" : ",";
    text += p.extents[i].first;
    text += ':' + std::to_string(p.extents[i].second);
  }
  if (!p.src_strides.empty()) append_list(text += " src.strides=", p.src_strides, 'x');
  if (!p.dst_strides.empty()) append_list(text += " dst.strides=", p.dst_strides, 'x');
  if (p.src_offset != 0) text += " src.offset=" + std::to_string(p.src_offset);
  if (p.dst_offset != 0) text += " dst.offset=" + std::to_string(p.dst_offset);
  if (p.stage.out) text.append(" out=").append(name(*p.stage.out));
  if (p.stage.alpha != 1) text += " alpha=" + float_text(p.stage.alpha);
  if (!p.stage.scale.empty()) text += " scale=" + p.stage.scale;
  if (!p.stage.bias.empty()) text += " bias=" + p.stage.bias;
  const std::string activation = activation_text(activation_words(p.stage));
  if (!activation.empty() && !p.stage.activation_last) text += " act=" + activation;
  if (p.stage.add && p.stage.add_strides.empty()) text += " add=packed";
  if (p.stage.add && !p.stage.add_strides.empty()) append_list(text += " add=", p.stage.add_strides, 'x');
  if (!activation.empty() && p.stage.activation_last) text += " act.last=" + activation;
  if (p.src_align == p.dst_align) {
    if (p.src_align != defaults.src_align) text += " align=" + std::to_string(p.src_align);
  } else {
    if (p.src_align != defaults.src_align) text += " src.align=" + std::to_string(p.src_align);
    if (p.dst_align != defaults.dst_align) text += " dst.align=" + std::to_string(p.dst_align);
  }
  return text;
}

}  // namespace sectile::detail
