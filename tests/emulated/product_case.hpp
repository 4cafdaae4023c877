// A product of matrices or a convolution, carried out by the emulated steps of a plan and compared with the reference.
#pragma once

#include "memory.hpp"

#include "reference/products.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sectile::emulated {

// A problem, its data, and what should come out.
template <class Definition>
class ProductCase {
 public:
  using Operation = std::remove_cvref_t<decltype(std::declval<Definition>().problem())>;

  ProductCase(const Operation& problem, std::uint64_t seed)
      : ProductCase(problem, seed, [](const std::string&, std::span<std::byte>) {}) {}

  // `edit` changes an operand's data: its name, its bytes. Operands begin at multiples of what they promise or, if it
  // is more, of `least_align`.
  template <class Edit>
  ProductCase(const Operation& problem, std::uint64_t seed, const Edit& edit, std::uint32_t least_align = 1)
      : definition_(problem) {
    for (const auto& [name, operand] : definition_.operands()) {
      const std::uint32_t align = std::max<std::uint32_t>(operand.align, least_align);
      const auto& memory = memory_.emplace(name, std::make_unique<Memory>(operand.bytes(), align)).first->second;
      memory->poison();
      definition_.poison(name, memory->bytes());
      definition_.fill(name, memory->bytes(), seed);
      edit(name, memory->bytes());
      data_[name] = memory->bytes();
    }
    const auto d = destination().bytes();
    before_.assign(d.begin(), d.end());
    want_ = definition_.result(data_, before_);
  }

  // By the steps of a plan; what went wrong, or nothing. `left_out` of the step of that number.
  std::string run(const Plan& plan, Tally* tally, unsigned left_out = kNoBarrier, std::size_t of_step = 0) {
    std::ranges::copy(before_, destination().address());
    std::vector<std::unique_ptr<Memory>> scratch;
    std::vector<Operand> operands;
    for (const PlanOperand& operand : plan.operands) {
      if (operand.role == OperandRole::scratch) {
        scratch.push_back(std::make_unique<Memory>(operand.bytes, operand.align));
        scratch.back()->poison();
        operands.push_back({scratch.back()->address()});
      } else {
        operands.push_back({memory_.at(operand.name)->address()});
      }
    }
    barriers_.clear();
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      const Step& step = plan.steps[i];
      if (tally != nullptr) tally->count(step.kernel);
      auto failure = emulated::run(step, operands, i == of_step ? left_out : kNoBarrier);
      barriers_.push_back(emulated::barriers());
      if (!failure.empty()) return step.kernel.stem + "." + step.kernel.variant + ": " + failure;
    }
    if (const auto wrong = compare(definition_, want_, before_, destination().bytes())) return wrong->message;
    for (const auto& [name, memory] : memory_)
      if (!memory->guards_stand()) return "a write beside " + name;
    for (const auto& memory : scratch)
      if (!memory->guards_stand()) return "a write beside scratch";
    return {};
  }
  // Of the last run, each step's.
  const std::vector<unsigned>& barriers() const { return barriers_; }
  const Operation& problem() const { return definition_.problem(); }

 private:
  const Memory& destination() const { return *memory_.find(Definition::kDestination)->second; }

  Definition definition_;
  std::map<std::string, std::unique_ptr<Memory>, std::less<>> memory_;
  reference::ProductData data_;
  std::vector<std::byte> before_;
  std::vector<reference::ProductElement> want_;
  std::vector<unsigned> barriers_;
};

}  // namespace sectile::emulated
