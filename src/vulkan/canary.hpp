// The inside of the canary: which kernel tests which matrix shape, and where its matrices lie.
#pragma once

#include <sectile/vulkan.hpp>

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace sectile::vulkan {

// One matrix shape's test: a plan of one step, on memory of its own in the common scratch.
struct CanaryTest {
  MatrixShape shape;
  KernelName kernel;
  bool tensors = false;               // canary_coopmat2's ways of loading; else canary_coopmat's
  std::uint32_t m = 0, n = 0, k = 0;  // of flexible dimensions: more than one granule
  std::uint32_t workgroup = 0;
  std::uint32_t workgroup_memory_bytes = 0;
  std::uint64_t begin = 0;            // in the scratch
  std::uint64_t a_rows = 0, a_columns = 0, b_rows = 0, b_columns = 0, c_rows = 0, c_columns = 0, d = 0;
  std::uint64_t d_bytes = 0, end = 0;
};

// The tests of a profile's shapes, in the profile's order; and the shapes that none speaks for, with the reason.
struct CanaryTests {
  std::vector<CanaryTest> tests;
  std::vector<CanaryRow> untested;
  std::uint64_t scratch_bytes = 0;
};
CanaryTests canary_tests(const DeviceProfile& profile);

Plan canary_plan(const CanaryTest& test, std::uint64_t scratch_bytes, std::uint32_t seed);

// What is wrong with a test's products; empty where they are exact.
std::string canary_fault(const CanaryTest& test, std::uint32_t seed, std::span<const std::byte> scratch);

struct RecordedTest {
  CanaryTest test;
  Executable executable;
  CanaryRow outcome;  // of what was not recorded; else its verdict is not known yet
  bool recorded = false;
};

struct CanaryRun::State {
  std::vector<RecordedTest> tests;
  std::vector<CanaryRow> untested;
  std::uint64_t scratch_bytes = 0;
  std::uint32_t seed = 0;
};

// The one door to a CanaryRun's inside.
struct CanaryAccess {
  static const CanaryRun::State* get(const CanaryRun& run) noexcept { return run.state_.get(); }
  static CanaryRun make(std::shared_ptr<const CanaryRun::State> state) {
    CanaryRun out;
    out.state_ = std::move(state);
    return out;
  }
};

}  // namespace sectile::vulkan
