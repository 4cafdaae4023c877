//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e16 -DELEMENT_BYTES=16
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
//! variant e16.wide -DELEMENT_BYTES=16 -DWIDE -DLONG
// A tile is transposed through workgroup memory: blocks are transposed in registers, staged as words of VECTOR_D
// elements, and loaded back along D, so that both global loads and global stores are coalesced.
// Method: Ruetsch and Micikevicius 2009 (padded tile); words of several elements as in OneFlow's permute.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/tile.glsl"

layout(constant_id = PERMUTE_TILE_SPEC_SKEW) const uint kSkew = 1u;

const uint kWordBytes = kVectorD * ELEMENT_BYTES;             // bytes of a staged word: up to 16
const uint kRowWords = kBlocksD;                              // words per row of the staged tile
const uint kStaged = kTileS * kRowWords + (kTileS / kVectorS) * kSkew;
// One array per word size; the unused ones have a single element.
shared uint staged4[kWordBytes <= 4u ? kStaged : 1u];
shared uvec2 staged8[kWordBytes == 8u ? kStaged : 1u];
shared uvec4 staged16[kWordBytes == 16u ? kStaged : 1u];

uint staged_at(uint s, uint w) { return s * kRowWords + (s / kVectorS) * kSkew + w; }

uvec4 unstage(uint at) {
  if (kWordBytes == 16u) return staged16[at];
  if (kWordBytes == 8u) return uvec4(staged8[at], 0u, 0u);
  return uvec4(staged4[at], 0u, 0u, 0u);
}

// Loads kStoreBytes of staged row s from element d on: several words, one word, or part of one of 4 bytes.
uvec4 gather_store(uint s, uint d) {
  uint at = staged_at(s, d / kVectorD);
  if (kStoreBytes <= kWordBytes) {
    uvec4 v = unstage(at);
    if (kStoreBytes == kWordBytes) return v;
    v.x >>= 8u * (d % kVectorD) * ELEMENT_BYTES;
    return v;
  }
  uvec4 v = unstage(at);
  [[unroll]] for (uint w = 1u; w < kStoreBytes / kWordBytes; ++w) {
    uvec4 next = unstage(at + w);
    if (kWordBytes == 8u) v.zw = next.xy; else v[w] = next.x;
  }
  return v;
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  Tile t = locate_tile(id);

  uvec4 rows[kBlocks][MAX_VECTOR];
  [[unroll]] for (uint k = 0u; k < kBlocks; ++k) {
    uint b = gl_LocalInvocationID.x + k * kWorkgroup;
    load_block(t, b % kBlocksS, b / kBlocksS, rows[k]);
  }
  [[unroll]] for (uint k = 0u; k < kBlocks; ++k) {
    uint b = gl_LocalInvocationID.x + k * kWorkgroup;
    if (kBlocksS * kBlocksD % kWorkgroup == 0u || b < kBlocksS * kBlocksD) {
      [[unroll]] for (uint c = 0u; c < kVectorS; ++c) {
        uvec4 v = column_of(rows[k], kVectorD, c);
        uint at = staged_at((b % kBlocksS) * kVectorS + c, b / kBlocksS);
        if (kWordBytes == 16u) staged16[at] = v;
        else if (kWordBytes == 8u) staged8[at] = v.xy;
        else staged4[at] = v.x;
      }
    }
  }

  barrier();   // all stores to workgroup memory before loads by other invocations

  const uint vector = kStoreBytes / ELEMENT_BYTES;
  const uint vectors_d = kTileD / vector;
  const uint stores = (kTileS * vectors_d + kWorkgroup - 1u) / kWorkgroup;
  [[unroll]] for (uint k = 0u; k < stores; ++k) {
    uint o = gl_LocalInvocationID.x + k * kWorkgroup;
    uint d = (o % vectors_d) * vector, s = o / vectors_d;
    if (s < t.size_s && d < t.size_d)
      store_bytes(push.dst, t.to + offset_t(s) * t.dst_s + offset_t(d) * t.dst_d, kStoreBytes, gather_store(s, d));
  }
}
