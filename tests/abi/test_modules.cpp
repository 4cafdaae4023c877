// The matrix kernel has a module for each loop and type: none is embedded in vain, and none is missing.
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>
#include <sectile/shaders.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace sectile;

TEST_CASE("eachModuleOfTheMatrixKernelIsSomeRows") {
  std::set<std::string> wanted;
  for (const char* target : {"nvidia-hopper", "intel-xe-hpg", "lavapipe"})
    for (const char* text : {"matmul f16 nn 256x256x256", "matmul bf16 nn 256x256x256", "matmul i8 nn 256x256x256", "matmul f16 nn 256x256x256 acc=f16"}) {
      const auto profile = builtin_target(target);
      REQUIRE(profile.has_value());
      const auto plan = make_plan(*parse_problem(text), *profile, {.explain = true});
      REQUIRE(plan.has_value());
      for (const Candidate& c : plan->candidates) {
        if (!c.name.starts_with("matmul_coopmat ") || !c.refusal.empty()) continue;
        const auto forced = make_plan(*parse_problem(text), *profile, {.force = c.name});
        REQUIRE(forced.has_value());
        wanted.insert(forced->steps[0].kernel.variant);
      }
    }
  std::set<std::string> embedded;
  for (const EmbeddedModule& m : embedded_modules())
    if (m.stem == "matmul_coopmat") embedded.insert(std::string(m.variant));
  CHECK(embedded.size() > 20);
  for (const std::string& variant : embedded) CHECK_MESSAGE(wanted.contains(variant), variant);
  for (const std::string& variant : wanted) CHECK_MESSAGE(embedded.contains(variant), variant);
}
