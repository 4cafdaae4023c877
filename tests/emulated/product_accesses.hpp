// What the comparisons of products' accesses share: their operands, and the part of a kernel that is one step of K.
#pragma once

#include "counts.hpp"
#include "memory.hpp"

#include "gemm/matmul_simt.abi.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sectile::emulated {

// The barriers between which a kernel uses workgroup memory as in each step of K. A step's loads stand before the first
// barrier, in all kernels that have one.
struct Window {
  std::uint32_t first, last;
};
inline Window window_of(const Step& step) {
  // The next step is fetched and staged beside the products of this one, after a barrier where there is one buffer.
  const bool tiles = step.kernel.stem == "matmul_simt" || step.kernel.stem == "conv2d_simt";
  if (tiles && constant_of(step, MATMUL_SIMT_SPEC_PREFETCH) != 0)
    return {1, constant_of(step, MATMUL_SIMT_SPEC_STAGES) == 1 ? 2u : 1u};
  // Products; staging of the skinny operand, after the next barrier, is not counted.
  if (step.kernel.stem == "matvec") return {1, 1};
  return {0, 1};
}

// A plan's operands and scratch, at addresses where a transaction begins.
class Operands {
 public:
  explicit Operands(const Plan& plan) {
    for (const PlanOperand& operand : plan.operands) {
      operands_.push_back({memories_.emplace_back(std::make_unique<Memory>(operand.bytes, 4096))->address()});
      if (!kMultiplied.contains(operand.name)) continue;
      const auto begin = reinterpret_cast<std::uintptr_t>(operands_.back().address);
      multiplied_.push_back({begin, begin + operand.bytes});
    }
  }
  std::span<const Operand> operands() const { return operands_; }
  // Whether it is one of an operand of the product. Scratch holds some of a convolution.
  bool multiplied(const Access& access) const {
    return std::ranges::any_of(
        multiplied_, [&](const auto& range) { return access.address >= range.first && access.address < range.second; });
  }

 private:
  inline static const std::set<std::string> kMultiplied = {"a", "b", "x", "w", "scratch"};
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<Operand> operands_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> multiplied_;
};

}  // namespace sectile::emulated
