// How a product's fields read in JSON (plan/fields.hpp).
#pragma once

#include "plan/fields.hpp"
#include "product.hpp"

#include <span>

namespace sectile::detail {

// The weights' format, or their element type if the format is plain: one field.
template <class Type, class Format>
struct Weights {
  Type& type;
  Format& format;
  template <class T, class F>
  bool operator==(const Weights<T, F>& other) const {
    return type == other.type && format == other.format;
  }
};

// Reads one of an enumeration's words.
template <class T>
Result<void> read_one_of(std::span<const T> all, auto&& word_of, std::string_view word, std::string_view words,
                         T& out) {
  for (const T one : all)
    if (word == word_of(one)) {
      out = one;
      return {};
    }
  return fail(ErrorKind::parse, "", "", std::string(words));
}

template <class Type, class Format>
struct Words<Weights<Type, Format>> {
  static std::string_view of(const Weights<Type, Format>& b) {
    return b.format == WeightFormat::plain ? name(b.type) : format_name(b.format);
  }
  static Result<void> read(std::string_view word, Weights<Type, Format>& b) {
    for (const WeightFormat format : {WeightFormat::q8, WeightFormat::q4}) {
      if (word != format_name(format)) continue;
      b.format = format;
      b.type = DType::i8;
      return {};
    }
    return Words<DType>::read(word, b.type);
  }
};

// Reads a problem. The defaults of left-out fields depend on its type. `each_field`: the operation's list of
// fields.
template <class P>
Result<Problem> read_by_type(const nlohmann::json& value, const std::string& what, P (*defaults)(DType),
                             auto&& each_field) {
  JsonObject object(value, what);
  FieldReader reader(object, what);
  DType type{};
  reader("type", type);
  P problem = defaults(type);
  each_field(problem, reader);
  if (auto ok = object.finish(); !ok) return std::unexpected(std::move(ok.error()));
  return problem;
}

}  // namespace sectile::detail
