// What operations that multiply two operands and add up have in common: element types, the numbers of prologue and
// epilogue, and their names. Private to src/plan.
#pragma once

#include "plan/activation.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string_view>

namespace sectile::detail {

// The name in the problem string and JSON; "" for `plain`.
std::string_view format_name(WeightFormat format) noexcept;

// Element types. The names are those of errors.
struct ProductTypes {
  DType type = DType::f32;
  std::string_view a_name, b_name;
  DType a = DType::f32, b = DType::f32;  // as stored
  WeightFormat b_format = WeightFormat::plain;
  DType acc = DType::f32, out = DType::f32;
};
Result<void> check_types(const ProductTypes& types);

struct ProductNumbers {
  DType type = DType::f32, out = DType::f32;
  float alpha = 1, beta = 0;
  bool scale = false;  // in the epilogue
  ActivationWords activation;
  bool residual = false;
  std::string_view prologue;  // a word of it; empty: none
};
Result<void> check_numbers(const ProductNumbers& numbers);

// A power of two from the element's size to 4096.
Result<void> check_align(std::string_view what, std::uint32_t align, std::uint32_t element);

}  // namespace sectile::detail
