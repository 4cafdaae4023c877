// Locates a workgroup's tile; loads and converts runs of A and B. Include after lib/cuda.cuh.
#include "gemm/base.cuh"

// That tiles divide among them.
__device__ __forceinline__ uint columns(const GemmPush& push) {
  return kFlattenedBatch != 0u ? size_n(push) * batches(push) : size_n(push);
}

// Where tile `id` lies, of the tiles of so many rows and columns that the result is divided into. False beyond the
// last.
__device__ __forceinline__ bool locate_tile_of(const GemmPush& push, uint id, const uint rows_of, const uint columns_of,
                                               Tile& t) {
  const uint tiles_m = (size_m(push) + rows_of - 1u) / rows_of;
  const uint tiles_n = (columns(push) + columns_of - 1u) / columns_of;
  const uint tiles = tiles_m * tiles_n;
  const uint outer = id / tiles;
  id -= outer * tiles;
  t.split = 0u;
  t.batch = outer;
  if (kSplit != 0u) {
    t.batch = outer / splits(push);
    t.split = outer - t.batch * splits(push);
  }
  if (kGroupM <= 1u) {
    t.m = id / tiles_n;
    t.n = id - t.m * tiles_n;
  } else {
    const uint group = id / (kGroupM * tiles_n);
    const uint rows = min(tiles_m - group * kGroupM, kGroupM);
    id -= group * kGroupM * tiles_n;
    t.n = id / rows;
    t.m = group * kGroupM + id - t.n * rows;
  }
  t.m *= rows_of;
  t.n *= columns_of;
  t.k = 0u;
  t.k_end = size_k(push);
  if (kSplit != 0u) {
    t.k = t.split * split_k(push);
    t.k_end = min(t.k_end, t.k + split_k(push));
  }
  return t.batch < (kFlattenedBatch != 0u ? 1u : batches(push));
}

// False for surplus workgroups of a folded grid. Whole workgroups return together, so every barrier is reached by all.
__device__ __forceinline__ bool locate_tile(const GemmPush& push, Tile& t) {
  return locate_tile_of(push, group_id(), kTileM, kTileN, t);
}

__device__ __forceinline__ uint64 a_address(const GemmPush& push, const Tile& t, uint m, uint k) {
  const uint64 base = batch_address(address_of(push.a), kAType, t.batch, a_batch(push));
  return kTransA == 0u ? element_address(base, kAType, m, lda(push), k)
                       : element_address(base, kAType, k, lda(push), m);
}
__device__ __forceinline__ uint64 b_address(const GemmPush& push, const Tile& t, uint k, uint n) {
  const uint64 base = batch_address(address_of(push.b), kBType, t.batch, b_batch(push));
  return kTransB == 0u ? element_address(base, kBType, k, ldb(push), n)
                       : element_address(base, kBType, n, ldb(push), k);
}


// Converts a raw run of kWidthA elements of A. `k` is the first element's, for a.scale: a run lies along K, or along M
// where A is transposed. Yields zeros where `inside` is false, and from element number `elements` on: those behind are
// outside the operand, and so may be their scales.
__device__ __forceinline__ void convert_a(const GemmPush& push, const uvec4& raw, uint k, bool inside,
                                          float (&v)[MAX_RUN], uint elements = MAX_RUN) {
  unpack_run(kAType, kWidthA, raw, v);
#pragma unroll
  for (uint i = 0u; i < kWidthA; ++i) {
    if (kHasAScale != 0u)
      v[i] *= load_float(a_scale_address(push), inside ? k + (kTransA == 0u && i < elements ? i : 0u) : 0u);
    if (kHasAScale != 0u || kAType != kType) v[i] = rounded_to(kType, v[i]);
    if (!inside || i >= elements) v[i] = 0.0f;
  }
}

// b.scale[n][k / 32] of a 4-bit B, as bits of an f16.
__device__ __forceinline__ uint block_scale_bits(const GemmPush& push, uint n, uint k) {
  const uint64 at = 2u * (uint64(n) * (ldb(push) / 32u) + k / 32u);
  return __ldg(global_pointer<const unsigned short>(b_scale_address(push), at));
}
__device__ __forceinline__ float block_scale(const GemmPush& push, uint n, uint k) {
  return half_to_float(block_scale_bits(push, n, k));
}

// Eight 4-bit elements times their scale, as f16: pairs[i] has elements i and i + 4. Each element less 8 is exact in
// f16, and so is the product before it is rounded: what floats yield, with a third of the instructions. As the lower
// bits of an f16 of 1024 and more they are 1024 + q, or 4 bits higher 1024 + 16 * q.
__device__ __forceinline__ void scaled_nibbles(uint raw, uint scale, uint (&pairs)[4]) {
#pragma unroll
  for (uint i = 0u; i < 4u; ++i) {
    const uint bits = masked(raw >> (i / 2u * 8u), i % 2u == 0u ? 0x000f000fu : 0x00f000f0u, 0x64006400u);
    const uint less = i % 2u == 0u ? f16_sums(bits, 0xe408e408u) : f16_fused(bits, 0x2c002c00u, 0xd480d480u);
    pairs[i] = f16_products(less, scale | scale << 16);
  }
}

// The same for B[k, n]; a run lies along N, or along K where B is transposed. A quantized B is shared by all batches.
// `whole`: K does not end inside the run.
__device__ __forceinline__ void convert_b(const GemmPush& push, const uvec4& raw, uint k, uint n, bool inside,
                                          float (&v)[MAX_RUN], uint elements = MAX_RUN, const bool whole = false) {
  if (kBType == SECTILE_TYPE_Q4 && kType == SECTILE_TYPE_F16 && kWidthB == MAX_RUN) {
    uint pairs[4];
    scaled_nibbles(raw[0], block_scale_bits(push, inside ? n : 0u, inside ? k : 0u), pairs);
#pragma unroll
    for (uint i = 0u; i < MAX_RUN; ++i) {
      v[i] = i < 4u ? unpack_low(kType, pairs[i % 4u]) : unpack_high(kType, pairs[i % 4u]);
      if (!whole && (!inside || i >= elements || k + i >= size_k(push))) v[i] = 0.0f;
    }
    return;
  }
  unpack_run(kBType, kWidthB, raw, v);
  if (kBType == SECTILE_TYPE_Q8) {
#pragma unroll
    for (uint i = 0u; i < kWidthB; ++i)
      v[i] *= load_float(b_scale_address(push), inside ? n + (kTransB == 0u && i < elements ? i : 0u) : 0u);
  } else if (kBType == SECTILE_TYPE_Q4) {
    // Runs lie along K and never cross a block of 32. The last run may extend beyond K; its surplus nibbles are set to
    // zero.
    const float scale = block_scale(push, inside ? n : 0u, inside ? k : 0u);
#pragma unroll
    for (uint i = 0u; i < kWidthB; ++i) v[i] = k + i < size_k(push) ? v[i] * scale : 0.0f;
  }
#pragma unroll
  for (uint i = 0u; i < kWidthB; ++i) {
    if (kBType != kType) v[i] = rounded_to(kType, v[i]);
    if (!inside || i >= elements) v[i] = 0.0f;
  }
}
