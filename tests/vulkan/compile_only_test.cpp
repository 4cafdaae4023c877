// Drivers without hardware that compile only (Mesa's drm-shim): statistics, pipeline caches that hold
// something, and a driver of a real GPU judging the kernels, each in a process of its own.
#include "helpers.hpp"

#include "reference/generate.hpp"
#include "support/noop.hpp"

#include <sectile/planner.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

using namespace sectile;
using namespace sectile::test;

namespace {

// Runs one of this program's test cases under the shim.
int run_child(const char* gpu, const std::string& cache, bool expect_hits) {
  const std::vector<std::string> variables{"SECTILE_TEST_CACHE=" + cache,
                                           std::string("SECTILE_TEST_HITS=") + (expect_hits ? "1" : "0")};
  std::string command = "env";
  for (const std::string& word : noop_process(radv(gpu), variables, "child: plans compile"))
    command += " '" + word + "'";
  return std::system((command + " >" + cache + ".log 2>&1").c_str());
}

std::string child_log(const std::string& cache) {
  std::ifstream file(cache + ".log");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("child: plans compile") {
  const char* const cache = std::getenv("SECTILE_TEST_CACHE");
  if (cache == nullptr) return;  // not the child
  const char* const hits = std::getenv("SECTILE_TEST_HITS");
  REQUIRE(hits != nullptr);
  const bool expect_hits = std::string_view(hits) == "1";
  vulkan::RuntimeOptions options;
  options.pipeline_cache = cache;
  options.executable_statistics = true;
  options.canary = false;  // nothing runs on a no-op device
  on_every_device(options, [&](vulkan::Runtime& runtime) {
    auto& device = runtime.device();
    CHECK(runtime.cache_warning() == "");
    for (std::uint64_t index = 0; index < 60; ++index) {
      const Problem problem = reference::generate_permute(5, index);
      CAPTURE(print(problem));
      const auto plan = must(make_plan(problem, runtime.profile()));
      const auto executable = must(device.prepare(plan));
      const auto statistics = must(device.statistics(executable));
      CHECK(statistics.size() == plan.steps.size());
      for (const auto& step : statistics) CHECK(step.statistics.size() > 3);
      for (const auto& step : statistics) {
        for (const auto& statistic : step.statistics)
          if (statistic.name == "Spilled VGPRs") CHECK_MESSAGE(statistic.value == "0", step.kernel.stem);
      }
    }
    const auto counts = device.pipeline_counts();
    CHECK(counts.created > 3);
    CHECK(counts.cache_hits == (expect_hits ? counts.created : 0));
    must(runtime.save_cache());
  });
}

TEST_CASE("a second process start compiles nothing, on a driver whose cache holds something") {
  if (const std::string why = absent(radv("navi31")); !why.empty()) {
    MESSAGE("skipped: " << why);
    return;
  }
  for (const char* const gpu : {"navi31", "renoir"}) {
    CAPTURE(gpu);
    const std::string cache = temporary_folder() + "/" + gpu + ".cache";
    CHECK_MESSAGE(run_child(gpu, cache, false) == 0, child_log(cache));
    CHECK_MESSAGE(run_child(gpu, cache, true) == 0, child_log(cache));
  }
}
