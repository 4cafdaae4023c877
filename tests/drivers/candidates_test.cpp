// Every candidate that the planner admits on a GPU's live profile compiles there without spills and with the
// validation layer silent; every other is refused with a reason, and tests/data/drivers holds which and why.
// After a change that means to move these lists: SECTILE_UPDATE=1 test_drivers, and read the difference.
#include "drivers.hpp"
#include "reference/extra_rows.hpp"
#include "support/passed.hpp"
#include "support/paths.hpp"

#include "support/scope.hpp"

#include <sectile/planner.hpp>

#include <sectile/shaders.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

using namespace sectile;
using namespace sectile::test;

namespace {

// How drivers name what must be 0: a register that had no room, and the memory that it went to.
constexpr std::string_view kSpills[] = {
    "Spilled SGPRs", "Spilled VGPRs", "Scratch size",         // RADV
    "Spill count",   "Fill count",    "Scratch Memory Size",  // ANV
};

bool is_spill(const std::string& name) { return std::ranges::find(kSpills, name) != std::end(kSpills); }

// A reason without its numbers: those are the problem's, and the list is of reasons.
std::string worded(const std::string& reason) {
  std::string out;
  for (const char c : reason) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) out += c;
    if (digit && !out.ends_with('#')) out += '#';
  }
  return out;
}

std::string stem_of(const std::string& candidate) { return candidate.substr(0, candidate.find(' ')); }

// Compiles kernels and says what spilled.
class Compiler {
 public:
  Compiler(vulkan::Runtime& runtime, Passed& passed) : runtime_(runtime), passed_(passed) {}

  // A row of a strategy's table once with each template of it: its constants, whichever problem comes first.
  void compile(const Plan& plan, const std::string& candidate) {
    if (!is_new(plan, candidate)) return;
    // A twin with its bounds checked in the compute stage is there to lose: RADV keeps its scalars in vector registers.
    const bool twin = candidate.ends_with(" checked");
    CAPTURE(print(plan));
    const std::string content = content_of(plan);
    if (passed_.has(content)) {
      ++known_;
      return;
    }
    const auto ready = runtime_.device().prepare(plan);
    REQUIRE_MESSAGE(ready.has_value(), ready.error().message());
    std::set<std::string> told;
    bool spilled = false;
    for (const auto& step : must(runtime_.device().statistics(*ready))) {
      CAPTURE(step.kernel.stem);
      CAPTURE(step.kernel.variant);
      int spills = 0;
      for (const auto& statistic : step.statistics) {
        if (!is_spill(statistic.name)) continue;
        ++spills;
        if (twin && statistic.name == "Spilled SGPRs") continue;
        spilled = spilled || statistic.value != "0";
        CHECK_MESSAGE(statistic.value == "0",
                      statistic.name << " " << statistic.value << ", subgroup " << step.subgroup_size);
      }
      CHECK_MESSAGE(spills > 0, "the driver tells nothing of spills");
      told.insert(step.kernel.stem + "." + step.kernel.variant);
    }
    for (const Step& step : plan.steps) CHECK(told.contains(step.kernel.stem + "." + step.kernel.variant));
    ++compiled_;
    if (!spilled) passed_.add(content);
  }
  int compiled() const { return compiled_; }
  int known() const { return known_; }  // had passed before

 private:
  // What the driver's compiler sees of a plan: its modules' code and constants.
  static std::string content_of(const Plan& plan) {
    std::string out;
    for (const Step& step : plan.steps) {
      const EmbeddedModule* const module = find_module(step.kernel.stem, step.kernel.variant);
      REQUIRE(module != nullptr);
      out += fmt::format("{}.{} {} push={} subgroup={}", step.kernel.stem, step.kernel.variant,
                         detail::hash128({reinterpret_cast<const char*>(module->stored.data()), module->stored.size()}),
                         step.push.size(), step.required_subgroup_size);
      for (const Constant& constant : step.constants) out += fmt::format(" {}={}", constant.id, constant.value);
    }
    return out;
  }
  bool is_new(const Plan& plan, const std::string& candidate) {
    std::string key = candidate, first;
    std::vector<std::string> rests;
    for (const Step& step : plan.steps) {
      key += " " + step.kernel.stem + "." + step.kernel.variant;
      if (first.empty()) {
        first = key;
        continue;
      }
      std::string rest = step.kernel.stem + "." + step.kernel.variant;
      for (const Constant& constant : step.constants) rest += fmt::format(" {}={}", constant.id, constant.value);
      rests.push_back(rest);
    }
    const bool new_rest = std::ranges::any_of(rests, [&](const std::string& rest) { return !seen_.contains(rest); });
    // The row has been compiled with all that follows its sum: with a sum that it only stores it is a smaller kernel.
    const bool smaller = plan.steps.size() > 1 && seen_.contains(first) && !thorough();
    if (!new_rest && (smaller || seen_.contains(key))) return false;
    seen_.insert(key);
    seen_.insert(rests.begin(), rests.end());
    return true;
  }

