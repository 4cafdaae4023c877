// Which convolutions the depthwise kernel takes, what it is told of them, and what it refuses.
#include "plan/helpers.hpp"

#include "conv2d/conv2d_depthwise.abi.h"
#include "gemm/gemm.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

using namespace sectile;
using test::planned;

namespace {

std::uint32_t constant(const Plan& plan, std::uint32_t id) {
  REQUIRE(plan.steps.size() == 1);
  const auto& all = plan.steps[0].constants;
  const auto at = std::ranges::find(all, id, &Constant::id);
  REQUIRE(at != all.end());
  return at->value;
}

Plan forced(const std::string& text, const char* candidate = "conv2d_depthwise") {
  return planned(text, test::gpu(), {.force = candidate});
}

// Why a candidate is refused; empty if it is not.
std::string why_not(const std::string& text, std::string_view candidate) {
  for (const Candidate& c : planned(text, test::gpu(), {.explain = true}).candidates)
    if (c.name == candidate) return c.refusal;
  return "no candidate of this name";
}

}  // namespace

TEST_CASE("depthwise convolutions get their own kernel") {
  const char* problems[] = {"conv2d f32 nhwc 1x96x56x56 k=96 r=7x7 p=3 g=96",
                            "conv2d f16 nhwc 8x144x56x56 k=144 r=3x3 s=2 p=1 g=144 weights=rsck epi=bias+relu",
                            "conv2d f16 nchw 8x144x56x56 k=144 r=3x3 p=1 g=144",
                            "conv2d f32 nchw 1x32x112x112 k=64 r=3x3 p=1 g=32 pro=scale+bias+relu",
                            "conv2d i8 nhwc 4x64x28x28 k=64 r=5x5 p=2 g=64"};
  for (const char* device : {"nvidia-hopper", "lavapipe"})
    for (const char* text : problems) {
      CAPTURE(device);
      CAPTURE(text);
      const Plan plan = planned(text, test::profile_of_target(device));
      REQUIRE(plan.steps.size() == 1);
      CHECK(plan.steps[0].kernel.stem == "conv2d_depthwise");
    }
  // Groups of more channels are products.
  CHECK(planned("conv2d f32 nhwc 1x96x56x56 k=96 r=3x3 p=1 g=48", test::profile_of_target("nvidia-hopper"))
            .steps[0]
            .kernel.stem != "conv2d_depthwise");
}

TEST_CASE("depthwise accesses are as wide as alignment, pitches and the multiplier allow") {
  const auto widths = [](const std::string& text, const char* row) {
    const Plan plan = forced(text, row);
    return std::to_string(constant(plan, GEMM_SPEC_WIDTH_A)) + std::to_string(constant(plan, GEMM_SPEC_WIDTH_B)) +
           std::to_string(constant(plan, GEMM_SPEC_WIDTH_D));
  };
  const char* row = "conv2d_depthwise 4x8";
  CHECK(widths("conv2d f16 nhwc 2x64x9x9 k=64 r=3x3 g=64 weights=rsck", row) == "888");
  CHECK(widths("conv2d f16 nhwc 2x64x9x9 k=64 r=3x3 g=64", row) == "818");
  CHECK(widths("conv2d f32 nhwc 2x64x9x9 k=64 r=3x3 g=64 weights=rsck", row) == "444");
  CHECK(widths("conv2d f16 nhwc 2x64x9x9 k=64 r=3x3 g=64 x.pitch=66", row) == "218");
  CHECK(widths("conv2d f16 nhwc 2x64x9x9 k=64 r=3x3 g=64 align=4", row) == "212");
  // Adjacent output channels of a group read the same channel.
  CHECK(widths("conv2d f16 nhwc 2x32x9x9 k=64 r=3x3 g=32 weights=rsck", row) == "188");
  CHECK(widths("conv2d f16 nchw 2x64x9x9 k=64 r=3x3 g=64", "conv2d_depthwise 4x1") == "111");
}

TEST_CASE("depthwise variants") {
  const auto variant = [](const std::string& text, const char* row) {
    return forced(text, row).steps[0].kernel.variant;
  };
  CHECK(variant("conv2d f32 nhwc 1x64x9x9 k=64 r=3x3 g=64", "conv2d_depthwise 4x8") == "f32");
  CHECK(variant("conv2d f16 nhwc 1x64x9x9 k=64 r=3x3 g=64 weights=rsck", "conv2d_depthwise 4x8") == "f32");
  CHECK(variant("conv2d f16 nhwc 1x64x9x9 k=64 r=3x3 g=64", "conv2d_depthwise 4x8") == "f32.narrow");
  CHECK(variant("conv2d i8 nhwc 1x64x9x9 k=64 r=3x3 g=64 weights=rsck", "conv2d_depthwise 4x8") == "i8.narrow");
}

TEST_CASE("a depthwise grid has whole workgroups for each image") {
  const auto groups = [](const std::string& text, const char* row) {
    const auto grid = forced(text, row).steps[0].grid;
    return grid[0] * grid[1] * grid[2];
  };
  // 9 rows, 3 strips, 8 runs of channels: 216 invocations, 2 workgroups of 128.
  CHECK(groups("conv2d f16 nhwc 3x64x9x9 k=64 r=3x3 p=1 g=64", "conv2d_depthwise 4x8") == 6);
  CHECK(groups("conv2d f32 nchw 3x64x9x9 k=64 r=3x3 p=1 g=64", "conv2d_depthwise 8x1") == 27);
}

TEST_CASE("what the depthwise kernel does not take is refused by name") {
  CHECK(why_not("conv2d f32 nhwc 1x64x9x9 k=64 r=3x3 g=32", "conv2d_depthwise 4x4") ==
        "groups of 2 input channels, needs 1");
  CHECK(why_not("conv2d f32 nhwc:nchw 1x64x9x9 k=64 r=3x3 g=64", "conv2d_depthwise 4x1") ==
        "needs X and Y both in NHWC or both in NCHW");
  CHECK(why_not("conv2d f32 nchw4c 1x64x9x9 k=64 r=3x3 g=64", "conv2d_depthwise 4x1") ==
        "needs X and Y both in NHWC or both in NCHW");
  CHECK(why_not("conv2d f32 nchw 1x64x9x9 k=64 r=3x3 g=64", "conv2d_depthwise 4x4") ==
        "4 channels an invocation are for NHWC");
  CHECK(why_not("conv2d f32 nhwc 1x63x9x9 k=63 r=3x3 g=63", "conv2d_depthwise 4x4") ==
        "63 output channels are no multiple of 4");
  CHECK(why_not("conv2d f32 nhwc 1x64x9x40 k=64 r=1x31 g=64", "conv2d_depthwise 4x8") ==
        "a row of a filter of 31 columns needs 592 registers, at most 160 are used");
  CHECK(why_not("conv2d f32 nhwc 1x64x9x40 k=64 r=1x31 g=64", "conv2d_depthwise 4x1") == "");
  CHECK(why_not("conv2d f32 nhwc 1x8x10000x10000 k=8 r=3x3 g=8", "conv2d_depthwise 4x1") ==
        "an image of x has 3200000000 bytes, beyond 2^31");
}
