// Every CUDA kernel with every combination of constants that the planner chooses or would take for the rows of the
// benchmark presets and for generated problems, compiled by NVRTC for the architectures that Sectile supports: no
// error, no warning, no spill, no stack, no more workgroup memory than is static, and than the plan states.
//
// A compilation takes some 0.1 s of a core, so not all are made. Candidates are those of the rows of seeds-permute, for
// the oldest architecture and for Hopper also of the rows of `images` and of generated problems. What the planner
// chooses of them is compiled for every architecture that it is chosen for; sm_103 and sm_120 share the rows with
// sm_100 and sm_89 (compiling.hpp). What it takes only when forced is compiled for one in three of the architectures
// that it is admitted for, by turns. Where SECTILE_ALL_KERNELS or SECTILE_THOROUGH is set, all is compiled for all.
// Problems differ in their specialized words (more than 28 numbers) without end. They are values in the same code: of
// combinations that differ in them alone the first is compiled.
#include "compiling.hpp"
#include "reference/extra_rows.hpp"

#include "bench/operation.hpp"
#include "nvrtc.hpp"
#include "reference/generate.hpp"
#include "reference/permute.hpp"

#include "permute/permute.abi.h"

#include <sectile/cuda.hpp>
#include <sectile/planner.hpp>
#include <sectile/shaders.hpp>

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>
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
  problems.reserve(rows->size());
  for (const auto& row : *rows) problems.push_back(std::get<PermuteProblem>(row.problem));
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

struct Wanted {
  Combinations chosen, forced;
};

// Every admissible candidate's steps, each kernel with its constants once.
void add_steps(const PermuteProblem& problem, const DeviceProfile& profile, Wanted& wanted) {
  CAPTURE(print(Problem(problem)));
  const auto explained = reference::plan_with_extra_rows(problem, profile, {.explain = true});
  REQUIRE_MESSAGE(explained.has_value(), explained.error().message());
  for (const Candidate& candidate : explained->candidates) {
    if (!candidate.refusal.empty()) continue;
    CAPTURE(candidate.name);
    const auto plan = reference::plan_with_extra_rows(problem, profile, {.force = candidate.name});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    for (const Step& step : plan->steps) {
      Constants shaping;
      for (const Constant& constant : step.constants)
        if (constant.id < PERMUTE_SPEC_WORD0) shaping.push_back(constant);
      (candidate.chosen ? wanted.chosen : wanted.forced).try_emplace({step.kernel, shaping}, step);
    }
  }
}

// What several architectures force stays with one in three of their places, by turns, and there with one of two.
void take_turns(std::array<Wanted, kArchitectures.size()>& wanted) {
  std::map<Combinations::key_type, std::map<std::size_t, std::vector<Combinations*>>> all;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i)
    for (const auto& [kernel, step] : wanted[i].forced) all[kernel][place_of(i)].push_back(&wanted[i].forced);
  std::size_t turn = 0;
  for (const auto& [kernel, places] : all) {
    ++turn;
    std::size_t i = 0;
    for (const auto& [place, holders] : places) {
      const bool stays = (i++ + turn) % std::min<std::size_t>(3, places.size()) == 0;
      for (std::size_t h = 0; h < holders.size(); ++h)
        if (!stays || h != turn % holders.size()) holders[h]->erase(kernel);
    }
  }
}

}  // namespace

TEST_CASE("every choice of the planner compiles without spills") {
  const Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  std::array<Wanted, kArchitectures.size()> wanted;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i) {
    const auto profile = builtin_target("cuda:" + std::string(kArchitectures[i]));
    REQUIRE(profile.has_value());
    const auto seeds = problems_of("seeds-permute");
    for (std::size_t p = 0; p < seeds.size(); ++p)
      if (all_kernels() || has_turn(i, p)) add_steps(seeds[p], *profile, wanted[i]);
    REQUIRE(wanted[i].forced.size() >= 40);
    if (i != 0 && i != 4) continue;
    for (const auto& problem : problems_of("images")) add_steps(problem, *profile, wanted[i]);
    for (const auto& problem : generated_problems()) add_steps(problem, *profile, wanted[i]);
  }
  if (!all_kernels()) take_turns(wanted);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i) {
    wanted[i].chosen.merge(wanted[i].forced);
    for (const auto& [kernel, step] : wanted[i].chosen) jobs.push_back({&step, kArchitectures[i]});
  }
  std::map<std::string, Most> most;
  const std::string told = compile_and_check("cuda-permutes", jobs, most);
  CHECK(missing("permute", most) == "");
  MESSAGE(told);
}

// Each test asks for the stems of its own folder: a .cu elsewhere would be none's.
TEST_CASE("each folder of CUDA kernels has its test, and each of them is embedded") {
  std::set<std::string> listed, embedded;
  for (const auto& [folder, stems] : stems_by_folder()) {
    const bool tested = folder == "permute" || folder == "gemm" || folder == "conv2d";
    CHECK_MESSAGE(tested, "no test compiles the kernels of shaders/" << folder);
    listed.insert(stems.begin(), stems.end());
  }
  for (const EmbeddedSource& source : embedded_cuda_sources()) embedded.emplace(source.stem);
  CHECK(listed == embedded);
}
