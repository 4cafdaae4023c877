// One list of a problem's fields serves JSON in both directions and the hash. An operation writes it as a template
//   void each_OPERATION_field(auto& p, auto&& visit)
// It calls visit(key, value) for a field that is always in the JSON, and visit(key, value, left_out) for one that is
// left out if the value equals left_out. The keys are sorted because the JSON is canonical.
#pragma once

#include "activation.hpp"
#include "base/json_text.hpp"
#include "base/text_tokens.hpp"

#include <fmt/format.h>

#include <bit>
#include <concepts>
#include <type_traits>

namespace sectile::detail {

// The field that names the operation.
struct OperationName {
  std::string_view text;
};

// A type that JSON writes as a string has a specialization with
//   static std::string_view or std::string of(const T&)
//   static Result<void> read(std::string_view word, T& out)   the error's limit lists the allowed words
template <class T>
struct Words;

template <class T>
concept Word = requires { sizeof(Words<T>); };

template <>
struct Words<DType> {
  static std::string_view of(DType type) { return name(type); }
  static Result<void> read(std::string_view word, DType& out) {
    auto type = parse_dtype(word);
    if (!type) return std::unexpected(std::move(type.error()));
    out = *type;
    return {};
  }
};

template <class T>
  requires Word<T>
struct Words<std::optional<T>> {
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): asked of fields that have a value
  static auto of(const std::optional<T>& value) { return Words<T>::of(value.value()); }
  static Result<void> read(std::string_view word, std::optional<T>& out) { return Words<T>::read(word, out.emplace()); }
};

template <>
struct Words<Activation> {
  static std::string_view of(Activation activation) { return activation_name(activation); }
  static Result<void> read(std::string_view word, Activation& out) {
    for (int i = 1; i <= static_cast<int>(Activation::tanh); ++i)
      if (word == of(static_cast<Activation>(i))) {
        out = static_cast<Activation>(i);
        return {};
      }
    return fail(ErrorKind::parse, "", "", activation_names(false));
  }
};

// Floating-point numbers are strings, so that they read back exactly on every machine.
template <>
struct Words<float> {
  static std::string of(float number) { return float_text(number); }
  static Result<void> read(std::string_view word, float& out) {
    auto number = parse_float("", {word, 1});
    if (!number) return std::unexpected(std::move(number.error()));
    out = *number;
    return {};
  }
};

// An axis letter and the axis' true size.
using Extents = std::vector<std::pair<char, std::int64_t>>;

class FieldWriter {
 public:
  explicit FieldWriter(JsonWriter& w) : w_(w) {}

  void operator()(const char* key, OperationName name) { w_.field(key, name.text); }
  template <class T>
  void operator()(const char* key, const T& value) {
    if constexpr (Word<T>)
      w_.field(key, std::string_view(Words<T>::of(value)));
    else if constexpr (std::same_as<T, std::string>)
      w_.field(key, std::string_view(value));
    else if constexpr (std::same_as<T, Extents>)
      extents(key, value);
    else
      w_.field(key, value);
  }
  template <class T>
  void operator()(const char* key, const T& value, const T& left_out) {
    if (!(value == left_out)) (*this)(key, value);
  }

 private:
  void extents(const char* key, const Extents& extents) {
    w_.key(key);
    w_.begin('{');
    for (const auto& [letter, size] : extents) w_.field(std::string_view(&letter, 1), size);
    w_.end('}');
  }

  JsonWriter& w_;
};

// The first error is the object's error.
class FieldReader {
 public:
  FieldReader(JsonObject& object, const std::string& what) : object_(object), what_(what) {}

  void operator()(const char* key, OperationName) {
    std::string word;
    object_.required(key, word);
  }
  template <class T>
  void operator()(const char* key, T& value) {
    if constexpr (Word<T>) {
      std::string word;
      object_.required(key, word);
      parse(key, word, value);
    } else {
      object_.required(key, value);
    }
  }
  template <class T, class U>
  void operator()(const char* key, T& value, const U&) {
    const nlohmann::json* found = object_.find(key);
    if (found == nullptr) return;
    if constexpr (Word<T>) {
      std::string word;
      object_.optional(key, word);
      parse(key, word, value);
    } else if constexpr (std::same_as<T, Extents>) {
      extents(*found, what_ + "." + key, value);
    } else {
      object_.optional(key, value);
    }
  }

 private:
  template <class T>
  void parse(const char* key, const std::string& word, T& value) {
    if (auto ok = Words<T>::read(word, value); !ok)
      object_.fail({ErrorKind::parse, what_ + "." + key, JsonObject::cut(word), std::move(ok.error().limit)});
  }
  void extents(const nlohmann::json& value, const std::string& what, Extents& extents) {
    if (!value.is_object()) return object_.fail({ErrorKind::parse, what, JsonObject::shown(value), "an object"});
    for (const auto& [key, size] : value.items()) {  // nlohmann keeps keys sorted
      if (key.size() != 1 || key[0] < 'A' || key[0] > 'Z')
        return object_.fail({ErrorKind::parse, what, JsonObject::cut(key), "upper-case letters"});
      if (auto want = read_json(size, extents.emplace_back(key[0], 0).second))
        return object_.fail({ErrorKind::parse, fmt::format("{}.{}", what, key), JsonObject::shown(size), *want});
    }
  }

  JsonObject& object_;
  const std::string& what_;
};

// Equal problems have equal hashes. It allocates nothing.
class FieldHash {
 public:
  std::size_t value() const { return hash_; }

  void operator()(const char*, OperationName name) { add(name.text); }
  void operator()(const char*, const auto& value) { add(value); }
  void operator()(const char*, const auto& value, const auto&) { add(value); }

 private:
  void mix(std::uint64_t value) {
    value *= 0x9e3779b97f4a7c15ull;
    hash_ = (hash_ ^ (value ^ value >> 29)) * 0xbf58476d1ce4e5b9ull;
  }
  template <class T>
    requires(std::integral<T> || std::is_enum_v<T>)
  void add(T value) {
    mix(static_cast<std::uint64_t>(value));
  }
  void add(float number) { mix(std::bit_cast<std::uint32_t>(number == 0 ? 0.0f : number)); }
  void add(std::string_view text) {
    mix(text.size());
    for (const char letter : text) add(letter);
  }
  template <class T>
  void add(const std::optional<T>& value) {
    mix(value ? 1 + static_cast<std::uint64_t>(*value) : 0);
  }
  template <class T>
  void add(const std::vector<T>& items) {
    mix(items.size());
    for (const T& item : items) add(item);
  }
  template <class A, class B>
  void add(const std::pair<A, B>& both) {
    add(both.first);
    add(both.second);
  }
  // matmul's weights: type and format are one field.
  template <class T>
    requires requires(const T& t) {
      t.type;
      t.format;
    }
  void add(const T& both) {
    add(both.type);
    add(both.format);
  }

  std::size_t hash_ = 0;
};

}  // namespace sectile::detail
