// A convolution candidate's steps, over slices of the plan's operands.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sectile::detail {

// Appends a part of so many bytes to the scratch that the GEMM's other steps need.
OperandSlice add_scratch(const Conv2dContext& c, Conv2dGemm& gemm, std::string_view as, std::uint64_t bytes);
// Appends the steps of a permute from one part to another to `steps`, and adds its cost. Errors: as make_plan.
Result<void> add_permute(const Conv2dContext& c, const PermuteProblem& problem, const OperandSlice& from,
                         const OperandSlice& to, std::vector<Step>& steps, ExtraSteps& extra);
// The steps of a candidate, and the scratch that they need.
struct Conv2dSteps {
  std::vector<Step> steps;
  std::uint64_t scratch_bytes = 0;
};
Result<Conv2dSteps> conv2d_steps(const Conv2dContext& c, const Conv2dConfig& config);

}  // namespace sectile::detail
