// What permute_fused and permute_fused_block share: types, access widths and the stage's constants.
#pragma once

#include "strategy.hpp"

#include "permute/permute_fused.abi.h"

namespace sectile::detail {

// An operand whose elements an access walks.
enum class FusedSide : std::uint8_t { src, dst, add };

// The widest access, in elements, at most `most` (a power of two) and 16 bytes, that goes along `axis` of an operand.
std::uint32_t fused_width(const Nest& nest, FusedSide side, int axis, std::uint32_t most);

// The same for `count` elements of records of a short axis, one behind the other along the axis `along`: 1 where they
// are none.
std::uint32_t fused_joined_width(const Nest& nest, FusedSide side, int record, int along, std::uint32_t count);

// Accesses of a kernel: elements each.
struct FusedWidths {
  std::uint32_t load = 1, store = 1, add = 1;
};

// The kernel's variant: accesses of less than a word are "narrow", and where the device has none, "split".
const char* fused_variant(const PermuteContext& c, const FusedWidths& widths);

// PERMUTE_FUSED_* bits; along a run or S goes `axis_s`, along D `axis_d` (-1: there is no such axis).
std::uint32_t fused_stage(const Nest& nest, int axis_s, int axis_d);

// Constants that both kernels have, in the order of their ids.
void add_fused_constants(PermuteConfig& config, const Nest& nest, const FusedWidths& widths);

}  // namespace sectile::detail
