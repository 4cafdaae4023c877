// The canary's kernels on drivers whose hardware is not here: every listed matrix shape compiles, without spills, for
// the subgroup size that the canary states, and the validation layer is silent.
#include "drivers.hpp"

#include "vulkan/canary.hpp"

#include <cstdlib>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("child: canaries compile") {
  if (std::getenv("SECTILE_TEST_CANARY") == nullptr) return;  // not the child
  vulkan::RuntimeOptions options;
  options.executable_statistics = true;
  options.canary = false;  // nothing runs on a no-op device
  on_every_device(options, [&](vulkan::Runtime& runtime) {
    const DeviceProfile& profile = runtime.profile();
    const auto tests = vulkan::canary_tests(profile);
    // What is listed and has no test is of types that no kernel uses.
    for (const CanaryRow& row : tests.untested) CHECK_MESSAGE(row.detail == "no kernel uses these types", print(row));
    CHECK(tests.tests.size() >= 4);
    for (const auto& test : tests.tests) {
      CAPTURE(print(test.shape));
      Plan plan = vulkan::canary_plan(test, tests.scratch_bytes, 1);
      if (profile.required_subgroup_size == true) plan.steps[0].required_subgroup_size = test.workgroup;
      const auto ready = runtime.device().prepare(plan);
      REQUIRE_MESSAGE(ready.has_value(), ready.error().message());
      for (const auto& step : must(runtime.device().statistics(*ready)))
        for (const auto& statistic : step.statistics)
          if (statistic.name.find("pill") != std::string::npos) CHECK_MESSAGE(statistic.value == "0", statistic.name);
    }
  });
}

TEST_CASE("drivers with matrix units compile the canary of every shape") {
  for (const NoopGpu& gpu : {radv("navi31"), radv("gfx1201"), anv("dg2-a380", "dg2", "0x56a5"), anv("bmg", "bmg"),
                             nvk("tu102", "162"), nvk("ga104", "174")}) {
    CAPTURE(gpu.name);
    if (!present(gpu)) continue;
    const Ran ran = run_noop(gpu, {"SECTILE_TEST_CANARY=1"}, "child: canaries compile");
    CHECK_MESSAGE(ran.code == 0, ran.out << ran.err);
  }
}
