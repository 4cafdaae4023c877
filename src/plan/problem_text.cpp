// The problem string (docs/problem-string.md).
#include <sectile/problem.hpp>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

namespace sectile {

namespace {

template <class T>
void append_list(std::string& text, const std::vector<T>& items, char separator) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += std::to_string(items[i]);
  }
}

struct Token {
  std::string_view text;
  std::size_t column = 1;  // of its first character, counted from 1
};

std::unexpected<Error> refuse(std::string_view what, Token token, std::string_view want,
                              ErrorKind kind = ErrorKind::parse) {
  constexpr std::size_t kLongest = 60;
  std::string shown(token.text.substr(0, kLongest));
  if (token.text.size() > kLongest) shown += "...";
  return fail(kind, std::string(what), "\"" + shown + "\" at column " + std::to_string(token.column),
              std::string(want));
}

// Splits at `separator`; an empty text is one empty token, so that "3x" is refused for its end.
class Split {
 public:
  Split(Token token, char separator) : rest_(token), separator_(separator) {}

  std::optional<Token> next() {
    if (done_) return {};
    const std::size_t end = rest_.text.find(separator_);
    const Token token{rest_.text.substr(0, end), rest_.column};
    done_ = end == std::string_view::npos;
    if (!done_) rest_ = {rest_.text.substr(end + 1), rest_.column + end + 1};
    return token;
  }

 private:
  Token rest_;
  char separator_;
  bool done_ = false;
};

template <class T>
Result<T> parse_integer(std::string_view what, Token token) {
  T number = 0;
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error == std::errc::result_out_of_range && stop == end)
    return refuse(what, token, "a number of " + std::to_string(8 * sizeof(T)) + " bits", ErrorKind::overflow);
  if (error != std::errc() || stop != end) return refuse(what, token, "an integer");
  return number;
}

template <class T>
Result<void> parse_list(std::string_view what, Token token, char separator, std::vector<T>& out) {
  Split items(token, separator);
  while (const auto item = items.next()) {
    if (out.size() == kMaxRank) return refuse("rank", token, "at most 16 numbers", ErrorKind::invalid_problem);
    auto number = parse_integer<T>(what, *item);
    if (!number) return std::unexpected(std::move(number.error()));
    out.push_back(*number);
  }
  return {};
}

template <class T>
Result<void> parse_into(std::string_view what, Token token, T& out) {
  auto number = parse_integer<T>(what, token);
  if (!number) return std::unexpected(std::move(number.error()));
  out = *number;
  return {};
}

Result<void> parse_axes(PermuteProblem& p, Token value) {
  return parse_list("axes", value, ',', p.axes);
}

Result<void> parse_layouts(PermuteProblem& p, Token value) {
  const std::size_t colon = value.text.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.text.size() ||
      value.text.find(':', colon + 1) != std::string_view::npos)
    return refuse("layout", value, "source layout, a colon, destination layout");
  const auto letter_or_digit = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == ':';
  };
  if (!std::ranges::all_of(value.text, letter_or_digit)) return refuse("layout", value, "letters and numbers");
  p.src_layout = value.text.substr(0, colon);
  p.dst_layout = value.text.substr(colon + 1);
  return {};
}

Result<void> parse_extents(PermuteProblem& p, Token value) {
  Split items(value, ',');
  while (const auto item = items.next()) {
    if (item->text.size() < 3 || item->text[0] < 'A' || item->text[0] > 'Z' || item->text[1] != ':')
      return refuse("extent", *item, "an upper-case letter, a colon, a size");
    const char letter = item->text[0];
    auto size = parse_integer<std::int64_t>("extent", {item->text.substr(2), item->column + 2});
    if (!size) return std::unexpected(std::move(size.error()));
    if (std::ranges::any_of(p.extents, [&](const auto& e) { return e.first == letter; }))
      return refuse("extent", *item, "each letter once");
    p.extents.emplace_back(letter, *size);
  }
  std::ranges::sort(p.extents);
  return {};
}

