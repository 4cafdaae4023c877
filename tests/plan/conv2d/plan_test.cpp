// Plans of convolutions: those that are matmuls, barriers, splits, the limit of scratch, plans read back.
#include "plan/helpers.hpp"
#include "reference/generate.hpp"
#include "support/scope.hpp"

#include "conv2d/conv2d.abi.h"
#include "gemm/gemm.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

using namespace sectile;
using test::constant_of;
using test::planned;

namespace {

// "stem | barrier | stem".
std::string stems(const Plan& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    if (!text.empty()) text += step.barrier_before ? " | barrier | " : " | ";
    text += step.kernel.stem.starts_with("permute") ? "permute" : step.kernel.stem;
  }
  return text;
}

std::uint64_t scratch_of(const Plan& plan) {
  const auto at = std::ranges::find(plan.operands, OperandRole::scratch, &PlanOperand::role);
  return at == plan.operands.end() ? 0 : at->bytes;
}

// "read x[0,24)" of each range of a step, in the plan's order.
std::string ranges(const Plan& plan, std::size_t step) {
  std::string text;
  for (const AccessRange& range : plan.steps.at(step).accesses)
    text += fmt::format("{}{} {}[{},{})", text.empty() ? "" : " ", range.write ? "write" : "read",
                        plan.operands.at(range.operand).name, range.begin, range.end);
  return text;
}

std::string error_of(const std::string& text, const DeviceProfile& profile, const PlanOptions& options = {}) {
  const auto plan = make_plan(parse_problem(text).value(), profile, options);
  return plan ? "" : plan.error().message();
}

}  // namespace

TEST_CASE("a filter of one element is planned as a matmul") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  const auto same_kernel = [&](const char* conv2d, const char* matmul) {
    const Plan a = planned(conv2d, hopper), b = planned(matmul, hopper);
    REQUIRE(a.steps.size() == b.steps.size());
    CHECK_MESSAGE(a.choice.candidate == b.choice.candidate, conv2d);
    for (std::size_t i = 0; i < a.steps.size(); ++i) {
      CHECK_MESSAGE(a.steps[i].kernel == b.steps[i].kernel, conv2d);
      CHECK_MESSAGE(a.steps[i].push == b.steps[i].push, conv2d);
      CHECK_MESSAGE(a.steps[i].grid == b.steps[i].grid, conv2d);
    }
  };
  same_kernel("conv2d f16 nhwc 2x320x64x64 k=640 r=1x1 epi=bias+gelu", "matmul f16 nt 8192x640x320 epi=bias+gelu");
  same_kernel("conv2d f16 nhwc 2x320x64x64 k=640 r=1x1 weights=rsck", "matmul f16 nn 8192x640x320");
  same_kernel("conv2d f16 nhwc 2x320x64x64 k=640 r=1x1 w=q8", "matmul f16 nt 8192x640x320 b=q8");
  same_kernel("conv2d f32 nchw 3x320x16x16 k=640 r=1x1 d=3", "matmul f32 nn 640x256x320 batch=3 a.batch=0");
  same_kernel("conv2d f32 nhwc 2x320x8x8 k=640 r=1x1 g=4",
              "matmul f32 nt 128x160x80 batch=4 lda=320 a.batch=80 ldd=640 d.batch=160");
  // Addresses and ranges are the convolution's.
  const Plan plan = planned("conv2d f32 nchw 3x320x16x16 k=640 r=1x1 epi=bias", hopper);
  CHECK(ranges(plan, 0) == fmt::format("read w[0,{}) read x[0,{}) write y[0,{}) read bias[0,2560)", 640 * 320 * 4,
                                       3 * 320 * 256 * 4, 3 * 640 * 256 * 4));
  // Each group has its own bias.
  const Plan groups = planned("conv2d f32 nhwc 2x320x8x8 k=640 r=1x1 g=4 epi=bias", hopper);
  CHECK((constant_of(groups.steps[0], GEMM_SPEC_EPILOGUE) & GEMM_EPILOGUE_VECTOR_BATCHED) != 0);
  CHECK(ranges(groups, 0).contains("read bias[0,2560)"));
  for (const char* other : {"conv2d f32 nhwc 2x32x8x8 k=64 r=1x1 s=2", "conv2d f32 nhwc 2x32x8x8 k=64 r=1x1 p=0,1",
                            "conv2d f32 nhwc 2x32x8x8 k=64 r=1x1 pro=relu", "conv2d f32 nchw4c 2x32x8x8 k=64 r=1x1",
                            "conv2d f32 nchw 2x32x8x8 k=64 r=1x1 g=2"})
    CHECK_MESSAGE(!stems(planned(other, hopper)).contains("matmul_simt"), other);
}

