// How problem strings are taken apart: tokens that know their column, numbers, lists, options. Private to src/plan.
#pragma once

#include <sectile/problem.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sectile::detail {

struct Token {
  std::string_view text;
  std::size_t column = 1;  // of its first character, counted from 1
};

inline std::unexpected<Error> refuse(std::string_view what, Token token, std::string_view want,
                                     ErrorKind kind = ErrorKind::parse) {
  constexpr std::size_t kLongest = 60;
  std::string shown(token.text.substr(0, kLongest));
  if (token.text.size() > kLongest) shown += "...";
  return fail(kind, std::string(what), "\"" + shown + "\" at column " + std::to_string(token.column),
              std::string(want));
}

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }
inline char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
inline char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }
inline std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower(c);
  return out;
}

// A permute's layout in the case that it is printed in, whatever case it was typed in: a letter after a number is a
// block, any other an axis. "nchw4c" is "NCHW4c".
inline std::string layout_letters(std::string_view text) {
  std::string out;
  for (const char c : text) out += !out.empty() && is_digit(out.back()) ? lower(c) : upper(c);
  return out;
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

  // The next that is not empty: several spaces are one.
  std::optional<Token> word() {
    auto token = next();
    while (token && token->text.empty()) token = next();
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

// What is not finite is refused here: no problem that holds a NaN equals itself.
inline Result<float> parse_float(std::string_view what, Token token) {
  float number = 0;
  const char* begin = token.text.data();
  const char* end = begin + token.text.size();
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error == std::errc::result_out_of_range && stop == end)
    return refuse(what, token, "a number that 32 bits hold", ErrorKind::overflow);
  if (error != std::errc() || stop != end) return refuse(what, token, "a decimal number");
  if (!std::isfinite(number)) return refuse(what, token, "a finite number", ErrorKind::invalid_problem);
  return number;
}

// The shortest decimal that reads back as the same number. -0 equals 0 and is written so.
inline std::string float_text(float number) {
  char digits[32];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number == 0 ? 0.0f : number).ptr;
  return {std::begin(digits), end};
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

// A row of an operation's table of options, in the order that they are printed in.
template <class P>
struct Option {
  std::string_view key;
  Result<void> (*parse)(P&, Token);
  bool required = false;
};

// All words that are left, as "key=value".
template <class P>
Result<void> parse_options(Split& words, P& problem, std::type_identity_t<std::span<const Option<P>>> options) {
  std::vector<std::string_view> seen;
  const auto given = [&](std::string_view key) { return std::ranges::find(seen, key) != seen.end(); };
  const auto aligned = [&] { return std::ranges::any_of(seen, [](auto key) { return key.ends_with(".align"); }); };
  while (const auto option = words.word()) {
    const std::size_t equals = option->text.find('=');
    const std::string_view key = option->text.substr(0, equals);
    const auto row = std::ranges::find(options, key, &Option<P>::key);
    if (row == options.end() || equals == std::string_view::npos) {
      std::string known;
      for (const auto& o : options) known.append(known.empty() ? "" : " ").append(o.key).append("=");
      return refuse("option", *option, "one of " + known);
    }
    // A second value would silently win over the first.
    if (given(key) || (key == "align" && aligned()) || (key.ends_with(".align") && given("align")))
      return refuse("option", *option, "each option once");
    seen.push_back(key);
    const Token value{option->text.substr(equals + 1), option->column + equals + 1};
    if (auto ok = row->parse(problem, value); !ok) return ok;
  }
  for (const auto& o : options)
    if (o.required && !given(o.key))
      return fail(ErrorKind::parse, std::string(o.key), "not there", std::string(o.key) + "=...");
  return {};
}

}  // namespace sectile::detail
