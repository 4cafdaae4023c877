// Steps each field of which has a value that no other field has, for tests of what a driver is asked for.
#pragma once

#include <sectile/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sectile::test {

// On bytes of the operands of its own, so that it may run beside others. Its words are nonsense: nothing runs it.
inline void mark_step(Step& step, std::uint32_t number) {
  step.grid = {3 + number, 7 + number, 13 + number};
  for (AddressSlot& slot : step.addresses) slot.byte_offset = 4096 * number + 16 * slot.operand;
  for (AccessRange& range : step.accesses) {
    range.begin = 4096 * number;
    range.end = range.begin + 4096;
  }
  for (std::size_t i = 16; i < step.push.size(); ++i) step.push[i] = static_cast<std::uint8_t>(16 * number + i);
}

// The push bytes with the addresses in their slots. `operands`: OperandAddress of either backend.
std::vector<std::uint8_t> push_with_addresses(const Step& step, const auto& operands) {
  std::vector<std::uint8_t> push = step.push;
  for (const AddressSlot& slot : step.addresses) {
    const std::uint64_t address = operands[slot.operand].address + slot.byte_offset;
    for (std::size_t b = 0; b < 8; ++b) push[slot.push_offset + b] = static_cast<std::uint8_t>(address >> (8 * b));
  }
  return push;
}

}  // namespace sectile::test
