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

// More parts than this would be more launches than work.
inline constexpr std::size_t kMaxSteps = 64;   // check_plan takes no more

// Fill the plan's operands and steps.
Result<void> plan_operation(Job& job, const PermuteProblem& problem);
Result<void> plan_operation(Job& job, const MatmulProblem& problem);

}  // namespace sectile::detail
