// What every backend checks of the caller's addresses before it launches anything, and where they go.
#pragma once

#include <sectile/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sectile::backend {

// The bytes of an operand between the first and the last that any step touches.
struct Accessed {
  std::uint64_t begin = 0, end = 0;
  bool written = false;
};

// One an operand of the plan, over all its steps.
std::vector<Accessed> accessed_ranges(const Plan& plan);

// By name and in this order: every address there is, aligned, large enough, within 64 bits; no operand's accessed
// bytes shared with those of one that is written. Takes no heap allocation where all is well.
Result<void> check_operands(std::span<const PlanOperand> operands, std::span<const Accessed> accessed,
                            std::span<const OperandAddress> given);

// A step's push bytes with the operands' addresses in their slots. `to` has room for all of `push`.
void fill_push(std::span<const std::uint8_t> push, std::span<const AddressSlot> slots,
               std::span<const OperandAddress> given, std::uint8_t* to) noexcept;

}  // namespace sectile::backend
