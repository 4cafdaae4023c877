// What permute_tile and permute_block share: the location of a workgroup's tile, and the load of a block.
#include "permute/permute_tile.abi.h"
#define OWN_WORDS PERMUTE_TILE_WORDS
#include "permute/permute.glsl"
#include "permute/register_transpose.glsl"

layout(constant_id = PERMUTE_TILE_SPEC_TILE_S) const uint kTileS = 32u;
layout(constant_id = PERMUTE_TILE_SPEC_TILE_D) const uint kTileD = 32u;
layout(constant_id = PERMUTE_TILE_SPEC_VECTOR_S) const uint kVectorS = 1u;
layout(constant_id = PERMUTE_TILE_SPEC_VECTOR_D) const uint kVectorD = 1u;
layout(constant_id = PERMUTE_TILE_SPEC_STORE_BYTES) const uint kStoreBytes = ELEMENT_BYTES;

const uint kBlocksS = kTileS / kVectorS;
const uint kBlocksD = kTileD / kVectorD;
const uint kBlocks = (kBlocksS * kBlocksD + kWorkgroup - 1u) / kWorkgroup;   // blocks per invocation

struct Tile {
  offset_t from, to;            // first element in source and destination
  offset_t src_s, src_d;        // source strides along S and D
  offset_t dst_s, dst_d;
  uint size_s, size_d;          // elements inside the problem
};

Tile locate_tile(uint id) {
  Tile t;
  const bool swapped = d_first() != 0u;
  t.src_s = swapped ? src_stride(1u) : src_stride(0u);
  t.src_d = swapped ? src_stride(0u) : src_stride(1u);
  t.dst_s = swapped ? dst_stride(1u) : dst_stride(0u);
  t.dst_d = swapped ? dst_stride(0u) : dst_stride(1u);
  t.from = 0; t.to = 0;
  t.size_s = kTileS; t.size_d = kTileD;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(id, a);
    uint step = 1u;
    if (a < 2u) {
      const bool along_s = (a == 0u) != swapped;
      step = along_s ? kTileS : kTileD;
      if (digit + 1u == axis_count(a)) {
        if (along_s) t.size_s = last_tile().x; else t.size_d = last_tile().y;
      }
    }
    t.from += offset_t(digit * step) * src_stride(a);
    t.to += offset_t(digit * step) * dst_stride(a);
  }
  return t;
}

// Loads the rows of block (s, d); s and d count blocks. Rows and columns outside the problem are clamped to the last
// one inside: the clamped values are never stored, and the loads need no branch.
void load_block(Tile t, uint s, uint d, out uvec4 rows[MAX_VECTOR]) {
  uint col = min(s * kVectorS, t.size_s - kVectorS);
  [[unroll]] for (uint r = 0u; r < kVectorD; ++r) {
    uint row = min(d * kVectorD + r, t.size_d - 1u);
    rows[r] = load_bytes(push.src, t.from + offset_t(col) * t.src_s + offset_t(row) * t.src_d,
                         kVectorS * ELEMENT_BYTES);
  }
}
