// Plans a convolution. No kernel computes one yet: only a result without elements has a plan, which has no steps.
#include "operation.hpp"
#include "problem.hpp"

#include <sectile/profile.hpp>

namespace sectile::detail {

std::span<const NamedConstant> Operation<Conv2dProblem>::named_constants(std::string_view) { return {}; }

Result<void> Operation<Conv2dProblem>::plan(Job& job, const Conv2dProblem& problem) {
  auto specs = operands_of(Problem(problem));
  if (!specs) return std::unexpected(std::move(specs.error()));
  for (const auto& spec : *specs)
    job.plan.operands.push_back(
        {spec.name, spec.written ? OperandRole::destination : OperandRole::source, spec.bytes, spec.align});
  if (is_empty(problem)) return {};
  return fail(ErrorKind::unsupported, "conv2d on " + job.profile.name, print(problem),
              "a result without elements: there is no kernel for convolutions yet");
}

}  // namespace sectile::detail
