#include "step_words.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace sectile::detail {

namespace {

constexpr GemmConstants kAll = kAllGemmWords;
constexpr std::uint32_t kMostParameters = kMostActivationParameters;
static_assert(size_of<GemmAddressWords>(kAll) + kMostParameters + size_of<GemmWords>(kAll) <= GEMM_MAX_WORDS);
static_assert(size_of<GemmAddressWords>(kAll) + kMostParameters + size_of<MatmulReduceWords>(kAll) <= GEMM_MAX_WORDS);
// Addresses and the activation's parameters are always pushed.
static_assert(size_of<GemmAddressWords>(kAll) + kMostParameters <= GEMM_PUSH_WORDS);

}  // namespace

std::uint32_t find_operand(std::span<const PlanOperand> operands, std::string_view name) {
  const auto at = std::ranges::find(operands, name, &PlanOperand::name);
  return at == operands.end() ? kNoOperand : static_cast<std::uint32_t>(at - operands.begin());
}

void StepWords::add_address(const WordAddress& address) {
  if (address.operand != kNoOperand)
    step.addresses.push_back(
        {static_cast<std::uint32_t>(offsetof(GemmPush, words)) + 4 * count, address.operand, address.byte_offset});
  add(0);
  add(0);
}

void StepWords::finish(std::span<const PlanOperand> operands, std::uint32_t written) {
  GemmPush push{};
  std::copy_n(word.begin(), std::min<std::uint32_t>(count, GEMM_PUSH_WORDS), push.words);
  step.push.resize(sizeof push);
  std::memcpy(step.push.data(), &push, sizeof push);
  for (std::uint32_t k = GEMM_PUSH_WORDS; k < count; ++k)
    step.constants.push_back({GEMM_SPEC_WORD0 + k - GEMM_PUSH_WORDS, word.at(k)});
  std::ranges::sort(step.constants);
  for (const auto& slot : step.addresses)
    step.accesses.push_back({slot.operand, 0, operands[slot.operand].bytes, slot.operand == written});
}

}  // namespace sectile::detail
