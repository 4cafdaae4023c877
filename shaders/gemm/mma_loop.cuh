// The loop of matmul_mma over steps of K: staging, matrix loads, products, store. Include after gemm/mma_fetch.cuh and
// gemm/fragments.cuh.

constexpr bool kShapes75 = sectile_constant(MATMUL_MMA_SPEC_SHAPES_75, 0u) != 0u;
constexpr uint kWarps = kWorkgroup / 32u, kWarpsN = kTileN / kWarpN, kWarpsOfSlice = kWarps / kSliceK;
// Products of a fragment of A and one of B, of 32 bytes of K each, that a slice's warp has in a step.
constexpr uint kProducts = kTileK * kElement / 32u / kSliceK;

// A warp's part of the tile, and what a lane loads of it.
struct Warp {
  uint m, n, product;     // its first row, column, product of a step
};
__device__ __forceinline__ Warp locate_warp() {
  const uint warp = threadIdx.x / 32u, own = warp % kWarpsOfSlice;
  return {own / kWarpsN * kWarpM, own % kWarpsN * kWarpN, warp / kWarpsOfSlice * kProducts};
}

#ifndef INTEGER
#include "gemm/mma_weights.cuh"
constexpr uint kWordsB = kPackedB ? kPackedWords : 2u;   // of a fragment
#else
constexpr uint kWordsB = 2u;
#endif

// Loads the fragments of A and of B for one product of the step at byte `offset`. A matrix load has two matrices of 8
// rows (columns) in both halves of a fragment's K: for A the rows are next to each other in the order of registers, for
// B the halves.
__device__ __forceinline__ void load_fragments(const GemmPush& push, WorkgroupAddress memory, uint offset, Warp warp,
                                               uint product, uint* a, uint* b) {
  const WorkgroupAddress stage = memory + offset;
#ifndef INTEGER
  if (kPackedB) load_packed_fragments(push, offset, warp, product, b);
#endif
  const uint lane = threadIdx.x % 32u, row = lane % 8u, second = lane / 8u % 2u, third = lane / 16u;
  product += warp.product;
#pragma unroll
  for (uint i = 0u; i < kFragmentsM; ++i) {
    const uint m = warp.m + i * 16u;
    if (kLineAlongA)
      load_matrices(a + 4u * i, stage + place_in_tile<false>(m + second * 8u + row, product * 32u + third * kChunk));
    else
      load_transposed_matrices(a + 4u * i, stage + place_in_tile<false>(product * 16u + third * 8u + row,
                                                                        m * 2u + second * kChunk));
  }
#pragma unroll
  for (uint j = 0u; j < kFragmentsN; j += 2u) {
    const uint n = warp.n + j * 8u;
    if (kPackedB) continue;
    if (kLineAlongB)
      load_matrices(b + 2u * j,
                    stage + kSideA + place_in_tile<true>(n + third * 8u + row, product * 32u + second * kChunk));
    else
      load_transposed_matrices(b + 2u * j, stage + kSideA + place_in_tile<true>(product * 16u + second * 8u + row,
                                                                                n * 2u + third * kChunk));
  }
}

__device__ __forceinline__ void multiply_fragment(sum_t* sums, const uint* a, const uint* b) {
#if defined(INTEGER)
  if (!kShapes75) {
    mma_s8(sums, a, b);
  } else {
    mma_s8_75(sums, a[0], b[0]);
    mma_s8_75(sums + 2, a[1], b[0]);
    mma_s8_75(sums, a[2], b[1]);
    mma_s8_75(sums + 2, a[3], b[1]);
  }
#elif defined(HALF_SUMS)
  if (!kShapes75) {
    mma_f16_f16(sums, a, b);
  } else {
    mma_f16_f16_75(sums, a, b[0]);
    mma_f16_f16_75(sums, a + 2, b[1]);
  }
#else
  if (kType == SECTILE_TYPE_BF16) {
    mma_bf16(sums, a, b);
  } else if (!kShapes75) {
    mma_f16(sums, a, b);
  } else {
    mma_f16_75(sums, a, b[0]);
    mma_f16_75(sums, a + 2, b[1]);
  }
#endif
}

