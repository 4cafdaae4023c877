// The canary's tests of numbers: which kernel tests which kind, and what it has to write.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::vulkan {

// One kind's test: a plan of one step, on memory of its own in the common scratch.
struct NumbersTest {
  std::string kind;     // as CanaryKind's
  std::string variant;  // of canary_numbers
  std::uint32_t inputs = 0;
  std::uint64_t begin = 0, end = 0;  // in the scratch
};

// The tests of a device, from `begin` in the scratch on; and the kinds that its features do not let kernels use.
std::vector<NumbersTest> numbers_tests(const DeviceProfile& profile, std::uint64_t begin,
                                       std::vector<CanaryKind>& untested);

Plan numbers_plan(const NumbersTest& test, std::uint64_t scratch_bytes, std::uint32_t seed);

// The first wrong result of a test; empty where all are right.
std::string numbers_fault(const NumbersTest& test, std::uint32_t seed, std::span<const std::byte> scratch);

}  // namespace sectile::vulkan
