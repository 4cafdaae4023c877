// The kernels that matmuls get, how many pipelines they need, split-K and tails, and remarks on the matrix unit.
#include "plan/helpers.hpp"
#include "reference/extra_rows.hpp"
#include "reference/generate.hpp"
#include "support/scope.hpp"

#include "gemm/matmul_simt.abi.h"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>

using namespace sectile;
using test::add_pipelines;
using test::constant_of;
using test::Pipeline;
using test::planned;

namespace {

std::string chosen(const Plan& plan) {
  for (const auto& c : plan.candidates)
    if (c.chosen) return c.name;
  return "";
}

std::uint32_t constant_or_none(const Step& step, std::uint32_t id) {
  const auto at = std::ranges::find(step.constants, id, &Constant::id);
  return at == step.constants.end() ? ~0u : at->value;
}

}  // namespace

// The L2 prefetch loop prefetches both operands as contiguous runs and checks no bounds of K. It may be admissible only
// if it stays inside the operands.
TEST_CASE("the L2 prefetch loop is admissible only if it stays inside the operands") {
  const auto profile = builtin_target("nvidia-hopper");
  REQUIRE(profile.has_value());
  const auto admitted = [&](const std::string& text) {
    std::size_t count = 0;
    const Plan plan = planned(text, *profile, {.explain = true});
    for (const Candidate& c : plan.candidates) {
      if (!c.name.contains(" pipelined-l2") || !c.refusal.empty()) continue;
      ++count;
      const Plan forced = planned(text, *profile, {.force = c.name});
      CHECK(forced.steps.size() == 1);
      CHECK(forced.steps[0].kernel.variant.ends_with(".pipelined-l2"));
    }
    return count;
  };
  for (const char* text :
       {"matmul f16 nn 64x64x192", "matmul f16 nn 64x64x320", "matmul f16 tt 72x80x384 epi=bias+gelu",
        "matmul bf16 nt 33x7x512", "matmul i8 tn 64x48x1024", "matmul f16 nn 1000x1000x512 acc=f16",
        "matmul f16 nt 14000x14000x512"})
    CHECK_MESSAGE(admitted(text) > 0, std::string(text));
  for (const char* text :
       {"matmul f16 nn 64x64x128", "matmul f16 nn 64x64x200", "matmul f16 nn 64x64x260", "matmul f16 nn 64x64x0",
        "matmul f16 nn 64x64x256 batch=2", "matmul f16 nn 64x64x256 lda=264", "matmul f16 nn 64x64x256 ldb=72",
        "matmul f16 nn 64x64x256 a=f32", "matmul f16 nt 64x64x256 b=q8", "matmul f16 nt 64x64x256 b=q4",
        "matmul f16 nn 64x64x256 align=2", "matmul i8 nt 64x64x256 a.align=2", "matmul f16 nt 16384x16384x512",
        "matmul f32 nn 64x64x256"})
    CHECK_MESSAGE(admitted(text) == 0, std::string(text));
}

TEST_CASE("a new number of rows needs no new pipeline where few are asked for") {
  const int every = test::scope(1, 3, 19);
  for (const char* target : {"nvidia-hopper", "lavapipe", "amd-rdna3", "cuda:sm_80", "cuda:sm_90a"})
    for (const char* type : {"f32", "f16"})
      for (const char* layout : {"nn", "nt"}) {
        auto profile = builtin_target(target);
        REQUIRE(profile.has_value());
        std::set<Pipeline> all;
        std::set<std::string> kernels;
        for (int t = 1; t <= 512; t += t < 32 ? 1 : every) {
          const Plan plan =
              planned(fmt::format("matmul {} {} {}x768x2304", type, layout, t), *profile, {.few_pipelines = true});
          add_pipelines(plan, all);
          kernels.insert(plan.choice.candidate + (plan.steps.size() > 1 ? " split" : ""));
        }
        std::string names = fmt::format("{} {} {}: ", target, type, layout);
        for (const auto& name : kernels) names += name + "; ";
        CHECK_MESSAGE(all.size() <= 8, names);
      }
  DeviceProfile card = builtin_target("cuda:sm_80").value();
  card.multiprocessors = 132;
  CHECK(planned("matmul f16 nt 2048x2304x4096", card).steps.size() == 3);
  CHECK(planned("matmul f16 nt 2048x2304x4096", card, {.few_pipelines = true}).steps.size() == 1);
}