// `left`: of K, from the product's first k on.
__device__ __forceinline__ void multiply(sum_t* sums, const uint* a, const uint* b, int left) {
#ifndef INTEGER
  if (kPackedB) {
#pragma unroll
    for (uint j = 0u; j < kFragmentsN; ++j) {
      uint words[2];
      convert_fragment(b + kPackedWords * j, left, words);
#pragma unroll
      for (uint i = 0u; i < kFragmentsM; ++i)
        multiply_fragment(sums + (i * kFragmentsN + j) * kSumsOfFragment, a + 4u * i, words);
    }
    return;
  }
#endif
#pragma unroll
  for (uint i = 0u; i < kFragmentsM; ++i)
#pragma unroll
    for (uint j = 0u; j < kFragmentsN; ++j)
      multiply_fragment(sums + (i * kFragmentsN + j) * kSumsOfFragment, a + 4u * i, b + 2u * j);
}

// Copies run kStages - 1 steps ahead of the products, what goes through registers two: one staged, one in registers.
__device__ __forceinline__ void add_products(const GemmPush& push, const Tile& t, sum_t* sums) {
  Cursor copied = first_step(push, t), loaded = copied, held = copied;   // held: the step in registers
  uvec4 items_a[kCopyA ? 1u : kLoadsA * kHeldA], items_b[kCopyB ? 1u : kLoadsB * kHeldB];
  const Places places_a = places_of<false>(push, t), places_b = places_of<true>(push, t);
  const WorkgroupAddress memory = workgroup_address(staged(0u));

  const auto copy_step = [&](uint stage) {
    if (copied.left != 0u) {
      if (kCopyA) copy_items<false>(push, t, copied, places_a, memory + stage);
      if (kCopyB) copy_items<true>(push, t, copied, places_b, memory + (stage + kSideA));
#ifndef INTEGER
      if (kPackedB) copy_scales(push, t, copied, memory + (stage + kSideA + kSideB));
#endif
    }
    advance(push, copied);
    end_copy_group();
  };
  const auto load_step = [&]() {
    held = loaded;
    if (loaded.left != 0u) {
      if (!kCopyA) load_items<false>(push, t, loaded, places_a, items_a);
      if (!kCopyB) load_items<true>(push, t, loaded, places_b, items_b);
    }
    advance(push, loaded);
  };
  const auto stage_step = [&](uint stage) {
    if (held.left == 0u) return;
    if (!kCopyA) stage_items<false>(push, t, held, places_a, items_a, stage);
    if (!kCopyB) stage_items<true>(push, t, held, places_b, items_b, stage + kSideA);
  };
  const auto after = [&](uint stage) { return stage == (kStages - 1u) * kStage ? 0u : stage + kStage; };
  const auto before = [&](uint stage) { return stage == 0u ? (kStages - 1u) * kStage : stage - kStage; };
  // Orders the staging of the next step before its matrix loads, and those of this step before its buffer is reused.
  const auto await_step = [&]() {
    if (kCopyA || kCopyB) await_copy_groups(kStages - 2u);
    __syncthreads();
  };

  if (!kCopyA || !kCopyB) load_step();
  if (kCopyA || kCopyB) {
#pragma unroll
    for (uint s = 0u; s + 1u < kStages; ++s) copy_step(s * kStage);
  }
  if (!kCopyA || !kCopyB) {
    stage_step(0u);
    load_step();
  }
  const Warp warp = locate_warp();
  uint a[2u * 4u * kFragmentsM], b[2u * kWordsB * kFragmentsN];   // of this product and the next one
  await_step();
  load_fragments(push, memory, 0u, warp, 0u, a, b);
  uint stage = 0u;
#pragma unroll 1
  for (uint k = t.k; k < t.k_end; k += kTileK) {
#pragma unroll
    for (uint p = 0u; p < kProducts; ++p) {
      const uint set = p % 2u, other = 1u - set;
      const bool last = p + 1u == kProducts;
      if (last) await_step();
      load_fragments(push, memory, last ? after(stage) : stage, warp, last ? 0u : p + 1u, a + other * 4u * kFragmentsM,
                     b + other * kWordsB * kFragmentsN);
      if (p == 0u) {
        if (kCopyA || kCopyB) copy_step(before(stage));
        if (!kCopyA || !kCopyB) {
          stage_step(after(stage));
          load_step();
        }
      }
      multiply(sums, a + set * 4u * kFragmentsM, b + set * kWordsB * kFragmentsN,
               int(t.k_end - k) - int((p + warp.product) * 16u));
    }
    stage = after(stage);
  }
}

