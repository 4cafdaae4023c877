// Matmul's CUDA kernels against the reference in double precision, on the host.
#include "counts.hpp"
#include "product_case.hpp"

#include "reference/generate.hpp"
#include "reference/matmul.hpp"

#include "support/scope.hpp"

#include "gemm/gemm.abi.h"
#include "gemm/matmul_simt.abi.h"

#include <optional>
#include <set>
#include <variant>

using namespace sectile;
using emulated::admissible;
using emulated::constant_of;
using emulated::plan_by;
using emulated::Tally;

namespace {

using Case = emulated::ProductCase<reference::MatmulDefinition>;

MatmulProblem parsed(const char* text) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
  return std::get<MatmulProblem>(*problem);
}

// The problem by its admissible candidates: all of matvec's, and of the others every `every`-th, from number `from` on.
// matmul_mma and matmul_wgmma have tests of their own.
void check_candidates(const MatmulProblem& problem, const DeviceProfile& profile, std::uint64_t seed, Tally& tally,
                      std::size_t every = 1, std::size_t from = 0) {
  CAPTURE(print(Problem(problem)));
  Case c(problem, seed);
  if (problem.k == 0 || problem.alpha == 0) {  // what follows the product, alone
    const auto plan = make_plan(problem, profile);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    CHECK(c.run(*plan, &tally) == "");
    return;
  }
  auto candidates = admissible(problem, profile);
  // The tensor memory accelerator and the products of warpgroups are not emulated.
  std::erase_if(candidates, [](const std::string& name) { return name.starts_with("matmul_wgmma "); });
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (i % every != from % every && !candidates[i].starts_with("matvec")) continue;
    if (candidates[i].starts_with("matmul_mma") || candidates[i].starts_with("matmul_wgmma")) continue;
    CAPTURE(candidates[i]);
    CHECK(c.run(plan_by(problem, profile, candidates[i]), &tally) == "");
  }
}

std::uint64_t work_of(const MatmulProblem& p) {
  return static_cast<std::uint64_t>(p.batch) * static_cast<std::uint64_t>(p.m) * static_cast<std::uint64_t>(p.n) *
         static_cast<std::uint64_t>(p.k);
}

// Every layout and type, wide and narrow accesses, every part of an epilogue, quantized weights, batches, splits of K.
constexpr const char* kProblems[] = {
    "matmul f32 nn 72x136x40",
    "matmul f32 nt 33x70x37 epi=bias+gelu",
    "matmul f32 tn 40x36x52 beta=0.5 epi=scale.m+bias.m+silu+residual",
    "matmul f32 tt 37x41x29 batch=3 alpha=0.5 beta=-1.25 c=d epi=relu",
    "matmul f16 nn 64x80x64 epi=bias+gelu_tanh",
    "matmul f16 nt 50x66x70 out=f32 pro=scale",
    "matmul f16 tn 41x35x27 batch=2 a.batch=0 epi=bias.m",
    "matmul bf16 nt 40x72x48 beta=1 epi=residual",
    "matmul bf16 tt 48x40x32 a=f32 out=f16",
    "matmul f32 nn 36x40x64 a=f16 b=bf16",
    "matmul f16 nn 40x48x40 b=q8 epi=bias",
    "matmul f16 nt 40x44x96 b=q4 epi=scale",
    "matmul f32 nt 33x37x45 b=q4 ldb=64 batch=2 b.batch=0",
    "matmul f32 tt 17x40x44 b=q8",
    "matmul i8 nn 40x48x72",
    "matmul i8 nt 37x41x53 epi=bias+relu+residual",
    "matmul i8 tn 36x40x64 out=f32 alpha=0.001 epi=scale+bias+silu",
    "matmul i8 tt 33x35x37 out=f16 alpha=0.002 beta=0.5",
    "matmul i8 tn 32x40x44 out=bf16 alpha=0.01",
    "matmul f32 nn 24x20x900",
    "matmul f16 nt 20x12x1500 epi=bias+residual batch=2",
    "matmul i8 nt 16x24x1700",
    "matmul f32 nt 1x96x300",
    // 4-bit weights by whole blocks, two steps and a part of one; and by runs, where K or the weights do not allow it.
    "matmul f16 nt 1x21x2688 b=q4 ldb=2720 batch=2 b.batch=96 epi=scale",
    "matmul f32 tt 1x21x2680 b=q4 ldb=2688",
    "matmul f16 nt 1x21x2688 b=q4 ldb=2720 b.align=8",
    "matmul f16 nt 3x70x256 epi=bias+gelu",
    "matmul f16 nn 1x131x90",
    "matmul f32 nn 13x60x40",
    "matmul f32 tn 70x1x64",
    "matmul bf16 nn 90x4x128",
    "matmul f16 nt 3x40x608 b=q4",
    "matmul i8 nt 1x70x256",
    "matmul i8 nn 5x72x60 out=f32 alpha=0.01",
    "matmul f32 nn 8x12x0 beta=0.5 epi=bias+relu",
    "matmul f16 nn 9x7x0 batch=3 epi=bias+gelu",
    "matmul i8 nn 6x8x0 epi=bias",
    "matmul i8 nn 5x7x0 out=f16 epi=bias",
    "matmul f16 nt 12x9x16 alpha=0 beta=0.5 b=q8 pro=scale epi=scale.m+bias+sigmoid+residual",
    "matmul f32 nt 33x70x37 epi=bias+residual+leaky_relu:0.1",
    "matmul f16 nn 24x40x32 batch=2 beta=1 epi=bias+clamp:-0.5:0.75+residual",
    "matmul bf16 nn 20x24x40 epi=hard_swish",
    "matmul f32 nt 1x96x300 epi=hard_sigmoid",
    "matmul f32 nn 24x20x900 epi=bias+residual+tanh",
    "matmul i8 nt 37x41x53 epi=bias+residual+clamp:-3000:9000",
    "matmul i8 nn 24x20x1700 epi=clamp:-3000:9000+residual",
    "matmul i8 tn 36x40x64 out=f32 alpha=0.001 epi=bias+sigmoid",
};

}  // namespace

