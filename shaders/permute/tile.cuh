// What permute_tile and permute_block share: the location of a workgroup's tile, and the load of a block.
#include "permute/permute_tile.abi.h"
#define OWN_WORDS PERMUTE_TILE_WORDS
#include "permute/permute.cuh"
#include "permute/register_transpose.cuh"

constexpr uint kTileS = sectile_constant(PERMUTE_TILE_SPEC_TILE_S, 32u);
constexpr uint kTileD = sectile_constant(PERMUTE_TILE_SPEC_TILE_D, 32u);
constexpr uint kVectorS = sectile_constant(PERMUTE_TILE_SPEC_VECTOR_S, 1u);
constexpr uint kVectorD = sectile_constant(PERMUTE_TILE_SPEC_VECTOR_D, 1u);
constexpr uint kStoreBytes = sectile_constant(PERMUTE_TILE_SPEC_STORE_BYTES, ELEMENT_BYTES);

constexpr uint kBlocksS = kTileS / kVectorS;
constexpr uint kBlocksD = kTileD / kVectorD;
constexpr uint kBlocks = (kBlocksS * kBlocksD + kWorkgroup - 1u) / kWorkgroup;   // blocks per invocation

struct Tile {
  offset_t from, to;            // first element in source and destination
  offset_t src_s, src_d;        // source strides along S and D
  offset_t dst_s, dst_d;
  uint size_s, size_d;          // elements inside the problem
};

__device__ __forceinline__ Tile locate_tile(const PermutePush& push, uint id) {
  Tile t;
  const bool swapped = d_first(push) != 0u;
  t.src_s = swapped ? src_stride(push, 1u) : src_stride(push, 0u);
  t.src_d = swapped ? src_stride(push, 0u) : src_stride(push, 1u);
  t.dst_s = swapped ? dst_stride(push, 1u) : dst_stride(push, 0u);
  t.dst_d = swapped ? dst_stride(push, 0u) : dst_stride(push, 1u);
  t.from = 0; t.to = 0;
  t.size_s = kTileS; t.size_d = kTileD;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a);
    uint step = 1u;
    if (a < 2u) {
      const bool along_s = (a == 0u) != swapped;
      step = along_s ? kTileS : kTileD;
      if (digit + 1u == axis_count(push, a)) {
        if (along_s) t.size_s = last_tile(push).x; else t.size_d = last_tile(push).y;
      }
    }
    t.from += offset_t(digit * step) * src_stride(push, a);
    t.to += offset_t(digit * step) * dst_stride(push, a);
  }
  return t;
}

// Loads the rows of block (s, d); s and d count blocks. Rows and columns outside the problem are clamped to the last
// one inside: the clamped values are never stored, and the loads need no branch.
__device__ __forceinline__ void load_block(const PermutePush& push, const Tile& t, uint s, uint d,
                                           uvec4 (&rows)[MAX_VECTOR]) {
  const uint col = min(s * kVectorS, t.size_s - kVectorS);
#pragma unroll
  for (uint r = 0u; r < kVectorD; ++r) {
    const uint row = min(d * kVectorD + r, t.size_d - 1u);
    rows[r] =
        load_bytes(push.src, t.from + offset_t(col) * t.src_s + offset_t(row) * t.src_d, kVectorS * ELEMENT_BYTES);
  }
}