TEST_CASE("every matmul has a kernel") {
  const auto stem = [](const char* text, const DeviceProfile& profile) {
    return planned(text, profile).steps.at(0).kernel.stem;
  };
  CHECK(stem("matmul f32 nn 4096x4096x4096", test::gpu()) == "matmul_simt");
  CHECK(stem("matmul i8 nt 4096x4096x4096", test::gpu()) == "matmul_simt");
  CHECK(stem("matmul f32 nn 1024x1024x1024", test::cpu()) == "matmul_simt");
  CHECK(stem("matmul f32 nn 20x33x1024", test::cpu()) == "matmul_direct");
  CHECK(stem("matmul f16 nt 1x4096x4096", test::gpu()) == "matvec");
  CHECK(stem("matmul f16 nn 4096x1x4096", test::gpu()) == "matvec");
  CHECK(stem("matmul f32 nn 1000x1000x0", test::gpu()) == "matmul_reduce");
  // matvec does not take 4-bit weights with 9 rows. matmul_simt gets a small tile and not the first one of its table.
  CHECK(chosen(planned("matmul f32 nt 9x4096x4096 b=q4", test::gpu(), {.explain = true})).starts_with("matmul_simt "));
  // Rows are 2^33 bytes apart, beyond every 32-bit offset.
  const Plan far =
      planned("matmul f32 nn 3x3x3 lda=2147483647 ldb=2147483647 ldd=2147483647", test::gpu(), {.explain = true});
  CHECK(chosen(far) == "matmul_direct 1x1 far");
  // So are the two k whose 4-bit weights share a byte.
  for (const char* target : {"nvidia-hopper", "cuda:sm_80"})
    CHECK(chosen(planned("matmul f16 tt 2x3x2 b=q4 ldb=32 lda=1073741824", builtin_target(target).value(),
                         {.explain = true})) == "matmul_direct 1x1 far");
}

TEST_CASE("a row that needs 2^31 workgroups is refused, and another one planned") {
  const auto profile = builtin_target("cuda:sm_90a").value();
  const Plan plan = planned("matmul f32 nt 1x16777217x513 batch=1025 b.batch=0", profile, {.explain = true});
  CHECK(chosen(plan) != "");
  CHECK(std::ranges::any_of(plan.candidates, [](const Candidate& c) {
    return c.refusal == "needs 2149581825 workgroups, 2^31 - 1 are possible";
  }));
}

TEST_CASE("eight rows of bytes along M are not staged") {
  for (const char* target : {"intel-xe2", "intel-xe-hpg"}) {
    auto profile = builtin_target(target);
    REQUIRE(profile.has_value());
    int eights = 0;
    for (const char* layout : {"nn", "nt", "tn", "tt"}) {
      const Plan plan = planned(fmt::format("matmul i8 {} 8x512x512 batch=64", layout), *profile, {.explain = true});
      for (const auto& c : plan.candidates) {
        if (!c.name.starts_with("matmul_coopmat 8x")) continue;
        ++eights;
        CAPTURE(c.name);
        CHECK_MESSAGE(c.refusal.contains("a staged row has") == (layout[0] == 't'), layout << ": " << c.refusal);
      }
    }
    CHECK(eights == 8);  // two rows of the table in each of four layouts
  }
}

