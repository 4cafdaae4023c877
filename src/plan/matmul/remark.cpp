// Why a matmul does not use the matrix unit.
#include "context.hpp"

namespace sectile::detail {

std::string matmul_unit_refusal(const MatmulProblem& problem, const DeviceProfile& profile) {
  const MatmulContext context = matmul_context(problem, profile);
  RefusalCount refusals;
  for (const auto* strategy : {&kMatmulCoopmat, &kMatmulCoopmat2})
    // Few devices have the extension of the second: its refusals are no help.
    if (!count_refusals(*strategy, context, strategy == &kMatmulCoopmat ? &refusals : nullptr))
      return "another kernel costs less";
  return refusals.most();
}

}  // namespace sectile::detail
