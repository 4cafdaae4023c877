// The check's parts of a convolution. Private to them.
#pragma once

#include "operation.hpp"

namespace sectile::tools {

std::vector<Problem> big_conv2ds();
std::unique_ptr<BigCase> big_conv2d(const Conv2dProblem& problem);

}  // namespace sectile::tools
