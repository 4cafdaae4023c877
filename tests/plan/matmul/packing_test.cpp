// Matmuls whose operands a permute packs first.
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace sectile;

namespace {

DeviceProfile card() {
  DeviceProfile profile = builtin_target("cuda:sm_90a").value();
  profile.multiprocessors = 132;
  return profile;
}

Plan plan_on_card(std::string_view text, const PlanOptions& options = {}) {
  auto plan = make_plan(parse_problem(text).value(), card(), options);
  REQUIRE_MESSAGE(plan.has_value(), text << ": " << plan.error().message());
  CHECK(check_plan(*plan, card()).has_value());
  return std::move(*plan);
}

std::uint64_t scratch_of(const Plan& plan) {
  const auto scratch = std::ranges::find(plan.operands, OperandRole::scratch, &PlanOperand::role);
  return scratch == plan.operands.end() ? 0 : scratch->bytes;
}

std::size_t permutes_of(const Plan& plan) {
  return static_cast<std::size_t>(
      std::ranges::count_if(plan.steps, [](const Step& step) { return step.kernel.stem.starts_with("permute_"); }));
}

}  // namespace

TEST_CASE("operands that no copy takes as they lie are packed where that costs less") {
  struct Row {
    const char *problem, *way;
    std::size_t permutes;
  };
  for (const Row& row : {
           Row{"matmul f16 nn 2931x2931x2931", " pack=ab", 2},
           Row{"matmul f16 nt 2931x2931x2931 ldb=2936", " pack=a", 1},
           Row{"matmul f16 nt 2931x2931x2931 lda=2936 b.align=2", " pack=b", 1},
           Row{"matmul i8 nn 4096x2048x4096", " pack=b", 1},  // across K
           Row{"matmul f16 nn 4096x4096x4096", "", 0}, Row{"matmul i8 nt 4096x4096x4096", "", 0},
           Row{"matmul f32 nn 2931x2931x2931", "", 0},
           Row{"matmul f16 nt 2931x2931x2931 lda=2936 ldb=2944 b=q4", "", 0},
           Row{"matmul f16 nt 1x4097x4097", "", 0},                // packing B reads and writes what one pass reads
           Row{"matmul f16 nt 2049x300001x2049 lda=2056", "", 0},  // B's copy would have more than 1 GiB
       }) {
    CAPTURE(std::string(row.problem));
    const Plan plan = plan_on_card(row.problem);
    const std::string& name = plan.choice.candidate;
    const auto at = name.find(" pack=");
    CHECK((at == name.npos ? std::string() : name.substr(at)) == row.way);
    CHECK(permutes_of(plan) == row.permutes);
    if (row.permutes == 0) continue;
    // The GEMM waits for all of them, and they for nothing.
    for (std::size_t i = 0; i < plan.steps.size(); ++i) CHECK(plan.steps[i].barrier_before == (i >= row.permutes));
    // The same by its name.
    const Plan forced = plan_on_card(row.problem, {.force = name});
    CHECK(forced.choice.candidate == name);
    CHECK(forced.steps == plan.steps);
    CHECK(forced.operands == plan.operands);
  }
}

TEST_CASE("operands are packed within the scratch that is allowed, and not where few pipelines are wanted") {
  constexpr const char* kText = "matmul f16 nn 2931x2931x2931";
  const std::uint64_t scratch = scratch_of(plan_on_card(kText));
  CHECK(scratch >= 2 * 2931 * 2936 * 2);
  CHECK(permutes_of(plan_on_card(kText, {.max_scratch_bytes = scratch})) == 2);
  CHECK(permutes_of(plan_on_card(kText, {.max_scratch_bytes = scratch - 1})) < 2);
  CHECK(permutes_of(plan_on_card(kText, {.max_scratch_bytes = 0})) == 0);
  CHECK(permutes_of(plan_on_card(kText, {.few_pipelines = true})) == 0);
}

TEST_CASE("what a split of K needs of the scratch counts with packed operands") {
  constexpr const char* kText = "matmul f16 nn 513x513x8191";
  const std::uint64_t packed = 513 * 8192 * 2 + 8191 * 520 * 2;
  const Plan plan = plan_on_card(kText);
  CHECK(permutes_of(plan) == 2);
  REQUIRE(scratch_of(plan) > packed);
  for (const std::uint64_t most : {scratch_of(plan) - 1, packed}) {
    const Plan within = plan_on_card(kText, {.max_scratch_bytes = most});
    CHECK(permutes_of(within) > 0);
    CHECK(scratch_of(within) <= most);
  }
}

TEST_CASE("a matrix that all batches share is packed once, and each copy begins at a multiple of 256 bytes") {
  const Plan plan = plan_on_card("matmul f16 nn 815x815x815 batch=3 a.batch=0");
  REQUIRE(permutes_of(plan) == 2);
  const std::uint64_t matrix = 815 * 832 * 2, b = matrix / 256 * 256 + 256;
  const auto written = [&](std::size_t step) {
    return std::ranges::find(plan.steps[step].accesses, true, &AccessRange::write)->begin;
  };
  CHECK(written(0) == 0);
  CHECK(written(1) == b);
  CHECK(scratch_of(plan) == b + 3 * matrix);
}

TEST_CASE("an explanation lists packed candidates by their names, and one is chosen") {
  const Plan plan = plan_on_card("matmul f16 nn 815x815x815", {.explain = true});
  std::size_t chosen = 0, packed = 0;
  for (const Candidate& candidate : plan.candidates) {
    chosen += candidate.chosen ? 1 : 0;
    packed += candidate.name.ends_with(" pack=ab") ? 1 : 0;
    if (candidate.chosen) CHECK(candidate.name == plan.choice.candidate);
  }
  CHECK(chosen == 1);
  CHECK(packed > 50);
}

// 64 elements of a row then lie in one line of the L2.
TEST_CASE("packed rows of 128 bytes and more begin at multiples of 128") {
  const auto pitches = [](const char* text, const char* row) {
    const Plan plan = plan_on_card(text, {.force = row});
    std::vector<std::uint64_t> out;
    for (const TensorMap& map : plan.steps.back().tensor_maps) out.push_back(map.strides.at(0));
    return out;
  };
  using Pitches = std::vector<std::uint64_t>;
  CHECK(pitches("matmul f16 nt 1001x1001x1001", "matmul_wgmma 128x128 2x64 pack=ab") == Pitches{2048, 2048});
  CHECK(pitches("matmul f16 nn 1001x2931x1500", "matmul_wgmma 128x128 2x64 pack=ab") == Pitches{3072, 5888});
  CHECK(pitches("matmul bf16 nn 512x45x64 batch=9", "matmul_wgmma 128x128 2x64 pack=b") == Pitches{128, 96});
}
