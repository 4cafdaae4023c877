// matmul_mma compiled by NVRTC: no error, no warning, no spill, no stack, no more workgroup memory than the plan
// states, at most 48 KiB of it static. Its constants are many, so rows, problems and architectures take turns:
// SECTILE_ALL_KERNELS or SECTILE_THOROUGH, where it is set, leaves none out.
#include "products.hpp"

#include "nvrtc.hpp"

using namespace sectile;
using namespace sectile::test;

namespace {

// Every way of an operand into workgroup memory: copies of 16, 8 and 4 bytes, words that are shifted together,
// conversions, int8 along K and across; every kind of sum.
constexpr const char* kMmaProblems[] = {
    "matmul f16 nt 4096x4096x4096",
    "matmul f16 nn 960x2304x772 epi=bias+gelu",
    "matmul f16 tt 1000x770x2050 epi=bias.m+residual",
    "matmul f16 tn 1024x1024x1024 acc=f16",
    "matmul f16 nt 513x1025x771 beta=0.5 epi=scale",
    "matmul bf16 nn 1024x512x4096 a=f32 epi=bias+silu",
    "matmul bf16 tn 641x640x643 batch=3 pro=scale",
    "matmul f16 nt 256x4096x4096 b=q4",
    "matmul f16 nn 300x305x512 b=q8 acc=f16",
    "matmul i8 nt 4096x4096x4096",
    "matmul i8 nn 1024x1024x1024 out=f16 alpha=0.01 epi=scale+bias",
    "matmul i8 tt 771x770x1030 epi=bias+clamp:-5:900",
};

}  // namespace

TEST_CASE("matmul_mma compiles without spills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  const bool all = all_kernels();
  constexpr std::size_t kTurns = 3, kCount = kArchitectures.size(), kProblems = std::size(kMmaProblems);
  ProductSteps steps;
  std::set<std::string> rows;
  for (std::size_t a = 0; a < kCount; ++a) {
    const auto profile = builtin_target("cuda:" + std::string(kArchitectures[a]));
    REQUIRE(profile.has_value());
    for (std::size_t p = 0; p < kProblems; ++p) {
      CAPTURE(kMmaProblems[p]);
      const auto problem = parse_problem(kMmaProblems[p]);
      REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
      const auto explained = make_plan(*problem, *profile, {.explain = true});
      REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
      std::size_t row = 0;
      for (const Candidate& candidate : explained->candidates) {
        if (!candidate.name.starts_with("matmul_mma ")) continue;
        ++row;
        if (!candidate.refusal.empty() || (!all && ((row + a) % kTurns != 0 || (row * kCount + a) % kProblems != p)))
          continue;
        rows.insert(candidate.name);
        steps.add(*problem, *profile, a, candidate.name);
      }
    }
  }
  CHECK(rows.size() >= 15);
  std::vector<Job> jobs = steps.jobs();
  std::erase_if(jobs, [](const Job& job) { return job.step->kernel.stem != "matmul_mma"; });
  std::map<std::string, Most> most;
  const std::string told = compile_and_check("cuda-mma", jobs, most);
  CHECK(most.contains("matmul_mma"));
  MESSAGE(told);
}
