// Why a convolution does not use the matrix unit.
#pragma once

#include "problem.hpp"

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <span>
#include <string>

namespace sectile::detail {

// As gemm_unit_refusal, of a convolution; `operands`: its plan's.
std::string conv2d_unit_refusal(const Conv2dProblem& problem, const DeviceProfile& profile,
                                std::span<const PlanOperand> operands);

}  // namespace sectile::detail
