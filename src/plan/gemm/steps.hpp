// A GEMM candidate's steps.
#pragma once

#include "context.hpp"

#include <sectile/error.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace sectile::detail {

// The scratch that a candidate's partial sums need.
std::uint64_t gemm_scratch_bytes(const GemmContext& c, const GemmConfig& d) noexcept;

// The steps of a candidate, over operands with the names a, b, d, c, bias, scale, residual, b.scale and a.scale. The
// last operand is the scratch; its size and `scratch_bytes` are raised to what the steps need.
Result<std::vector<Step>> gemm_steps(const GemmContext& c, const GemmConfig& d, std::span<PlanOperand> operands,
                                     std::uint64_t& scratch_bytes);
// The steps for K = 0 and alpha = 0: the epilogue without a product.
Result<std::vector<Step>> gemm_epilogue_alone(const GemmContext& c, std::span<PlanOperand> operands);

}  // namespace sectile::detail
