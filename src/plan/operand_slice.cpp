#include "operand_slice.hpp"
#include "move_step.hpp"

#include <algorithm>

namespace sectile::detail {

std::uint32_t operand_index(std::span<const PlanOperand> operands, std::string_view name) {
  return static_cast<std::uint32_t>(std::ranges::find(operands, name, &PlanOperand::name) - operands.begin());
}

OperandSlice whole_slice(std::span<const PlanOperand> operands, std::string_view operand, std::string_view as) {
  const std::uint32_t index = operand_index(operands, operand);
  return {std::string(as), index, 0, operands[index].bytes, operands[index].align};
}

void place(std::span<Step> steps, std::span<const OperandSlice> parts) {
  for (Step& step : steps)
    move_step(step, [&](std::uint32_t operand) { return OperandPlace{parts[operand].operand, parts[operand].offset}; });
}

std::vector<PlanOperand> as_operands(std::span<const OperandSlice> parts) {
  std::vector<PlanOperand> operands;
  operands.reserve(parts.size() + 1);
  for (const OperandSlice& part : parts) operands.push_back({part.name, OperandRole::source, part.bytes, part.align});
  return operands;
}

bool follows(const Step& step, std::span<const Step> others) {
  return std::ranges::any_of(others, [&](const Step& other) {
    return std::ranges::any_of(other.accesses, [&](const auto& to) {
      return to.write && std::ranges::any_of(step.accesses, [&](const auto& from) {
               return from.operand == to.operand && from.begin < to.end && to.begin < from.end;
             });
    });
  });
}

}  // namespace sectile::detail