// A tile has one buffer where two would leave room for fewer workgroups on a multiprocessor.
TEST_CASE("tiles have one buffer where workgroup memory is what workgroups share") {
  const auto step_of = [](const DeviceProfile& profile, const char* candidate) {
    return planned("matmul f32 nn 1000x1000x512", profile, {.explain = false, .force = candidate}).steps.at(0);
  };
  const auto stages = [&](const Step& step) {
    const std::uint32_t n = constant_of(step, MATMUL_SIMT_SPEC_STAGES);
    const std::uint32_t rows = constant_of(step, GEMM_SPEC_TILE_M) + constant_of(step, GEMM_SPEC_TILE_N) +
                               constant_of(step, MATMUL_SIMT_SPEC_PAD_A) + constant_of(step, MATMUL_SIMT_SPEC_PAD_B);
    CHECK(step.workgroup_memory_bytes == 4 * n * constant_of(step, GEMM_SPEC_TILE_K) * rows);
    if (n == 1) CHECK(constant_of(step, MATMUL_SIMT_SPEC_PAIRED) == 0);
    CHECK(constant_of(step, MATMUL_SIMT_SPEC_PREFETCH) == 1);
    return n;
  };
  // 48 KiB together (Vulkan on Hopper): rows of K 16 and 32, and 64 invocations with a K of 8.
  for (const char* row : {"matmul_simt 64x64x16 4x8", "matmul_simt 32x32x32 4x4", "matmul_simt 64x64x8 8x8"}) {
    CAPTURE(row);
    CHECK(stages(step_of(test::gpu(), row)) == 1);
    // 228 KiB together: registers bound the workgroups.
    CHECK(stages(step_of(builtin_target("cuda:sm_90a").value(), row)) == 2);
  }
  for (const char* row : {"matmul_simt 128x128x8 8x8", "matmul_simt 128x64x8 8x8", "matmul_simt 64x128x8 8x8"}) {
    CAPTURE(row);
    CHECK(stages(step_of(test::gpu(), row)) == 2);
    CHECK(constant_of(step_of(test::gpu(), row), MATMUL_SIMT_SPEC_PAIRED) == 1);
  }
}

namespace {

Plan planned_with_extra_rows(const char* text, const std::string& force) {
  const auto plan = reference::plan_with_extra_rows(parse_problem(text).value(), test::gpu(), {.force = force});
  REQUIRE(plan.has_value());
  return *plan;
}

}  // namespace

TEST_CASE("extra rows are forced by name") {
  const std::string tile = "matmul_simt 128x128x16 8x8 ";
  std::set<Pipeline> rungs;
  for (const char* rung :
       {"staged", "cooperative", "conflict-free", "strided", "wide loads", "wide fragments", "double buffer", "banded"})
    add_pipelines(planned_with_extra_rows("matmul f32 tn 1024x1024x1024", tile + rung), rungs);
  CHECK(rungs.size() == 8);
  // The "checked" row differs from the table's row in one constant.
  const Step plain =
      planned("matmul f32 nt 960x2304x770", test::gpu(), {.explain = false, .force = "matmul_simt 128x128x8 8x8"})
          .steps.at(0);
  Step checked = planned_with_extra_rows("matmul f32 nt 960x2304x770", "matmul_simt 128x128x8 8x8 checked").steps.at(0);
  CHECK(plain != checked);
  for (auto& c : checked.constants)
    if (c.id == MATMUL_SIMT_SPEC_CHECKED) c.value = 0;
  CHECK(plain == checked);
  CHECK(constant_or_none(plain, GEMM_SPEC_WIDTH_A) == 2);  // rows of 770 are 8-byte aligned
}

TEST_CASE("staged tiles have no bank conflicts") {
  for (const char* text :
       {"matmul f32 nn 4096x4096x4096", "matmul f32 nt 4096x4096x4096", "matmul f32 tn 4096x4096x4096",
        "matmul f32 nt 4096x4096x4098", "matmul f32 nt 4096x4096x4097", "matmul i8 nt 4096x4096x4096"}) {
    const Plan plan = planned(text, test::gpu(), {.explain = true});
    for (const auto& c : plan.candidates)
      if (c.name.starts_with("matmul_simt") && c.refusal.empty() && c.name.ends_with("8x8"))
        CHECK_MESSAGE(c.interior.bank_conflicts == 0, text << " " << c.name);
  }
}

TEST_CASE("split-K needs the barrier before its reduction") {
  const Plan plan = planned("matmul f32 nn 64x64x100000", test::gpu());
  REQUIRE(plan.steps.size() == 2);
  CHECK(plan.steps[1].kernel.stem == "matmul_reduce");
  CHECK(plan.steps[1].barrier_before);
  Plan broken = plan;
  broken.steps[1].barrier_before = false;
  CHECK(!check_plan(broken).has_value());
}

