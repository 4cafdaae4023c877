// Registers and workgroup memory of a tile: one model for every unit. A strategy says what its kernel stages and what
// an invocation holds. What was measured for one kernel stays with that kernel's strategy.
#pragma once

#include <cstdint>

namespace sectile::detail {

// An operand's tile of one step of K as it lies in workgroup memory, in lines of equal pitch.
struct StagedOperand {
  std::uint32_t rows = 0, k = 0;  // elements along M or N, and along K
  bool along_k = false;           // a line has a row's elements along K; otherwise one k's along the rows
  std::uint32_t element_bytes = 4;
  std::uint32_t padding_bytes = 0;  // after each line, so that lanes in adjacent lines use different banks

  constexpr std::uint32_t lines() const noexcept { return along_k ? rows : k; }
  constexpr std::uint32_t line_bytes() const noexcept { return (along_k ? k : rows) * element_bytes; }
  // Bytes from a line to the next one.
  constexpr std::uint32_t pitch() const noexcept { return line_bytes() + padding_bytes; }
  // What follows begins at a multiple of 16 bytes, the widest access.
  constexpr std::uint32_t bytes() const noexcept { return (lines() * pitch() + 15) / 16 * 16; }
};

// What invocations load at a time, and hold in registers until it is staged or multiplied.
struct LoadedRuns {
  std::uint32_t runs = 0;         // of a step of K
  std::uint32_t invocations = 1;  // that share them; with fewer runs some load the last one again
  std::uint32_t registers = 0;    // of a run

  constexpr std::uint32_t each() const noexcept { return (runs + invocations - 1) / invocations; }
  constexpr std::uint32_t held() const noexcept { return each() * registers; }
};

// Registers of an invocation that so many elements take which so many invocations share.
constexpr std::uint32_t registers_of_share(std::uint32_t elements, std::uint32_t element_bytes,
                                           std::uint32_t invocations) noexcept {
  return elements * element_bytes / 4 / invocations;
}

// Registers of an invocation, of 32 bits each.
struct HeldRegisters {
  std::uint32_t accumulators = 0;
  std::uint32_t fragments = 0;  // of the operands, for one product or one k
  std::uint32_t in_flight = 0;  // loads that are not staged yet
  std::uint32_t others = 24;    // addresses, counters and what compilers need besides

  constexpr std::uint32_t total() const noexcept { return accumulators + fragments + in_flight + others; }
};

// What a workgroup takes of a multiprocessor.
struct Staging {
  HeldRegisters registers;
  StagedOperand a, b;
  std::uint32_t stages = 1;      // buffers, of a step of K each
  std::uint32_t sums_bytes = 0;  // beside them: sums of invocations that share an element of the result
  std::uint32_t result_bytes = 0;
  bool result_in_place = false;  // the result is staged where the operands were; otherwise beside them
  // Where the driver's compiler stages the operands: what the device reserves for it, and what it takes as measured.
  std::uint32_t reserved_bytes = 0, taken_bytes = 0;

  constexpr std::uint32_t step_bytes() const noexcept { return a.bytes() + b.bytes(); }
  // What the kernel declares, and the device's limit has to allow.
  constexpr std::uint32_t memory_bytes() const noexcept {
    const std::uint32_t operands = stages * step_bytes();
    const std::uint32_t tile = result_in_place && result_bytes > operands ? result_bytes : operands;
    return reserved_bytes + tile + sums_bytes + (result_in_place ? 0 : result_bytes);
  }
  // What it takes of a multiprocessor's.
  constexpr std::uint32_t resident_bytes() const noexcept { return taken_bytes != 0 ? taken_bytes : memory_bytes(); }
};

// What the workgroups of a multiprocessor share.
struct Multiprocessor {
  std::uint64_t registers = 0, memory_bytes = 0, invocations = 0;
  std::uint64_t most_workgroups = 0;
  std::uint64_t reserved_bytes = 0;  // of memory, in each workgroup that has any
};

// Workgroups of so many invocations that it holds at a time; at least 1.
std::uint64_t occupancy_of(const Staging& staging, std::uint32_t workgroup,
                           const Multiprocessor& multiprocessor) noexcept;

}  // namespace sectile::detail
