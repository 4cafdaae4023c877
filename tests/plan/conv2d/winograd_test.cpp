// Which convolutions Winograd's algorithm takes, its steps, and what it refuses.
#include "plan/helpers.hpp"

#include "gemm/gemm.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;
using test::planned;

namespace {

DeviceProfile hopper() { return test::profile_of_target("nvidia-hopper"); }

// Without the sum of a split.
std::vector<std::string> stems_of_steps(const Plan& plan) {
  std::vector<std::string> all;
  for (const Step& step : plan.steps)
    if (step.kernel.stem != "matmul_reduce") all.push_back(step.kernel.stem);
  return all;
}

// Why all its candidates are refused; empty if one is not.
std::string why_no_winograd(const std::string& text, const PlanOptions& options = {}) {
  PlanOptions explained = options;
  explained.explain = true;
  std::string reason = "no candidate";
  for (const Candidate& c : planned(text, hopper(), explained).candidates) {
    if (!c.name.starts_with("conv2d_winograd")) continue;
    if (c.refusal.empty()) return "";
    reason = c.refusal;
  }
  return reason;
}

}  // namespace

TEST_CASE("f32 convolutions of 3x3 with many channels multiply 16 times, not 36") {
  const std::vector<std::string> kSteps = {"conv2d_winograd_filter", "conv2d_winograd_input", "matmul_simt",
                                           "conv2d_winograd_output"};
  for (const char* text : {"conv2d f32 nchw 2x320x64x64 k=320 r=3x3 p=1", "conv2d f32 nhwc 4x256x48x40 k=256 r=3x3 p=1",
                           "conv2d f32 nchw 2x1280x16x16 k=1280 r=3x3 p=1 weights=rsck epi=bias+relu"}) {
    CAPTURE(text);
    const Plan plan = planned(text, hopper());
    CHECK(stems_of_steps(plan) == kSteps);
    // W and X are transformed side by side; each of the other steps reads what the one before it writes.
    CHECK(!plan.steps[1].barrier_before);
    for (std::size_t i = 2; i < plan.steps.size(); ++i) CHECK(plan.steps[i].barrier_before);
  }
}

TEST_CASE("scratch is 16 planes of weights, inputs and sums") {
  const Plan plan = planned("conv2d f32 nchw 2x30x7x9 k=21 r=3x3 p=1", hopper(), {.force = "conv2d_winograd"});
  REQUIRE(plan.operands.back().role == OperandRole::scratch);
  // 2 images of 4 x 5 tiles; channels and tiles padded to multiples of 4, parts to 256 bytes.
  const std::uint64_t u = 16 * 24 * 32 * 4, v = 16 * 32 * 40 * 4, s = 16 * 24 * 40 * 4;
  CHECK(plan.operands.back().bytes == u + v + s);
}

