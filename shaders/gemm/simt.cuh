// The loop of matmul_simt over steps of K: loads, products, store. Include after gemm/simt_fetch.cuh, and
// (GATHERED_WORDS) the kernel's own fetch.

// ---- staging. `k`: the step's first; `left`: how much of K remains from there on; less than TILE_K only where `tail`
// is set

__device__ __forceinline__ uint& staged(const Side& s, uint at) { return s.b ? staged_b[at] : staged_a[at]; }

#ifdef INTEGER
// Packs an item's words: one where runs lie along K, otherwise one for each row (column) of the run.
__device__ __forceinline__ uvec4 packed_item(const Side& s, const uvec4& raw) {
  uvec4 words = {};
  if (s.along_k) {
    words[0] = s.width == 4u   ? raw[0]
               : s.width == 2u ? raw[0] | raw[1] << 16
                               : raw[0] | raw[1] << 8 | raw[2] << 16 | raw[3] << 24;
    return words;
  }
#pragma unroll
  for (uint i = 0u; i < 4u; ++i)
#pragma unroll
    for (uint k = 0u; k < 4u; ++k)
      if (i < s.width) words[i] |= ((raw[k] >> (8u * i)) & 255u) << (8u * k);
  return words;
}
#endif

__device__ __forceinline__ void stage_item(const GemmPush& push, const Tile& t, const Side& s, uint stage, Item item,
                                           const Place& place, const uvec4& raw, uint k, uint left, const bool tail) {
  const uint at = (stage * kDepth + item.k / kPacked) * s.pitch + item.across;
#ifdef INTEGER
  const uvec4 words = packed_item(s, raw);
  if (!s.along_k && s.width == 4u) {
    store_shared(&staged(s, at), 4u, words);
    return;
  }
#pragma unroll
  for (uint i = 0u; i < 4u; ++i)
    if (i < s.span) staged(s, at + i) = words[i];
#else
  float v[MAX_RUN];
  convert_item(push, t, s, item, place, raw, k, !tail || item.k < left, v);
  if (s.along_k || s.width < 4u) {
#pragma unroll
    for (uint i = 0u; i < MAX_RUN; ++i)
      if (i < s.width) staged(s, at + i * (s.along_k ? s.pitch : 1u)) = word_of(v[i]);
    return;
  }
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; i += 4u)
    if (i < s.width)
      store_shared(&staged(s, at + i), 4u,
                   {{word_of(v[i]), word_of(v[i + 1u]), word_of(v[i + 2u]), word_of(v[i + 3u])}});
#endif
}

// places, prefetched: the items of a step in flight, where there is a prefetch.
__device__ __forceinline__ void prefetch_items(const GemmPush& push, const Side& s, uint64 base, uint k, uint left,
                                               const bool tail, const Place* places, uvec4* prefetched) {
#pragma unroll
  for (uint i = 0u; i < s.loads; ++i)
    prefetched[i] = fetch_item(push, s, base, item_of(s, i), places[i], k, left, tail);
}
__device__ __forceinline__ void stage_prefetched_items(const GemmPush& push, const Tile& t, const Side& s, uint stage,
                                                       uint k, uint left, const bool tail, const Place* places,
                                                       const uvec4* prefetched) {
#pragma unroll
  for (uint i = 0u; i < s.loads; ++i)
    if (has_item(s, i)) stage_item(push, t, s, stage, item_of(s, i), places[i], prefetched[i], k, left, tail);
}
// Without a prefetch: loads and stages one item at a time.
__device__ __forceinline__ void stage_fetched_items(const GemmPush& push, const Tile& t, const Side& s, uint64 base,
                                                    uint k, uint left) {
#pragma unroll 1
  for (uint i = 0u; i < s.loads; ++i) {
    if (!has_item(s, i)) continue;
    const Item item = item_of(s, i);
    const Place place = place_of(push, t, s, item);
    stage_item(push, t, s, 0u, item, place, fetch_item(push, s, base, item, place, k, left, true), k, left, true);
  }
}

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

// Without a prefetch: one buffer, and no load in flight during the products. Only kFetchers invocations load.
__device__ __forceinline__ void multiply_fetched(const GemmPush& push, const Tile& t, Own own, Fetch fetch,
                                                 acc_t* acc) {
#pragma unroll 1
  for (uint k = t.k; k < t.k_end; k += kTileK) {
    if (threadIdx.x < kFetchers) {
      stage_fetched_items(push, t, fetch.side_a, fetch.a, k, t.k_end - k);
      stage_fetched_items(push, t, fetch.side_b, fetch.b, k, t.k_end - k);
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
#pragma unroll
  for (uint i = 0u; i < kLoadsA; ++i) places_a[i] = place_of(push, t, fetch.side_a, item_of(fetch.side_a, i));
#pragma unroll
  for (uint i = 0u; i < kLoadsB; ++i) places_b[i] = place_of(push, t, fetch.side_b, item_of(fetch.side_b, i));
  const auto prefetch = [&](uint left, const bool tail) {
    prefetch_items(push, fetch.side_a, fetch.a, fetch.k, left, tail, places_a, prefetched_a);
    prefetch_items(push, fetch.side_b, fetch.b, fetch.k, left, tail, places_b, prefetched_b);
  };
  const auto stage_prefetched = [&](uint stage, uint left, const bool tail) {
    stage_prefetched_items(push, t, fetch.side_a, stage, fetch.k, left, tail, places_a, prefetched_a);
    stage_prefetched_items(push, t, fetch.side_b, stage, fetch.k, left, tail, places_b, prefetched_b);
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
    if (kPrefetch != 0u) multiply_prefetched(push, t, own, first_fetch(push, t), acc);
    else multiply_fetched(push, t, own, first_fetch(push, t), acc);
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
