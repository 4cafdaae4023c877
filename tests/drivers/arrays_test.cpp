// Kernels keep their arrays in registers on NVK. Its compiler unrolls no loop that has a loop inside, and then moves
// what the loop indexes to memory: permute_ragged had 180 bytes of an invocation there, and said nothing of spills.
#include "drivers.hpp"

#include <sectile/planner.hpp>

#include <cstdlib>
#include <set>
#include <string>

using namespace sectile;
using namespace sectile::test;

namespace {

constexpr const char* kStems[] = {"permute_realign", "permute_elements", "permute_ragged", "permute_table",
                                  "permute_fused_ragged"};

// One that each of these stems takes.
std::string problem_of(std::string_view stem, std::string_view type) {
  if (stem == "permute_fused_ragged") {
    const char* number = type == "b8" ? "u8" : type == "b16" ? "f16" : "f32";
    return std::string("permute ") + number + " 5x2203x413 axes=0,2,1 out=f16 scale=1 bias=2 act=relu";
  }
  return std::string("permute ").append(type) + (stem == "permute_realign"    ? " 160x73x469 axes=1,0,2"
                                                 : stem == "permute_elements" ? " 1600x73x31 axes=1,0,2"
                                                                              : " 5x2203x413 axes=0,2,1");
}

}  // namespace

TEST_CASE("child: arrays are in registers") {
  if (std::getenv("SECTILE_TEST_ARRAYS") == nullptr) return;  // not the child
  vulkan::RuntimeOptions options;
  options.executable_statistics = true;
  options.canary = false;  // nothing runs on a no-op device
  on_every_device(options, [&](vulkan::Runtime& runtime) {
    std::set<std::string> compiled;
    for (const char* stem : kStems)
      for (const char* type : {"b8", "b16", "b32", "b64"}) {
        if (stem != std::string("permute_table") && type == std::string("b64")) continue;  // others have up to 4 bytes
        const Problem problem = must(parse_problem(problem_of(stem, type)));
        CAPTURE(print(problem));
        const Plan plan = must(make_plan(problem, runtime.profile(), {.force = stem}));
        const auto ready = runtime.device().prepare(plan);
        REQUIRE_MESSAGE(ready.has_value(), ready.error().message());
        for (const auto& step : must(runtime.device().statistics(*ready))) {
          bool told = false;
          for (const auto& statistic : step.statistics) {
            if (statistic.name != "SLM size" && statistic.name != "Spills to memory") continue;
            told = told || statistic.name == "SLM size";
            CHECK_MESSAGE(statistic.value == "0", stem << ": " << statistic.name << " " << statistic.value);
          }
          CHECK_MESSAGE(told, "the driver does not say what it keeps in memory");
          compiled.insert(step.kernel.stem + "." + step.kernel.variant);
        }
      }
    CHECK(compiled.size() == 16);
  });
}

TEST_CASE("kernels at any address keep their arrays in registers") {
  const NoopGpu gpu = nvk("ga104", "174");
  if (!present(gpu)) return;
  const Ran ran = run_noop(gpu, {"SECTILE_TEST_ARRAYS=1"}, "child: arrays are in registers");
  CHECK_MESSAGE(ran.code == 0, ran.out << ran.err);
}