// Of 160 tiles of 64x128 on 132 multiprocessors one has two, the time of two tiles. In 2, 3 or 4 parts it has 3/2, 4/3
// or 5/4.
TEST_CASE("K is split into as many parts as leave the busiest multiprocessor the least") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  // 0: K is not split.
  const auto workgroups = [](const std::string& text, const DeviceProfile& device, bool few = false,
                             const char* row = "matmul_simt 64x128x8 8x8") {
    const Plan plan = planned(text, device, {.force = row, .few_pipelines = few});
    return plan.steps.size() == 2 && plan.steps[1].kernel.stem == "matmul_reduce" ? plan.steps[0].grid[0] : 0;
  };
  CHECK(workgroups("matmul f32 nn 320x4096x2880", profile) == 4 * 160);
  CHECK(workgroups("matmul f32 nn 320x2048x2880 batch=2", profile) == 4 * 160);
  CHECK(workgroups("matmul f32 nn 576x1408x2880", profile) == 4 * 99);
  CHECK(workgroups("matmul f32 nn 1600x4096x65536", profile) == 8 * 800);  // 7 waves, or 49 eighths
  CHECK(workgroups("matmul f32 nn 320x4096x2880", profile, true) == 4 * 160);
  // Two whole waves; ten waves; a K of 15 steps; a row that is not split with few pipelines.
  for (const char* other :
       {"matmul f32 nn 1408x1536x2880", "matmul f32 nn 320x32768x2880", "matmul f32 nn 320x4096x120"})
    CHECK_MESSAGE(workgroups(other, profile) == 0, other);
  CHECK(workgroups("matmul f32 nn 640x4096x2880", profile, false, "matmul_simt 128x128x8 8x8") != 0);
  CHECK(workgroups("matmul f32 nn 640x4096x2880", profile, true, "matmul_simt 128x128x8 8x8") == 0);
  DeviceProfile unknown = profile;
  unknown.multiprocessors.reset();
  CHECK(workgroups("matmul f32 nn 320x4096x2880", unknown) == 0);
}

// 15 by 18 tiles are two waves of 132 multiprocessors and a tail of six tiles.
TEST_CASE("a tail wave that leaves multiprocessors idle is split along K") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const std::string text = "matmul f32 nt 960x2304x770";
  const Plan plan = planned(text + " ldc=2308 ldd=2312 ldr=2316 beta=0.5 epi=scale.m+bias.m+residual", profile,
                            {.force = "matmul_simt 64x128x8 8x8"});
  REQUIRE(plan.steps.size() == 3);
  CHECK(plan.steps[0].grid == std::array<std::uint32_t, 3>{14 * 18, 1, 1});
  CHECK(plan.steps[1].grid == std::array<std::uint32_t, 3>{18 * 7, 1, 1});
  CHECK(!plan.steps[1].barrier_before);
  CHECK(plan.steps[2].kernel.stem == "matmul_reduce");
  const auto offset = [&](std::size_t step, std::string_view name) {
    for (const AddressSlot& slot : plan.steps[step].addresses)
      if (plan.operands[slot.operand].name == name) return static_cast<std::int64_t>(slot.byte_offset);
    return std::int64_t{-1};
  };
  for (const char* name : {"a", "b", "c", "d", "scale", "bias", "residual"}) CHECK_MESSAGE(offset(0, name) == 0, name);
  constexpr std::int64_t kFirst = 896;
  CHECK(offset(1, "a") == kFirst * 770 * 4);
  CHECK(offset(1, "b") == 0);
  CHECK(offset(1, "d") == -1);
  CHECK(offset(1, "scratch") == 0);
  for (const auto& [name, ld] : {std::pair{"c", 2308}, std::pair{"d", 2312}, std::pair{"residual", 2316}})
    CHECK_MESSAGE(offset(2, name) == kFirst * ld * 4, name);
  for (const char* name : {"scale", "bias"}) CHECK_MESSAGE(offset(2, name) == kFirst * 4, name);
  REQUIRE(check_plan(plan).has_value());
  Plan broken = plan;
  broken.steps[2].barrier_before = false;
  CHECK(!check_plan(broken).has_value());
  // If A is stored K x M, a row's offset is one element. All rows share a vector along N.
  const Plan transposed =
      planned("matmul f32 tn 960x2304x770 epi=bias", profile, {.force = "matmul_simt 64x128x8 8x8"});
  REQUIRE(transposed.steps.size() == 3);
  CHECK(transposed.steps[1].addresses[0].byte_offset == kFirst * 4);
  for (const AddressSlot& slot : transposed.steps[2].addresses)
    if (transposed.operands[slot.operand].name == "bias") CHECK(slot.byte_offset == 0);
  // No tail is split for whole waves, a short K, or batches.
  for (const char* other :
       {"matmul f32 nt 1408x1536x770", "matmul f32 nt 960x2304x64", "matmul f32 nt 960x2304x770 batch=2"})
    CHECK_MESSAGE(planned(other, profile, {.force = "matmul_simt 64x128x8 8x8"}).steps.size() == 1, other);
  // No tail is split if the number of multiprocessors is unknown.
  DeviceProfile unknown = profile;
  unknown.multiprocessors.reset();
  CHECK(planned(text, unknown, {.force = "matmul_simt 64x128x8 8x8"}).steps.size() == 1);
}

