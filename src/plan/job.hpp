// What planning a problem on a device works on.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <cstddef>

namespace sectile::detail {

struct Job {
  const DeviceProfile& profile;
  const PlanOptions& options;
  Plan& plan;
  bool chose = false;   // among candidates: a problem without work has none
};

// One plan, as `options` ask for it. `tuned`: the candidate that options.force names was measured, and not asked for.
Result<Plan> plan_as(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                     const PlanOptions& options, bool tuned);
// The plan of the measured candidate `name`. Where options.explain asks for it, all candidates are listed with their costs as
// they are without the measurement.
Result<Plan> plan_tuned(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                        const PlanOptions& options, const std::string& name);

// What the text of a plan says, checked as check_plan can: private to plan_from_json.
Result<Plan> parse_plan(std::string_view text);

// More parts than this would be more launches than work.
inline constexpr std::size_t kMaxSteps = 64;   // check_plan takes no more

}  // namespace sectile::detail
