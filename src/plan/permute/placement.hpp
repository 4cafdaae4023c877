// Where a permute's operands lie: strides and sizes, checked for overflow and overlap.
#pragma once

#include <sectile/problem.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sectile::detail {

// "3x4x5".
std::string sizes_text(std::span<const std::int64_t> sizes);

// The error of a size that 64 bits do not hold; `side` is "src", "dst" or "add".
std::unexpected<Error> too_large(const PermuteProblem& p, std::string_view side);

// An operand's strides, offset and type.
struct OperandSide {
  std::string_view name;
  std::span<const std::int64_t> strides;  // none: row-major
  std::int64_t offset = 0;
  DType type = DType::f32;
};

// Computes an operand's strides, and the bytes up to the end of its last element. Errors: overflow.
Result<void> place_operand(const PermuteProblem& p, std::span<const std::int64_t> shape, const OperandSide& side,
                           std::array<std::int64_t, kMaxRank>& strides, std::uint64_t& bytes);

// Refuses two destination elements at one address: the result would depend on the order of writes. Errors: overlap.
Result<void> check_distinct(const PermuteProblem& p, std::span<const std::int64_t> shape,
                            std::span<const std::int64_t> strides);

}  // namespace sectile::detail
