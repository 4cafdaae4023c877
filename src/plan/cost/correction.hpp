// Corrections of estimated costs, fitted to measurements: a linear function of a candidate's features in logarithms.
// Integers only, so that every machine chooses alike.
#pragma once

#include "numbers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string_view>

namespace sectile::detail {

// 1024 times the logarithm to base 2, at most 1.5 less and 0.5 more; of 0 as of 1.
std::int32_t log2_1024(std::uint64_t value) noexcept;
// value * 2^(exponent / 1024), within a thousandth of values from 2^20 on; at most 2^62.
std::int64_t times_exp2(std::int64_t value, std::int32_t exponent) noexcept;

// A candidate's features: logarithms as log2_1024's, or 0 and 1024 for no and yes. feature_names() says which.
using Features = std::array<std::int32_t, kFeatures>;

// The names of a table's features, in order.
std::span<const std::string_view> feature_names(CostTable table) noexcept;

// What is to be added to the logarithm of the cost: between a quarter of it and four times.
inline std::int32_t correction_of(const Correction& c, const RowNumbers& row, const Features& features) noexcept {
  std::int64_t sum = std::int64_t{c.constant + row.offset} * 1024;
  for (std::size_t i = 0; i < kFeatures; ++i) sum += std::int64_t{c.slope[i]} * features[i];
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(sum / 1024, -2048, 2048));
}

}  // namespace sectile::detail