TEST_CASE("what Winograd's algorithm does not take is refused by name") {
  const std::string plain = "conv2d f32 nchw 2x64x16x16 k=64 r=3x3 p=1";
  CHECK(why_no_winograd(plain) == "");
  CHECK(why_no_winograd(plain + " exact=1") == "the problem is exact");
  CHECK(why_no_winograd("conv2d f16 nchw 2x64x16x16 k=64 r=3x3 p=1") == "its products are f32");
  CHECK(why_no_winograd("conv2d f32 nhwc 2x64x16x16 k=64 r=3x3 p=1 w=q8 weights=krsc") == "the weights are quantized");
  CHECK(why_no_winograd("conv2d f32 nchw 2x64x16x16 k=64 r=3x5 p=1") == "a filter of 3x5, needs 3x3");
  for (const char* one : {" s=2", " s=1,2", " s=2,1", " d=2", " d=1,2", " d=2,1"})
    CHECK(why_no_winograd(plain + one) == "a stride or a dilation");
  CHECK(why_no_winograd("conv2d f32 nchw 2x64x16x16 k=64 r=5x3 p=1") == "a filter of 5x3, needs 3x3");
  CHECK(why_no_winograd(plain + " g=2") == "2 groups");
  CHECK(why_no_winograd("conv2d f32 nchw4c 2x64x16x16 k=64 r=3x3 p=1") == "blocks of channels");
  CHECK(why_no_winograd(plain, {.few_pipelines = true}) == "it would need pipelines of its own");
  CHECK(why_no_winograd(plain, {.max_scratch_bytes = 1000}).starts_with("needs "));
  CHECK(why_no_winograd("conv2d f32 nchw 1x128x1600x1600 k=128 r=3x3 p=1") ==
        "1 of 1 images at a time need offsets beyond 2^31 bytes");
  DeviceProfile small = hopper();
  small.max_buffer_bytes = std::uint64_t{64} << 20;
  std::string reason;
  for (const Candidate& candidate :
       planned("conv2d f32 nchw 1x320x96x96 k=320 r=3x3 p=1", small, {.explain = true}).candidates)
    if (candidate.name.starts_with("conv2d_winograd")) reason = candidate.refusal;
  CHECK(reason.ends_with(" bytes of scratch, a buffer of the device has 67108864"));
  CHECK(why_no_winograd("conv2d f32 nchw 1x64x16x16 k=8192 r=3x3 p=1") == "");
  const auto forced = make_plan(*parse_problem(plain + " s=2"), hopper(), {.force = "conv2d_winograd"});
  REQUIRE(!forced.has_value());
  CHECK(forced.error().message().find("a stride or a dilation") != std::string::npos);
}

TEST_CASE("images are computed in parts where scratch is limited") {
  const std::string text = "conv2d f32 nchw 6x64x16x16 k=64 r=3x3 p=1 epi=bias+residual";
  const std::uint64_t u = 16 * 64 * 64 * 4, v_and_s = std::uint64_t{2} * 16 * 64 * 64 * 4;  // of one image
  struct Limit {
    std::uint64_t bytes;
    std::size_t images;
  };
  for (const auto& [bytes, images] :
       {Limit{u + 6 * v_and_s, 6}, Limit{6 * v_and_s, 3}, Limit{u + 2 * v_and_s, 2}, Limit{u + v_and_s, 1}}) {
    CAPTURE(bytes);
    const Plan plan = planned(text, hopper(), {.force = "conv2d_winograd 64x128x8 8x8", .max_scratch_bytes = bytes});
    REQUIRE(plan.operands.back().role == OperandRole::scratch);
    CHECK(plan.operands.back().bytes == u + images * v_and_s);
    CHECK(plan.steps.size() == 1 + 3 * 6 / images);
  }
  // The last part of 5 images in parts of 2 begins with the fourth. Not where Y is read, because an image would be
  // added to itself.
  for (const auto& [epilogue, images] : {std::pair{" epi=bias", std::size_t{2}}, {" beta=0.5 c=y", std::size_t{1}}}) {
    const Plan plan = planned(std::string("conv2d f32 nchw 5x64x16x16 k=64 r=3x3 p=1") + epilogue, hopper(),
                              {.force = "conv2d_winograd 64x128x8 8x8", .max_scratch_bytes = u + 2 * v_and_s});
    CHECK(plan.steps.size() == 1 + 3 * (images == 2 ? 3 : 5));
    CHECK(plan.operands.back().bytes == u + images * v_and_s);
  }
  // V and S of 32 images would take 3.2 GiB.
  const Plan large = planned("conv2d f32 nchw 32x64x224x224 k=64 r=3x3 p=1", hopper(), {.force = "conv2d_winograd"});
  CHECK(large.operands.back().bytes < (std::uint64_t{1} << 30) + (std::uint64_t{1} << 20));
  CHECK(large.steps.size() == 1 + 3 * 4);
}

