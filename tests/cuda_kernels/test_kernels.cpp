// Every CUDA kernel with every combination of constants that the planner chooses or would take for the rows of the
// benchmark presets and for generated problems, compiled by NVRTC for the architectures that Sectile supports: no
// error, no warning, no spill, no stack, no more workgroup memory than is static, and than the plan states.
//
// A compilation takes some 0.1 s of a core, so not all are made. For every architecture: what the planner can choose
// for the rows of seeds-permute, its candidates that are taken only when forced among them. For the oldest or for Hopper
// besides: those of the rows of `images` and of generated problems. A combination that both have is compiled for one of
// them, by turns; for both where SECTILE_ALL_KERNELS or SECTILE_THOROUGH is set. Problems differ in their specialized
// words (more than 28 numbers) without end. They are values in the same code: of combinations that differ in them alone
// the first is compiled.
#include "compiling.hpp"

#include "bench.hpp"
#include "nvrtc.hpp"
#include "reference/generate.hpp"
#include "reference/permute.hpp"

#include "lib/permute.abi.h"

#include <sectile/cuda.hpp>
#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::test;

namespace {

std::vector<PermuteProblem> problems_of(const char* preset) {
  const auto rows = tools::preset_rows(preset);
  REQUIRE(rows.has_value());
  std::vector<PermuteProblem> problems;
  for (const auto& row : *rows) problems.push_back(row.problem);
  return problems;
}

std::vector<PermuteProblem> generated_problems() {
  std::vector<PermuteProblem> problems;
  for (std::uint64_t index = 0; problems.size() < 50; ++index) {
    problems.push_back(reference::generate_permute(5, index));
    if (reference::PermuteDefinition(problems.back()).empty()) problems.pop_back();
  }
  for (std::uint64_t index = 0; problems.size() < 80; ++index) {
    problems.push_back(reference::generate_elementwise(5, index));
    if (reference::PermuteDefinition(problems.back()).empty()) problems.pop_back();
  }
  return problems;
}

// Every admissible candidate's steps, each kernel with its constants once.
void add_steps(const PermuteProblem& problem, const DeviceProfile& profile, Combinations& combinations) {
  CAPTURE(print(Problem(problem)));
  const auto explained = make_plan(problem, profile, {.explain = true});
  REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
  for (const Candidate& candidate : explained->candidates) {
    if (!candidate.refusal.empty()) continue;
    CAPTURE(candidate.name);
    const auto plan = make_plan(problem, profile, {.force = candidate.name});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    for (const Step& step : plan->steps) {
      Constants shaping;
      for (const Constant& constant : step.constants)
        if (constant.id < PERMUTE_SPEC_WORD0) shaping.push_back(constant);
      combinations.try_emplace({step.kernel, shaping}, step);
    }
  }
}

// What both have is left to one of them, by turns.
void take_turns(Combinations& one, Combinations& other) {
  bool turn = false;
  for (auto at = one.begin(); at != one.end();) {
    const auto twin = other.find(at->first);
    if (twin == other.end()) {
      ++at;
    } else if (turn = !turn; turn) {
      other.erase(twin);
      ++at;
    } else {
      at = one.erase(at);
    }
  }
}

}  // namespace

// Every admissible candidate, chosen or not, of the seeds' rows on every architecture, each planned for with its own
// target; on the oldest or on the one that is measured also those of pictures and of generated problems.
TEST_CASE("everyChoiceOfThePlannerCompilesWithoutSpills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  std::array<Combinations, kArchitectures.size()> combinations, more;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i) {
    const auto profile = builtin_target("cuda:" + std::string(kArchitectures[i]));
    REQUIRE(profile.has_value());
    for (const auto& problem : problems_of("seeds-permute")) add_steps(problem, *profile, combinations[i]);
    REQUIRE(combinations[i].size() >= 40);
    if (i != 0 && i != 4) continue;
    for (const auto& problem : problems_of("images")) add_steps(problem, *profile, more[i]);
    for (const auto& problem : generated_problems()) add_steps(problem, *profile, more[i]);
    std::erase_if(more[i], [&](const auto& known) { return combinations[i].contains(known.first); });
  }
  if (!all_kernels()) take_turns(more[0], more[4]);
  for (std::size_t i = 0; i < kArchitectures.size(); ++i) combinations[i].merge(more[i]);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i)
    for (const auto& [kernel, step] : combinations[i]) jobs.push_back({&step, kArchitectures[i]});
  std::map<std::string, Most> most;
  const std::string told = compile_and_check(jobs, most);
  CHECK(most.contains("permute_tma"));
  MESSAGE(told);
}
