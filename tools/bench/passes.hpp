// What a fused problem is measured against: the same as problems of their own, one after another.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <map>
#include <span>
#include <string>

namespace sectile::tools {

// One problem of a chain. Its operands stand for those of the whole that have the same names, but for the ones that
// `operands` names: for an operand of the whole by another name, or for what one pass leaves another.
struct Pass {
  Problem problem;
  std::map<std::string, std::string> operands;
};

// All passes as one plan, whose operands are the whole's, then scratch: one operand for all that passes leave each
// other by one name, one for each pass's own. A barrier stands before each pass. Errors: those of planning, and of the
// plan's check.
Result<Plan> joined_passes(const Problem& whole, std::span<const Pass> passes, const DeviceProfile& profile);

}  // namespace sectile::tools
