// A problem's operands in device memory, several times over, so that no run finds its data in a cache. Private to the
// engine.
#pragma once

#include "bench.hpp"
#include "operation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace sectile::tools {

class Slots {
 public:
  // Errors: those of the device; memory is asked for again with half as many slots until one is left.
  static Result<std::unique_ptr<Slots>> make(Machine& machine, const BenchOptions& options, const Problem& problem);

  const Problem& problem() const noexcept { return problem_; }
  const std::vector<OperandSpec>& specs() const noexcept { return specs_; }
  std::size_t result() const noexcept { return result_; }  // the operand that is written
  const Memory& memory(std::size_t operand) const { return *memory_[operand]; }
  std::uint64_t pitch(std::size_t operand) const { return pitch_[operand]; }
  // All that run on these operands take turns at them: what one has just touched is not the next one's.
  std::uint64_t take_turn() noexcept { return turn_++ % count_; }

  // Puts what it was before any run, or poison, into slot 0's result. Errors: the device's.
  Result<void> restore_result();
  // What is wrong with slot 0's result; empty where nothing is. With `with_first` the first result is kept, and later
  // ones are compared with it as well.
  std::string verify(bool with_first);

 private:
  Slots(Machine& machine, const Problem& problem)
      : machine_(machine), operation_(bench_operation(problem)), problem_(problem) {}
  Result<void> allocate();
  Result<void> fill();

  Machine& machine_;
  const BenchOperation& operation_;
  Problem problem_;
  std::vector<OperandSpec> specs_;
  std::size_t result_ = 0;
  std::vector<MemoryPtr> memory_;
  std::vector<std::uint64_t> pitch_;
  std::vector<std::vector<std::byte>> host_;  // what slot 0 holds before a run; empty of what is only written
  std::vector<std::byte> first_;
  std::vector<std::byte> right_;  // a result of slot 0 that the operation's definition agrees with
  std::uint64_t count_ = 0, turn_ = 0;
};

}  // namespace sectile::tools
