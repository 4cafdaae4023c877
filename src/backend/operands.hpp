// Checks of the caller's addresses, before anything is launched, and their place in the push bytes.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sectile::backend {

// Whether a device of this profile may prepare the plan: it was made for it, or the caller takes any, and check_plan
// accepts it. `profile_hash`: the profile's. Errors: invalid_plan, and those of check_plan.
Result<void> check_prepared(const Plan& plan, const DeviceProfile& profile, std::string_view profile_hash,
                            const PrepareOptions& options);

// The bytes of an operand from the first to the last that any step accesses.
struct Accessed {
  std::uint64_t begin = 0, end = 0;
  bool written = false;
};

// One entry for each operand of the plan, over its steps [first, end).
std::vector<Accessed> accessed_ranges(const Plan& plan, std::size_t first, std::size_t end);

// Checks in this order, and names the operand: every address is given, aligned, large enough, within 64 bits; no
// accessed bytes are shared with a written operand. Makes no heap allocation on success.
Result<void> check_operands(std::span<const PlanOperand> operands, std::span<const Accessed> accessed,
                            std::span<const OperandAddress> given);

// Copies a step's push bytes and writes the operands' addresses into their slots. `to` has room for all of `push`.
void fill_push(std::span<const std::uint8_t> push, std::span<const AddressSlot> slots,
               std::span<const OperandAddress> given, std::uint8_t* to) noexcept;

}  // namespace sectile::backend
