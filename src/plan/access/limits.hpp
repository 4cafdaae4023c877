// A profile's limits with defaults, and the grid that fits them.
#pragma once

#include <sectile/error.hpp>
#include <sectile/profile.hpp>

#include <array>
#include <cstdint>

namespace sectile::detail {

// The profile's limits. A limit that the profile lacks is the minimum that Vulkan 1.3 requires.
struct Limits {
  std::uint32_t workgroup_invocations, workgroup_x, workgroup_memory, push;
  std::array<std::uint32_t, 3> grid;
  // What a launch may request for a kernel that declares no size of its own (CUDA's opt-in limit); elsewhere no more
  // than a kernel may declare.
  std::uint32_t dynamic_workgroup_memory;
};
Limits limits_of(const DeviceProfile& profile) noexcept;

// Whether a kernel gets the subgroup size that it states: the device takes one, or has one alone.
bool subgroup_size_is_certain(const DeviceProfile& profile) noexcept;

// The size of the device's subgroups where a step can rely on it, otherwise 0: the step requires it, or there is one.
std::uint32_t known_subgroup_size(const DeviceProfile& profile) noexcept;

// What kernels compute by integers on the device: SECTILE_NUMBERS_* bits (shaders/lib/abi.h), as far as numbers of the
// types f16 and bf16 are made.
std::uint32_t integer_numbers(const DeviceProfile& profile, bool f16, bool bf16) noexcept;

// Folds a number of workgroups into a grid within the profile's limits. Errors: limit_exceeded.
Result<std::array<std::uint32_t, 3>> fold_grid(std::uint64_t groups, const DeviceProfile& profile);

}  // namespace sectile::detail