TEST_CASE("every candidate of matmuls comes out right") {
  const DeviceProfile profile = emulated::target("cuda:sm_90a");
  // As if its subgroups were not to be relied on, and it had no product of four bytes.
  DeviceProfile bare = profile;
  bare.required_subgroup_size = false;
  bare.min_subgroup_size.reset();
  bare.max_subgroup_size.reset();
  bare.integer_dot_product = false;
  // As if workgroups had less memory together: tiles then have one buffer.
  bare.workgroup_memory_per_multiprocessor_bytes = bare.workgroup_memory_bytes;
  // Tiles in registers alone are for CPU devices; the code is the same.
  DeviceProfile cpu = bare;
  cpu.kind = DeviceKind::cpu;
  // Of the candidates one in so many, others for each problem.
  const std::size_t fewer = test::scope<std::size_t>(1, 2, 8), most = test::scope<std::size_t>(130, 100, 60);
  Tally tally;
  std::size_t problems = 0;
  for (const char* text : kProblems) {
    const MatmulProblem problem = parsed(text);
    check_candidates(problem, profile, problems, tally, 4 * fewer, problems);
    check_candidates(problem, bare, problems, tally, 9 * fewer, problems);
    check_candidates(problem, cpu, problems, tally, 5 * fewer, problems);
    ++problems;
  }
  for (std::uint64_t index = 0; problems < most; ++index) {
    const MatmulProblem problem = reference::generate_matmul(33, index);
    const std::uint64_t work = work_of(problem);
    if (problem.m == 0 || problem.n == 0 || problem.batch == 0 || work > 200000) continue;
    ++problems;
    check_candidates(problem, index % 4 == 0 ? bare : profile, index, tally, 9 * fewer, problems);
  }
  // No plan has matmul_direct.i8: an int8 at a time is a narrow access.
  CHECK(tally.missing("matmul", {"matmul_mma", "matmul_wgmma"}) == " matmul_direct.i8");
  CHECK(tally.missing("matvec") == "");
  MESSAGE(problems << " problems, " << tally.runs() << " kernels run");
}

