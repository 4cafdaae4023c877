//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e16 -DELEMENT_BYTES=16
// Blocks are transposed in registers and stored directly, without workgroup memory: for the widest blocks of bytes, and
// for devices that run shaders on a CPU, whose caches take the role of workgroup memory.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/tile.cuh"

constexpr uint kLanesD = sectile_constant(PERMUTE_BLOCK_SPEC_LANES_D, 0u);

// Accesses of single elements, where the operands allow no wider ones. A block at the end of an axis is moved back, so
// that all of it is inside the problem, and its first rows and columns, which are another block's, are not stored.
constexpr bool kSingle = kStoreBytes < kVectorD * ELEMENT_BYTES;

__device__ __forceinline__ void move_elements(const PermutePush& push, const Tile& t, uint s, uint d) {
  const int col = min(int(s * kVectorS), int(t.size_s) - int(kVectorS));
  const int row = min(int(d * kVectorD), int(t.size_d) - int(kVectorD));
  const offset_t from = t.from + offset_t(col) * t.src_s, to = t.to + offset_t(row) * t.dst_d;
  uvec4 v[kVectorS * kVectorD];
#pragma unroll
  for (uint r = 0u; r < kVectorD; ++r)
#pragma unroll
    for (uint c = 0u; c < kVectorS; ++c)
      v[r * kVectorS + c] =
          load_bytes(push.src, from + offset_t(row + int(r)) * t.src_d + offset_t(c), ELEMENT_BYTES);
#pragma unroll
  for (uint c = 0u; c < kVectorS; ++c)
    if (col + int(c) >= int(s * kVectorS))
#pragma unroll
      for (uint r = 0u; r < kVectorD; ++r)
        if (row + int(r) >= int(d * kVectorD))
          store_bytes(push.dst, to + offset_t(col + int(c)) * t.dst_s + offset_t(r), ELEMENT_BYTES,
                      v[r * kVectorS + c]);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  if (id >= id_count(push)) return;
  const Tile t = locate_tile(push, id);
#pragma unroll
  for (uint k = 0u; k < kBlocks; ++k) {
    const uint b = threadIdx.x + k * kWorkgroup;
    const uint s = kLanesD == 0u ? b % kBlocksS : b / kBlocksD, d = kLanesD == 0u ? b / kBlocksS : b % kBlocksD;
    // The planner makes every block lie wholly inside or wholly outside the problem, but for single elements.
    if (s * kVectorS < t.size_s && d * kVectorD < t.size_d) {
      if (kSingle) {
        move_elements(push, t, s, d);
        continue;
      }
      uvec4 rows[MAX_VECTOR];
      load_block(push, t, s, d, rows);
#pragma unroll
      for (uint c = 0u; c < kVectorS; ++c)
        store_bytes(push.dst, t.to + offset_t(s * kVectorS + c) * t.dst_s + offset_t(d * kVectorD) * t.dst_d,
                    kVectorD * ELEMENT_BYTES, column_of(rows, kVectorD, c));
    }
  }
}
