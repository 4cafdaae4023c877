#include "made_up.hpp"

#include "plan/hash.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

using namespace sectile;

namespace {

std::string error_of(std::string_view text) {
  auto plan = plan_from_json(text);
  return plan ? "" : plan.error().message();
}

// The JSON of a good plan, with one change.
template <class F>
std::string changed_json(F change) {
  nlohmann::json json = nlohmann::json::parse(to_json(made_up::two_steps()));
  change(json);
  return error_of(json.dump());
}

}  // namespace

TEST_CASE("planJsonReadsBackAndIsCanonical") {
  Plan plan = made_up::two_steps();
  const std::string text = to_json(plan);
  CHECK(plan_from_json(text) == plan);
  CHECK(nlohmann::json::parse(text).dump() == text);  // dump() sorts
  plan.candidates = {{.name = "permute_tile 32x32",
                      .chosen = true,
                      .refusal = "",
                      .cost = -5,
                      .interior = {1, 2, 3, 4, 5, 6, 7},
                      .edge = {},
                      .detail = "quote \" and \xc3\xa9"},
                     {.name = "permute_rows",
                      .chosen = false,
                      .refusal = "the inner axis moves",
                      .cost = 0,
                      .interior = {},
                      .edge = {},
                      .detail = ""}};
  const std::string explained = to_json(plan);
  CHECK(plan_from_json(explained) == plan);
  CHECK(nlohmann::json::parse(explained).dump() == explained);
}

TEST_CASE("problemJsonHasSortedKeys") {
  const Problem problem = parse_problem(
                              "permute f16 1x2x7x4 layout=NCW4c:NWC extent=C:5 src.offset=3 dst.align=4 "
                              "src.strides=100x50x4x1 dst.strides=50x5x1")
                              .value();
  CHECK(nlohmann::json::parse(to_json(problem)).dump() == to_json(problem));
}

TEST_CASE("planJsonRefusesByPath") {
  CHECK(error_of("") == "parse: plan: not JSON");
  CHECK(error_of("\xff\xfe") == "parse: plan: not JSON");
  CHECK(error_of("null") == "parse: plan: null (want an object)");
  CHECK(error_of("{}") == "parse: plan.id: not there");
  CHECK(changed_json([](auto& j) { j["steps"] = 3; }) == "parse: plan.steps: 3 (want an array of at most 64)");
  CHECK(changed_json([](auto& j) { j["steps"][0]["grid"] = {1, 2}; }) ==
        "parse: plan.steps.grid: an array of 2 (want an array of 3)");
  CHECK(changed_json([](auto& j) {
          j["steps"][0]["grid"][0] = -1;
        }).starts_with("parse: plan.steps.grid: an array of 3 (want an integer from 0"));
  CHECK(changed_json([](auto& j) { j["steps"][0]["push"] = "0g"; }).starts_with("parse: plan.steps.push: 0g"));
  CHECK(changed_json([](auto& j) { j["steps"][0]["kernel"] = "x"; }) == "parse: plan.steps.kernel: \"x\" (want an object)");
  CHECK(changed_json([](auto& j) { j["operands"][0]["role"] = "both"; }).starts_with("parse: plan.operands.role: both"));
  CHECK(changed_json([](auto& j) { j["problem"]["type"] = 1; }) == "parse: plan.problem.type: 1 (want a string)");
  CHECK(changed_json([](auto& j) { j["extra"] = 1; }) == "parse: plan.extra: unknown key");
  CHECK(changed_json([](auto& j) { j.erase("problem"); }) == "parse: plan.problem: not there");
}

TEST_CASE("planJsonIsCheckedLikeAnyPlan") {
  CHECK(changed_json([](auto& j) { j["steps"][1]["barrier_before"] = false; }).starts_with("invalid_plan: step 1 ordering"));
  CHECK(changed_json([](auto& j) { j["problem"]["axes"] = {0, 0}; }).starts_with("invalid_problem: axes"));
  CHECK(changed_json([](auto& j) { j["operands"][0]["bytes"] = 1; }).starts_with("invalid_plan: step 0 range"));
}

TEST_CASE("hostileJsonIsRefusedBeforeItCosts") {
  CHECK(error_of(std::string(1'000'000, '[')).starts_with("parse: plan: nested too deeply"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += R"({"a":)";
  CHECK(error_of(deep).starts_with("parse: plan: nested too deeply"));
  CHECK(error_of(R"({"id":")" + std::string(100'000, 'x') + "\"}").size() < 300);
  CHECK(changed_json([](auto& j) {
          j["steps"][0]["accesses"] = nlohmann::json::array_t(2000, j["steps"][0]["accesses"][0]);
        }).starts_with("parse: plan.steps.accesses: an array of 2000"));
  CHECK(changed_json([](auto& j) {
          j["steps"][0]["accesses"] = nlohmann::json::array_t(100, j["steps"][0]["accesses"][0]);
        }).starts_with("invalid_plan: step 0 "));
  CHECK(changed_json([](auto& j) { j["id"] = 1e300; }) == "parse: plan.id: 1e+300 (want a string)");
}

TEST_CASE("truncatedPlanJsonIsNeverAPlan") {
  const std::string text = to_json(made_up::two_steps());
  for (std::size_t length = 0; length < text.size(); ++length)
    CHECK_FALSE(plan_from_json(text.substr(0, length)).has_value());
}

TEST_CASE("hashIsXxh3AsXxhsumPrintsIt") {
  CHECK(detail::hash128("") == "99aa06d3014798d86001c324468d497f");
  CHECK(detail::hash128("sectile") != detail::hash128("Sectile"));
}

TEST_CASE("planIdCoversProblemProfileAndVersion") {
  const Plan plan = made_up::two_steps();
  const std::string id = detail::plan_id(plan);
  const auto with = [&](auto change) {
    Plan other = plan;
    change(other);
    return detail::plan_id(other);
  };
  CHECK(with([](Plan& p) { std::get<PermuteProblem>(p.problem).src_align = 8; }) != id);
  CHECK(with([](Plan& p) { p.profile_hash[0] = 'c'; }) != id);
  CHECK(with([](Plan& p) { p.planner_version = "2"; }) != id);
  CHECK(with([](Plan& p) { p.steps.clear(); }) == id);
}

TEST_CASE("aPlanPrintsOnOneLine") {
  CHECK(print(Plan{}) == "nothing");
  const std::string text = print(made_up::two_steps());
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.find("permute_tile.e2 tile=32x16 wg=64 grid=8x1x1 shared=2112 push=32") != std::string::npos);
  CHECK(text.find(" | barrier | ") != std::string::npos);
}
