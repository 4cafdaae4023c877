// Every CUDA kernel with every combination of constants that the planner chooses or would take for the rows of the
// benchmark presets and for generated problems, compiled by NVRTC for the architectures that Sectile supports: no
// error, no warning, no spill, no stack, no more workgroup memory than is static, and than the plan states.
//
// A compilation takes some 0.1 s of a core, so not all are made. For every architecture: what the planner can choose
// for the rows of seeds-permute. For the oldest and for Hopper besides: the rows of `images`, generated problems, and
// candidates of all of them that the planner takes only when forced. Problems differ in their specialized words (more
// than 28 numbers) without end. They are values in the same code: of combinations that differ in them alone the first
// is compiled.
#include "bench.hpp"
#include "nvrtc.hpp"
#include "reference/generate.hpp"
#include "reference/permute.hpp"

#include "lib/permute.abi.h"

#include <sectile/cuda.hpp>
#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace sectile;

namespace {

using Constants = std::vector<Constant>;
using Combinations = std::map<std::pair<KernelName, Constants>, Step>;

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

struct Job {
  const Step* step = nullptr;
  const char* architecture = nullptr;
  Result<cuda::Code> code = {};
};

void compile_all(std::vector<Job>& jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++)
      jobs[i].code = cuda::compile(*jobs[i].step, jobs[i].architecture, {.verbose = true});
  };
  std::jthread other(work);
  work();
}

struct Most {
  std::uint32_t registers = 0, shared = 0;
};

void check(const Job& job, Most& most) {
  std::string constants;
  for (const Constant& constant : job.step->constants) constants += fmt::format(" {}={}", constant.id, constant.value);
  CAPTURE(constants);
  CAPTURE(job.architecture);
  CHECK_MESSAGE(job.code.has_value(), job.step->kernel.stem << "." << job.step->kernel.variant << ": "
                                                            << (job.code ? "" : job.code.error().message()));
  if (!job.code) return;
  CAPTURE(job.code->log);
  CHECK(job.code->log.find("warning") == std::string::npos);
  const auto figures = cuda::figures(*job.code);
  REQUIRE(figures.has_value());
  CHECK(figures->stack_bytes == 0);
  CHECK(figures->spill_store_bytes == 0);
  CHECK(figures->spill_load_bytes == 0);
  CHECK(figures->shared_bytes <= 48 * 1024);
  CHECK(figures->shared_bytes <= job.step->workgroup_memory_bytes);
  CHECK(figures->registers > 0);
  most.registers = std::max(most.registers, figures->registers);
  most.shared = std::max(most.shared, figures->shared_bytes);
}

}  // namespace

// Every admissible candidate, chosen or not, of the seeds' rows on every architecture, each planned for with its own
// target; on the oldest and on the one that is measured also those of pictures and of generated problems.
TEST_CASE("everyChoiceOfThePlannerCompilesWithoutSpills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  constexpr std::array kArchitectures = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100"};
  std::array<Combinations, kArchitectures.size()> combinations;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i) {
    const auto profile = builtin_target("cuda:" + std::string(kArchitectures[i]));
    REQUIRE(profile.has_value());
    for (const auto& problem : problems_of("seeds-permute")) add_steps(problem, *profile, combinations[i]);
    REQUIRE(combinations[i].size() >= 40);
    if (i != 0 && i != 4) continue;
    for (const auto& problem : problems_of("images")) add_steps(problem, *profile, combinations[i]);
    for (const auto& problem : generated_problems()) add_steps(problem, *profile, combinations[i]);
  }
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < kArchitectures.size(); ++i)
    for (const auto& [kernel, step] : combinations[i]) jobs.push_back({&step, kArchitectures[i]});
  const auto start = std::chrono::steady_clock::now();
  compile_all(jobs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::map<std::string, Most> most;
  for (const Job& job : jobs) check(job, most[job.step->kernel.stem]);
  CHECK(most.contains("permute_tma"));
  std::string table;
  for (const auto& [stem, figures] : most)
    table += fmt::format("\n  {}: at most {} registers, {} bytes shared", stem, figures.registers, figures.shared);
  MESSAGE(fmt::format("{} compilations for {} architectures in {:.1f} s{}", jobs.size(), kArchitectures.size(), seconds.count(), table));
}