// The cheapest candidate splits a tail, whose kernels the plan of another size does not have.
TEST_CASE("a pack without the kernels of a split tail still serves the size") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const PlanOptions forced{.force = "matmul_simt 64x128x8 8x8"};
  const Plan whole = planned("matmul f32 nt 1408x1536x770", profile, forced);
  REQUIRE(whole.steps.size() == 1);
  REQUIRE(planned("matmul f32 nt 960x2304x770", profile, forced).steps.size() == 3);
  const test::KernelsOf kernels(whole);
  const Plan plan = planned("matmul f32 nt 960x2304x770", profile, {.kernels = &kernels});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].kernel == whole.steps[0].kernel);
  CHECK(plan.steps[0].constants == whole.steps[0].constants);
}

// lavapipe compiles four times as long where int8 is multiplied by 64x64x8.
TEST_CASE("int8 has a row of short code on CPU devices, and nothing else has it") {
  constexpr const char* kRow = "simt 64x64x4 8x8 serial";
  constexpr const char* kInt8[] = {"matmul i8 nt 256x256x256", "matmul i8 nn 1024x1024x1024",
                                   "conv2d i8 nhwc 1x16x9x9 k=16 r=3x3 p=1", "conv2d i8 nchw 1x3x40x40 k=32 r=3x3 p=1"};
  for (const char* target : {"lavapipe", "swiftshader"}) {
    const DeviceProfile profile = builtin_target(target).value();
    for (const std::string_view text : kInt8) {
      // SwiftShader has no accesses of 1 byte, which an image of 3 channels wants.
      if (target == std::string_view("swiftshader") && text.contains("nchw")) continue;
      CHECK_MESSAGE(planned(std::string(text), profile).choice.candidate.contains(kRow), text);
    }
    for (const char* text : {"matmul f32 nt 256x256x256", "conv2d f32 nhwc 1x16x9x9 k=16 r=3x3 p=1"})
      CHECK_MESSAGE(!planned(text, profile).choice.candidate.contains(kRow), text);
  }
  for (const Candidate& candidate : planned(kInt8[0], test::gpu(), {.explain = true}).candidates)
    if (candidate.name.contains(kRow)) CHECK(candidate.refusal == "a row for int8 on CPU devices only");
}

TEST_CASE("no barrier of a matmul can be left out") {
  std::size_t deleted = 0;
  std::set<std::string> stems;  // with split-K
  for (const char* target : {"lavapipe", "nvidia-hopper", "amd-rdna3", "intel-xe-hpg"}) {
    const DeviceProfile profile = builtin_target(target).value();
    for (std::uint64_t index = 0; index < 150; index += test::scope(1u, 3u, 10u)) {
      const Problem problem = reference::generate_matmul(11, index);
      const auto explained = reference::plan_with_extra_rows(problem, profile, {.explain = true});
      REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
      for (const Candidate& candidate : explained->candidates) {
        if (!candidate.refusal.empty()) continue;
        const auto plan = reference::plan_with_extra_rows(problem, profile, {.force = candidate.name});
        REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
        REQUIRE(check_plan(*plan).has_value());
        for (std::size_t step = 0; step < plan->steps.size(); ++step) {
          if (!plan->steps[step].barrier_before) continue;
          Plan broken = *plan;
          broken.steps[step].barrier_before = false;
          CHECK_MESSAGE(!check_plan(broken).has_value(), target << ": " << print(problem) << ": " << candidate.name);
          ++deleted;
          stems.insert(plan->steps[0].kernel.stem);
        }
      }
    }
  }
  MESSAGE(deleted << " barriers left out");
  CHECK(deleted > 100);
  for (const char* stem : {"matmul_simt", "matmul_coopmat", "matvec"}) CHECK_MESSAGE(stems.contains(stem), stem);
}

