// The loop of matmul_simt over steps of K: loads, products, store. Include after gemm/simt_fetch.cuh, and
// (GATHERED_WORDS) the kernel's own fetch.

#define SIDE(a, b) a
#include "gemm/simt_stage.cuh"
#undef SIDE
#define SIDE(a, b) b
#include "gemm/simt_stage.cuh"
#undef SIDE

// ---- products

constexpr uint kSubgroupM = kLanesM * kRows, kSubgroupN = kLanesN * kColumns;

// First row and column of this invocation in the tile.
struct Own {
  uint m, n;
};
// Distance of the i-th row (column) from the first; constant after unrolling.
__device__ __forceinline__ uint row_offset(uint i) {
  return i / kVector * (kStrided != 0u ? kLanesM * kVector : kVector) + i % kVector;
}
__device__ __forceinline__ uint column_offset(uint i) {
  return i / kVector * (kStrided != 0u ? kLanesN * kVector : kVector) + i % kVector;
}

__device__ __forceinline__ Own locate_invocation() {
  const uint lanes = kLanesM * kLanesN, across = kTileN / kSubgroupN;
  const uint subgroup = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  return {subgroup / across * kSubgroupM + lane / kLanesN * (kStrided != 0u ? kVector : kRows),
          subgroup % across * kSubgroupN + lane % kLanesN * (kStrided != 0u ? kVector : kColumns)};
}

__device__ __forceinline__ acc_t multiplied(uint x, uint y, acc_t acc) {
#if defined(DOT)
  return __dp4a(int(x), int(y), acc);
#elif defined(INTEGER)
#pragma unroll
  for (uint i = 0u; i < 4u; ++i) acc = plus_product(byte_of(x, i), byte_of(y, i), acc);
  return acc;
#else
  return fmaf(__uint_as_float(x), __uint_as_float(y), acc);
#endif
}

// acc: [row][column] of the invocation's tile; `row`: index of K in the step.
__device__ __forceinline__ void multiply_row(const GemmPush& push, const Tile& t, Own own, uint stage, uint row,
                                             uint k, acc_t* acc) {
  uint x[kRows], y[kColumns];
  const uint from_a = own.m + (stage * kDepth + row) * kPitchA, from_b = own.n + (stage * kDepth + row) * kPitchB;
#pragma unroll
  for (uint i = 0u; i < kRows; i += kVector) {
    const uvec4 v = load_shared(&staged_a[from_a + row_offset(i)], kVector);
#pragma unroll
    for (uint j = 0u; j < kVector; ++j) x[i + j] = v[j];
  }
#pragma unroll
  for (uint i = 0u; i < kColumns; i += kVector) {
    const uvec4 v = load_shared(&staged_b[from_b + column_offset(i)], kVector);
#pragma unroll
    for (uint j = 0u; j < kVector; ++j) y[i + j] = v[j];
  }
#pragma unroll
  for (uint i = 0u; i < kRows; ++i)
#pragma unroll
    for (uint j = 0u; j < kColumns; ++j) {
      if (kChecked != 0u && !(t.m + own.m + row_offset(i) < size_m(push) &&
                              t.n + own.n + column_offset(j) < columns(push) && k + row * kPacked < t.k_end))
        continue;
      acc[i * kColumns + j] = multiplied(x[i], y[j], acc[i * kColumns + j]);
    }
}

__device__ __forceinline__ void multiply(const GemmPush& push, const Tile& t, Own own, uint stage, uint k,
                                         acc_t* acc) {
  constexpr uint unrolled = kDepth < 8u ? kDepth : 8u;
#pragma unroll 1
  for (uint row = 0u; row < kDepth; row += unrolled) {
#pragma unroll
    for (uint i = 0u; i < unrolled; ++i) multiply_row(push, t, own, stage, row + i, k, acc);
  }
}

// ---- the loop along K

struct Fetch {
  uint64 a, b, step_a, step_b;   // operands of the step loaded last, and the distance to the next step
  uint k, remaining;             // that step's first k, and the full steps that are not multiplied yet
};

// Without a prefetch: one buffer, and no load in flight during the products. Only kFetchers invocations load.
__device__ __forceinline__ void multiply_fetched(const GemmPush& push, const Tile& t, Own own, Fetch fetch,
                                                 acc_t* acc) {
#pragma unroll 1
  for (uint k = t.k; k < t.k_end; k += kTileK) {
    if (threadIdx.x < kFetchers) {
      stage_fetched_items_a(push, t, fetch.a, k, t.k_end - k);
      stage_fetched_items_b(push, t, fetch.b, k, t.k_end - k);
    }
    __syncthreads();   // orders the staging of the step before its products
    multiply(push, t, own, 0u, k, acc);
    __syncthreads();   // orders all loads of this step before the next step is staged
    fetch.a += fetch.step_a;
    fetch.b += fetch.step_b;
  }
}

