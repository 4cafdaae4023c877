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
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/tile.cuh"

constexpr uint kSkew = sectile_constant(PERMUTE_TILE_SPEC_SKEW, 1u);

constexpr uint kWordBytes = kVectorD * ELEMENT_BYTES;         // bytes of a staged word: up to 16
constexpr uint kWords = kWordBytes <= 4u ? 1u : kWordBytes / 4u;   // 32-bit words in a staged word
constexpr uint kRowWords = kBlocksD;                          // staged words per row of the tile
constexpr uint kStaged = kTileS * kRowWords + (kTileS / kVectorS) * kSkew;
SECTILE_SHARED(uint, staged, kStaged * kWords);

__device__ __forceinline__ uint staged_at(uint s, uint w) { return s * kRowWords + (s / kVectorS) * kSkew + w; }

__device__ __forceinline__ uvec4 unstage(uint at) { return load_shared(&staged[at * kWords], kWords); }

// Loads kStoreBytes of staged row s from element d on: several words, one word, or part of one of 4 bytes.
__device__ __forceinline__ uvec4 gather_store(uint s, uint d) {
  const uint at = staged_at(s, d / kVectorD);
  uvec4 v = unstage(at);
  if (kStoreBytes <= kWordBytes) {
    if (kStoreBytes == kWordBytes) return v;
    v[0] >>= 8u * (d % kVectorD) * ELEMENT_BYTES;
    return v;
  }
#pragma unroll
  for (uint w = 1u; w < kStoreBytes / kWordBytes; ++w) {
    const uvec4 next = unstage(at + w);
    if (kWordBytes == 8u) { v[2] = next[0]; v[3] = next[1]; }
    else v[w] = next[0];
  }
  return v;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Tile t = locate_tile(push, id);

  uvec4 rows[kBlocks][MAX_VECTOR];
#pragma unroll
  for (uint k = 0u; k < kBlocks; ++k) {
    const uint b = threadIdx.x + k * kWorkgroup;
    load_block(push, t, b % kBlocksS, b / kBlocksS, rows[k]);
  }
#pragma unroll
  for (uint k = 0u; k < kBlocks; ++k) {
    const uint b = threadIdx.x + k * kWorkgroup;
    if (kBlocksS * kBlocksD % kWorkgroup == 0u || b < kBlocksS * kBlocksD) {
#pragma unroll
      for (uint c = 0u; c < kVectorS; ++c) {
        const uint at = staged_at((b % kBlocksS) * kVectorS + c, b / kBlocksS);
        store_shared(&staged[at * kWords], kWords, column_of(rows[k], kVectorD, c));
      }
    }
  }

  __syncthreads();   // all stores to workgroup memory before loads by other invocations

  constexpr uint vector = kStoreBytes / ELEMENT_BYTES;
  constexpr uint vectors_d = kTileD / vector;
  constexpr uint stores = (kTileS * vectors_d + kWorkgroup - 1u) / kWorkgroup;
#pragma unroll
  for (uint k = 0u; k < stores; ++k) {
    const uint o = threadIdx.x + k * kWorkgroup;
    const uint d = (o % vectors_d) * vector, s = o / vectors_d;
    if (s < t.size_s && d < t.size_d)
      store_bytes(push.dst, t.to + offset_t(s) * t.dst_s + offset_t(d) * t.dst_d, kStoreBytes, gather_store(s, d));
  }
}