// 72 by 2 tiles are a wave of 132 multiprocessors and 12 tiles more.
TEST_CASE("the tail wave of an image that is A begins with a pixel inside") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  const Plan plan = planned("conv2d f16 nhwc 1x320x96x96 k=320 r=3x3 p=1 weights=krsc epi=bias+residual", hopper,
                            {.force = "conv2d_coopmat 128x160x64 64x40 pipelined"});
  REQUIRE(stems(plan) == "conv2d_coopmat | conv2d_coopmat | barrier | matmul_reduce");
  constexpr std::uint32_t kFirst = 66 * 128, kRows = 96 * 96 - kFirst;
  CHECK(plan.steps[0].grid == std::array<std::uint32_t, 3>{66 * 2, 1, 1});
  const auto word = [&](std::size_t step, std::size_t at) {
    GemmPush push;
    std::memcpy(&push, plan.steps[step].push.data(), sizeof push);
    return push.words[at];
  };
  // The last word: 2 of an address (the bias's; the residual's 2 too, unless K is split), sizes, strides, 14 of the
  // image.
  CHECK(word(0, 4) == kFirst);
  CHECK(word(1, 0) == kRows);
  CHECK(word(1, 0 + 4 + 3 + 2 + 14) == kFirst);
  CHECK(plan.steps[1].addresses[0].byte_offset == 0);
  for (const AddressSlot& slot : plan.steps[2].addresses)
    if (plan.operands[slot.operand].name == "y" || plan.operands[slot.operand].name == "residual")
      CHECK(slot.byte_offset == std::uint64_t{kFirst} * 320 * 2);
}

// 16 images of 14x14 are 25 tiles of 128 columns, each image for itself two.
TEST_CASE("tiles of a product whose columns are pixels run across images") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  const auto joins = [](const Plan& plan) {
    return std::ranges::any_of(plan.steps[0].constants, [](Constant c) { return c.id == CONV2D_SPEC_FLATTENED_BATCH; });
  };
  const PlanOptions tile = {.force = "conv2d_simt 128x128x8 8x8"};
  const char* const small = "conv2d f32 nchw 16x64x14x14 k=128 r=3x3 p=1";
  const Plan joined = planned(small, hopper, tile);
  CHECK(joins(joined));
  CHECK(joined.steps[0].grid[0] % 25 == 0);  // in splits of K
  // Images that fill their tiles, one image, and kernels that serve all sizes.
  for (const char* other :
       {"conv2d f32 nchw 33x64x16x16 k=128 r=3x3 p=1", "conv2d f32 nchw 1x64x14x14 k=128 r=3x3 p=1"})
    CHECK_MESSAGE(!joins(planned(other, hopper, tile)), other);
  CHECK(!joins(planned(small, hopper, {.few_pipelines = true})));
  // More columns than 2^31, images too far apart, and partial sums beyond 2^31 bytes.
  for (const char* other :
       {"conv2d f32 nchw 11000000x8x14x14 k=8 r=3x3 p=1", "conv2d f32 nchw 4x8x14x14 k=8 r=3x3 p=1 y.pitch=400000000",
        "conv2d f32 nchw 256x4096x3x3 k=99999 r=3x3"})
    CHECK_MESSAGE(!joins(planned(other, hopper, {.force = "conv2d_simt"})), other);
}

