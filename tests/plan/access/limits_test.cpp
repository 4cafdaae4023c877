// A device's limits, and the grid that so many workgroups fold into.
#include "plan/access/limits.hpp"

#include <sectile/profile.hpp>

#include <doctest/doctest.h>

using namespace sectile;

TEST_CASE("a profile without limits has those that every device of Vulkan 1.3 has") {
  const detail::Limits none = detail::limits_of({});
  CHECK(none.workgroup_invocations == 128);
  CHECK(none.workgroup_x == 128);
  CHECK(none.workgroup_memory == 16384);
  CHECK(none.dynamic_workgroup_memory == 16384);
  CHECK(none.push == 128);
  CHECK(none.grid == std::array<std::uint32_t, 3>{65535, 65535, 65535});
  DeviceProfile some;
  some.max_workgroup_invocations = 512;
  some.max_workgroup_size = {256, 3, 5};
  some.workgroup_memory_bytes = 7;
  some.max_push_bytes = 11;
  some.max_grid = {13, 17, 19};
  const detail::Limits given = detail::limits_of(some);
  CHECK(given.workgroup_invocations == 256);  // workgroups lie along x
  CHECK(given.workgroup_x == 256);
  CHECK(given.workgroup_memory == 7);
  CHECK(given.dynamic_workgroup_memory == 7);
  CHECK(given.push == 11);
  CHECK(given.grid == std::array<std::uint32_t, 3>{13, 17, 19});
  some.max_workgroup_invocations = 100;
  CHECK(detail::limits_of(some).workgroup_invocations == 100);
}

TEST_CASE("a launch may request as much workgroup memory as the profile says, and what a kernel may declare") {
  DeviceProfile profile;
  profile.workgroup_memory_bytes = 100;
  const auto dynamic = [&](std::uint32_t bytes) {
    profile.max_dynamic_workgroup_memory_bytes = bytes;
    CHECK(detail::limits_of(profile).workgroup_memory == 100);
    return detail::limits_of(profile).dynamic_workgroup_memory;
  };
  CHECK(dynamic(101) == 101);
  CHECK(dynamic(100) == 100);
  CHECK(dynamic(99) == 100);
  CHECK(dynamic(0) == 100);
  // 227 KiB on sm_90, 1 KiB of 228 being the system's; Vulkan has one limit.
  const detail::Limits cuda = detail::limits_of(*builtin_target("cuda:sm_90a"));
  CHECK(cuda.workgroup_memory == 48 * 1024);
  CHECK(cuda.dynamic_workgroup_memory == 227 * 1024);
  const detail::Limits vulkan = detail::limits_of(*builtin_target("nvidia-hopper"));
  CHECK(vulkan.dynamic_workgroup_memory == vulkan.workgroup_memory);
}

TEST_CASE("a grid has at least as many workgroups as are wanted, within each axis's limit") {
  DeviceProfile profile;
  profile.max_grid = {5, 7, 11};
  for (std::uint64_t groups = 0; groups <= 5 * 7 * 11; ++groups) {
    CAPTURE(groups);
    const auto grid = detail::fold_grid(groups, profile);
    REQUIRE(grid.has_value());
    const auto [x, y, z] = *grid;
    CHECK(std::uint64_t{x} * y * z >= groups);
    CHECK((x <= 5 && y <= 7 && z <= 11));
    if (groups <= 5) CHECK((x == std::max<std::uint64_t>(groups, 1) && y == 1 && z == 1));
    if (groups <= 5 * 7) CHECK(z == 1);
    // Fewer than one more along each axis that is used.
    CHECK(std::uint64_t{x} * y * z < groups + y + std::uint64_t{x} * y);
  }
  const auto beyond = detail::fold_grid(5 * 7 * 11 + 1, profile);
  REQUIRE_FALSE(beyond.has_value());
  CHECK(beyond.error().message() == "limit_exceeded: grid: 386 (want 5x7x11)");
}
