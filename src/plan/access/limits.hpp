// What every operation asks of a profile's limits.
#pragma once

#include <sectile/error.hpp>
#include <sectile/profile.hpp>

#include <array>
#include <cstdint>

namespace sectile::detail {

// What a profile is taken to allow where it does not say: the least that Vulkan 1.3 promises.
struct Limits {
  std::uint32_t workgroup_invocations, workgroup_x, workgroup_memory, push;
  std::array<std::uint32_t, 3> grid;
};
Limits limits_of(const DeviceProfile& profile) noexcept;

// Folds a number of workgroups to the profile's grid.
Result<std::array<std::uint32_t, 3>> fold_grid(std::uint64_t groups, const DeviceProfile& profile);

}  // namespace sectile::detail
