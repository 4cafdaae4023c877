#include "limits.hpp"

#include "lib/abi.h"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::detail {

Limits limits_of(const DeviceProfile& p) noexcept {
  const auto size = p.max_workgroup_size.value_or(std::array<std::uint32_t, 3>{128, 128, 64});
  const std::uint32_t memory = p.workgroup_memory_bytes.value_or(16384);
  // All workgroups are one-dimensional. A profile may state the invocations without the size.
  return {std::min(p.max_workgroup_invocations.value_or(128), size[0]),
          size[0],
          memory,
          p.max_push_bytes.value_or(128),
          p.max_grid.value_or(std::array<std::uint32_t, 3>{65535, 65535, 65535}),
          std::max(memory, p.max_dynamic_workgroup_memory_bytes.value_or(0))};
}

bool subgroup_size_is_certain(const DeviceProfile& p) noexcept {
  return p.required_subgroup_size.value_or(false) || p.min_subgroup_size == p.max_subgroup_size;
}

std::uint32_t known_subgroup_size(const DeviceProfile& p) noexcept {
  const bool fixed = p.min_subgroup_size.has_value() && p.min_subgroup_size == p.max_subgroup_size;
  return p.required_subgroup_size.value_or(false) || fixed ? p.subgroup_size.value_or(0) : 0;
}

std::uint32_t integer_numbers(const DeviceProfile& p, bool f16, bool bf16) noexcept {
  return (f16 && p.f16_conversion == false ? SECTILE_NUMBERS_F16 : 0u) |
         (bf16 && p.bf16_conversion == false ? SECTILE_NUMBERS_BF16 : 0u) |
         (p.nan_selection == false ? SECTILE_NUMBERS_NAN : 0u);
}

Result<std::array<std::uint32_t, 3>> fold_grid(std::uint64_t groups, const DeviceProfile& profile) {
  const auto max = limits_of(profile).grid;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::uint64_t left = std::max<std::uint64_t>(groups, 1);
  for (std::size_t i = 0; i < 3 && left > 1; ++i) {
    // The least size along this axis that suffices, so that few surplus workgroups have nothing to do.
    const std::uint64_t outer = (left + max[i] - 1) / max[i];
    grid[i] = static_cast<std::uint32_t>((left + outer - 1) / outer);
    left = outer;
  }
  if (left > 1)
    return fail(ErrorKind::limit_exceeded, "grid", fmt::format("{}", groups),
                fmt::format("{}x{}x{}", max[0], max[1], max[2]));
  return grid;
}

}  // namespace sectile::detail
