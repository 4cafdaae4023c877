// A permute as a part of another operation's plan.
#pragma once

#include "plan/operand_slice.hpp"

#include <sectile/error.hpp>
#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sectile::detail {

struct PermuteSteps {
  std::vector<Step> steps;
  std::int64_t cost = 0;  // picoseconds
};
// The steps from one part of a plan's operands to another, by the first of `preferred` that is admissible, else by the
// cheapest candidate. Errors: as make_plan.
Result<PermuteSteps> permute_between(const DeviceProfile& profile, PlanOptions options, const PermuteProblem& problem,
                                     const OperandSlice& from, const OperandSlice& to,
                                     std::span<const char* const> preferred = {});

}  // namespace sectile::detail
