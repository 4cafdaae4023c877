//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.long -DELEMENT_BYTES=1 -DLONG
//! variant e2.long -DELEMENT_BYTES=2 -DLONG
//! variant e4.long -DELEMENT_BYTES=4 -DLONG
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Large transposes on sm_90 and later: the copy engine moves whole tiles, with rows of 128 bytes on both sides, and the
// workgroup transposes them in workgroup memory. Method: TMA with 128-byte swizzle; ldmatrix.trans and stmatrix for 1
// and 2 bytes (1 byte: pairs are transposed as 2-byte elements, then split); 4x4 blocks in registers for 4 bytes.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/permute_tma.abi.h"
#include "permute/permute.cuh"
#include "lib/tma.cuh"

constexpr uint kRank = sectile_constant(PERMUTE_TMA_SPEC_RANK, 2u);
constexpr uint kReserve = sectile_constant(PERMUTE_TMA_SPEC_RESERVE, 0u);
constexpr uint kTileS = PERMUTE_TMA_TILE_S(ELEMENT_BYTES), kTileD = PERMUTE_TMA_TILE_D(ELEMENT_BYTES);
constexpr uint kBoxD = PERMUTE_TMA_BOX_D(ELEMENT_BYTES);
constexpr uint kRow = PERMUTE_TMA_ROW_BYTES;
constexpr uint kTileBytes = kTileD * kRow;
constexpr uint kSubgroups = kWorkgroup / 32u;

struct Tiles {
  char in[kTileBytes], out[kTileBytes];
  uint64 copied;                        // mbarrier of the copy from the source
  char unused[kReserve + 8u];
};
__shared__ __align__(1024) Tiles tiles;   // the swizzle pattern repeats every 1024 bytes

// Byte offset of a row's 16-byte chunk under 128-byte swizzle.
__device__ __forceinline__ uint swizzled_offset(uint row, uint chunk) {
  return row * kRow + ((chunk ^ (row & 7u)) << 4);
}

#if ELEMENT_BYTES == 2
__device__ __forceinline__ void transpose_tile(uint subgroup, uint lane) {
#pragma unroll
  for (uint k = subgroup; k < 16u; k += kSubgroups) {
    // Four matrices along S, at one position along D.
    const uint matrix = k / 8u * 4u + lane / 8u, along_d = k % 8u, row = lane % 8u;
    uint v[4];
    load_matrices_transposed(v, shared_address(tiles.in) + swizzled_offset(along_d * 8u + row, matrix));
    store_matrices(shared_address(tiles.out) + swizzled_offset(matrix * 8u + row, along_d), v);
  }
}
#elif ELEMENT_BYTES == 1
__device__ __forceinline__ void transpose_tile(uint subgroup, uint lane) {
#pragma unroll
  for (uint k = subgroup; k < 32u; k += kSubgroups) {
    // 16 rows along D by two chunks along S. Rows are assigned to matrices so that a lane ends with four consecutive
    // elements along D: matrix 0 has rows 0, 1, 4, 5, 8, 9, 12, 13, matrix 1 the others.
    const uint along_d = k % 8u, matrix = lane / 8u, row = lane % 8u;
    const uint chunk = k / 8u * 2u + matrix / 2u;
    uint v[4], w[4];
    load_matrices_transposed(
        v, shared_address(tiles.in) +
               swizzled_offset(along_d * 16u + 4u * (row / 2u) + row % 2u + 2u * (matrix & 1u), chunk));
    w[0] = __byte_perm(v[0], v[1], 0x6420u);   // the even columns
    w[1] = __byte_perm(v[0], v[1], 0x7531u);   // the odd ones
    w[2] = __byte_perm(v[2], v[3], 0x6420u);
    w[3] = __byte_perm(v[2], v[3], 0x7531u);
    store_matrices(shared_address(tiles.out) + swizzled_offset(chunk * 16u + 2u * row + (matrix & 1u), along_d), w);
  }
}
#else
__device__ __forceinline__ void transpose_tile(uint subgroup, uint lane) {
#pragma unroll
  for (uint k = subgroup; k < 4u; k += kSubgroups) {
    // Blocks of 4x4. Lanes follow a diagonal, so that eight lanes access all banks in loads and in stores.
    const uint offset = k * 4u + lane / 8u, box = offset / 8u, along_s = lane % 8u;
    const uint along_d = (along_s + offset % 8u) & 7u;
    uint4 rows[4];
#pragma unroll
    for (uint r = 0u; r < 4u; ++r)
      rows[r] = *reinterpret_cast<const uint4*>(tiles.in + swizzled_offset(box * 32u + along_d * 4u + r, along_s));
    char* to = tiles.out + box * (kTileS * kRow);
    *reinterpret_cast<uint4*>(to + swizzled_offset(along_s * 4u + 0u, along_d)) =
        make_uint4(rows[0].x, rows[1].x, rows[2].x, rows[3].x);
    *reinterpret_cast<uint4*>(to + swizzled_offset(along_s * 4u + 1u, along_d)) =
        make_uint4(rows[0].y, rows[1].y, rows[2].y, rows[3].y);
    *reinterpret_cast<uint4*>(to + swizzled_offset(along_s * 4u + 2u, along_d)) =
        make_uint4(rows[0].z, rows[1].z, rows[2].z, rows[3].z);
    *reinterpret_cast<uint4*>(to + swizzled_offset(along_s * 4u + 3u, along_d)) =
        make_uint4(rows[0].w, rows[1].w, rows[2].w, rows[3].w);
  }
}
#endif

SECTILE_KERNEL void __launch_bounds__(kWorkgroup)
    sectile_main(const __grid_constant__ PermutePush push, const __grid_constant__ TensorMap src,
                 const __grid_constant__ TensorMap dst) {
  uint id = group_id();
  if (id >= id_count(push)) return;
  const int d = int(take_digit(push, id, 0u) * kTileD), s = int(take_digit(push, id, 1u) * kTileS);
  int from[5] = {s, d, 0, 0, 0}, to[5] = {d, s, 0, 0, 0};
#pragma unroll
  for (uint a = 2u; a < kRank; ++a) from[a] = to[a] = int(take_digit(push, id, a));

  const uint copied = shared_address(&tiles.copied);
  if (threadIdx.x == 0u) {
    expect_copy(copied, kTileBytes);
    copy_in<kRank>(shared_address(tiles.in), &src, from, copied);
  }
  __syncthreads();   // the mbarrier is initialized before other invocations wait on it
  await_copy(copied);
  transpose_tile(threadIdx.x / 32u, threadIdx.x % 32u);
  publish_to_copies();
  // all invocations have published their stores before the first one starts the copies to global memory
  __syncthreads();
  if (threadIdx.x == 0u) {
#pragma unroll
    for (uint box = 0u; box < kTileD / kBoxD; ++box) {
      copy_out<kRank>(&dst, shared_address(tiles.out) + box * (kTileS * kRow), to);
      to[0] += int(kBoxD);
    }
    await_copies_out();
  }
}
