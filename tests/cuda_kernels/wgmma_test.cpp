// matmul_wgmma compiled by NVRTC for sm_90a: no error, no warning, no spill, no stack, products that are not
// serialized. Each row is compiled for one of the problems, and each problem for a few rows; SECTILE_ALL_KERNELS or
// SECTILE_THOROUGH, where it is set, leaves none out.
#include "products.hpp"

#include "nvrtc.hpp"

#include <string>

using namespace sectile;
using namespace sectile::test;

namespace {

// Every way of an operand into workgroup memory: tensor maps along and across K, copies of 16, 8 and 4 bytes, loads of
// 2 and 1, conversions, int8 that is turned; every kind of sum, and epilogues that take long to compile.
constexpr const char* kWgmmaProblems[] = {
    "matmul f16 nt 4096x4096x4096 epi=bias+gelu",
    "matmul bf16 nn 1024x1024x1024 epi=bias+residual",
    "matmul f16 tn 1000x4096x4096 out=f32 beta=0.5",
    "matmul f16 nt 960x2304x770",
    "matmul f16 tt 422x1178x1082 epi=scale.m+silu",
    "matmul f16 nn 513x1025x771 batch=3",
    "matmul bf16 nt 640x640x640 a=f32 pro=scale",
    "matmul f16 nt 64x4096x4096 b=q4 epi=bias",
    "matmul f16 nn 300x304x512 b=q8 epi=residual",
    "matmul i8 nt 4096x4096x4096",
    "matmul i8 nn 1024x1024x1024 out=f16 alpha=0.01 epi=scale+bias",
    "matmul i8 tt 771x770x1030 epi=bias+clamp:-5:900",
};

}  // namespace

TEST_CASE("matmul_wgmma compiles without spills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  std::size_t architecture = 0;
  while (std::string_view(kArchitectures.at(architecture)) != "sm_90a") ++architecture;
  const DeviceProfile profile = builtin_target("cuda:sm_90a").value();
  ProductSteps steps;
  std::set<std::string> rows;
  for (std::size_t p = 0; p < std::size(kWgmmaProblems); ++p) {
    CAPTURE(kWgmmaProblems[p]);
    const auto problem = parse_problem(kWgmmaProblems[p]);
    REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
    const auto explained = make_plan(*problem, profile, {.explain = true});
    REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
    std::size_t row = 0, admitted = 0;
    for (const Candidate& candidate : explained->candidates) {
      if (!candidate.name.starts_with("matmul_wgmma ")) continue;
      ++row;
      if (!candidate.refusal.empty()) continue;
      ++admitted;
      if (!all_kernels() && row % std::size(kWgmmaProblems) != p && !candidate.chosen) continue;
      rows.insert(candidate.name);
      steps.add(*problem, profile, architecture, candidate.name);
    }
    CHECK(admitted >= 20);
  }
  CHECK(rows.size() >= 30);
  std::vector<Job> jobs = steps.jobs();
  std::erase_if(jobs, [](const Job& job) { return job.step->kernel.stem != "matmul_wgmma"; });
  std::map<std::string, Most> most;
  const std::string told = compile_and_check("cuda-wgmma", jobs, most);
  CHECK(most.contains("matmul_wgmma"));
  MESSAGE(told);
}
