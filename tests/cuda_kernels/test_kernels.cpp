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

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace sectile;

namespace {

using Constants = std::vector<Constant>;
struct Combination {
  Step step;
  bool everywhere = false;   // compiled for every architecture
};
using Combinations = std::map<std::pair<KernelName, Constants>, Combination>;

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
  return problems;
}

// The planner's cost of a candidate that it takes only when forced.
constexpr std::int64_t kForcedOnly = std::numeric_limits<std::int64_t>::max() / 2;

void add_steps(const PermuteProblem& problem, const DeviceProfile& profile, bool everywhere, Combinations& combinations) {
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
      auto& combination = combinations[{step.kernel, shaping}];
      if (combination.step.kernel.stem.empty()) combination.step = step;
      if (everywhere && candidate.cost < kForcedOnly) combination.everywhere = true;
    }
  }
}


// What NVRTC is given: the variant's macros and the step's constants in front of the kernel's own text.
std::string source_of(const Step& step, const std::filesystem::path& shaders) {
  const std::string text = test::read_text(shaders / (step.kernel.stem + ".cu"));
  std::istringstream lines(text);
  std::string line, mark, keyword, variant, option, source;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    if (!(words >> mark >> keyword >> variant) || mark != "//!" || variant != step.kernel.variant) continue;
    while (words >> option) {
      const auto equals = option.find('=');
      source += fmt::format("#define {} {}\n", option.substr(2, equals - 2), equals == std::string::npos ? "1" : option.substr(equals + 1));
    }
  }
  if (source.empty()) return {};
  source += "struct SectileConstant { unsigned id, value; };\nconstexpr SectileConstant sectile_constants[] = {";
  for (const Constant& constant : step.constants) source += fmt::format("{{{}u, {}u}}, ", constant.id, constant.value);
  return source + fmt::format("}};\n#line 1 \"{}.cu\"\n", step.kernel.stem) + text;
}

// The sum of the numbers that stand before `unit` in ptxas' words; nothing where it does not say.
std::optional<std::uint64_t> figure(const std::string& log, std::string_view unit) {
  std::optional<std::uint64_t> sum;
  for (auto at = log.find(unit); at != std::string::npos; at = log.find(unit, at + 1)) {
    auto begin = at;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(log[begin - 1])) != 0) --begin;
    sum = sum.value_or(0) + std::stoull(log.substr(begin, at - begin));
  }
  return sum;
}

struct Job {
  const Step* step = nullptr;
  const char* architecture = nullptr;
  test::Nvrtc::Compiled compiled{};
};

void compile_all(const test::Nvrtc& nvrtc, std::vector<Job>& jobs) {
  const std::filesystem::path shaders = std::filesystem::path(SECTILE_SOURCE_DIR) / "shaders";
  const test::NvrtcHeaders headers(shaders);
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      const std::string architecture = fmt::format("--gpu-architecture={}", jobs[i].architecture);
      jobs[i].compiled = nvrtc.compile(source_of(*jobs[i].step, shaders), (jobs[i].step->kernel.stem + ".cu").c_str(), headers,
                                       {architecture.c_str(), "--std=c++17", "--ptxas-options=-v"});
    }
  };
  std::jthread other(work);
  work();
}

struct Most {
  std::uint64_t registers = 0, shared = 0;
};

void check(const Job& job, Most& most) {
  std::string constants;
  for (const Constant& constant : job.step->constants) constants += fmt::format(" {}={}", constant.id, constant.value);
  CAPTURE(constants);
  CAPTURE(job.architecture);
  const std::string& log = job.compiled.log;
  CAPTURE(log);
  CHECK_MESSAGE(job.compiled.good, job.step->kernel.stem << "." << job.step->kernel.variant);
  if (!job.compiled.good) return;
  CHECK(log.find("warning") == std::string::npos);
  CHECK(figure(log, " bytes stack frame") == 0);
  CHECK(figure(log, " bytes spill stores") == 0);
  CHECK(figure(log, " bytes spill loads") == 0);
  const auto shared = figure(log, " bytes smem").value_or(0);   // not named where there is none
  CHECK(shared <= 48 * 1024);
  CHECK(shared <= job.step->workgroup_memory_bytes);
  const auto registers = figure(log, " registers");
  REQUIRE(registers.has_value());
  most.registers = std::max(most.registers, *registers);
  most.shared = std::max(most.shared, shared);
}

}  // namespace

TEST_CASE("everyChoiceOfThePlannerCompilesWithoutSpills") {
  const test::Nvrtc nvrtc;
  if (!nvrtc.there()) return;
  const auto profile = builtin_target("nvidia-hopper");
  REQUIRE(profile.has_value());
  Combinations combinations;
  for (const auto& problem : problems_of("seeds-permute")) add_steps(problem, *profile, true, combinations);
  const auto of_seeds = combinations.size();
  for (const auto& problem : problems_of("images")) add_steps(problem, *profile, false, combinations);
  const auto of_images = combinations.size() - of_seeds;
  for (const auto& problem : generated_problems()) add_steps(problem, *profile, false, combinations);

  std::vector<Job> jobs;
  std::size_t everywhere = 0;
  for (const auto& [kernel, combination] : combinations) {
    for (const char* architecture : {"sm_75", "sm_90a"}) jobs.push_back({&combination.step, architecture});
    if (!combination.everywhere) continue;
    ++everywhere;
    for (const char* architecture : {"sm_80", "sm_86", "sm_89", "sm_100"}) jobs.push_back({&combination.step, architecture});
  }
  // The planner's choices for these rows take all that it has for a GPU.
  REQUIRE(everywhere >= 20);
  const auto start = std::chrono::steady_clock::now();
  compile_all(nvrtc, jobs);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::map<std::string, Most> most;
  for (const Job& job : jobs) check(job, most[job.step->kernel.stem]);
  std::string table;
  for (const auto& [stem, figures] : most)
    table += fmt::format("\n  {}: at most {} registers, {} bytes shared", stem, figures.registers, figures.shared);
  MESSAGE(fmt::format("{} combinations of seeds-permute ({} that the planner can choose, for six architectures), {} more of "
                      "images, {} more of generated problems: {} compilations in {:.1f} s{}",
                      of_seeds, everywhere, of_images, combinations.size() - of_seeds - of_images, jobs.size(),
                      seconds.count(), table));
}
