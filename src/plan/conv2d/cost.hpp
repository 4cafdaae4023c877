// A convolution candidate's cost.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

// What costs depend on besides the candidate.
struct ConvolutionWork {
  const DeviceProfile& profile;
  std::uint64_t multiply_adds = 0, bytes = 0;  // of the problem; of all its operands

  bool cpu() const noexcept { return profile.kind == DeviceKind::cpu; }
};
ConvolutionWork work_of(const Conv2dContext& c);

// Picoseconds, with a model's numbers and the correction of `table`.
std::int64_t conv2d_cost(const Conv2dContext& c, const CostModel& model, CostTable table, const Conv2dConfig& config);

// The same without a correction, and what one is fitted to.
std::int64_t conv2d_raw_cost(const ConvolutionWork& c, const CostModel& model, const Conv2dConfig& config);
Features conv2d_features(const ConvolutionWork& c, const Conv2dConfig& config, std::int64_t cost);

}  // namespace sectile::detail