TEST_CASE("a filter of one element is a product of joined images where that is cheaper") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  CHECK(stems(planned("conv2d f32 nchw 16x1024x14x14 k=256 r=1x1", hopper)) == "conv2d_simt | barrier | matmul_reduce");
  CHECK(stems(planned("conv2d f32 nchw 16x1024x16x16 k=256 r=1x1", hopper)).starts_with("matmul_simt"));
  // A matrix unit would need a permute of X first.
  CHECK(stems(planned("conv2d f16 nchw 12x256x28x24 k=720 r=1x1", hopper)).starts_with("matmul_coopmat"));
  // The explanation has both tables and one choice.
  const Plan plan = planned("conv2d f32 nchw 16x1024x14x14 k=256 r=1x1", hopper, {.explain = true});
  CHECK(std::ranges::count(plan.candidates, true, &Candidate::chosen) == 1);
  for (const char* stem : {"matmul_simt", "conv2d_simt"})
    CHECK(std::ranges::any_of(plan.candidates, [&](const Candidate& c) { return c.name.starts_with(stem); }));
  CHECK(check_plan(plan, hopper).has_value());
  // A pack of either plan's kernels serves the problem by that plan.
  const std::string text = "conv2d f32 nchw 16x1024x14x14 k=256 r=1x1";
  for (const char* force : {"", "matmul_simt"}) {
    const Plan packed = planned(text, hopper, {.force = force});
    const test::KernelsOf kernels(packed);
    CHECK(planned(text, hopper, {.kernels = &kernels}).steps == packed.steps);
  }
}

TEST_CASE("matrix units read an NCHW image where it lies if its rows are chunks that a filter moves by two pixels") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  // Empty: admissible.
  const auto refusal = [&](const char* text, PlanOptions options = {}) {
    options.explain = true;
    const Plan plan = planned(text, hopper, options);
    std::string why = "no candidate";
    for (const Candidate& c : plan.candidates) {
      if (!c.name.starts_with("conv2d_coopmat") || !c.name.contains(" pixels")) continue;
      if (c.refusal.empty()) return std::string();
      if (c.name.contains("any pixels")) why = c.refusal;
    }
    return why;
  };
  for (const char* text :
       {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1", "conv2d bf16 nchw 2x32x9x24 k=40 r=3x3 p=1",
        "conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=0,0,1,2 s=2,1", "conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=2 d=2",
        "conv2d f16 nchw 2x32x9x24 k=40 r=3x1 p=1,0", "conv2d f16 nchw 1x1x9x24 k=40 r=3x3 p=1 weights=krsc",
        "conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 x.pitch=8000"})
    CHECK_MESSAGE(refusal(text).empty(), std::string(text) << ": " << refusal(text));
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 weights=krsc", "the weights are not KCRS"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x1 p=1,0 weights=krsc", "the weights are not KCRS"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x1 p=1,0 weights=rsck", "the weights are not KCRS"},
           {"conv2d f16 nchw:nhwc 2x32x9x24 k=40 r=3x3 p=1", "the image is not B"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 g=2", "the image is not B"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 pro=relu", "the image has a prologue"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 x=f32", "the image is not f16 or bf16"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 s=2", "a stride of 2"},
           {"conv2d f16 nchw 2x32x9x25 k=40 r=3x3 p=1", "rows of 25 pixels for 25 outputs"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3", "rows of 24 pixels for 22 outputs"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=3 d=3", "the filter reaches 3 pixels to the left"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 x.align=8", "rows do not begin at multiples of 16 bytes"},
           {"conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1 x.pitch=6916", "rows do not begin at multiples of 16 bytes"}})
    CHECK_MESSAGE(refusal(text).starts_with(why), std::string(text) << ": " << refusal(text));
  CHECK(refusal("conv2d f16 nchw 2x32x9x24 k=40 r=3x3 p=1", {.few_pipelines = true})
            .starts_with("it would need pipelines"));
}

TEST_CASE("each group has its own bias and scale") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  const PlanOptions gathered = {.force = "conv2d_simt"};
  const Plan filters = planned("conv2d f32 nhwc 2x64x8x8 k=64 r=3x3 g=4 weights=krsc epi=scale+bias", hopper, gathered);
  CHECK((constant_of(filters.steps[0], GEMM_SPEC_EPILOGUE) & GEMM_EPILOGUE_VECTOR_BATCHED) != 0);
  const Plan one = planned("conv2d f32 nhwc 2x64x8x8 k=64 r=3x3 weights=krsc epi=scale+bias", hopper, gathered);
  CHECK((constant_of(one.steps[0], GEMM_SPEC_EPILOGUE) & GEMM_EPILOGUE_VECTOR_BATCHED) == 0);
}

