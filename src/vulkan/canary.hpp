// The canary's inside: which kernel tests which matrix shape, and where its matrices are.
#pragma once

#include "canary_numbers.hpp"

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
  bool tensors = false;               // loads as canary_coopmat2 does; otherwise as canary_coopmat
  std::uint32_t m = 0, n = 0, k = 0;  // flexible dimensions: several granules
  std::uint32_t workgroup = 0;
  std::uint32_t workgroup_memory_bytes = 0;
  std::uint64_t begin = 0;  // in the scratch
  std::uint64_t a_rows = 0, a_columns = 0, b_rows = 0, b_columns = 0, c_rows = 0, c_columns = 0, d = 0;
  std::uint64_t d_bytes = 0, end = 0;
};

// The tests of a profile's shapes, in the profile's order, and of numbers; and what cannot be tested, with the reason.
struct CanaryTests {
  std::vector<CanaryTest> tests;
  std::vector<CanaryRow> untested;
  std::vector<NumbersTest> numbers;
  std::vector<CanaryKind> untested_kinds;
  std::uint64_t scratch_bytes = 0;
};
CanaryTests canary_tests(const DeviceProfile& profile, CanaryScope scope = {});

Plan canary_plan(const CanaryTest& test, std::uint64_t scratch_bytes, std::uint32_t seed);

// The first wrong product of a test; empty where all are exact.
std::string canary_fault(const CanaryTest& test, std::uint32_t seed, std::span<const std::byte> scratch);

struct RecordedTest {
  CanaryTest test;
  Executable executable;
  CanaryRow outcome;  // final for tests that were not recorded
  bool recorded = false;
};

struct RecordedNumbers {
  NumbersTest test;
  Executable executable;
  CanaryKind outcome;  // final for tests that were not recorded
  bool recorded = false;
};

struct CanaryRun::State {
  std::vector<RecordedTest> tests;
  std::vector<CanaryRow> untested;
  std::vector<RecordedNumbers> numbers;
  std::vector<CanaryKind> untested_kinds;
  std::uint64_t scratch_bytes = 0;
  std::uint32_t seed = 0;
};

// The only access to a CanaryRun's inside.
struct CanaryAccess {
  static const CanaryRun::State* get(const CanaryRun& run) noexcept { return run.state_.get(); }
  static CanaryRun make(std::shared_ptr<const CanaryRun::State> state) {
    CanaryRun out;
    out.state_ = std::move(state);
    return out;
  }
};

}  // namespace sectile::vulkan
