// The numbers of the cost model for a device: its class's, or what is derived for a device of no class. The formulas
// that use them are in permute/cost.cpp, gemm/cost.cpp and conv2d/cost.cpp. docs/design/cost-model.md explains both.
#pragma once

#include "device/device_class.hpp"

#include <sectile/profile.hpp>

#include <string>
#include <string_view>

namespace sectile::detail {

// The numbers of a device's class, and what `explain` says of them.
struct CostModel : ClassNumbers {
  std::string_view name;      // the class of devices
  std::string_view measured;  // device, driver and dates; empty: nothing was measured on this class
};

// The class of a profile's device: CPU, Hopper, or a GPU without measurements.
CostModel cost_model_of(const DeviceProfile& profile) noexcept;

// One line for `explain`: the class, and what was measured on it.
std::string describe(const CostModel& model);

}  // namespace sectile::detail
