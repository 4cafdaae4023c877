// The check's parts of a matmul. Private to them.
#pragma once

#include "operation.hpp"

namespace sectile::tools {

std::vector<Problem> big_matmuls();
std::unique_ptr<BigCase> big_matmul(const MatmulProblem& problem);

}  // namespace sectile::tools
