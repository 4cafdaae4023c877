// JSON both ways for Sectile's own data: a writer whose output is canonical where its caller names keys
// in order, and a reader that survives anything. Private to src/plan and src/device.
#pragma once

#include <sectile/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::detail {

inline std::string hex_text(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// Lower-case digits only, so that text and bytes stand for one another.
inline bool bytes_of_hex(std::string_view text, std::vector<std::uint8_t>& bytes) {
  if (text.size() % 2 != 0) return false;
  bytes.clear();
  bytes.reserve(text.size() / 2);
  int byte = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
    byte = byte * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    if (i % 2 == 0) continue;
    bytes.push_back(static_cast<std::uint8_t>(byte));
    byte = 0;
  }
  return true;
}

// Compact JSON. Keys come out in the order of the calls: callers write them sorted.
class JsonWriter {
 public:
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

  void begin(char bracket) {
    comma();
    text_ += bracket;
  }
  void end(char bracket) { text_ += bracket; }
  void raw(std::string_view json) {
    comma();
    text_ += json;
  }
  void key(std::string_view name) {
    value(name);
    text_ += ':';
  }
  void value(std::integral auto number) {
    comma();
    if constexpr (std::same_as<decltype(number), bool>) {
      text_ += number ? "true" : "false";
    } else {
      std::array<char, 24> digits;
      text_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr);
    }
  }
  void value(std::string_view string) {
    comma();
    const bool plain =
        std::ranges::all_of(string, [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
    if (!plain) {  // a driver may name itself in any bytes
      text_ += nlohmann::json(string).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
      return;
    }
    text_ += '"';
    text_ += string;
    text_ += '"';
  }
  void value(const char* string) { value(std::string_view(string)); }
  template <class T>
  void value(std::span<const T> items) {
    begin('[');
    for (const T& item : items) value(item);
    end(']');
  }
  template <class T>
  void value(const std::vector<T>& items) {
    value(std::span<const T>(items));
  }
  template <class T, std::size_t N>
  void value(const std::array<T, N>& items) {
    value(std::span<const T>(items));
  }
  void field(std::string_view name, const auto& v) {
    key(name);
    value(v);
  }

 private:
  void comma() {
    if (!text_.empty() && text_.back() != '{' && text_.back() != '[' && text_.back() != ':') text_ += ',';
  }
  std::string text_;
};

// Parses without exceptions. Nesting is bounded first: recursive walks over the value stay shallow.
inline Result<nlohmann::json> parse_json(std::string_view text, std::string_view what) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20;
  constexpr int kDeepest = 64;
  if (text.size() > kMostBytes)
    return fail(ErrorKind::parse, std::string(what), std::to_string(text.size()) + " bytes", "at most 64 MiB of JSON");
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest)
        return fail(ErrorKind::parse, std::string(what), "nested too deeply at byte " + std::to_string(i),
                    "at most 64 levels");
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  nlohmann::json value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_discarded()) return fail(ErrorKind::parse, std::string(what), "not JSON");
  return value;
}

// Reads one value into `out`, or says what was wanted. Overloads may be added for other types.
inline std::optional<std::string> read_json(const nlohmann::json& value, bool& out) {
  if (!value.is_boolean()) return "true or false";
  out = value.get<bool>();
  return {};
}

template <std::integral T>
  requires(!std::same_as<T, bool>)
std::optional<std::string> read_json(const nlohmann::json& value, T& out) {
  const auto range = [] {
    return "an integer from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
           std::to_string(std::numeric_limits<T>::max());
  };
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (!std::in_range<T>(number)) return range();
    out = static_cast<T>(number);
  } else if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (!std::in_range<T>(number)) return range();
    out = static_cast<T>(number);
  } else {
    return range();
  }
  return {};
}

inline std::optional<std::string> read_json(const nlohmann::json& value, std::string& out) {
  if (!value.is_string()) return "a string";
  out = value.get_ref<const std::string&>();
  return {};
}

template <class T, std::size_t N>
std::optional<std::string> read_json(const nlohmann::json& value, std::array<T, N>& out) {
  if (!value.is_array() || value.size() != N) return "an array of " + std::to_string(N);
  for (std::size_t i = 0; i < N; ++i)
    if (auto want = read_json(value[i], out[i])) return want;
  return {};
}

template <class T>
std::optional<std::string> read_json(const nlohmann::json& value, std::vector<T>& out) {
  if (!value.is_array()) return "an array";
  out.clear();
  out.reserve(value.size());
  for (const nlohmann::json& item : value)
    if (auto want = read_json(item, out.emplace_back())) return want;
  return {};
}

template <class T>
std::optional<std::string> read_json(const nlohmann::json& value, std::optional<T>& out) {
  return read_json(value, out.emplace());
}

// Reads an object key by key. The first thing that is wrong is kept; what follows it is skipped.
class JsonObject {
 public:
  // `what` stands in front of the key in errors: "plan.steps".
  JsonObject(const nlohmann::json& value, std::string what) : value_(value), what_(std::move(what)) {
    if (!value.is_object()) error_ = Error{ErrorKind::parse, what_, shown(value), "an object"};
  }

  template <class T>
  void required(const char* key, T& out) {
    if (error_) return;
    if (!value_.contains(key)) {
      error_ = Error{ErrorKind::parse, what_ + "." + key, "not there", ""};
      return;
    }
    optional(key, out);
  }

  // Leaves `out` as it is where the key is not there.
  template <class T>
  void optional(const char* key, T& out) {
    if (error_) return;
    const nlohmann::json* found = find(key);
    if (found == nullptr) return;
    if (auto want = read_json(*found, out))
      error_ = Error{ErrorKind::parse, what_ + "." + key, shown(*found), std::move(*want)};
  }

  // `each` takes one element and its name, and returns Result<void>.
  template <class F>
  void each(const char* key, std::size_t most, F&& body) {
    if (error_) return;
    const nlohmann::json* found = find(key);
    if (found == nullptr) return;
    const std::string name = what_ + "." + key;
    if (!found->is_array() || found->size() > most) {
      error_ = Error{ErrorKind::parse, name, shown(*found), "an array of at most " + std::to_string(most)};
      return;
    }
    for (const nlohmann::json& item : *found) {
      Result<void> ok = body(item, name);
      if (ok) continue;
      error_ = std::move(ok.error());
      return;
    }
  }

  const nlohmann::json* find(const char* key) {
    if (error_) return nullptr;
    asked_.emplace_back(key);
    const auto found = value_.find(key);
    return found == value_.end() ? nullptr : &*found;
  }

  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  // Also refuses keys that were not read: a misspelt field must be an error.
  Result<void> finish() {
    if (error_) return std::unexpected(std::move(*error_));
    for (const auto& [key, unused] : value_.items())
      if (std::ranges::find(asked_, key) == asked_.end())
        return sectile::fail(ErrorKind::parse, what_ + "." + cut(key), "unknown key");
    return {};
  }

  static std::string shown(const nlohmann::json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array of " + std::to_string(value.size());
    return cut(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }

  static std::string cut(std::string text) {
    constexpr std::size_t kLongest = 60;
    if (text.size() <= kLongest) return text;
    std::size_t end = kLongest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0u) == 0x80u) --end;  // whole UTF-8 letters
    return text.substr(0, end) + "...";
  }

 private:
  const nlohmann::json& value_;
  std::string what_;
  std::vector<std::string_view> asked_;
  std::optional<Error> error_;
};

}  // namespace sectile::detail
