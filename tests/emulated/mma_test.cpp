// matmul_mma against the reference in double precision, on the host: all rows, by the matrix shapes and the staging of
// sm_75, sm_80 and sm_90a.
#include "counts.hpp"
#include "product_case.hpp"

#include "reference/generate.hpp"
#include "reference/matmul.hpp"

#include "support/scope.hpp"

#include "gemm/gemm.abi.h"
#include "gemm/matmul_mma.abi.h"
#include "gemm/matmul_wgmma.abi.h"

#include <set>
#include <variant>

using namespace sectile;
using emulated::admissible;
using emulated::constant_of;
using emulated::plan_by;
using emulated::Tally;

namespace {

using MmaCase = emulated::ProductCase<reference::MatmulDefinition>;

MatmulProblem mma_problem(const char* text) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
  return std::get<MatmulProblem>(*problem);
}

bool is_mma(const std::string& candidate) { return candidate.starts_with("matmul_mma "); }

// Every layout and type of the unit, all widths of access, rows, bases and batches at no multiple of 4 bytes, gaps
// between rows, K with a tail and shorter than the steps in flight, every way of an operand into workgroup memory,
// every part of an epilogue, batches, splits of K.
constexpr const char* kMmaProblems[] = {
    "matmul f16 nn 72x136x128 epi=bias+gelu_tanh",
    "matmul f16 nt 70x66x200",
    "matmul f16 tn 72x64x72 beta=0.5 epi=scale.m+bias.m+silu+residual",
    "matmul f16 tt 40x136x96 batch=3 alpha=0.5 beta=-1.25 c=d epi=relu",
    "matmul f16 nt 50x66x70 out=f32 pro=scale",
    "matmul f16 nn 34x68x66 acc=f16",
    "matmul f16 tt 36x44x52 acc=f16 epi=bias",
    "matmul f16 tn 41x35x27 batch=2 a.batch=1109 epi=bias.m",
    "matmul f16 nt 33x45x131 lda=133 ldb=137",
    "matmul f16 nn 37x71x65 batch=2",
    "matmul f16 tt 35x41x39 b.batch=0 batch=2 ldb=40",
    "matmul f16 nt 40x72x64 a.align=2 b.align=2",
    "matmul f16 nn 30x60x8",
    "matmul bf16 nt 40x72x48 beta=1 epi=residual",
    "matmul bf16 tt 48x40x32 a=f32 out=f16",
    "matmul bf16 nn 65x70x90 a=f32 b=f16 epi=bias",
    "matmul f16 tn 36x40x64 a=f32 pro=scale",
    "matmul bf16 tn 37x40x43 pro=scale",
    "matmul f16 nn 35x45x37 b=q8 pro=scale",
    "matmul f16 nn 40x48x40 b=q8 epi=bias",
    "matmul f16 nt 40x47x43 b=q8 epi=scale",
    "matmul f16 nt 40x44x96 b=q4 epi=scale",
    "matmul f16 nt 33x37x45 b=q4 ldb=64 batch=2 b.batch=0",
    "matmul bf16 nt 20x70x157 b=q4 ldb=160 b.align=1",
    "matmul f16 nt 20x34x61 b=q4 ldb=64 b.align=2",
    "matmul bf16 nt 19x70x157 b=q4 ldb=160 epi=bias",
    "matmul f16 tt 18x100x1003 b=q4 ldb=1056 acc=f16",
    "matmul f16 nt 66x64x512 b=q4 a=f32",
    "matmul i8 nn 40x48x136",
    "matmul i8 tn 36x44x64 lda=37 ldb=45",
    "matmul i8 nt 37x41x53 batch=2 ldb=55 epi=bias+relu+residual",
    "matmul i8 nt 72x80x272",
    "matmul i8 tn 36x40x64 out=f32 alpha=0.001 epi=scale+bias+silu",
    "matmul i8 tt 33x35x37 out=f16 alpha=0.002 beta=0.5",
    "matmul i8 tn 34x67x70 batch=2 out=bf16 alpha=0.01",
    "matmul i8 nt 36x70x66 epi=bias+residual+clamp:-3000:9000",
    "matmul f16 nt 20x12x1500 epi=bias+residual batch=2",
    "matmul f16 nn 16x40x2100",
    "matmul i8 nt 16x24x3400",
    "matmul f16 nt 3x70x256 epi=bias+gelu",
    "matmul f16 nn 1x131x90",
    "matmul i8 nn 5x72x60 out=f32 alpha=0.01",
};

}  // namespace

TEST_CASE("every row of matmul_mma comes out right") {
  // Of a problem's candidates one in so many, others for each problem.
  const std::size_t every = test::scope<std::size_t>(1, 8, 24), most = test::scope<std::size_t>(120, 60, 45);
  Tally tally;
  std::set<std::string> rows;
  std::size_t turn = 0, problems = 0;
  const auto check = [&](const MatmulProblem& problem, const char* target, std::uint64_t seed, std::size_t fewer) {
    CAPTURE(print(Problem(problem)));
    CAPTURE(std::string(target));
    const DeviceProfile profile = emulated::target(target);
    std::unique_ptr<MmaCase> c;
    for (const std::string& candidate : admissible(problem, profile)) {
      if (!is_mma(candidate) || turn++ % (every * fewer) != 0) continue;
      CAPTURE(candidate);
      if (!c) c = std::make_unique<MmaCase>(problem, seed);
      CHECK(c->run(plan_by(problem, profile, candidate), &tally) == "");
      rows.insert(candidate);
    }
  };
  for (const char* text : kMmaProblems) {
    for (const char* target : {"cuda:sm_75", "cuda:sm_80", "cuda:sm_90a"})
      check(mma_problem(text), target, problems, 1);
    ++problems;
  }
  for (std::uint64_t index = 0; problems < most; ++index) {
    const MatmulProblem problem = reference::generate_matmul(77, index);
    const std::int64_t work = problem.batch * problem.m * problem.n * problem.k;
    if (work == 0 || work > 200000 || problem.alpha == 0 || problem.type == DType::f32) continue;
    ++problems;
    check(problem, index % 3 == 0 ? "cuda:sm_75" : "cuda:sm_80", index, 2);
  }
  CHECK(tally.missing("matmul_mma") == "");
  CHECK(rows.size() >= 18);
  MESSAGE(problems << " problems, " << rows.size() << " rows, " << tally.runs() << " kernels run");
}

