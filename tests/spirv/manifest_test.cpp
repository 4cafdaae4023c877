// What a manifest says of a step that only CUDA has.
#include "emit/emit.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace sectile;

namespace {

// The first step of the manifest of a plan of two maps, after a change.
nlohmann::json step_of(void (*change)(Step&)) {
  tools::EmittedTarget target;
  target.profile = builtin_target("cuda:sm_90a").value();
  target.modules.resize(1);
  tools::EmittedPlan emitted;
  emitted.plan =
      make_plan(parse_problem("permute f16 16384x16384 axes=1,0").value(), target.profile, {.force = "permute_tma"})
          .value();
  REQUIRE(emitted.plan.steps.size() == 1);
  REQUIRE(emitted.plan.steps[0].tensor_maps.size() == 2);
  change(emitted.plan.steps[0]);
  emitted.modules = {0};
  target.plans = {emitted};
  return nlohmann::json::parse(tools::manifest_text(target, false))["plans"][0]["steps"][0];
}

}  // namespace

TEST_CASE("a manifest has of clusters and tensor maps what the plan's JSON has") {
  const nlohmann::json plain = step_of([](Step&) {});
  CHECK_FALSE(plain.contains("cluster"));
  REQUIRE(plain["tensor_maps"].size() == 2);
  for (const char* key : {"element_strides", "fill", "im2col"}) CHECK_FALSE(plain["tensor_maps"][0].contains(key));
  const nlohmann::json step = step_of([](Step& s) {
    s.cluster = {2, 1, 4};
    TensorMap& map = s.tensor_maps[0];
    map.element_strides = {1, 2, 3};
    map.fill = TensorFill::nan_f16;
    map.im2col = Im2col{{-1}, {2}, 64, 96};
  });
  CHECK(step["cluster"] == nlohmann::json({2, 1, 4}));
  const nlohmann::json& map = step["tensor_maps"][0];
  CHECK(map["element_strides"] == nlohmann::json({1, 2, 3}));
  CHECK(map["fill"] == "nan_f16");
  CHECK(map["im2col"] ==
        nlohmann::json::parse(R"({"channels_per_pixel":64,"lower":[-1],"pixels_per_column":96,"upper":[2]})"));
  CHECK(map["dims"] == plain["tensor_maps"][0]["dims"]);
  CHECK(step["tensor_maps"][1] == plain["tensor_maps"][1]);
}