TEST_CASE("every target uses its matrix unit or says why not") {
  const Problem problem = parse_problem("matmul f16 nn 2048x2048x2048").value();
  std::set<std::string> used;
  for (const std::string_view target : builtin_target_names()) {
    CAPTURE(target);
    const DeviceProfile profile = builtin_target(target).value();
    const auto plan = make_plan(problem, profile);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    const std::string& stem = plan->steps[0].kernel.stem;
    const bool unit = stem.starts_with("matmul_coopmat") || stem == "matmul_mma" || stem == "matmul_wgmma";
    if (unit) used.insert(std::string(target));
    CHECK(matrix_unit_remark(*plan, profile).empty() == unit);
    if (profile.matrix_shapes.empty()) CHECK(matrix_unit_remark(profile).empty() == !profile.matrix_units.empty());
  }
  CHECK(used == std::set<std::string>{"nvidia-turing", "nvidia-ampere", "nvidia-ada", "nvidia-hopper",
                                      "nvidia-blackwell", "amd-rdna3", "amd-rdna4", "intel-xe-hpg", "intel-xe2",
                                      "cuda:sm_75", "cuda:sm_80", "cuda:sm_86", "cuda:sm_89", "cuda:sm_90a",
                                      "cuda:sm_100", "cuda:sm_103", "cuda:sm_120"});
}

TEST_CASE("a remark says why the matrix unit is not used") {
  const auto remark = [](const char* text, const DeviceProfile& profile) {
    return matrix_unit_remark(make_plan(parse_problem(text).value(), profile).value(), profile);
  };
  const auto target = [](const char* name) { return builtin_target(name).value(); };
  constexpr const char* kText = "matmul f16 nn 512x512x512";
  CHECK(remark(kText, target("intel-xe-lpg")) == "the matrix unit is not known, and not used");
  CHECK(remark(kText, target("cuda:sm_90a")).empty());
  CHECK(remark("matmul bf16 nn 512x512x512", target("cuda:sm_75")) ==
        "the matrix unit is not used: mma.sync multiplies bf16 from sm_80 on");
  DeviceProfile other = target("cuda:sm_80");
  other.matrix_units = {"hmma"};
  CHECK(remark(kText, other) == "the matrix unit (hmma) is not used: there is no CUDA kernel for it");
  CHECK(remark(kText, target("lavapipe")) == "the matrix unit is not used: another kernel costs less");
  DeviceProfile hopper = target("nvidia-hopper");
  CHECK(remark(kText, hopper).empty());
  CHECK(remark("matmul f32 nn 512x512x512", target("intel-xe-lpg")).empty());  // matrix units do not multiply f32
  CHECK(remark("matmul f16 nn 1x4096x4096", target("intel-xe-lpg")).empty());  // matvec serves it on every device
  CHECK(remark("matmul f16 nn 512x512x0", target("intel-xe-lpg")).empty());
  // Sums that may be kept in f16 are kept in f32 where the unit adds up in f32 alone.
  CHECK(remark("matmul f16 nn 512x512x512 acc=f16", target("intel-xe-hpg")).empty());
  hopper.matrix_shapes.clear();
  CHECK(remark(kText, hopper) == "the matrix unit's shapes are not known, and it is not used");
  hopper.cooperative_matrix = false;
  hopper.sources["cooperative_matrix"] = "quirk: slow (an issue)";
  CHECK(remark(kText, hopper) == "the device has no matrix unit to use: quirk: slow (an issue)");
  // What the driver offers and the application has not enabled is not the driver's lack.
  hopper.sources["cooperative_matrix"] = std::string(kNotEnabled) + "cooperativeMatrix";
  CHECK(remark(kText, hopper) == "the matrix unit is not used; not enabled by the application: cooperativeMatrix");
  DeviceProfile narrow = target("nvidia-hopper");
  narrow.float16 = false;
  narrow.sources["float16"] = std::string(kNotEnabled) + "shaderFloat16";
  CHECK(remark(kText, narrow) ==
        "the matrix unit is not used: needs f16 arithmetic, which the device lacks; not enabled by the application: "
        "shaderFloat16");
}