// An infinite scale makes an infinity of a sum, and a NaN if A's zeros behind K are multiplied with it.
TEST_CASE("4-bit weights behind K have no part in the sums") {
  const auto edit = [](const std::string& name, std::span<std::byte> bytes) {
    const bool a = name == "a", scale = name == "b.scale";
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      if (a) bytes[i] = std::byte(i % 2 == 0 ? 0x00 : 0x3c);      // 1
      if (name == "b") bytes[i] = std::byte{0x99};                // 1 times the scale
      if (scale) bytes[i] = std::byte(i % 4 != 3 ? 0x00 : 0x7c);  // 0, infinity
    }
  };
  // The plans by all rows of a kernel, each of which has been run.
  const auto run_all = [&](const char* text, const char* target, std::string_view stem) {
    CAPTURE(std::string(text));
    MmaCase c(mma_problem(text), 1, edit);
    const DeviceProfile profile = emulated::target(target);
    std::vector<Plan> plans;
    for (const std::string& candidate : admissible(c.problem(), profile)) {
      if (!candidate.starts_with(stem)) continue;
      CAPTURE(candidate);
      CHECK(c.run(plans.emplace_back(plan_by(c.problem(), profile, candidate)), nullptr) == "");
    }
    return plans;
  };
  struct Unit {
    const char *target, *stem;
    std::uint32_t packed_b;
  };
  for (const Unit& unit : {Unit{"cuda:sm_80", "matmul_mma ", MATMUL_MMA_SPEC_PACKED_B},
                           Unit{"cuda:sm_90a", "matmul_wgmma ", MATMUL_WGMMA_SPEC_PACKED_B}})
    for (const char* text :
         {"matmul f16 nt 5x40x109 b=q4 ldb=128 lda=112", "matmul bf16 nt 5x40x58 b=q4 lda=64 ldb=64 out=f32",
          // an even number of steps, so that the last slice has the last one
          "matmul f16 nt 5x40x493 b=q4 ldb=512 lda=496", "matmul f16 nt 5x40x45 b=q4 ldb=64 b.align=2"}) {
      CAPTURE(std::string(text));
      const bool packed = std::ranges::any_of(run_all(text, unit.target, unit.stem), [&](const Plan& plan) {
        return std::ranges::contains(plan.steps[0].constants, unit.packed_b, &Constant::id);
      });
      CHECK(packed != std::string_view(text).ends_with("b.align=2"));
    }
  for (const char* text : {"matmul f16 nt 1x40x111 b=q4 ldb=128", "matmul bf16 nt 3x40x112 b=q4 ldb=128"})
    CHECK(!run_all(text, "cuda:sm_90a", "matvec ").empty());
}

// Each barrier orders what would come out wrong without it, but for the last step's: nothing is read after it.
TEST_CASE("every barrier of matmul_mma is needed") {
  struct Row {
    const char* problem;
    const char* target;
  };
  const std::size_t every = test::scope<std::size_t>(1, 9, 20);
  std::size_t left_out = 0, turn = 0;
  std::set<std::string> seen;
  // Copies, copies of 4 bytes, and both operands through registers.
  for (const Row& row : {Row{"matmul f16 nt 72x136x512", "cuda:sm_80"}, Row{"matmul f16 nn 136x68x514", "cuda:sm_80"},
                         Row{"matmul f16 tn 136x72x512", "cuda:sm_75"}, Row{"matmul i8 nn 72x136x1024", "cuda:sm_80"},
                         Row{"matmul f16 nt 136x72x512 b=q8 acc=f16", "cuda:sm_80"}}) {
    CAPTURE(std::string(row.problem));
    const DeviceProfile profile = emulated::target(row.target);
    MmaCase c(mma_problem(row.problem), reference::seed_with(5, reference::DataKind::coarse));
    for (const std::string& candidate : admissible(c.problem(), profile)) {
      if (!is_mma(candidate) || turn++ % every != 0) continue;
      CAPTURE(candidate);
      const Plan plan = plan_by(c.problem(), profile, candidate);
      REQUIRE(c.run(plan, nullptr) == "");
      const unsigned barriers = c.barriers().at(0);
      REQUIRE(barriers >= 3);
      // A sample of the steps', which are alike; the first and the last ones all.
      const bool slices = constant_of(plan.steps[0], MATMUL_MMA_SPEC_SLICE_K) > 1;
      const unsigned after = slices ? 2 : 0;  // that order the slices' sums
      std::size_t unseen = 0;
      for (unsigned b = 0; b < barriers; ++b) {
        if (b > 2 && b + after + 2 < barriers) continue;
        ++left_out;
        if (c.run(plan, nullptr, b).empty()) ++unseen;
      }
      CAPTURE(barriers);
      // Two before the slices' sums are stored keep out the same: the last step loads fragments that are not used.
      CHECK(unseen <= (slices ? 2 : 1));
      seen.insert(candidate);
    }
  }
  CHECK(seen.size() >= 8);
  MESSAGE(left_out << " barriers left out");
}
