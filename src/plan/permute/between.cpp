#include "between.hpp"
#include "operation.hpp"
#include "plan/job.hpp"

#include <array>
#include <utility>

namespace sectile::detail {

Result<PermuteSteps> permute_between(const DeviceProfile& profile, PlanOptions options, const PermuteProblem& problem,
                                     const OperandSlice& from, const OperandSlice& to,
                                     std::span<const char* const> preferred) {
  Plan plan;
  plan.problem = problem;
  Job job{profile, options, plan};
  Result<void> made = fail(ErrorKind::unsupported, "permute", "", "");
  for (const char* candidate : preferred) {
    options.force = candidate;
    if (!made) made = Operation<PermuteProblem>::plan(job, problem);
  }
  options.force.clear();
  if (!made) made = Operation<PermuteProblem>::plan(job, problem);
  if (!made) return std::unexpected(made.error());
  place(plan.steps, std::array{from, to});
  return PermuteSteps{std::move(plan.steps), job.cost};
}

}  // namespace sectile::detail
