// The inputs and the output of planning one problem for one device.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sectile::detail {

struct ExtraRows;
struct CostObserver;

constexpr std::int64_t kNoBound = std::numeric_limits<std::int64_t>::max();  // of a cost

struct Job {
  const DeviceProfile& profile;
  const PlanOptions& options;
  Plan& plan;
  const ExtraRows* extra = nullptr;
  CostObserver* observer = nullptr;  // sees every admissible candidate (costing.hpp)
  bool chose = false;                // a candidate was chosen; a problem without work has no candidates
  bool competed = true;              // it did by its cost; a last resort's cost is no estimate
  std::int64_t cost = 0;             // of the chosen candidates, picoseconds
  // A candidate that costs as much or more is of no use: then there may be no plan. Of GEMMs, without an explanation.
  std::int64_t useful_below = kNoBound;
  bool units_only = false;  // of GEMMs, kernels for matrix units alone
};

// Makes one plan. `tuned`: options.force comes from the tuning store and not from the user. `extra`: extra_rows.hpp.
Result<Plan> plan_as(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                     const PlanOptions& options, bool tuned, const ExtraRows* extra = nullptr);
// The plan of the measured candidate `name`. With options.explain it lists all candidates with their estimated costs.
Result<Plan> plan_tuned(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                        const PlanOptions& options, const std::string& name);

// Parses a plan's JSON and runs check_plan on it. Only plan_from_json calls this.
Result<Plan> parse_plan(std::string_view text);

inline constexpr std::size_t kMaxSteps = 64;  // check_plan's limit

}  // namespace sectile::detail
