// The check's parts of a permute. Private to them.
#pragma once

#include "operation.hpp"

namespace sectile::tools {

std::shared_ptr<CheckedProblem> checked_elementwise(const PermuteProblem& problem);  // a permute that has a stage
std::vector<Problem> big_permutes();
std::unique_ptr<BigCase> big_permute(const PermuteProblem& problem);

}  // namespace sectile::tools