TEST_CASE("no input channels: the epilogue alone; no output: nothing") {
  const DeviceProfile gpu = test::gpu();
  CHECK(stems(planned("conv2d f32 nhwc 2x0x8x8 k=64 r=3x3 p=1 epi=bias+relu", gpu)) == "matmul_reduce");
  CHECK(stems(planned("conv2d f16 nchw 2x0x8x8 k=64 r=3x3 p=1 epi=scale+bias w=q8", gpu)) == "matmul_reduce");
  CHECK(stems(planned("conv2d f32 nchw4c 2x0x8x8 k=62 r=3x3 p=1 epi=bias+relu", gpu)) == "conv2d_direct");
  CHECK(planned("conv2d f32 nhwc 0x3x8x8 k=64 r=3x3 p=1", gpu).steps.empty());
  CHECK(planned("conv2d f32 nhwc 2x3x8x8 k=0 r=3x3 p=1", gpu).steps.empty());
}

TEST_CASE("each barrier of a plan is needed") {
  int barriers = 0;
  for (const char* name : {"nvidia-hopper", "lavapipe", "swiftshader", "amd-rdna3", "cuda:sm_90a"}) {
    const DeviceProfile profile = test::profile_of_target(name);
    for (const char* problem :
         {"f16 nchw 2x64x32x32 k=64 r=3x3 p=1", "f16 nchw8c 2x64x32x32 k=64 r=3x3 p=1",
          "f32 nhwc 1x64x32x32 k=64 r=3x3 p=1", "f32 nchw8c 1x640x8x8 k=64 r=3x3 p=1 epi=residual",
          "f16 nhwc 1x1280x16x16 k=1280 r=3x3 p=1 weights=krsc", "f16 nchw 1x1280x16x16 k=1280 r=3x3 p=1",
          "f32 nhwc:nchw4c 1x16x8x8 k=15 r=3x3 beta=2 c=y", "f16 nchw 2x64x8x8 k=64 r=3x3 g=4 epi=residual"}) {
      const auto made = make_plan(parse_problem(std::string("conv2d ") + problem).value(), profile);
      if (!made) continue;  // f16 on SwiftShader
      CHECK(check_plan(*made, profile).has_value());
      for (std::size_t i = 0; i < made->steps.size(); ++i) {
        if (!made->steps[i].barrier_before) continue;
        Plan without = *made;
        without.steps[i].barrier_before = false;
        CHECK_MESSAGE(!check_plan(without, profile).has_value(), std::string(problem) << " on " << name);
        ++barriers;
      }
    }
  }
  CHECK(barriers > 20);
}

TEST_CASE("small images with many channels split K") {
  const Plan plan =
      planned("conv2d f16 nhwc 1x1280x16x16 k=1280 r=3x3 p=1 weights=krsc", test::profile_of_target("nvidia-hopper"));
  CHECK(stems(plan) == "conv2d_coopmat | barrier | matmul_reduce");
  CHECK(scratch_of(plan) != 0);
}

