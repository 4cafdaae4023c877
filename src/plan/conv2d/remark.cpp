// Why a convolution does not use the matrix unit.
#include "remark.hpp"
#include "plan/gemm/plan.hpp"
#include "pointwise.hpp"

namespace sectile::detail {

std::string conv2d_unit_refusal(const Conv2dProblem& problem, const DeviceProfile& profile,
                                std::span<const PlanOperand> operands) {
  if (const auto matmul = as_pointwise(problem)) return gemm_unit_refusal(matmul->gemm, profile);
  std::vector<PlanOperand> all(operands.begin(), operands.end());
  if (all.empty() || all.back().role != OperandRole::scratch)
    all.push_back({"scratch", OperandRole::scratch, 0, kScratchAlign});
  const PlanOptions options;
  const Conv2dContext context = conv2d_context(problem, profile, options, all);
  RefusalCount refusals;
  return count_refusals(kConv2dCoopmat, context, &refusals) ? refusals.most() : "another kernel costs less";
}

}  // namespace sectile::detail
