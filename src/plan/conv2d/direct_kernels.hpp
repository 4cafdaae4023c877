// What the kernels without tiles share: conv2d_direct, conv2d_depthwise and conv2d_lanes.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <memory>

namespace sectile::detail {

// Words, addresses and constants of a kernel that has a matmul's words and gathers no operand.
struct OwnWords final : GatheredOperand {
  std::uint32_t width(std::uint32_t) const override { return 1; }
  bool offsets_fit(std::int64_t, std::int64_t, Refusal&) const override { return true; }
  std::int64_t element(std::uint32_t, std::uint32_t) const override { return -1; }
  std::int64_t elements() const override { return 0; }
  FixedList<Constant, 8> constants(std::uint32_t) const override { return own; }
  FixedList<std::uint32_t, kMostWords> words(std::int64_t) const override { return list; }

  FixedList<Constant, 8> own;
  FixedList<std::uint32_t, kMostWords> list;
};

// The problem as conv2d_direct, conv2d_depthwise and conv2d_lanes see it.
std::unique_ptr<Conv2dGemm> direct_gemm(const Conv2dContext& c);
// A config of one of them: everything but its own constants, widths and workgroups.
Conv2dConfig direct_config(const Conv2dContext& c, const char* stem);
// Refuses an image, or weights, that a kernel's 32-bit byte offsets do not reach.
bool direct_offsets_fit(const Conv2dContext& c, Refusal& refusal);

}  // namespace sectile::detail
