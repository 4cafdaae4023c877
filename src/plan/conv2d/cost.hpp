// A convolution candidate's cost.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

std::int64_t conv2d_cost(const Conv2dContext& c, const Conv2dConfig& config);

// The cost of a transform that reads and writes so many bytes.
std::int64_t conv2d_transform_cost(const Conv2dContext& c, std::uint64_t bytes);

}  // namespace sectile::detail
