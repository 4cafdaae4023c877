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
// Loads the scale of a 4-bit run at the same time as the run: its words are not all taken.
__device__ __forceinline__ void hold_scale(const GemmPush& push, uvec4& raw, uint n, uint k) {
  if (kBType == SECTILE_TYPE_Q4) raw[3] = block_scale_bits(push, n, k);
}

// Two 4-bit elements less 8 times their scales, all f16, as kType. The first are exact in f16, and so is the product
// before it is rounded.
__device__ __forceinline__ uint scaled_pair(uint less, uint scales) {
  if (kType == SECTILE_TYPE_F16) return f16_products(less, scales);
  return pack_pair(kType, unpack_low(SECTILE_TYPE_F16, less) * unpack_low(SECTILE_TYPE_F16, scales),
                   unpack_high(SECTILE_TYPE_F16, less) * unpack_high(SECTILE_TYPE_F16, scales));
}
// Eight 4-bit elements times their scale: pairs[i] has elements i and i + 4. What floats yield, with a third of the
// instructions: as the lower bits of an f16 of 1024 elements are 1024 + q, and 4 bits higher, of 64, 64 + q.
__device__ __forceinline__ void scaled_nibbles(uint raw, uint scale, uint (&pairs)[4]) {
#pragma unroll
  for (uint i = 0u; i < 4u; ++i) {
    const bool low = i % 2u == 0u;
    const uint bits = masked(raw >> (i / 2u * 8u), low ? 0x000f000fu : 0x00f000f0u, low ? 0x64006400u : 0x54005400u);
    pairs[i] = scaled_pair(f16_sums(bits, low ? 0xe408e408u : 0xd480d480u), scale | scale << 16);   // less 1032 or 72
  }
}
constexpr bool kNibblesInPairs = kBType == SECTILE_TYPE_Q4 && kWidthB == MAX_RUN &&
                                 (kType == SECTILE_TYPE_F16 || kType == SECTILE_TYPE_BF16);

// The same in their order; zeros from element number `inside` on.
__device__ __forceinline__ uvec4 ordered_weights(uint raw, uint scale, uint inside) {
  uint pairs[4];
  scaled_nibbles(raw, scale, pairs);
  uvec4 words = {{__byte_perm(pairs[0], pairs[1], 0x5410u), __byte_perm(pairs[2], pairs[3], 0x5410u),
                  __byte_perm(pairs[0], pairs[1], 0x7632u), __byte_perm(pairs[2], pairs[3], 0x7632u)}};
  if (inside < 8u) {
#pragma unroll
    for (uint i = 0u; i < 4u; ++i)
      words[i] = inside <= 2u * i ? 0u : inside == 2u * i + 1u ? words[i] & 0xffffu : words[i];
  }
  return words;
}

// convert_a() for B[k, n]; a run lies along N, or along K where B is transposed. A quantized B is shared by all
// batches. `whole`: K does not end inside the run. `scaled`: hold_scale() has loaded a 4-bit run's scale with it.
__device__ __forceinline__ void convert_b(const GemmPush& push, const uvec4& raw, uint k, uint n, bool inside,
                                          float (&v)[MAX_RUN], uint elements = MAX_RUN, const bool whole = false,
                                          const bool scaled = false) {
  const uint scale_bits = kBType != SECTILE_TYPE_Q4 ? 0u
                          : scaled                  ? raw[3]
                                                    : block_scale_bits(push, inside ? n : 0u, inside ? k : 0u);
  if (kNibblesInPairs) {
    uint pairs[4];
    scaled_nibbles(raw[0], scale_bits, pairs);
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
    const float scale = half_to_float(scale_bits);
#pragma unroll
    for (uint i = 0u; i < kWidthB; ++i) v[i] = k + i < size_k(push) ? v[i] * scale : 0.0f;
  }
#pragma unroll
  for (uint i = 0u; i < kWidthB; ++i) {
    if (kBType != kType) v[i] = rounded_to(kType, v[i]);
    if (!inside || i >= elements) v[i] = 0.0f;
  }
}

// A run as convert_a() or (b) convert_b() yields it, in words of two; hold_scale() has loaded a 4-bit run's scale.
template <bool b>
__device__ __forceinline__ uvec4 converted_words(const GemmPush& push, const uvec4& raw, uint k, uint across,
                                                 bool inside, uint elements, const bool whole) {
  if (b && kNibblesInPairs)
    return ordered_weights(raw[0], raw[3], whole ? MAX_RUN : inside ? size_k(push) - k : 0u);
  float v[MAX_RUN];
  if (b) convert_b(push, raw, k, across, inside, v, elements, whole, true);
  else convert_a(push, raw, k, inside, v, elements);
  uvec4 words;
#pragma unroll
  for (uint i = 0u; i < 4u; ++i) words[i] = pack_pair(kType, v[2u * i], v[2u * i + 1u]);
  return words;
}