TEST_CASE("a convolution without the matrix unit says why") {
  const auto remark = [](const char* text, const DeviceProfile& profile) {
    const auto plan = make_plan(parse_problem(text).value(), profile);
    return plan ? plan_remark(*plan, profile) : plan.error().message();
  };
  const auto target = [](const char* name) { return builtin_target(name).value(); };
  constexpr const char* kText = "conv2d f16 nhwc 1x64x56x56 k=64 r=3x3 p=1";
  CHECK(remark(kText, target("nvidia-hopper")).empty());
  CHECK(remark(kText, target("intel-xe-lpg")) == "the matrix unit is not known, and not used");
  CHECK(remark("conv2d f16 nhwc 1x64x56x56 k=64 r=1x1", target("intel-xe-lpg")) ==
        "the matrix unit is not known, and not used");
  CHECK(remark("conv2d f32 nhwc 1x64x56x56 k=64 r=3x3 p=1", target("intel-xe-lpg")).empty());
  CHECK(remark("conv2d f16 nhwc 1x64x56x56 k=64 r=3x3 p=1 g=64", target("intel-xe-lpg")).empty());  // depthwise
  CHECK(remark("conv2d f16 nhwc 1x64x56x56 k=128 r=3x3 p=1 g=64", target("intel-xe-lpg")).empty());
  CHECK(remark(kText, target("cuda:sm_80")) ==
        "the matrix unit is not used: no CUDA kernel multiplies a gathered image by it");
  DeviceProfile hopper = target("nvidia-hopper");
  for (MatrixShape& shape : hopper.matrix_shapes) shape.k = 1024;
  CHECK(remark(kText, hopper)
            .starts_with("the matrix unit is not used: the device lists no f16 x f16 -> f32 matrix that divides"));
  CHECK(remark("conv2d f16 nhwc 1x64x56x56 k=64 r=1x1", hopper)
            .starts_with("the matrix unit is not used: the device lists no f16 x f16 -> f32 matrix that divides"));
}

TEST_CASE("a permute whose elements move in words says so") {
  const auto remark = [](const char* text, const DeviceProfile& profile) {
    return plan_remark(make_plan(parse_problem(text).value(), profile).value(), profile);
  };
  DeviceProfile words = builtin_target("nvidia-hopper").value();
  for (const char* text : {"permute u8 63x65 axes=1,0", "permute f16 63x65 axes=1,0"})
    CHECK(remark(text, words).empty());
  words.storage8 = words.storage16 = false;
  CHECK(remark("permute u8 63x65 axes=1,0", words) ==
        "elements move in words of 4 bytes, which is slower: accesses of 1 byte are not there");
  CHECK(remark("permute f32 63x65 axes=1,0", words).empty());
  words.sources["storage16"] = std::string(kNotEnabled) + "storageBuffer16BitAccess";
  CHECK(remark("permute f16 63x65 axes=1,0", words) ==
        "elements move in words of 4 bytes, which is slower: accesses of 2 bytes are not there; not enabled by the "
        "application: storageBuffer16BitAccess");
  words.storage16.reset();
  words.sources.erase("storage16");
  CHECK(remark("permute f16 63x65 axes=1,0", words).find("are not known to be there") != std::string::npos);
}