// After the last full step its operands are loaded and staged once more, and not used: a branch would keep the compiler
// from interleaving loads and products.
__device__ __forceinline__ void advance(Fetch& fetch) {
  const bool more = --fetch.remaining != 0u;
  fetch.a += more ? fetch.step_a : 0u;
  fetch.b += more ? fetch.step_b : 0u;
  fetch.k += more ? kTileK : 0u;
}

// The buffer after this one.
__device__ __forceinline__ uint next_stage(uint stage) { return kStages == 1u ? 0u : stage ^ 1u; }

__device__ __forceinline__ void multiply_prefetched(const GemmPush& push, const Tile& t, Own own, Fetch fetch,
                                                    acc_t* acc) {
  uvec4 prefetched_a[kLoadsA], prefetched_b[kLoadsB];
  Place places_a[kLoadsA], places_b[kLoadsB];
  locate_items_a(push, t, places_a);
  locate_items_b(push, t, places_b);
  const auto prefetch = [&](uint left, const bool tail) {
    prefetch_items_a(push, fetch.a, fetch.k, left, tail, places_a, prefetched_a);
    prefetch_items_b(push, fetch.b, fetch.k, left, tail, places_b, prefetched_b);
  };
  const auto stage_prefetched = [&](uint stage, uint left, const bool tail) {
    stage_prefetched_items_a(push, t, stage, fetch.k, left, tail, places_a, prefetched_a);
    stage_prefetched_items_b(push, t, stage, fetch.k, left, tail, places_b, prefetched_b);
  };
  // Multiplies the step in `stage`, while the next step is loaded. Then the next step is staged in the other buffer, or
  // in the one there is.
  const auto multiply_step = [&](uint stage) {
    const uint k = fetch.k;
    advance(fetch);
    prefetch(kTileK, false);
    multiply(push, t, own, stage, k, acc);
    // orders all loads of this step before the next step is staged in its buffer
    if (kStages == 1u) __syncthreads();
    stage_prefetched(next_stage(stage), kTileK, false);
    // orders the staging of the next step before its products, and all loads of this step before its buffer is reused
    __syncthreads();
  };
  const uint length = t.k_end - t.k, full = length / kTileK, left = length - full * kTileK;
  if (full != 0u) {
    fetch.remaining = full;
    prefetch(kTileK, false);
    stage_prefetched(0u, kTileK, false);
    __syncthreads();   // orders the staging of the first step before its products
    uint stage = 0u;
#pragma unroll 1
    do {
      multiply_step(kPaired != 0u ? 0u : stage);
      if (kPaired == 0u) {
        stage = next_stage(stage);
      } else if (fetch.remaining != 0u) {
        multiply_step(1u);
      }
    } while (fetch.remaining != 0u);
    fetch.a += fetch.step_a;
    fetch.b += fetch.step_b;
    fetch.k += kTileK;
  }
  if (left != 0u) {
    prefetch(left, true);
    stage_prefetched(0u, left, true);
    __syncthreads();   // as above
    multiply(push, t, own, 0u, fetch.k, acc);
  }
}

__device__ __forceinline__ void multiply_tile(const GemmPush& push) {
  Tile t;
  if (!locate_tile(push, t)) return;
  const Own own = locate_invocation();
  acc_t acc[kRows * kColumns];
#pragma unroll
  for (uint i = 0u; i < kRows * kColumns; ++i) acc[i] = 0;
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) {
    const Fetch fetch = {start_of_a(push, t), start_of_b(push, t), step_of_a(push), step_of_b(push), t.k, 0u};
    if (kPrefetch != 0u) multiply_prefetched(push, t, own, fetch, acc);
    else multiply_fetched(push, t, own, fetch, acc);
  }

  const Target target = target_of(push, t);
#pragma unroll
  for (uint i = 0u; i < kRows; ++i) {
    const uint m = t.m + own.m + row_offset(i);
#pragma unroll
    for (uint j = 0u; j < kColumns; j += kWidthD) {
      const uint n = t.n + own.n + column_offset(j);
      acc_t run[MAX_RUN];
#pragma unroll
      for (uint e = 0u; e < MAX_RUN; ++e) run[e] = acc[i * kColumns + min(j + e, kColumns - 1u)];
      if (m < size_m(push) && n < columns(push)) store_run(push, target, m, n, run);
    }
  }
}
