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
