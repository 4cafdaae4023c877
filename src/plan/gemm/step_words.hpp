// The words of a step whose kernel has a GEMM's push struct (shaders/gemm/gemm.abi.h).
#pragma once

#include "kernel_words.hpp"

#include <sectile/plan.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace sectile::detail {

inline constexpr std::uint32_t kNoOperand = ~0u;

// With every word that a step can have, but for the activation's parameters: its bits are one number.
inline constexpr GemmConstants kAllGemmWords{.kEpilogue = ~0u, .kBType = SECTILE_TYPE_Q8};
inline constexpr std::uint32_t kMostActivationParameters = 2;

// The index of the operand with this name, or kNoOperand.
std::uint32_t find_operand(std::span<const PlanOperand> operands, std::string_view name);

// Lists are packed into it in the stream's order.
struct StepWords {
  static constexpr std::uint32_t kMost = GEMM_MOST_WORDS;
  static constexpr bool offset64 = false;

  Step step;
  std::array<std::uint32_t, kMost> word{};
  std::uint32_t count = 0;

  void add(std::uint32_t value) { word.at(count++) = value; }
  // record() fills it in; kNoOperand: it stays 0.
  void add_address(const WordAddress& address);

  // Pushes the words; those that do not fit become specialization constants. The step has all of the operands that it
  // has addresses of, and writes one.
  void finish(std::span<const PlanOperand> operands, std::uint32_t written);
};

}  // namespace sectile::detail