  vulkan::Runtime& runtime_;
  Passed& passed_;
  std::set<std::string> seen_;
  int compiled_ = 0, known_ = 0;
};

// All candidates of one problem: lines "+ stem" and "- stem: reason".
void walk_candidates(const Problem& problem, const DeviceProfile& profile, Compiler& compiler,
                     std::set<std::string>& lines) {
  CAPTURE(print(problem));
  PlanOptions explained;
  explained.explain = true;
  const auto plan = reference::plan_with_extra_rows(problem, profile, explained);
  REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
  CHECK_FALSE(plan->candidates.empty());
  for (const Candidate& candidate : plan->candidates) {
    if (!candidate.refusal.empty()) {
      lines.insert("- " + stem_of(candidate.name) + ": " + worded(candidate.refusal));
      continue;
    }
    CAPTURE(candidate.name);
    PlanOptions forced;
    forced.force = candidate.name;
    const auto alone = reference::plan_with_extra_rows(problem, profile, forced);
    REQUIRE_MESSAGE(alone.has_value(), alone.error().message());
    compiler.compile(*alone, candidate.name);
    lines.insert("+ " + stem_of(candidate.name));
  }
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) out.push_back(line);
  return out;
}

std::string missing_in(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  std::string out;
  for (const std::string& line : all)
    if (std::ranges::find(some, line) == some.end()) out += "\n    " + line;
  return out;
}

// What decides whether a kernel passes, beside its code: the driver, the validation layer, what makes the pipeline, and
// these tests.
std::vector<std::string> what_decides() {
  std::vector<std::string> out = {"src/vulkan", "src/module",    "src/embedded",  "src/backend",
                                  "src/device", "tests/drivers", "tests/support", "tests/vulkan"};
  // The loader has them open.
  std::set<std::string> libraries;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.contains(".so") && line.contains("ulkan"))
      libraries.insert(line.substr(path));
  }
  out.insert(out.end(), libraries.begin(), libraries.end());
  return out;
}

}  // namespace

TEST_CASE("child: candidates compile") {
  const char* const list = std::getenv("SECTILE_TEST_LIST");
  if (list == nullptr) return;  // not the child
  vulkan::RuntimeOptions options;
  options.executable_statistics = true;
  options.canary = false;  // nothing runs on a no-op device
  on_every_device(options, [&](vulkan::Runtime& runtime) {
    Passed passed(std::filesystem::path(list).filename().string(), what_decides());
    Compiler compiler(runtime, passed);
    std::set<std::string> lines;
    for (const Problem& problem : problems()) {
      walk_candidates(problem, runtime.profile(), compiler, lines);
      std::printf("%4d kernels so far: %s\n", compiler.compiled(), print(problem).c_str());
      std::fflush(stdout);
    }
    for (const Problem& problem : convolutions()) {
      CAPTURE(print(problem));
      compiler.compile(must(make_plan(problem, runtime.profile())), print(problem));
    }
    CHECK(compiler.compiled() + compiler.known() > 20);
    std::ofstream file(list);
    for (const std::string& line : lines) file << line << "\n";
    std::printf("%s: %d kernels, and %d that had passed before\n", runtime.profile().name.c_str(), compiler.compiled(),
                compiler.known());
    passed.save();
  });
}

TEST_CASE("every admitted candidate compiles without spills, and the refused ones stand in a list") {
  // One process a GPU, side by side.
  const auto found = [](const NoopGpu& gpu) { return temporary_folder() + "/" + gpu.name + ".txt"; };
  std::vector<std::pair<NoopGpu, std::future<Ran>>> running;
  for (const NoopGpu& gpu : driver_gpus()) {
    if (!present(gpu)) continue;
    running.emplace_back(gpu, std::async(std::launch::async, [=] {
                           return run_noop(gpu, {"SECTILE_TEST_LIST=" + found(gpu)}, "child: candidates compile");
                         }));
  }
  for (auto& [gpu, process] : running) {
    CAPTURE(gpu.name);
    const Ran ran = process.get();
    CHECK_MESSAGE(ran.code == 0, ran.out << ran.err);
    // With no spill, and not a word of the validation layer.
    if (ran.code == 0) Passed::accept(std::string(gpu.name) + ".txt");
    const std::string held = test::data_folder() + "/drivers/" + gpu.name + ".txt";
    const auto now = lines_of(read_file(found(gpu))), before = lines_of(read_file(held));
    CHECK_FALSE(now.empty());
    if (std::getenv("SECTILE_UPDATE") != nullptr) {
      write_file(held, read_file(found(gpu)));
      continue;
    }
    CHECK_MESSAGE(now == before, held << " differs (SECTILE_UPDATE=1 writes it anew).\n  new:"
                                      << missing_in(now, before) << "\n  gone:" << missing_in(before, now));
  }
}