TEST_CASE("f16 sums take the matrix unit of a device that adds up in f32 alone") {
  const auto candidate = [](const char* text, const DeviceProfile& profile) {
    return make_plan(parse_problem(text).value(), profile).value().choice.candidate;
  };
  for (const char* name : {"intel-xe-hpg", "intel-xe2"}) {
    const DeviceProfile profile = builtin_target(name).value();
    CHECK(candidate("matmul f16 nn 512x512x512 acc=f16", profile) == candidate("matmul f16 nn 512x512x512", profile));
    CHECK(candidate("matmul f16 nn 512x512x512 acc=f16", profile).starts_with("matmul_coopmat "));
  }
  // The canary may leave a device with one kind of sums.
  DeviceProfile hopper = builtin_target("nvidia-hopper").value();
  const auto variant = [&] {
    return make_plan(parse_problem("matmul f16 nn 2048x2048x2048 acc=f16").value(), hopper)
        .value()
        .steps[0]
        .kernel.variant;
  };
  CHECK(variant().starts_with("f16.f16."));
  std::erase_if(hopper.matrix_shapes, [](const MatrixShape& shape) { return shape.c == "f16"; });
  CHECK(variant().starts_with("f16."));
  CHECK_FALSE(variant().starts_with("f16.f16."));
}

TEST_CASE("kernels that let the device round f32 to f16 are not for a device that rounds otherwise") {
  DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const auto refused = [&](const std::string& text, std::string_view stem) {
    bool every = true, any = false;
    for (const Candidate& c : planned(text, profile, {.explain = true}).candidates) {
      if (!c.name.starts_with(std::string(stem) + " ")) continue;
      any = any || c.refusal.empty();
      every = every && c.refusal.starts_with("the device converts to f16 otherwise");
    }
    CHECK(any != every);
    return every;
  };
  for (const std::optional<bool> right : {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    profile.f16_conversion = right;
    const bool wrong = right == false;
    CHECK(refused("matmul f16 nn 512x512x512", "matmul_coopmat") == wrong);
    CHECK(refused("matmul f16 nn 512x512x512 out=f32", "matmul_coopmat") == wrong);
    CHECK(refused("matmul bf16 nn 512x512x512 out=f16", "matmul_coopmat") == wrong);
    CHECK_FALSE(refused("matmul bf16 nn 512x512x512", "matmul_coopmat"));
    CHECK_FALSE(refused("matmul i8 nn 512x512x512", "matmul_coopmat"));
    CHECK(refused("conv2d f16 nhwc 2x64x32x32 k=64 r=3x3 p=1 weights=krsc", "conv2d_coopmat") == wrong);
  }
}

TEST_CASE("a reduction of distant rows computes one address per row") {
  const DeviceProfile profile = builtin_target("nvidia-hopper").value();
  const auto rows = [&](const char* text) {
    return constant_or_none(make_plan(parse_problem(text).value(), profile).value().steps.back(), GEMM_SPEC_TILE_M);
  };
  CHECK(rows("matmul f32 nn 200x4x0") == 1);
  CHECK(rows("matmul f32 nn 200x4x0 ldd=4000000") == 1);
  CHECK(rows("matmul f32 nn 200x4x0 ldd=5000000") == 2);  // 129 rows of 20 MB: past 2^31 bytes
  CHECK(rows("matmul f32 nn 200x4x0 beta=1 ldc=5000000") == 2);
  CHECK(rows("matmul f32 nn 2x4x0 ldd=5000000") == 1);
  // 129 rows and a run of 4 elements, right below 2^31 bytes and beyond, by pitches that runs of 4 can have.
  CHECK(rows("matmul f32 nn 200x4x0 ldd=4161788") == 1);
  CHECK(rows("matmul f32 nn 200x4x0 ldd=4161792") == 2);
}

TEST_CASE("an epilogue alone needs the accesses that its result has") {
  DeviceProfile words = builtin_target("nvidia-hopper").value();
  words.storage8 = words.storage16 = false;
  const auto plan = [&](const char* text) { return make_plan(parse_problem(text).value(), words); };
  CHECK(plan("matmul f16 nn 8x8x0").has_value());
  for (const char* text :
       {"matmul f16 nn 8x7x0", "matmul f16 nn 8x8x0 epi=bias", "conv2d f16 nhwc 1x0x4x4 k=3 r=1x1"}) {
    const auto refused = plan(text);
    REQUIRE_MESSAGE(!refused, text);
    CHECK(refused.error().kind == ErrorKind::unsupported);
    CHECK(refused.error().what.starts_with("accesses of 2 bytes on "));
  }
}
