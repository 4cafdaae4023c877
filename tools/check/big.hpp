// What a case of `sectile check --big` needs of its operation.
#pragma once

#include "machine/machine.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sectile::tools {

inline constexpr std::uint64_t kBigSeed = 0x5ec711e;
inline constexpr std::uint32_t kBigPoison = 0xa5c3e17b;
inline constexpr std::uint64_t kBigPiece = std::uint64_t{64} << 20;  // of an upload

// Memory is filled by words.
constexpr std::uint64_t up4(std::uint64_t bytes) { return (bytes + 3) / 4 * 4; }

// One problem's data, and what is right. `memories` are the plan's operands, each as long as its operand (up4).
class BigCase {
 public:
  virtual ~BigCase() = default;
  virtual std::uint64_t destination_bytes() const = 0;
  virtual std::size_t destination() const = 0;                                           // its place among the operands
  virtual Result<void> fill(Machine& machine, std::span<const MemoryPtr> memories) = 0;  // the sources
  // What the destination holds before a run; its first `bytes`, with the guard band behind it.
  virtual Result<void> poison(Machine& machine, const Memory& destination, std::uint64_t bytes) = 0;
  // What is wrong with the destination (up4 of its bytes, and the guard band); empty where nothing is.
  virtual std::string compare(std::span<const std::byte> got) = 0;
};

}  // namespace sectile::tools