// In the order that they are printed in.
struct Option {
  std::string_view key;
  Result<void> (*parse)(PermuteProblem&, Token);
};
constexpr Option kOptions[] = {
    {"axes", parse_axes},
    {"layout", parse_layouts},
    {"extent", parse_extents},
    {"src.strides", [](PermuteProblem& p, Token t) { return parse_list("src.strides", t, 'x', p.src_strides); }},
    {"dst.strides", [](PermuteProblem& p, Token t) { return parse_list("dst.strides", t, 'x', p.dst_strides); }},
    {"src.offset", [](PermuteProblem& p, Token t) { return parse_into("src.offset", t, p.src_offset); }},
    {"dst.offset", [](PermuteProblem& p, Token t) { return parse_into("dst.offset", t, p.dst_offset); }},
    {"align",
     [](PermuteProblem& p, Token t) {
       auto ok = parse_into("align", t, p.src_align);
       p.dst_align = p.src_align;
       return ok;
     }},
    {"src.align", [](PermuteProblem& p, Token t) { return parse_into("src.align", t, p.src_align); }},
    {"dst.align", [](PermuteProblem& p, Token t) { return parse_into("dst.align", t, p.dst_align); }},
};

Result<Problem> parse_permute(Split words) {
  const auto word = [&]() -> std::optional<Token> {  // several spaces are one
    auto token = words.next();
    while (token && token->text.empty()) token = words.next();
    return token;
  };
  PermuteProblem p;
  const auto type = word();
  if (!type) return fail(ErrorKind::parse, "type", "not there", "permute TYPE SIZES axes=... or layout=...");
  auto parsed = parse_dtype(type->text);
  if (!parsed) return refuse("type", *type, parsed.error().limit);
  p.type = *parsed;
  const auto shape = word();
  if (!shape) return fail(ErrorKind::parse, "shape", "not there", "sizes, as in 2x3x4");
  if (auto ok = parse_list("shape", *shape, 'x', p.shape); !ok) return std::unexpected(std::move(ok.error()));

  std::vector<std::string_view> seen;
  const auto given = [&](std::string_view key) { return std::ranges::find(seen, key) != seen.end(); };
  while (const auto option = word()) {
    const std::size_t equals = option->text.find('=');
    const std::string_view key = option->text.substr(0, equals);
    const auto row = std::ranges::find(kOptions, key, &Option::key);
    if (row == std::end(kOptions) || equals == std::string_view::npos) {
      std::string known;
      for (const Option& o : kOptions) known.append(known.empty() ? "" : " ").append(o.key).append("=");
      return refuse("option", *option, "one of " + known);
    }
    // A second value would silently win over the first.
    if (given(key) || (key == "align" && (given("src.align") || given("dst.align"))) ||
        (key.ends_with(".align") && given("align")))
      return refuse("option", *option, "each option once");
    seen.push_back(key);
    const Token value{option->text.substr(equals + 1), option->column + equals + 1};
    if (auto ok = row->parse(p, value); !ok) return std::unexpected(std::move(ok.error()));
  }
  return p;
}

std::string print_permute(const PermuteProblem& p) {
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
  if (p.src_align == p.dst_align) {
    if (p.src_align != defaults.src_align) text += " align=" + std::to_string(p.src_align);
  } else {
    if (p.src_align != defaults.src_align) text += " src.align=" + std::to_string(p.src_align);
    if (p.dst_align != defaults.dst_align) text += " dst.align=" + std::to_string(p.dst_align);
  }
  return text;
}

}  // namespace

std::string print(const Problem& problem) {
  return std::visit([](const PermuteProblem& p) { return print_permute(p); }, problem);
}

Result<Problem> parse_problem(std::string_view text) {
  Split words({text, 1}, ' ');
  auto operation = words.next();
  while (operation && operation->text.empty()) operation = words.next();
  if (!operation) return fail(ErrorKind::parse, "operation", "not there", "permute");
  if (operation->text != "permute") return refuse("operation", *operation, "permute");
  return parse_permute(words);
}

}  // namespace sectile