// Each barrier of each kernel orders what would come out wrong without it.
TEST_CASE("every barrier of matmuls is needed") {
  const DeviceProfile profile = emulated::target("cuda:sm_90a");
  DeviceProfile bare = profile;
  bare.required_subgroup_size = false;
  bare.min_subgroup_size.reset();
  bare.max_subgroup_size.reset();
  // As if workgroups had less memory together: tiles then have one buffer.
  bare.workgroup_memory_per_multiprocessor_bytes = bare.workgroup_memory_bytes;
  struct Row {
    const char* problem;
    const char* stem;
    bool subgroups;
  };
  // A sample: what a barrier orders hardly depends on the candidate.
  const std::size_t every = test::scope<std::size_t>(1, 3, 5);
  std::set<std::string> seen;
  std::size_t left_out = 0, turn = 0;
  // matvec's operands differ in width: with the same, lanes would read just what they have staged themselves.
  for (const Row& row :
       {Row{"matmul f32 nn 264x136x40", "matmul_simt", true}, Row{"matmul i8 nt 264x132x160", "matmul_simt", true},
        Row{"matmul f32 nt 1x96x1104 a=f16", "matvec", true}, Row{"matmul f32 nt 4x96x1104 a=f16", "matvec", false},
        Row{"matmul f16 nn 4x304x70", "matvec", true}}) {
    CAPTURE(std::string(row.problem));
    Case c(parsed(row.problem), reference::seed_with(5, reference::DataKind::coarse));
    for (const std::string& candidate : admissible(c.problem(), row.subgroups ? profile : bare)) {
      if (!candidate.starts_with(row.stem) || turn++ % every != 0) continue;
      CAPTURE(candidate);
      const Plan plan = plan_by(c.problem(), row.subgroups ? profile : bare, candidate);
      REQUIRE(c.run(plan, nullptr) == "");
      seen.insert(plan.steps[0].kernel.variant);
      const unsigned barriers = c.barriers().at(0);
      REQUIRE(barriers >= 2);
      std::vector<unsigned> unseen;
      for (unsigned b = 0; b < barriers; ++b, ++left_out)
        if (c.run(plan, nullptr, b).empty()) unseen.push_back(b);
      // A step's last barrier keeps out what is staged next, and nothing may be behind the last whole step. With one
      // buffer and a prefetch two keep it out: the last whole step is staged once more, and not used.
      const bool restaged = plan.steps[0].kernel.stem == "matmul_simt" &&
                            constant_of(plan.steps[0], MATMUL_SIMT_SPEC_STAGES) == 1 &&
                            constant_of(plan.steps[0], MATMUL_SIMT_SPEC_PREFETCH) == 1;
      CAPTURE(barriers);
      CHECK(unseen.size() <= (restaged ? 2 : 1));
    }
  }
  CHECK(seen.size() >= 4);
  MESSAGE(left_out << " barriers left out");
}

TEST_CASE("emulation sees what is wrong with matmuls") {
  const DeviceProfile profile = emulated::target("cuda:sm_90a");
  Case c(parsed("matmul f32 nn 100x72x40 beta=0.5 c=d epi=bias"), 1);
  std::string simt;
  for (const std::string& name : admissible(c.problem(), profile))
    if (simt.empty() && name.starts_with("matmul_simt 64x64")) simt = name;
  REQUIRE(!simt.empty());
  const Plan good = plan_by(c.problem(), profile, simt);
  REQUIRE(c.run(good, nullptr) == "");
  const auto constant = [](Plan& plan, std::uint32_t id) -> std::uint32_t& {
    return std::ranges::find(plan.steps.at(0).constants, id, &Constant::id)->value;
  };
  const auto push_word = [](Plan& plan, std::uint32_t word, std::uint32_t value) {
    std::memcpy(plan.steps[0].push.data() + offsetof(GemmPush, words) + std::size_t{4} * word, &value, 4);
  };
  const auto says = [&](const Plan& plan, std::string_view what) {
    const std::string failure = c.run(plan, nullptr);
    CHECK_MESSAGE(failure.find(what) != std::string::npos, failure);
  };
  Plan plan = good;
  plan.steps[0].accesses[0].end -= 4;
  says(plan, "load of");
  plan = good;
  constant(plan, MATMUL_SIMT_SPEC_PAD_A) += 4;
  says(plan, "of workgroup memory");
  plan = good;
  push_word(plan, 2, 101);  // M behind bias' address: a row more than there is
  says(plan, "lies outside the step's ranges");
  plan = good;
  push_word(plan, 4, 41);  // K: a step more than there is
  CHECK(c.run(plan, nullptr) != "");
  plan = good;
  push_word(plan, 4, 39);
  CHECK(c.run(plan, nullptr) != "");
  plan = good;
  constant(plan, GEMM_SPEC_EPILOGUE) &= ~std::uint32_t{GEMM_EPILOGUE_C_IS_D};
  CHECK(c.run(plan, nullptr) != "");
}
