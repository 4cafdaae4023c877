// Loads and stages the items of one operand of matmul_simt. Included twice by gemm/simt.cuh: gemm/side.abi.h says how.
// `k`: the step's first; `left`: how much of K remains from there on; less than TILE_K only where `tail` is set.

#ifdef INTEGER
// Packs an item's words: one where runs lie along K, otherwise one for each row (column) of the run.
__device__ __forceinline__ uvec4 packed_item(const uvec4& raw) {
  uvec4 words = {};
  if (kAlongK) {
    words[0] = kWidth == 4u   ? raw[0]
               : kWidth == 2u ? raw[0] | raw[1] << 16
                              : raw[0] | raw[1] << 8 | raw[2] << 16 | raw[3] << 24;
    return words;
  }
#pragma unroll
  for (uint i = 0u; i < kWidth; ++i)
#pragma unroll
    for (uint k = 0u; k < 4u; ++k) words[i] |= ((raw[k] >> (8u * i)) & 255u) << (8u * k);
  return words;
}
#endif

__device__ __forceinline__ void stage_item(const GemmPush& push, const Tile& t, uint stage, Item item,
                                           const Place& place, const uvec4& raw, uint k, uint left, const bool tail) {
  const uint at = (stage * kDepth + item.k / kPacked) * kPitch + item.across;
#ifdef INTEGER
  const uvec4 words = packed_item(raw);
  if (kSpan == 4u) {
    store_shared(&staged_side[at], 4u, words);
    return;
  }
#pragma unroll
  for (uint i = 0u; i < kSpan; ++i) staged_side[at + i] = words[i];
#else
  float v[MAX_RUN];
  convert_item(push, t, item, place, raw, k, !tail || item.k < left, v);
  if (kAlongK || kWidth < 4u) {
#pragma unroll
    for (uint i = 0u; i < MAX_RUN; ++i)
      if (i < kWidth) staged_side[at + i * (kAlongK ? kPitch : 1u)] = word_of(v[i]);
    return;
  }
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; i += 4u)
    if (i < kWidth)
      store_shared(&staged_side[at + i], 4u,
                   {{word_of(v[i]), word_of(v[i + 1u]), word_of(v[i + 2u]), word_of(v[i + 3u])}});
#endif
}

// places, prefetched: the items of a step in flight, where there is a prefetch.
__device__ __forceinline__ void locate_items(const GemmPush& push, const Tile& t, Place* places) {
#pragma unroll
  for (uint i = 0u; i < kLoads; ++i) places[i] = place_of(push, t, item_of(i));
}
__device__ __forceinline__ void prefetch_items(const GemmPush& push, uint64 base, uint k, uint left, const bool tail,
                                               const Place* places, uvec4* prefetched) {
#pragma unroll
  for (uint i = 0u; i < kLoads; ++i)
    prefetched[i] = fetch_item(push, base, item_of(i), places[i], k, left, tail);
}
__device__ __forceinline__ void stage_prefetched_items(const GemmPush& push, const Tile& t, uint stage, uint k,
                                                       uint left, const bool tail, const Place* places,
                                                       const uvec4* prefetched) {
#pragma unroll
  for (uint i = 0u; i < kLoads; ++i)
    if (has_item(i)) stage_item(push, t, stage, item_of(i), places[i], prefetched[i], k, left, tail);
}
// Without a prefetch: loads and stages one item at a time.
__device__ __forceinline__ void stage_fetched_items(const GemmPush& push, const Tile& t, uint64 base, uint k,
                                                    uint left) {
#pragma unroll 1
  for (uint i = 0u; i < kLoads; ++i) {
    const Item item = item_of(i);
    if (has_item(i)) {
      const Place place = place_of(push, t, item);
      stage_item(push, t, 0u, item, place, fetch_item(push, base, item, place, k, left, true), k, left, true);
    }
  }
}
