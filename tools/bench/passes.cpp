#include "passes.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace sectile::tools {
namespace {

// The place of an operand of that name, which then has at least those bytes and that alignment; a new one is scratch.
std::uint32_t place_of(Plan& plan, const std::string& name, const PlanOperand& like) {
  const auto found = std::ranges::find(plan.operands, name, &PlanOperand::name);
  const auto place = static_cast<std::uint32_t>(found - plan.operands.begin());
  if (found == plan.operands.end()) plan.operands.push_back({name, OperandRole::scratch, 0, 1});
  PlanOperand& operand = plan.operands[place];
  operand.align = std::max(operand.align, like.align);
  if (operand.role == OperandRole::scratch) operand.bytes = std::max(operand.bytes, like.bytes);
  return place;
}

void renumber(Step& step, const std::vector<std::uint32_t>& places) {
  for (auto& slot : step.addresses) slot.operand = places[slot.operand];
  for (auto& range : step.accesses) range.operand = places[range.operand];
  for (auto& map : step.tensor_maps) map.operand = places[map.operand];
}

void append(Plan& plan, Plan part, const Pass& pass, std::size_t number) {
  std::vector<std::uint32_t> places;
  for (const PlanOperand& operand : part.operands) {
    const auto other = pass.operands.find(operand.name);
    std::string name = other == pass.operands.end() ? operand.name : other->second;
    // A pass's own scratch: "scratch" of one pass is not that of another.
    if (operand.role == OperandRole::scratch) name += " " + std::to_string(number);
    places.push_back(place_of(plan, name, operand));
  }
  for (Step& step : part.steps) renumber(step, places);
  // A pass reads what the ones before it wrote.
  if (!part.steps.empty() && !plan.steps.empty()) part.steps.front().barrier_before = true;
  plan.steps.insert(plan.steps.end(), part.steps.begin(), part.steps.end());
}

}  // namespace

Result<Plan> joined_passes(const Problem& whole, std::span<const Pass> passes, const DeviceProfile& profile) {
  const auto operands = operands_of(whole);
  if (!operands) return std::unexpected(operands.error());
  Plan plan;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    auto part = make_plan(passes[i].problem, profile);
    if (!part) return part;
    if (i == 0) {
      plan = *part;
      plan.steps.clear();
      plan.operands.clear();
      for (const OperandSpec& spec : *operands)
        plan.operands.push_back(
            {spec.name, spec.written ? OperandRole::destination : OperandRole::source, spec.bytes, spec.align});
    }
    append(plan, std::move(*part), passes[i], i);
  }
  plan.problem = whole;
  if (auto ok = check_plan(plan, profile); !ok) return std::unexpected(ok.error());
  return plan;
}

}  // namespace sectile::tools
