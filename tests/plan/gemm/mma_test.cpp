// matmul_mma's plans: how an operand comes to workgroup memory.
#include "gemm/gemm.abi.h"
#include "gemm/matmul_mma.abi.h"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>

using namespace sectile;

TEST_CASE("matmul_mma copies rows at multiples of 4 bytes, and loads others in words that are shifted together") {
  struct Row {
    const char* problem;
    std::uint32_t copy_a, copy_b, shifted_a, shifted_b, width_a, width_b;
  };
  for (const Row& row : {
           Row{"matmul f16 nt 961x2303x770", 1, 1, 0, 0, 2, 2},
           Row{"matmul f16 nt 961x2303x771", 0, 0, 1, 1, 8, 8},
           Row{"matmul f16 nn 961x2302x771", 0, 1, 1, 0, 8, 2},
           Row{"matmul f16 nt 961x2303x768 a.align=2", 0, 1, 1, 0, 8, 8},
           Row{"matmul f16 nt 961x2303x768 batch=2 b.batch=1768705", 1, 0, 0, 1, 8, 8},
           Row{"matmul f16 nn 961x2303x772 a=f32 b=q8", 0, 0, 0, 1, 4, 8},
           Row{"matmul f16 nn 961x2303x771 a=f32 b=q8", 0, 0, 0, 1, 1, 8},
           Row{"matmul bf16 nt 961x2303x771 pro=scale", 0, 0, 1, 1, 8, 8},
           Row{"matmul f16 nt 961x2303x771 b=q4 ldb=800", 0, 0, 1, 1, 8, 8},
           Row{"matmul f16 nt 961x2303x768 b=q4", 1, 0, 0, 0, 8, 8},
           Row{"matmul i8 nt 961x2303x772", 1, 1, 0, 0, 4, 4},
           Row{"matmul i8 tt 961x2303x770", 0, 0, 1, 1, 4, 16},
           Row{"matmul i8 tn 960x2302x770", 0, 0, 0, 1, 4, 4},
       }) {
    CAPTURE(std::string(row.problem));
    const DeviceProfile profile = builtin_target("cuda:sm_80").value();
    const auto plan = make_plan(parse_problem(row.problem).value(), profile, {.force = "matmul_mma 64x64x32 32x32"});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    CHECK(check_plan(*plan, profile).has_value());
    const auto constant = [&](std::uint32_t id) {
      return std::ranges::find(plan->steps[0].constants, id, &Constant::id)->value;
    };
    CHECK(constant(MATMUL_MMA_SPEC_COPY_A) == row.copy_a);
    CHECK(constant(MATMUL_MMA_SPEC_COPY_B) == row.copy_b);
    CHECK(constant(MATMUL_MMA_SPEC_SHIFTED_A) == row.shifted_a);
    CHECK(constant(MATMUL_MMA_SPEC_SHIFTED_B) == row.shifted_b);
    CHECK(constant(GEMM_SPEC_WIDTH_A) == row.width_a);
    CHECK(constant(GEMM_SPEC_WIDTH_B) == row.width_b);
  }
}

TEST_CASE("matmul_mma copies 4-bit weights as they are where 16 bytes of them are aligned") {
  struct Row {
    const char *problem, *candidate, *target;
    std::uint32_t packed;
  };
  const char *const tile = "matmul_mma 64x64x64 32x32", *const sliced = "matmul_mma 16x64x256 16x32 slice-k=4";
  for (const Row& row : {
           Row{"matmul f16 nt 60x2303x768 b=q4", tile, "cuda:sm_80", 1},
           Row{"matmul bf16 tt 60x2303x768 b=q4 ldb=832", sliced, "cuda:sm_90a", 1},
           Row{"matmul f16 nt 60x2303x771 b=q4 ldb=800", sliced, "cuda:sm_90a", 2},  // the last block has 3 elements
           Row{"matmul f16 nt 60x2303x768 b=q4 b.align=8", tile, "cuda:sm_80", 0},
           Row{"matmul f16 nt 60x2303x768 b=q4", tile, "cuda:sm_75", 0},
           Row{"matmul f16 nt 60x2303x768 b=q4", "matmul_mma 64x64x32 32x32", "cuda:sm_80", 0},  // a step of one block
           Row{"matmul f16 nt 60x2303x768 b=q8", tile, "cuda:sm_80", 0},
       }) {
    CAPTURE(std::string(row.problem));
    const DeviceProfile profile = builtin_target(row.target).value();
    const auto planned = [&](bool few) {
      auto plan =
          make_plan(parse_problem(row.problem).value(), profile, {.force = row.candidate, .few_pipelines = few});
      REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
      CHECK(check_plan(*plan, profile).has_value());
      return std::move(plan->steps[0]);
    };
    const auto packing = [](const Step& step) {
      const auto at = std::ranges::find(step.constants, std::uint32_t{MATMUL_MMA_SPEC_PACKED_B}, &Constant::id);
      return at == step.constants.end() ? 0 : at->value;
    };
    const Step step = planned(false);
    CHECK(packing(step) == row.packed);
    const auto copied = std::ranges::find(step.constants, std::uint32_t{MATMUL_MMA_SPEC_COPY_B}, &Constant::id);
    CHECK(copied->value == (row.packed != 0 ? 1 : 0));
    // One kernel serves every K.
    CHECK(packing(planned(true)) == (row.packed != 0 ? 2 : 0));
  }
}
