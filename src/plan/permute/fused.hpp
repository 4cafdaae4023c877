// Shared by the strategies of permutes with an elementwise stage: types, access widths and the stage's constants.
#pragma once

#include "strategy.hpp"

#include "permute/permute_fused.abi.h"

namespace sectile::detail {

// The widest access along `axis` of an operand, in elements: at most `most` (a power of two) and at most 16 bytes.
std::uint32_t fused_width(const Nest& nest, Side side, int axis, std::uint32_t most);

// The same for `count` elements of consecutive records: axis `record` is short, and a step along `along` is one record.
// Returns 1 if the records are not contiguous.
std::uint32_t fused_joined_width(const Nest& nest, Side side, int record, int along, std::uint32_t count);

// Elements per access.
struct FusedWidths {
  std::uint32_t load = 1, store = 1, add = 1;
};

// The kernel's variant: "word" if all accesses are whole words, else "narrow", or "split" if the device has no accesses
// of 1 or 2 bytes.
const char* fused_variant(const PermuteContext& c, const FusedWidths& widths);

// PERMUTE_FUSED_* bits. `axis_s` is the axis of a run or of S, `axis_d` that of D; -1: none.
std::uint32_t fused_stage(const Nest& nest, int axis_s, int axis_d);

// The constants of both kernels, in the order of their ids.
void add_fused_constants(PermuteConfig& config, const Nest& nest, const FusedWidths& widths);

}  // namespace sectile::detail
