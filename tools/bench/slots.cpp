#include "slots.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint32_t kPoison = 0xffffffff;  // NaNs, where the result has some
constexpr std::uint64_t kPitch = 4096;         // slots begin at multiples of it

}  // namespace

Result<std::unique_ptr<Slots>> Slots::make(Machine& machine, const BenchOptions& options, const Problem& problem) {
  auto specs = operands_of(problem);
  if (!specs) return std::unexpected(specs.error());
  std::unique_ptr<Slots> slots(new Slots(machine, problem));
  slots->specs_ = std::move(*specs);
  double all = 0;
  for (const OperandSpec& spec : slots->specs_) {
    slots->pitch_.push_back(round_up(std::max<std::uint64_t>(spec.bytes, 1), kPitch));
    all += static_cast<double>(spec.bytes);
    if (spec.written) slots->result_ = slots->pitch_.size() - 1;
  }
  // A cache several times smaller than what one round touches keeps nothing until the round is over.
  const double cycle =
      std::max(options.cycle_mb * 1e6, 8 * static_cast<double>(machine.profile().l2_bytes.value_or(0)));
  const auto wanted = static_cast<std::uint64_t>(std::ceil(cycle / std::max(all, 1.0)));
  slots->count_ = std::clamp<std::uint64_t>(wanted, 2, slots->operation_.most_slots());
  if (auto made = slots->allocate(); !made) return std::unexpected(made.error());
  if (auto filled = slots->fill(); !filled) return std::unexpected(filled.error());
  return slots;
}

Result<void> Slots::allocate() {
  for (;; count_ /= 2) {
    memory_.clear();
    for (const std::uint64_t pitch : pitch_) {
      auto memory = machine_.make_memory(count_ * pitch);
      if (!memory && count_ == 1) return std::unexpected(memory.error());
      if (!memory) break;
      memory_.push_back(std::move(*memory));
    }
    if (memory_.size() == pitch_.size()) return {};
  }
}

// Data in every slot: pages that were never written may all be one and the same, and in cache.
Result<void> Slots::fill() {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const OperandSpec& spec = specs_[i];
    const Memory* const memory = memory_[i].get();
    std::vector<std::byte> data(static_cast<std::size_t>(spec.bytes));
    const bool held = operation_.fill(problem_, spec, i, data);
    if (!held) data.clear();
    host_.push_back(std::move(data));
    if (!held) {
      if (auto filled = machine_.fill(*memory, 0, count_ * pitch_[i], kPoison); !filled) return filled;
      continue;
    }
    if (spec.bytes == 0) continue;
    if (auto sent = machine_.upload(*memory, 0, host_[i]); !sent) return sent;
    std::vector<Launch> copies;
    for (std::uint64_t slot = 1; slot < count_; ++slot)
      copies.push_back({nullptr, {{memory, 0, spec.bytes}, {memory, slot * pitch_[i], spec.bytes}}});
    if (auto copied = machine_.run(copies, [](std::size_t, const Error&) {}); !copied) return copied;
  }
  return {};
}

Result<void> Slots::restore_result() {
  const Memory& memory = *memory_[result_];
  return host_[result_].empty() ? machine_.fill(memory, 0, pitch_[result_], kPoison)
                                : machine_.upload(memory, 0, host_[result_]);
}

std::string Slots::verify(bool with_first) {
  std::vector<std::byte> got(static_cast<std::size_t>(specs_[result_].bytes));
  if (auto down = machine_.download(*memory_[result_], 0, got); !down) return down.error().message();
  // A definition may take seconds for what candidates of an exact operation repeat byte for byte.
  if (!with_first && !right_.empty() && right_ == got) return {};
  BenchData before;
  for (std::size_t i = 0; i < specs_.size(); ++i) before[specs_[i].name] = host_[i];
  const auto wrong = [](const std::string& what) {
    return what.empty() ? what : std::string(kWrongResult) + ": " + what;
  };
  if (auto what = operation_.verify(problem_, before, got); !what.empty()) return wrong(what);
  if (!with_first) {
    right_ = std::move(got);
    return {};
  }
  if (!first_.empty()) return wrong(operation_.compare(problem_, first_, got));
  first_ = std::move(got);
  return {};
}

}  // namespace sectile::tools
