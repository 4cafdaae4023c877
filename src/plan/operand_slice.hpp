// Parts of a plan's operands, as the operands of steps that are planned on their own.
#pragma once

#include "refusal.hpp"

#include <sectile/plan.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::detail {

// A part of one of the plan's operands, under the name that a matmul's or a permute's steps have for it.
struct OperandSlice {
  std::string name;           // "a"
  std::uint32_t operand = 0;  // of the plan
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t align = 16;
};

// Parts of the scratch begin at multiples of it.
inline constexpr std::uint32_t kScratchAlign = 256;
inline std::uint64_t aligned_scratch(std::uint64_t bytes) { return ceil_div(bytes, kScratchAlign) * kScratchAlign; }

// The operand's index in the plan.
std::uint32_t operand_index(std::span<const PlanOperand> operands, std::string_view name);
// The whole of an operand of the plan.
OperandSlice whole_slice(std::span<const PlanOperand> operands, std::string_view operand, std::string_view as);
// Lets steps over `parts` access the plan's operands that these lie in.
void place(std::span<Step> steps, std::span<const OperandSlice> parts);
// Slices as the operands of steps over them.
std::vector<PlanOperand> as_operands(std::span<const OperandSlice> parts);
// Whether a step reads or writes what one of the others writes.
bool follows(const Step& step, std::span<const Step> others);

}  // namespace sectile::detail
