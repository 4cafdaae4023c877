// A convolution candidate's cost.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

ConvolutionWork convolution_work(const Conv2dProblem& problem, const DeviceProfile& profile,
                                 std::span<const PlanOperand> operands);

// Picoseconds, with a model's numbers and the correction of `table`.
std::int64_t conv2d_cost(const Conv2dContext& c, const CostModel& model, CostTable table, const Conv2dConfig& config);

// The same without a correction, and what one is fitted to.
std::int64_t conv2d_raw_cost(const ConvolutionWork& c, const CostModel& model, const Conv2dConfig& config);
Features conv2d_features(const ConvolutionWork& c, const Conv2dConfig& config, std::int64_t cost);

}  // namespace sectile::detail