// ---- slices of K

__device__ __forceinline__ uint word_of_sum(sum_t v) {
#ifdef HALF_SUMS
  return v;
#else
  return word_of(v);
#endif
}
__device__ __forceinline__ sum_t added(sum_t sum, uint word) {
#ifdef HALF_SUMS
  return pack_pair(SECTILE_TYPE_F16, unpack_low(SECTILE_TYPE_F16, sum) + unpack_low(SECTILE_TYPE_F16, word),
                   unpack_high(SECTILE_TYPE_F16, sum) + unpack_high(SECTILE_TYPE_F16, word));
#else
  return plus(sum, acc_of(word));
#endif
}

// Adds the slices' sums to those of the first. In workgroup memory lane after lane has four sums.
__device__ __forceinline__ void add_slices(sum_t* sums) {
  const uint lanes = kWorkgroup / kSliceK, slice = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  __syncthreads();   // orders the last matrix loads before their memory is reused
  if (slice != 0u) {
#pragma unroll
    for (uint i = 0u; i < kSums; i += 4u)
      store_bytes(staged((((slice - 1u) * (kSums / 4u) + i / 4u) * lanes + lane) * 16u), 16u,
                  {{word_of_sum(sums[i]), word_of_sum(sums[i + 1u]), word_of_sum(sums[i + 2u]),
                    word_of_sum(sums[i + 3u])}});
  }
  __syncthreads();   // orders these stores before the first slice's loads
  if (slice != 0u) return;
#pragma unroll
  for (uint s = 0u; s + 1u < kSliceK; ++s)
#pragma unroll
    for (uint i = 0u; i < kSums; i += 4u) {
      const uvec4 words = words_of(load_workgroup(
          reinterpret_cast<const uint4*>(&staged(((s * (kSums / 4u) + i / 4u) * lanes + lane) * 16u))));
#pragma unroll
      for (uint e = 0u; e < 4u; ++e) sums[i + e] = added(sums[i + e], words[e]);
    }
}

// ---- the result

// Sum `e` of row `half` * 8 + lane / 4 of a fragment.
__device__ __forceinline__ acc_t sum_at(const sum_t* sums, uint i, uint j, uint half, const uint e) {
  const sum_t* const own = sums + (i * kFragmentsN + j) * kSumsOfFragment;
#ifdef HALF_SUMS
  return e == 0u ? unpack_low(SECTILE_TYPE_F16, own[half]) : unpack_high(SECTILE_TYPE_F16, own[half]);
#else
  return own[half * 2u + e];
#endif
}

__device__ __forceinline__ void multiply_tile(const GemmPush& push) {
  Tile t;
  if (!locate_tile(push, t)) return;
  sum_t sums[kSums];
#pragma unroll
  for (uint i = 0u; i < kSums; ++i) sums[i] = 0;
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) add_products(push, t, sums);
  if (kSliceK > 1u) add_slices(sums);
  if (threadIdx.x / 32u >= kWarpsOfSlice) return;

  const Target target = target_of(push, t);
  const Warp warp = locate_warp();
#pragma unroll
  for (uint i = 0u; i < kFragmentsM; ++i)
#pragma unroll
    for (uint half = 0u; half < 2u; ++half)
#pragma unroll
      for (uint j = 0u; j < kFragmentsN; j += 4u) {
        acc_t v[8];
#pragma unroll
        for (uint e = 0u; e < 8u; ++e) v[e] = sum_at(sums, i, j + e / 2u, half, e % 2u);
        store_columns(push, target, t.m + warp.m + i * 16u + half * 8u + threadIdx.x % 32u / 4u,
                      t.n + warp.n + j * 8u, v);
      }
}