namespace {

const Step& first_step_of(const Plan& plan, std::string_view stem) {
  const auto step = std::ranges::find_if(plan.steps, [&](const Step& s) { return s.kernel.stem == stem; });
  REQUIRE(step != plan.steps.end());
  return *step;
}

// How wide the image is read, and the result written.
std::pair<std::uint32_t, std::uint32_t> widths_of(const std::string& text, std::optional<std::uint64_t> scratch = {}) {
  const Plan plan = planned(text, hopper(), {.force = "conv2d_winograd 64x128x8 8x8", .max_scratch_bytes = scratch});
  return {test::constant_of(first_step_of(plan, "conv2d_winograd_input"), GEMM_SPEC_WIDTH_A),
          test::constant_of(first_step_of(plan, "conv2d_winograd_output"), GEMM_SPEC_WIDTH_D)};
}
using Widths = std::pair<std::uint32_t, std::uint32_t>;

}  // namespace

TEST_CASE("accesses of Winograd's transforms are as wide as every row and every image allows") {
  // Planes: pairs of columns, where rows of the result have an even number of them.
  CHECK(widths_of("conv2d f32 nchw 2x8x8x8 k=8 r=3x3 p=1") == Widths{1, 2});
  CHECK(widths_of("conv2d f32 nchw 2x8x8x9 k=8 r=3x3 p=1") == Widths{1, 1});
  CHECK(widths_of("conv2d f32 nchw 2x8x9x8 k=8 r=3x3 p=1") == Widths{1, 2});
  CHECK(widths_of("conv2d f32 nchw 2x8x8x8 k=8 r=3x3 p=1,1,1,0") == Widths{1, 1});  // right: none
  CHECK(widths_of("conv2d f32 nchw 2x8x8x8 k=8 r=3x3 p=1 y.align=4") == Widths{1, 1});
  CHECK(widths_of("conv2d f32 nchw 2x8x8x8 k=8 r=3x3 p=1 y.pitch=513") == Widths{1, 1});
  // Pixels: four channels at once, where pixels and images begin at multiples of them.
  const std::string pixels = "conv2d f32 nhwc 2x8x8x9 k=8 r=3x3 p=1";
  CHECK(widths_of(pixels) == Widths{4, 4});
  CHECK(widths_of("conv2d f32 nhwc 2x6x8x9 k=10 r=3x3 p=1") == Widths{2, 2});
  CHECK(widths_of("conv2d f32 nhwc 2x7x8x9 k=5 r=3x3 p=1") == Widths{1, 1});
  CHECK(widths_of(pixels + " x.pitch=9 y.pitch=11") == Widths{1, 1});
  CHECK(widths_of(pixels + " x.pitch=10 y.pitch=14") == Widths{2, 2});
  CHECK(widths_of(pixels + " x.align=8 y.align=4") == Widths{2, 1});
  // In parts no image but the first is aligned as the operand is.
  const std::uint64_t of_one = 16 * 4 * (8 * 8 + 2 * 8 * 16);
  const std::string planes = "conv2d f32 nchw 3x8x8x8 k=8 r=3x3 p=1";
  CHECK(widths_of(planes, of_one) == Widths{1, 2});
  for (const char* operand : {" y.pitch=513", " c.pitch=513 beta=0.5", " r.pitch=513 epi=residual"})
    CHECK(widths_of(planes + operand, of_one) == Widths{1, 1});
  CHECK(widths_of(planes + " y.pitch=514", of_one) == Widths{1, 2});
}

TEST_CASE("Winograd's transform of the image is told each side's padding") {
  const Plan plan = planned("conv2d f32 nchw 1x8x9x10 k=8 r=3x3 p=2,1,0,3", hopper(), {.force = "conv2d_winograd"});
  const Step& step = first_step_of(plan, "conv2d_winograd_input");
  // H, W, then pad_top | pad_left << 16, after three addresses.
  std::vector<std::uint32_t> words((step.push.size() - 24) / 4);
  std::memcpy(words.data(), step.push.data() + 24, words.size() * 4);
  const std::vector<std::uint32_t> wanted = {9, 10, 2 | 1 << 16};
  CHECK(std::ranges::search(words, wanted).begin() != words.end());
}

TEST_CASE("an exact problem keeps the definition's products") {
  const Plan plan = planned("conv2d f32 nchw 2x320x64x64 k=320 r=3x3 p=1 exact=1", hopper());
  for (const Step& step : plan.steps) CHECK(!step.kernel.stem.starts_with("conv2d_winograd"));
}