TEST_CASE("a limit of scratch: fewer splits, another way, a refusal by name; part of the plan's id") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  // A matmul takes fewer splits.
  const std::string thin = "matmul f16 nt 64x1280x8192";
  const Plan split = planned(thin, hopper);
  REQUIRE(scratch_of(split) > 0);
  const Plan none = planned(thin, hopper, {.max_scratch_bytes = 0});
  CHECK(scratch_of(none) == 0);
  CHECK(none.id != split.id);
  const Plan same = planned(thin, hopper, {.max_scratch_bytes = scratch_of(split)});
  CHECK(same.steps == split.steps);
  CHECK(same.id != split.id);
  const Plan fewer = planned(thin, hopper, {.max_scratch_bytes = scratch_of(split) - 1});
  CHECK(scratch_of(fewer) < scratch_of(split));

  for (const char* text : {"conv2d f16 nchw 1x1280x16x16 k=1280 r=3x3 p=1", "conv2d f16 nchw8c 2x64x32x32 k=64 r=3x3",
                           "conv2d f32 nchw4c 2x64x64x64 k=64 r=3x3 g=4", "conv2d f32 nchw 2x64x64x64 k=64 r=3x3 g=4",
                           "conv2d f32 nhwc 1x1280x16x16 k=1280 r=3x3 p=1"}) {
    const std::uint64_t whole = scratch_of(planned(text, hopper));
    REQUIRE(whole > 0);
    for (const std::uint64_t limit : {std::uint64_t{0}, whole / 4, whole - 1, whole}) {
      const Plan plan = planned(text, hopper, {.max_scratch_bytes = limit});
      CHECK_MESSAGE(scratch_of(plan) <= limit, text);
      // It is planned again from its text.
      const auto again = plan_from_json(to_json(plan), hopper);
      REQUIRE(again.has_value());
      CHECK(*again == plan);
    }
  }
  // Explained, and refused where it is forced.
  const std::string text = "conv2d f16 nchw 2x64x32x33 k=64 r=3x3 p=1";
  const Plan explained = planned(text, hopper, {.explain = true, .max_scratch_bytes = 1000});
  const std::string wanted =
      fmt::format("needs {} bytes of scratch, the caller allows 1000", 2 * 64 * 32 * 33 * 2 + 64 * 64 * 9 * 2);
  CHECK(std::ranges::any_of(explained.candidates, [&](const Candidate& c) {
    return c.name.starts_with("conv2d_coopmat") && c.name.ends_with(" x=nhwc w=krsc") && c.refusal == wanted;
  }));
  CHECK(error_of(text, hopper, {.force = "conv2d_coopmat", .max_scratch_bytes = 1000}).contains(wanted));
  // The cached planner has it too.
  Planner planner(hopper, nullptr, nullptr, Planner::kMostPlans, 1000);
  const auto cached = planner.plan(parse_problem(text).value());
  REQUIRE(cached.has_value());
  CHECK(scratch_of(**cached) <= 1000);
  CHECK((*cached)->choice.max_scratch_bytes == 1000);
}

TEST_CASE("what an invocation gathers in a step costs it time and registers") {
  const DeviceProfile hopper = test::profile_of_target("nvidia-hopper");
  // Few pixels: tiles of 4x4 with a deep step gather 32 runs an invocation, one after another.
  for (const char* text : {"conv2d f16 nchw 1x64x56x56 k=64 r=3x3 p=1", "conv2d f16 nchw 1x256x28x28 k=512 r=1x1 s=2"})
    CHECK_MESSAGE(planned(text, hopper).choice.candidate.starts_with("conv2d_coopmat"), text);
  // A tile of 16 of the operand that is gathered costs more than its mirror image, where that operand has 64.
  const std::string channels = "conv2d f32 nhwc 1x64x56x56 k=64 r=3x3 p=1 weights=krsc";
  const auto cost = [&](std::string_view name) {
    const Plan plan = planned(channels, hopper, {.explain = true});
    const auto found = std::ranges::find(plan.candidates, name, &Candidate::name);
    REQUIRE(found != plan.candidates.end());
    REQUIRE(found->refusal == "");
    return found->cost;
  };
  CHECK(cost("conv2d_simt 16x64x32 4x4") != cost("conv2d_simt 64x16x32 4x4"));
  // Bytes that are gathered one at a time are a register each until they are staged.
  const std::string bytes = "conv2d i8 nchw 4x36x27x55 k=64 r=3x3 s=2 p=1";
  const DeviceProfile amd = test::profile_of_target("amd-rdna3");
  CHECK(error_of(bytes, amd, {.force = "conv2d_simt 64x16x32 4x4 pixels"}).contains("needs 160 registers"));
  CHECK(planned(bytes, amd, {.force = "conv2d_simt 64x32x16 4x4 pixels"}).steps.size() == 1);
}

TEST_CASE("the same problem has the same plan, and its text plans again") {
  const DeviceProfile profiles[] = {test::profile_of_target("nvidia-hopper"), test::profile_of_target("lavapipe"),
                                    test::profile_of_target("cuda:sm_90a")};
  for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(test::scope(600, 150, 40)); ++seed) {
    const Problem problem = reference::generate_conv2d(7, seed);
    for (const DeviceProfile& profile : profiles) {
      const auto plan = make_plan(problem, profile, {.explain = seed % 8 == 0});
      REQUIRE_MESSAGE(plan.has_value(), print(problem) << ": " << plan.error().message());
      const auto again = plan_from_json(to_json(*plan), profile);
      REQUIRE_MESSAGE(again.has_value(), print(problem) << ": " << again.error().message());
      CHECK(*again == *plan);
    }
  }
}
