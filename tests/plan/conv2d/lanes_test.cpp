// Which convolutions the kernel for CPU devices takes, what it is told of them, and what it refuses.
#include "plan/helpers.hpp"

#include "conv2d/conv2d_lanes.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace sectile;
using test::constant_of;
using test::planned;

namespace {

DeviceProfile lavapipe() { return test::profile_of_target("lavapipe"); }

// Why a candidate is refused; empty if it is not.
std::string refusal_of(const std::string& text, std::string_view candidate, const DeviceProfile& profile) {
  for (const Candidate& c : planned(text, profile, {.explain = true}).candidates)
    if (c.name == candidate) return c.refusal;
  return "no candidate of this name";
}

std::string chosen_on_cpu(const std::string& text) { return planned(text, lavapipe()).choice.candidate; }

}  // namespace

TEST_CASE("convolutions on CPU devices keep their sums in registers") {
  CHECK(chosen_on_cpu("conv2d f32 nchw 1x64x56x56 k=64 r=3x3 p=1") == "conv2d_lanes 4x16");
  CHECK(chosen_on_cpu("conv2d f32 nhwc 1x256x14x14 k=512 r=1x1 s=2") == "conv2d_lanes 4x16");
  CHECK(chosen_on_cpu("conv2d f16 nchw8c 1x64x28x28 k=60 r=3x3 p=2 d=2 epi=bias+relu") == "conv2d_lanes 4x16");
  CHECK(chosen_on_cpu("conv2d bf16 nhwc 1x64x28x28 k=64 r=3x3 p=1 g=8 weights=rsck pro=scale") == "conv2d_lanes 4x8");
  CHECK(chosen_on_cpu("conv2d f32 nchw 1x16x64x64 k=3 r=3x3 p=1") == "conv2d_lanes 4x4");
  // One column of outputs.
  CHECK(chosen_on_cpu("conv2d f32 nchw 1x16x64x1 k=64 r=3x1 p=1,0") == "conv2d_lanes 1x16");
  // Blocks of channels have no depthwise kernel.
  CHECK(chosen_on_cpu("conv2d f32 nchw4c 1x64x56x56 k=64 r=3x3 p=1 g=64") == "conv2d_lanes 4x1");
  CHECK(chosen_on_cpu("conv2d f32 nchw 1x64x56x56 k=64 r=3x3 p=1 g=64").starts_with("conv2d_depthwise"));
}

TEST_CASE("inputs are shared by outputs where strides and dilations are small") {
  const auto step = [](const std::string& options) {
    const Plan plan = planned("conv2d f32 nchw 1x8x40x40 k=16 " + options, lavapipe(), {.force = "conv2d_lanes 4x16"});
    return constant_of(plan.steps.at(0), CONV2D_LANES_SPEC_STEP);
  };
  CHECK(step("r=3x3") == 1);
  CHECK(step("r=3x3 s=2") == 2);
  CHECK(step("r=3x3 s=1,2 d=2,1") == 2);
  CHECK(step("r=3x3 s=3") == 0);
  CHECK(step("r=3x3 d=2") == 0);
  CHECK(step("r=3x1 s=2") == 0);
  CHECK(step("r=1x8") == 1);
  CHECK(step("r=1x9") == 0);
}

TEST_CASE("a grid has whole workgroups for each image and each block of channels") {
  const auto groups = [](const std::string& text, const char* row) {
    const auto grid = planned(text, lavapipe(), {.force = row}).steps.at(0).grid;
    return grid[0] * grid[1] * grid[2];
  };
  // 9 rows, 3 strips: 2 workgroups of 16. 20 channels of each of 2 groups: 2 blocks of 16.
  CHECK(groups("conv2d f32 nchw 3x8x9x9 k=40 r=3x3 p=1 g=2", "conv2d_lanes 4x16") == 3 * 2 * 4);
  CHECK(groups("conv2d f32 nchw 3x8x9x9 k=40 r=3x3 p=1 g=2", "conv2d_lanes 4x4") == 3 * 2 * 10);
}

TEST_CASE("what the kernel for CPU devices does not take is refused by name") {
  const char* row = "conv2d_lanes 4x16";
  CHECK(refusal_of("conv2d f32 nchw 1x64x56x56 k=64 r=3x3 p=1", row, test::gpu()) == "for CPU devices");
  CHECK(refusal_of("conv2d i8 nhwc 1x64x20x20 k=64 r=3x3 p=1", row, lavapipe()) == "products of int8");
  CHECK(refusal_of("conv2d f32 nchw4c 2x0x8x8 k=62 r=3x3 p=1", row, lavapipe()) ==
        "an image without channels or pixels");
  CHECK(refusal_of("conv2d f32 nhwc 1x8x10000x10000 k=8 r=3x3", row, lavapipe()) ==
        "an image of x has 3200000000 bytes, beyond 2^31");
  CHECK(refusal_of("conv2d f32 nchw4c 1x8x10000x10000 k=8 r=3x3 g=2", row, lavapipe()) ==
        "an image of x has 3200000000 bytes, beyond 2^31");
  CHECK(refusal_of("conv2d f32 nhwc 1x30000x3x3 k=30000 r=3x3", row, lavapipe()) ==
        "8100000000 weights, at most 2^29 - 1");
}
