// Matmul's CUDA kernels, compiled by NVRTC: no error, no warning, no spill, no stack, no more workgroup memory than is
// static, and than the plan states.
//
// A tile without a matrix unit takes seconds of a core, so most combinations are left out: what the planner chooses is
// compiled for two architectures, the small kernels' candidates and every row of the tiles with other problems on
// others, by turns. SECTILE_ALL_KERNELS or SECTILE_THOROUGH, where it is set, leaves none out.
#include "compiling.hpp"
#include "reference/extra_rows.hpp"

#include "nvrtc.hpp"

#include "lib/matmul.abi.h"

#include <sectile/planner.hpp>

using namespace sectile;
using namespace sectile::test;

namespace {

// All types, layouts, parts of an epilogue, formats of B; wide accesses and those of an element; batches and splits of
// K.
constexpr const char* kProblems[] = {
    "matmul f32 nn 1024x1024x1024",
    "matmul f32 nt 1021x770x333 epi=bias+relu",
    "matmul f16 nt 960x2304x770 epi=bias+gelu_tanh",
    "matmul f32 tn 512x640x130 beta=0.5 epi=scale.m+bias.m+silu+residual",
    "matmul bf16 tt 513x769x257 batch=3 alpha=0.5 beta=-1.25 c=d out=f32",
    "matmul i8 nn 1024x1024x1024",
    "matmul f16 nn 127x255x8000 pro=scale epi=bias",
    "matmul i8 nt 513x1025x770 out=f16 alpha=0.01 epi=scale+bias",
    "matmul f16 nt 256x4096x4096 b=q4 epi=residual",
    "matmul bf16 nn 300x301x302 a=f32 b=q8 epi=bias",
    "matmul i8 tt 770x771x129 epi=bias+relu+residual",
    "matmul f32 nt 129x512x4001 b=q4 ldb=4032 batch=2 b.batch=0 epi=gelu",
    "matmul f16 nt 1x4096x4096 epi=bias",
    "matmul f32 nn 4x4096x1000",
    "matmul i8 nt 16x1024x4096",
    "matmul bf16 tn 1000x1x4099 epi=gelu",
    "matmul f16 nn 31x77x0 batch=2 beta=1 epi=bias+silu+residual",
    "matmul i8 nn 31x76x0 epi=bias",
};

class Choice {
 public:
  void add(const Step& step, std::size_t architecture) {
    Constants shaping;
    for (const Constant& constant : step.constants)
      if (constant.id < MATMUL_SPEC_WORD0) shaping.push_back(constant);
    combinations_[architecture].try_emplace({step.kernel, shaping}, step);
  }
  void add(const Problem& problem, const DeviceProfile& profile, std::size_t architecture,
           const std::string& force = {}) {
    const auto plan = make_plan(problem, profile, {.force = force, .extra = &reference::extra_rows()});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    for (const Step& step : plan->steps) add(step, architecture);
  }
  std::vector<Job> jobs() const {
    std::vector<Job> out;
    for (std::size_t i = 0; i < kArchitectures.size(); ++i)
      for (const auto& [kernel, step] : combinations_[i]) out.push_back({&step, kArchitectures[i]});
    return out;
  }

 private:
  std::array<Combinations, kArchitectures.size()> combinations_;
};

}  // namespace

TEST_CASE("matmuls compile without spills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  const bool all = all_kernels();
  constexpr std::size_t kTurns = 9, kCount = kArchitectures.size();
  Choice choice;
  for (std::size_t a = 0; a < kCount; ++a) {
    const auto profile = builtin_target("cuda:" + std::string(kArchitectures[a]));
    REQUIRE(profile.has_value());
    for (std::size_t p = 0; p < std::size(kProblems); ++p) {
      CAPTURE(kProblems[p]);
      const auto problem = parse_problem(kProblems[p]);
      REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
      if (all || a == p % kCount || a == (p + 3) % kCount) choice.add(*problem, *profile, a);
      const auto explained = make_plan(*problem, *profile, {.explain = true, .extra = &reference::extra_rows()});
      REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
      for (std::size_t c = 0; c < explained->candidates.size(); ++c) {
        const Candidate& candidate = explained->candidates[c];
        if (!candidate.refusal.empty()) continue;
        CAPTURE(candidate.name);
        const bool tile = candidate.name.starts_with("matmul_simt");
        const bool turn = tile ? (c + p) % kTurns == 0 && (c + p / kTurns * 3) % kCount == a : (c + p) % kCount == a;
        if (all || turn) choice.add(*problem, *profile, a, candidate.name);
      }
    }
  }
  std::vector<Job> jobs = choice.jobs();
  std::map<std::string, Most> most;
  const std::string told = compile_and_check("cuda-matmuls", jobs, most);
  for (const char* stem : {"matmul_simt", "matvec", "matmul_direct", "matmul_reduce"})
    CHECK_MESSAGE(most.contains(stem), stem);
  MESSAGE(told);
}
