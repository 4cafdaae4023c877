// Plans a GEMM by the cheapest candidate of its strategies.
#pragma once

#include "context.hpp"
#include "plan/costing.hpp"
#include "plan/job.hpp"

#include <string>

namespace sectile::detail {

// Fills the job's plan, whose operands are the GEMM's: a, b, d, and those that it has of c, bias, scale, residual,
// b.scale and a.scale. Adds the scratch.
Result<void> plan_gemm(Job& job, const Gemm& gemm);

// Divides the config as `of` says of the candidate of this name; an empty function leaves it as it is.
void set_measured_splits(GemmConfig& d, const std::function<MeasuredSplits(const std::string&)>& of,
                         const std::string& name);

// A candidate's explanation, with complete counts. `cost` is gemm_cost()'s, from the sampled counts.
void explain_gemm(const GemmContext& c, const GemmStrategy& s, std::uint32_t row, const GemmConfig& d,
                  std::int64_t cost, Candidate& candidate);

// Why no row of the matrix unit's kernels is chosen: the most frequent refusal, or that another kernel costs less.
std::string gemm_unit_refusal(const Gemm& gemm, const DeviceProfile& profile);
// The same of a plan whose only GEMM is this one. Empty where the unit has no use: f32, K = 0, and few rows, which
// matvec computes on every device.
std::string gemm_unit_refusal(const Gemm& gemm, const Plan& plan, const DeviceProfile& profile);

}  // namespace sectile::detail
