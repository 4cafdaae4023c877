// Matmuls whose last rows are split apart: generated problems are too small for it, and CPU drivers do not say how many
// tiles they work on at a time.
#include "reference/extra_rows.hpp"
#include "run_matmul.hpp"
#include "support/scope.hpp"

#include "gemm/gemm.abi.h"

#include <sectile/planner.hpp>

#include <iterator>
#include <span>
#include <string>
#include <variant>

using namespace sectile;
using namespace sectile::test;

namespace {

struct Row {
  const char *problem, *force;
};

// Four tiles and a fifth, or two and a third, for two cores.
constexpr Row kRows[] = {
    {"matmul f32 nn 150x29x1024 beta=0.5 epi=scale.m+bias.m+residual", "matmul_simt 32x32x16 4x4"},
    {"matmul f32 tn 150x29x1031 lda=161 epi=bias.m+residual", "matmul_simt 32x32x16 4x4"},
    {"matmul f16 tn 152x29x1024 beta=0.5 c=d epi=bias.m+relu+residual", "matmul_simt 32x32x16 4x4"},
    {"matmul bf16 nt 150x31x1032 beta=0.5 ldc=35 ldd=33 ldr=38 epi=scale+bias+residual", "matmul_simt 32x32x16 4x4"},
    {"matmul i8 tt 150x29x2048 epi=bias.m+relu+residual", "matmul_simt 32x32x16 4x4"},
    {"matmul f16 nt 150x28x1024 b=q4 pro=scale beta=0.25 epi=bias.m", "matmul_simt 32x32x16 4x4"},
    {"matmul f16 nt 96x30x1024 acc=f16 beta=1 epi=bias.m", "matmul_coopmat 32x32x32 16x16 serial"},
    {"matmul f16 nt 40x16x512", "matmul_coopmat 16x16x16 8x16 pipelined"},
    {"matmul i8 tt 96x32x1024 out=f16 epi=scale.m+bias.m", "matmul_coopmat 32x32x32 16x32 serial slice-k=2"},
};

// How many of `all` run. SwiftShader compiles such a kernel for seconds, and what any driver computes no sanitizer
// sees.
std::size_t part_of(const vulkan::Runtime& runtime, std::size_t all) {
  return scope(all, runtime.entry().name.starts_with("SwiftShader") ? 1 : all, std::size_t{1});
}

}  // namespace

TEST_CASE("last rows that are split apart come out right") {
  on_every_compiler([](vulkan::Runtime& runtime) {
    DeviceProfile two = runtime.profile();
    two.multiprocessors = 2;
    two.kind = DeviceKind::cpu;  // a GPU of two would have the rows for few tiles
    const std::size_t rows = part_of(runtime, std::size(kRows));
    std::size_t run = 0;
    for (const Row& row : std::span(kRows).first(rows)) {
      CAPTURE(std::string(row.problem));
      const auto problem = parse_problem(row.problem);
      REQUIRE(problem.has_value());
      const auto plan = reference::plan_with_extra_rows(*problem, two, {.force = row.force});
      if (!plan.has_value()) {  // matrix units and narrow accesses, not every device has
        REQUIRE(plan.error().kind == ErrorKind::unsupported);
        continue;
      }
      REQUIRE(plan->steps.size() == 3);
      run_matmul(runtime, std::get<MatmulProblem>(*problem), *plan);
      ++run;
    }
    const bool all = two.cooperative_matrix.value_or(false) && two.name.starts_with("llvmpipe");
    CHECK(run >= (all ? rows : 1));
    MESSAGE(run << " problems on " << two.name);
  });
}

// No row of the planner's own stages without a prefetch: rows of a tuned file may.
TEST_CASE("a loop that stages each step as it is fetched comes out right over several steps") {
  on_every_compiler([](vulkan::Runtime& runtime) {
    const auto problem = must(parse_problem("matmul f32 nn 70x37x75 epi=bias"));
    const auto plan = must(reference::plan_by_fetched_row(problem, runtime.profile()));
    // Subgroups wait for each other in it.
    CHECK(plan.steps[0].workgroup[0] == 64);
    run_matmul(runtime, std::get<MatmulProblem>(problem), plan);
  });
}

// Which of the two the planner takes depends on how far apart a result's rows lie: too far for a test.
TEST_CASE("reductions come out right by offsets and by addresses") {
  on_every_compiler([](vulkan::Runtime& runtime) {
    const std::string texts[] = {"matmul f32 nt 77x1x0 beta=0.3 epi=scale.m+bias+residual",
                                 "matmul f32 nn 33x31x1031 epi=bias", "matmul f32 nn 40x28x1024 beta=0.5 c=d ldd=30"};
    for (const std::string& text : std::span(texts).first(part_of(runtime, std::size(texts)))) {
      CAPTURE(text);
      const Problem problem = must(parse_problem(text));
      PlanOptions options;
      if (!text.contains("x0 ")) options.force = "matmul_simt 64x64x8 8x8";  // one tile, in splits
      Plan plan = must(make_plan(problem, runtime.profile(), options));
      for (const std::uint32_t rows : {1u, 2u}) {
        CAPTURE(rows);
        // Subgroups of 16 are lavapipe's at 512 bits: its compiler cannot take addresses (src/device/quirks.cpp).
        if (rows == 2 && runtime.profile().vendor == "mesa" && runtime.profile().subgroup_size == 16u) continue;
        std::size_t reductions = 0;
        for (Step& step : plan.steps)
          for (Constant& constant : step.constants)
            if (step.kernel.stem == "matmul_reduce" && constant.id == GEMM_SPEC_TILE_M) {
              if (rows == 1) CHECK(constant.value == 1);
              constant.value = rows;
              ++reductions;
            }
        CHECK(reductions == 1);
        run_matmul(runtime, std::get<MatmulProblem>(problem), plan);
      }
    }
  });
}
