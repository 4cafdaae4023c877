// Why a convolution does not use the matrix unit.
#include "context.hpp"
#include "operation.hpp"
#include "plan/gemm/plan.hpp"
#include "plan/has_step.hpp"
#include "pointwise.hpp"

namespace sectile::detail {

std::string Operation<Conv2dProblem>::unit_refusal(const Conv2dProblem& problem, const Plan& plan,
                                                   const DeviceProfile& profile) {
  // A depthwise convolution has no product that a unit could multiply.
  const bool depthwise = problem.groups > 1 && problem.groups == problem.c;
  if (problem.type == DType::f32 || depthwise ||
      !has_step(plan, {"matmul_simt", "matmul_direct", "conv2d_simt", "conv2d_direct"}))
    return {};
  if (const auto matmul = as_pointwise(problem)) return gemm_unit_refusal(matmul->gemm, profile);
  if (profile.api == Api::cuda) return "no CUDA kernel multiplies a gathered image by it";
  std::vector<PlanOperand> all = plan.operands;
  if (all.empty() || all.back().role != OperandRole::scratch)
    all.push_back({"scratch", OperandRole::scratch, 0, kScratchAlign});
  const PlanOptions options;
  const Conv2dContext context = conv2d_context(problem, profile, options, all);
  RefusalCount refusals;
  return count_refusals(kConv2dCoopmat, context, &refusals) ? refusals.most() : "another kernel costs less";
}

}  // namespace sectile::detail
