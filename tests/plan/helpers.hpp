// Plans and refusals of a problem string, for several tests of the planner.
#pragma once

#include "profiles.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace sectile::test {

inline DeviceProfile profile_of_target(std::string_view name) {
  const auto profile = builtin_target(name);
  REQUIRE_MESSAGE(profile.has_value(), name);
  return *profile;
}

inline Plan planned(const std::string& text, const DeviceProfile& profile = gpu(), const PlanOptions& options = {}) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
  auto plan = make_plan(*problem, profile, options);
  REQUIRE_MESSAGE(plan.has_value(), text << ": " << plan.error().message());
  return *plan;
}

// "kind: what" of the refusal; empty if the problem is valid.
inline std::string refusal(std::string_view text) {
  auto problem = parse_problem(text);
  if (!problem) return std::string(name(problem.error().kind)) + ": " + problem.error().what;
  auto ok = validate(*problem);
  return ok ? "" : std::string(name(ok.error().kind)) + ": " + ok.error().what;
}

// The message of the error that parsing gives; empty if there is none.
inline std::string parse_error(std::string_view text) {
  auto problem = parse_problem(text);
  return problem ? "" : problem.error().message();
}

// As it is printed.
inline std::string reprinted(std::string_view text) { return print(parse_problem(text).value()); }

// "name:bytes" of every operand.
inline std::string operand_text(std::string_view text) {
  std::string out;
  const auto specs = operands_of(parse_problem(text).value()).value();
  for (const auto& operand : specs)
    out += (out.empty() ? "" : " ") + operand.name + ":" + std::to_string(operand.bytes);
  return out;
}

// The key of a pipeline.
using Pipeline = std::tuple<KernelName, std::vector<Constant>, std::uint32_t>;

inline void add_pipelines(const Plan& plan, std::set<Pipeline>& all) {
  for (const Step& step : plan.steps) all.insert({step.kernel, step.constants, step.required_subgroup_size});
}

inline std::uint32_t constant_of(const Step& step, std::uint32_t id) {
  const auto at = std::ranges::find(step.constants, id, &Constant::id);
  REQUIRE(at != step.constants.end());
  return at->value;
}

// A pack with the kernels of one plan.
class KernelsOf final : public KernelSet {
 public:
  explicit KernelsOf(const Plan& plan) { add_pipelines(plan, held_); }
  bool has(const Step& step) const override {
    return held_.contains({step.kernel, step.constants, step.required_subgroup_size});
  }
  std::string nearest(const Step&) const override { return "none"; }
  std::string_view id() const noexcept override { return "one plan's"; }

 private:
  std::set<Pipeline> held_;
};

}  // namespace sectile::test
