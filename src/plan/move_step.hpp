// Moves a step to another part of its operands.
#pragma once

#include <sectile/plan.hpp>

#include <cstdint>

namespace sectile::detail {

// Where in a plan an operand of a step is.
struct OperandPlace {
  std::uint32_t operand = 0;
  std::uint64_t offset = 0;  // bytes
};

// Everything in a step that stands for bytes of an operand: addresses, ranges and tensor maps. They move together: an
// address without its range is not ordered, and a tensor map that stays reads another part's elements. `place` gives
// the OperandPlace of an operand's number.
void move_step(Step& step, const auto& place) {
  const auto moved = [&](std::uint32_t& operand) {
    const OperandPlace to = place(operand);
    operand = to.operand;
    return to.offset;
  };
  for (AddressSlot& slot : step.addresses) slot.byte_offset += moved(slot.operand);
  for (AccessRange& range : step.accesses) {
    const std::uint64_t offset = moved(range.operand);
    range.begin += offset;
    range.end += offset;
  }
  for (TensorMap& map : step.tensor_maps) map.byte_offset += moved(map.operand);
}

}  // namespace sectile::detail
