// What a permute with an elementwise stage is measured against: the permute alone, and the stage in a pass of its own.
#include "permute.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sectile::tools {
namespace {

// The stage on what the permute has left, which is packed and in the destination's layout.
Result<PermuteProblem> second_pass(const PermuteProblem& problem) {
  if (problem.axes.empty())
    return fail(ErrorKind::unsupported, "separate passes", print(Problem(problem)), "a problem with axes");
  auto shape = dst_shape(problem);
  if (!shape) return std::unexpected(shape.error());
  PermuteProblem second = problem;
  second.shape = std::move(*shape);
  second.src_strides.clear();
  second.src_offset = 0;
  second.src_align = 16;
  for (std::size_t i = 0; i < second.axes.size(); ++i) second.axes[i] = static_cast<int>(i);
  for (std::string* const vector : {&second.stage.scale, &second.stage.bias}) {
    if (vector->empty()) continue;
    const auto at = std::ranges::find(problem.axes, std::stoi(*vector));
    *vector = std::to_string(at - problem.axes.begin());
  }
  return second;
}

}  // namespace

Result<Plan> separate_passes(const PermuteProblem& problem, const DeviceProfile& profile) {
  PermuteProblem first = problem;
  first.stage = {};
  first.dst_strides.clear();
  first.dst_offset = 0;
  first.dst_align = 16;
  const auto second = second_pass(problem);
  if (!second) return std::unexpected(second.error());
  auto moved = make_plan(first, profile);
  if (!moved) return moved;
  auto plan = make_plan(*second, profile);
  if (!plan) return plan;
  // Operands as the whole problem has them, and what stands between the passes behind them.
  const auto between = static_cast<std::uint32_t>(plan->operands.size());
  plan->operands.push_back({"scratch", OperandRole::scratch, moved->operands[1].bytes, 16});
  plan->operands[0] = moved->operands[0];
  const auto renumber = [](Step& step, std::uint32_t from, std::uint32_t to) {
    for (auto& slot : step.addresses)
      if (slot.operand == from) slot.operand = to;
    for (auto& range : step.accesses)
      if (range.operand == from) range.operand = to;
  };
  for (Step& step : plan->steps) renumber(step, 0, between);
  for (Step& step : moved->steps) renumber(step, 1, between);
  if (!plan->steps.empty()) plan->steps.front().barrier_before = true;  // the second pass reads what the first wrote
  plan->steps.insert(plan->steps.begin(), moved->steps.begin(), moved->steps.end());
  plan->problem = problem;
  if (auto ok = check_plan(*plan, profile); !ok) return std::unexpected(ok.error());
  return plan;
}

}  // namespace sectile::tools
