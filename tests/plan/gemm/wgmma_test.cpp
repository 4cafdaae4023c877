// matmul_wgmma's plans: tensor maps, clusters, the operands that invocations load, and that f16, bf16 and int8 products
// use a matrix unit on sm_90a.
#include "gemm/matmul_wgmma.abi.h"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace sectile;

namespace {

Plan planned_on_hopper(const char* text, const char* force = "", std::uint32_t multiprocessors = 132) {
  DeviceProfile profile = builtin_target("cuda:sm_90a").value();
  profile.multiprocessors = multiprocessors;
  auto plan = make_plan(parse_problem(text).value(), profile, {.force = force});
  REQUIRE_MESSAGE(plan.has_value(), text << ": " << plan.error().message());
  CHECK(check_plan(*plan, profile).has_value());
  return std::move(*plan);
}

// What the planner says of a row of matmul_wgmma.
Candidate candidate_on_hopper(const std::string& problem, const std::string& row) {
  DeviceProfile profile = builtin_target("cuda:sm_90a").value();
  profile.multiprocessors = 132;
  const auto plan = make_plan(parse_problem(problem).value(), profile, {.explain = true});
  REQUIRE_MESSAGE(plan.has_value(), problem << ": " << plan.error().message());
  const auto found = std::ranges::find(plan->candidates, "matmul_wgmma " + row, &Candidate::name);
  REQUIRE_MESSAGE(found != plan->candidates.end(), row);
  return *found;
}

using Sizes = std::vector<std::uint64_t>;
using Extents = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("a tensor map has an operand's rows, its batches, and the tile as its box") {
  const Plan plan =
      planned_on_hopper("matmul f16 nt 1000x520x768 lda=776 batch=3 a.batch=800000", "matmul_wgmma 128x256 2x64");
  const Step& step = plan.steps.at(0);
  CHECK(step.kernel == KernelName{"matmul_wgmma", "f16"});
  REQUIRE(step.tensor_maps.size() == 2);
  const TensorMap &a = step.tensor_maps[0], &b = step.tensor_maps[1];
  CHECK(a.dims == Sizes{768, 1000, 3});
  CHECK(a.strides == Sizes{1552, 1600000});
  CHECK(a.box == Extents{64, 128, 1});
  CHECK(a.swizzle_bytes == 128);
  CHECK(b.dims == Sizes{768, 520, 3});
  CHECK(b.strides == Sizes{1536, 798720});
  CHECK(b.box == Extents{64, 256, 1});
  // A matrix that all batches share.
  const Plan shared = planned_on_hopper("matmul f16 nt 1000x520x768 batch=3 a.batch=0", "matmul_wgmma 128x256 2x64");
  CHECK(shared.steps.at(0).tensor_maps.at(0).dims == Sizes{768, 1000, 1});
  CHECK(shared.steps[0].tensor_maps[0].strides == Sizes{1536, 1536000});
}

TEST_CASE("an operand that is contiguous across K is copied in blocks of lines") {
  const Plan plan = planned_on_hopper("matmul bf16 tn 1000x520x768", "matmul_wgmma 128x96 2x64");
  const Step& step = plan.steps.at(0);
  REQUIRE(step.tensor_maps.size() == 2);
  CHECK(step.tensor_maps[0].dims == Sizes{1000, 768, 1});
  CHECK(step.tensor_maps[0].box == Extents{64, 64, 1});
  CHECK(step.tensor_maps[0].swizzle_bytes == 128);
  CHECK(step.tensor_maps[1].box == Extents{32, 64, 1});
  CHECK(step.tensor_maps[1].swizzle_bytes == 64);
}

TEST_CASE("batches that are 2^40 bytes apart have no tensor map") {
  for (const auto& [batch, loaded] : {std::pair{549755813880, false}, std::pair{549755813888, true}}) {
    const std::string text = fmt::format("matmul f16 nt 64x64x64 batch=2 a.batch={}", batch);
    const Plan plan = planned_on_hopper(text.c_str(), "matmul_wgmma 64x64 1x64 resident=3");
    CHECK(plan.steps.at(0).kernel.variant == (loaded ? "f16.staged-a" : "f16"));
  }
  // Rows may end that far away.
  const Plan plan = planned_on_hopper("matmul f16 nt 40000x64x64 lda=16777208", "matmul_wgmma 64x64 1x64 resident=3");
  CHECK(plan.steps.at(0).tensor_maps.at(0).strides == Sizes{33554416, 33554416});
}

TEST_CASE("tiles of whole clusters count as workgroups") {
  const char* problem = "matmul f16 nt 1x1x9 batch=1073741825 a.batch=0 b.batch=0";
  CHECK(candidate_on_hopper(problem, "64x64 1x64 cluster=1x1x4").refusal ==
        "needs 4294967300 workgroups, 2^31 - 1 are possible");
  CHECK(candidate_on_hopper(problem, "64x64 1x64 resident=3").refusal == "");
}

TEST_CASE("a vector of adjacent elements is planned as one along K") {
  for (const auto& [across, along] : {std::pair{"matmul f16 tn 1x2752x1792", "matmul f16 nn 1x2752x1792"},
                                      std::pair{"matmul bf16 nn 2752x1x1792", "matmul bf16 nt 2752x1x1792"}})
    CHECK(planned_on_hopper(across).steps == planned_on_hopper(along).steps);
  CHECK(planned_on_hopper("matmul f16 tn 1x2752x1792 lda=8").steps !=
        planned_on_hopper("matmul f16 nn 1x2752x1792").steps);
}

TEST_CASE("what no tensor map copies is loaded by invocations") {
  const auto variant = [](const char* text) {
    const Plan plan = planned_on_hopper(text, "matmul_wgmma 128x128 2x64");
    CHECK(plan.steps[0].cluster == kNoCluster);
    const std::string& name = plan.steps[0].kernel.variant;
    const std::size_t loaded =
        name.ends_with(".staged") ? 2 : name.ends_with(".staged-a") || name.ends_with(".staged-b");
    CHECK(plan.steps[0].tensor_maps.size() == 2 - loaded);
    return name;
  };
  CHECK(variant("matmul f16 nt 960x2304x770") == "f16.staged");
  CHECK(variant("matmul f16 nn 960x2304x770") == "f16.staged-a");
  CHECK(variant("matmul f16 nt 960x2304x768 b.align=8") == "f16.staged-b");
  CHECK(variant("matmul f16 nt 960x2304x768 pro=scale") == "f16.staged-a");
  CHECK(variant("matmul f16 nt 960x2304x768 batch=2 a.batch=737284") == "f16.staged-a");  // 8 bytes off
  CHECK(variant("matmul f16 nt 256x2304x768 b=q4 b.align=8") == "f16.staged-b");
  CHECK(variant("matmul i8 nt 256x2304x768") == "i8");
  CHECK(variant("matmul i8 nn 256x2304x768") == "i8.staged-b");
  CHECK(variant("matmul i8 tt 256x2304x768") == "i8.staged-a");
}

TEST_CASE("4-bit weights at multiples of 16 bytes are copied as they are, by products of 64 rows of B") {
  const auto constant = [](const Plan& plan, std::uint32_t id) {
    const auto& constants = plan.steps[0].constants;
    const auto found = std::ranges::find(constants, id, &Constant::id);
    return found != constants.end() ? found->value : 0u;
  };
  for (const auto& [problem, packed] :
       {std::pair{"matmul f16 nt 256x2304x768 b=q4", 1u},
        std::pair{"matmul bf16 nt 256x2304x777 b=q4 lda=784 ldb=800", 2u},
        std::pair{"matmul f16 nt 256x2304x768 b=q4 b.align=8", 0u}, std::pair{"matmul f16 nt 256x2304x768", 0u},
        std::pair{"matmul f16 nt 256x2304x768 b=q4 a=f32", 0u}}) {
    CAPTURE(std::string(problem));
    const Plan plan = planned_on_hopper(problem, "matmul_wgmma 32x128 2x64 swapped");
    CHECK(constant(plan, MATMUL_WGMMA_SPEC_PACKED_B) == packed);
    const std::uint32_t parts = packed != 0 ? 4 : 1;  // the longest steps of which four fit
    CHECK(constant(plan, GEMM_SPEC_TILE_K) == 64 * parts);
    const std::uint32_t step = 32 * 128 * parts + (packed != 0 ? MATMUL_WGMMA_PACKED_BYTES(128, parts) : 128 * 128);
    CHECK(plan.steps[0].workgroup_memory_bytes >= constant(plan, MATMUL_WGMMA_SPEC_STAGES) * step);
    if (packed == 0) continue;
    REQUIRE(plan.steps[0].tensor_maps.size() == 2);
    const TensorMap& map = plan.steps[0].tensor_maps[1];
    CHECK(map.element_bytes == 1);
    CHECK(map.dims[0] == (packed == 2 ? 389 : 384));
    CHECK(map.strides[0] == (packed == 2 ? 400 : 384));
    CHECK((map.box[0] == 128 && map.box[1] == 128 && map.swizzle_bytes == 128));
  }
  // Large tiles have shorter steps, and each slice the same number of stages, three or more.
  CHECK(constant(planned_on_hopper("matmul f16 nt 256x2304x768 b=q4", "matmul_wgmma 128x128 2x64 swapped"),
                 GEMM_SPEC_TILE_K) == 128);
  CHECK(constant(planned_on_hopper("matmul f16 nt 256x2304x768 b=q4", "matmul_wgmma 256x128 2x64 swapped"),
                 GEMM_SPEC_TILE_K) == 64);
  const Plan batches =
      planned_on_hopper("matmul f16 nt 16x64x768 b=q4 batch=3 b.batch=96", "matmul_wgmma 32x128 2x64 swapped");
  CHECK(batches.steps[0].tensor_maps.at(1).dims[2] == 3);
  CHECK(batches.steps[0].tensor_maps.at(1).strides[1] == 48);
  const Plan sliced = planned_on_hopper("matmul f16 nt 600x2304x768 b=q4", "matmul_wgmma 64x64 2x64 swapped slice-k=2");
  CHECK(constant(sliced, GEMM_SPEC_TILE_K) == 128);
  CHECK(constant(sliced, MATMUL_WGMMA_SPEC_STAGES) == 10);
  CHECK(sliced.steps[0].grid[0] == 10 * 36);  // a workgroup has one tile: its stages hold the sums afterwards
  const auto admits = [](const char* problem, const char* row) {
    return candidate_on_hopper(problem, row).refusal.empty();
  };
  for (const char* row : {"128x256 2x64", "96x256 2x128 swapped fit"}) {
    CHECK_FALSE(admits("matmul f16 nt 256x2304x768 b=q4", row));
    CHECK(admits("matmul f16 nt 256x2304x768", row));
  }
  CHECK(admits("matmul f16 nt 256x2304x768 b=q4", "256x128 2x64 swapped"));
  CHECK_FALSE(admits("matmul f16 nt 256x2304x768", "256x128 2x64 swapped"));
}

// Microseconds, NVIDIA H200, CUDA 13.0, 2026-11-30, sectile bench PROBLEM --force ROW.
TEST_CASE("what 4-bit weights cost follows how many warpgroups of a multiprocessor convert them") {
  for (const auto& [problem, row, measured] :
       {std::tuple{"16x8192x8192", "16x64 1x64 swapped resident=2", 20.19},   // one workgroup of one
        std::tuple{"16x28672x4096", "16x64 1x64 swapped resident=2", 29.63},  // two workgroups of one
        std::tuple{"32x7168x4096", "32x64 2x64 swapped slice-k=2", 10.61},    // one workgroup of two
        std::tuple{"16x8192x8192", "16x64 3x64 swapped slice-k=3", 15.40},    // one of three
        std::tuple{"12x6144x2048", "16x64 3x64 swapped slice-k=3", 6.65},
        std::tuple{"16x4096x4096", "16x64 1x64 swapped cluster=1x1x2", 8.52},
        std::tuple{"16x4096x4096", "16x64 2x64 swapped cluster=1x1x2 slice-k=2", 7.80}}) {
    CAPTURE(std::string(problem) + ' ' + row);
    const Candidate candidate = candidate_on_hopper(fmt::format("matmul f16 nt {} b=q4", problem), row);
    CHECK(static_cast<double>(candidate.cost) * 1e-6 == doctest::Approx(measured).epsilon(0.06));
  }
}

TEST_CASE("rows at no multiple of 4 bytes are loaded in words that are shifted together") {
  struct Row {
    const char* problem;
    std::uint32_t shifted_a, shifted_b, width_a, width_b;
  };
  for (const Row& row : {Row{"matmul f16 nt 961x2303x770", 0, 0, 2, 2}, Row{"matmul f16 nt 961x2303x771", 1, 1, 8, 8},
                         Row{"matmul f16 nn 961x2302x771", 1, 0, 8, 2}, Row{"matmul i8 tt 961x2303x771", 1, 1, 4, 16},
                         Row{"matmul f16 nn 961x2303x772 a=f32 b=q8", 0, 1, 4, 8}}) {
    CAPTURE(std::string(row.problem));
    const Plan plan = planned_on_hopper(row.problem, "matmul_wgmma 128x128 2x64");
    const auto constant = [&](std::uint32_t id) {
      return std::ranges::find(plan.steps[0].constants, id, &Constant::id)->value;
    };
    CHECK(constant(MATMUL_WGMMA_SPEC_SHIFTED_A) == row.shifted_a);
    CHECK(constant(MATMUL_WGMMA_SPEC_SHIFTED_B) == row.shifted_b);
    CHECK(constant(GEMM_SPEC_WIDTH_A) == row.width_a);
    CHECK(constant(GEMM_SPEC_WIDTH_B) == row.width_b);
  }
}

TEST_CASE("workgroups of a cluster share an operand's box, and fill whole clusters") {
  const Plan shared = planned_on_hopper("matmul f16 nt 1000x4096x4096", "matmul_wgmma 128x256 2x64 cluster=2x1x1");
  CHECK(shared.steps[0].cluster == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(shared.steps[0].grid == std::array<std::uint32_t, 3>{128, 1, 1});  // 4 x 16 clusters, 66 fit
  CHECK(shared.steps[0].tensor_maps.at(0).box == Extents{64, 128, 1});
  CHECK(shared.steps[0].tensor_maps.at(1).box == Extents{64, 128, 1});
  const Plan along_k = planned_on_hopper("matmul f16 nt 64x1024x4096", "matmul_wgmma 64x128 1x64 cluster=1x1x4");
  CHECK(along_k.steps.size() == 1);
  CHECK(along_k.steps[0].cluster == std::array<std::uint32_t, 3>{4, 1, 1});
  CHECK(along_k.steps[0].grid == std::array<std::uint32_t, 3>{32, 1, 1});
  CHECK(along_k.operands.back().role != OperandRole::scratch);
  // 4 x 32 clusters of four: fewer run at a time than 132 multiprocessors could hold.
  const Plan four =
      planned_on_hopper("matmul f16 nt 640x8192x3072", "matmul_wgmma 160x64 1x64 swapped fit cluster=1x4x1");
  CHECK(four.steps[0].grid == std::array<std::uint32_t, 3>{120, 1, 1});
  CHECK(four.steps[0].tensor_maps.at(0).box == Extents{64, 40, 1});
  CHECK(four.steps[0].tensor_maps.at(1).box == Extents{64, 64, 1});
}

TEST_CASE("a tile has as few rows of A as divide M into no more tiles") {
  const auto rows = [](const char* text, const char* row) {
    const Plan plan = planned_on_hopper(text, row);
    return std::ranges::find(plan.steps[0].constants, std::uint32_t{GEMM_SPEC_TILE_M}, &Constant::id)->value;
  };
  constexpr const char *kPlain = "matmul_wgmma 160x128 2x64 swapped fit",
                       *kSquare = "matmul_wgmma 160x128 2x64 swapped fit cluster=2x2x1",
                       *kFour = "matmul_wgmma 160x64 1x64 swapped fit cluster=1x4x1";
  CHECK(rows("matmul f16 nt 270x4096x4096", kPlain) == 144);  // 2 tiles of 135, multiples of 16
  CHECK(rows("matmul f16 nn 350x4096x4096", kPlain) == 128);  // 3 of 117
  CHECK(rows("matmul f16 nn 350x4096x4096", kSquare) == 96);  // 4 of 88: whole pairs of tiles
  CHECK(rows("matmul f16 nn 270x4096x4096", kFour) == 160);   // each of four copies whole groups of 8 rows
  CHECK(rows("matmul bf16 nt 130x4096x4096", kFour) == 160);
  CHECK(rows("matmul i8 nt 20x4096x4096", kPlain) == 32);
  CHECK(rows("matmul f16 tn 272x4096x4096", kPlain) == 160);  // contiguous across K
  CHECK(rows("matmul f16 nt 270x4096x4097", kPlain) == 160);  // loaded by invocations
}

// A workgroup of a cluster copies its share of what all need.
TEST_CASE("copies that a cluster shares cost less") {
  const auto loads = [](const char* row) {
    return candidate_on_hopper("matmul f16 nt 1000x4096x4096", row).interior.load_transactions;
  };
  // 128 bytes of each row of a tile, 32 a transaction: 128 and 256 rows, of which pairs share the 256.
  CHECK(loads("128x256 2x64") == 1536);
  CHECK(loads("128x256 2x64 cluster=2x1x1") == 1024);
  CHECK(loads("256x128 2x128 cluster=1x2x1") == 1024);
}

// The L2 hands out less to each multiprocessor the more copy: of 132 are 128 busy, then 32, each with the same work.
TEST_CASE("copies of a few multiprocessors cost less than those of all") {
  const auto cost = [](const char* text) { return candidate_on_hopper(text, "128x128 2x64 cluster=1x1x2").cost; };
  CHECK(cost("matmul f16 nt 1024x1024x8192") * 100 > cost("matmul f16 nt 256x1024x8192") * 115);
}

TEST_CASE("a grid has the workgroups that run at a time, or all where that number is not known") {
  const auto groups = [](std::uint32_t multiprocessors) {
    return planned_on_hopper("matmul f16 nt 8192x8192x1024", "matmul_wgmma 128x256 2x64", multiprocessors)
        .steps[0]
        .grid[0];
  };
  CHECK(groups(132) == 132);
  CHECK(groups(114) == 114);
  DeviceProfile unknown = builtin_target("cuda:sm_90a").value();
  unknown.multiprocessors.reset();
  const auto plan =
      make_plan(parse_problem("matmul f16 nt 8192x8192x1024").value(), unknown, {.force = "matmul_wgmma 128x256 2x64"});
  REQUIRE(plan.has_value());
  CHECK(plan->steps[0].grid[0] == 2048);
}

// Which kernel is best for a product of a few microseconds is the cost's; these are larger.
TEST_CASE("f16, bf16 and int8 products use a matrix unit on sm_90a") {
  DeviceProfile profile = builtin_target("cuda:sm_90a").value();
  profile.multiprocessors = 132;
  constexpr std::int64_t kSizes[] = {17, 64, 100, 129, 511, 770, 1000, 2304, 4096};
  constexpr const char *kTypes[] = {"f16", "bf16", "i8"}, *kLayouts[] = {"nn", "nt", "tn", "tt"};
  std::size_t turn = 0, units = 0;
  for (const std::int64_t m : kSizes)
    for (const std::int64_t n : kSizes)
      for (const std::int64_t k : {std::int64_t{770}, std::int64_t{2304}, std::int64_t{8192}}) {
        if (m * n * k < 1 << 26) continue;
        const std::string text = fmt::format("matmul {} {} {}x{}x{}", kTypes[turn % 3], kLayouts[turn % 4], m, n, k);
        ++turn;
        CAPTURE(text);
        const auto plan = make_plan(parse_problem(text).value(), profile);
        REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
        const std::string stem = plan->choice.candidate.substr(0, plan->choice.candidate.find(' '));
        // int8 across K is turned on its way to workgroup memory; for a tile or two simt's many workgroups cost less.
        if (text != "matmul i8 nn 100x100x8192")
          CHECK_MESSAGE((stem == "matmul_wgmma" || stem == "matmul_mma"), plan->choice.candidate);
        if (stem == "matmul_wgmma") ++units;
      }
  CHECK(units > 90);
}

// Of a cluster along M both workgroups are busy while one has a tile: 7 rows of tiles take as long as 8.
TEST_CASE("the tiles of a cluster that lie beyond the result cost as others do") {
  const auto cost = [](const char* row) { return candidate_on_hopper("matmul bf16 tn 864x4544x7104", row).cost; };
  // 126 tiles on 132 multiprocessors, 72 pairs on 66 pairs of them.
  CHECK(cost("128x256 2x64 cluster=2x1x1") > cost("128x256 2x64") * 3 / 2);
  CHECK(planned_on_hopper("matmul bf16 tn 864x4544x7104", "matmul_wgmma 128x256 2x64 cluster=2x1x1").steps[0].grid[0] ==
        132);
}

// Measured on the H200 (docs/lab/2026-11.md, the ninth part): 2432 by 160x64, five boxes of A four times, takes 2.1
// times 128x128's time (96.8 us, 46.0); with N = 3001 stores take 1.21 times the time (53.4, 44.0).
TEST_CASE("many small boxes, rows whose lines lie in two, and narrow stores cost more") {
  const auto ratio = [](const char* text, const char* row, const char* other_text, const char* other_row) {
    return static_cast<double>(candidate_on_hopper(text, row).cost) /
           static_cast<double>(candidate_on_hopper(other_text, other_row).cost);
  };
  constexpr const char *kAcross = "matmul f16 tn 2432x2432x2432", *kAlong = "matmul f16 nn 2432x2432x2432",
                       *kFour = "160x64 1x64 swapped fit cluster=1x4x1", *kPlain = "128x128 2x64 cluster=2x1x1",
                       *kWide = "128x256 2x64 cluster=2x1x1";
  CHECK(ratio(kAcross, kFour, kAcross, kPlain) > 1.5);
  CHECK(ratio(kAcross, kFour, kAlong, kFour) > 1.2);
  CHECK(ratio(kAcross, kPlain, kAlong, kPlain) == doctest::Approx(1));
  // A's rows of 224 are copied 32 at a time, B's of 128 64 at a time.
  CHECK(ratio("matmul f16 tn 1344x1408x8192", "224x128 2x64 swapped fit", "matmul f16 nn 1344x1408x8192",
              "224x128 2x64 swapped fit") > 1.1);
  // Rows 2000 bytes apart, and 2048.
  CHECK(ratio("matmul f16 nt 3000x3008x1000", "192x128 3x64", "matmul f16 nt 3000x3008x1000 lda=1024 ldb=1024",
              "192x128 3x64") > 1.1);
  CHECK(ratio("matmul f16 nt 3000x3001x1000", kWide, "matmul f16 nt 3000x3008x1000", kWide) ==
        doctest::Approx(1.15).epsilon(0.08));
  CHECK(ratio("matmul f16 nt 3000x3004x1000", kWide, "matmul f16 nt 3000x3008x1000", kWide) > 1.02);
}

// Lanes of swapped products have 8 adjacent elements of a row of the result, or one.
TEST_CASE("accesses of swapped products are of 8 elements or of one") {
  struct Row {
    const char *problem, *row;
    std::uint32_t width;
  };
  for (const Row& row : {Row{"matmul f16 nt 300x4096x1024", "192x128 2x64 swapped fit", 8},
                         Row{"matmul f16 nt 300x4100x1024", "192x128 2x64 swapped fit", 1},
                         Row{"matmul f16 nt 300x4096x1024 out=f32", "192x128 2x64 swapped fit", 1},
                         Row{"matmul f16 nt 300x4100x1024", "128x128 2x64", 4},
                         Row{"matmul f16 tt 152x712x1000 beta=0.5", "192x128 2x64 swapped fit", 1}}) {  // split
    CAPTURE(std::string(row.problem));
    const Plan plan = planned_on_hopper(row.problem, fmt::format("matmul_wgmma {}", row.row).c_str());
    CHECK(std::ranges::find(plan.steps[0].constants, std::uint32_t{GEMM_SPEC_WIDTH_D}, &Constant::id)->value ==
          row.width);
  }
}
