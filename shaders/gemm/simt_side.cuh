// One operand of matmul_simt: which invocation loads what of its tile, and the load of one that is stored as a matrix.
// Included twice by gemm/simt_fetch.cuh: gemm/side.abi.h says how.

// ---- workgroup memory, in words: [stage][k][row of A, column of B]

constexpr uint kPitch = kTile + SIDE(kPadA, kPadB), kStage = kDepth * kPitch;
SECTILE_SHARED(uint, staged_side, kStages * kStage);

// ---- items: what an invocation loads at a time: one run, or with INTEGER as many runs as fill whole words

constexpr uint kSpan = kAlongK ? 1u : kWidth;                                          // of an item, across K
constexpr uint kSpanK = kPacked == 1u ? (kAlongK ? kWidth : 1u) : kPacked;             // and along K
constexpr uint kItems = (kTileK / kSpanK) * (kTile / kSpan);
constexpr uint kLoads = (kItems + kFetchers - 1u) / kFetchers;
// Consecutive invocations that load along K where runs lie so, otherwise across K.
constexpr uint kLoadGroup = kAlongK || kIsGathered ? SIDE(kGroupA, kGroupB) : kTile / kSpan;

// The item of an invocation's load. Where the tile divides evenly, loads differ by constants. A load without an item
// repeats the last item.
__device__ __forceinline__ Item item_of(uint load) {
  const uint runs = kTile / kSpan, rows = kFetchers / kLoadGroup;
  const uint lane = threadIdx.x;
  // Otherwise some items would lie beyond the tile.
  if (kInterleaved != 0u && kItems % kFetchers == 0u && kFetchers % kLoadGroup == 0u) {
    if (kAlongK && kTile % max(rows, 1u) == 0u) {
      const uint spans = kTile / max(rows, 1u);
      return {lane / kLoadGroup + load % spans * rows, (lane % kLoadGroup + load / spans * kLoadGroup) * kSpanK};
    }
    // A load has `rows` rows of K.
    if (!kAlongK && runs % kLoadGroup == 0u && kItems / runs % max(rows, 1u) == 0u) {
      const uint spans = max(runs / kLoadGroup, 1u);
      return {(lane % kLoadGroup + load % spans * kLoadGroup) * kSpan,
              (lane / kLoadGroup + load / spans * rows) * kSpanK};
    }
  }
  const uint q = min(kInterleaved != 0u ? lane + load * kFetchers : lane * kLoads + load, kItems - 1u);
  if (!kAlongK) return {q % runs * kSpan, q / runs * kSpanK};
  const uint outer = q / kLoadGroup;
  return {outer % kTile, (outer / kTile * kLoadGroup + q % kLoadGroup) * kSpanK};
}
// True where the load has an item.
__device__ __forceinline__ bool has_item(uint load) {
  if (kItems % kFetchers == 0u) return true;
  const uint lane = threadIdx.x;
  return (kInterleaved != 0u ? lane + load * kFetchers : lane * kLoads + load) < kItems;
}
// The item's row (column) from the tile's first on, clamped to the operand.
__device__ __forceinline__ uint inside_of(const GemmPush& push, const Tile& t, Item item) {
  return min(item.across, SIDE(size_m(push) - t.m, columns(push) - t.n) - kSpan);
}
// The item's row (column) of the operand.
__device__ __forceinline__ uint across_of(const GemmPush& push, const Tile& t, Item item) {
  return SIDE(t.m, t.n) + inside_of(push, t, item);
}

// ---- an operand that is stored as a matrix: a load's place in the tile stays the same, and the tile moves on

// Address of the tile's first element, and the distance between steps.
__device__ __forceinline__ uint64 stored_start(const GemmPush& push, const Tile& t) {
  return SIDE(a_address(push, t, t.m, t.k), b_address(push, t, t.k, t.n));
}
__device__ __forceinline__ uint64 stored_step(const GemmPush& push) {
  return bytes_of(kSideType, uint64(kTileK) * (kAlongK ? 1u : SIDE(lda(push), ldb(push))));
}
// Element offset from the tile's first element.
__device__ __forceinline__ uint stored_place(const GemmPush& push, const Tile& t, Item item) {
  const uint inside = inside_of(push, t, item), ld = SIDE(lda(push), ldb(push));
  return kAlongK ? inside * ld + item.k : item.k * ld + inside;
}

// Loads an item. `at`: its place. `k`: its first, in the step. `left`: how much of K remains from the step's start on;
// less than TILE_K only where `tail` is set.
__device__ __forceinline__ uvec4 fetch_stored(const GemmPush& push, uint64 base, uint at, uint k, uint left,
                                              const bool tail) {
#ifdef INTEGER
  uvec4 raw = {};
#pragma unroll
  for (uint i = 0u; i < (kAlongK ? 4u / kWidth : 4u); ++i) {
    const bool inside = !tail || k + i * (kAlongK ? kWidth : 1u) < left;
    const uint word = load_raw(base, inside ? at + i * (kAlongK ? kWidth : SIDE(lda(push), ldb(push))) : 0u, kWidth)[0];
    raw[i] = inside ? word : 0u;
  }
  return raw;
#else
  return load_raw(base, !tail || k < left ? run_at(kSideType, at) : 0u, run_bytes(kSideType, kWidth));
#endif
}
#ifndef INTEGER
// Converts an item. `k`: the item's, in all of K. A has a scale along K, B has quantized formats: convert_a() and
// convert_b() differ.
__device__ __forceinline__ void convert_stored(const GemmPush& push, const Tile& t, Item item, const uvec4& raw, uint k,
                                               bool inside, float (&v)[MAX_RUN]) {
  SIDE(convert_a(push, raw, k, inside, v), convert_b(push, raw, k, across_of(push, t, item), inside, v));
}
#endif

#ifndef GATHERED_WORDS
// ---- what gemm/simt_stage.cuh knows of an operand. `k`: the step's first

__device__ __forceinline__ uint64 start_of(const GemmPush& push, const Tile& t) { return stored_start(push, t); }
__device__ __forceinline__ uint64 step_of(const GemmPush& push) { return stored_step(push); }
__device__ __forceinline__ Place place_of(const GemmPush& push, const Tile& t, Item item) {
  return stored_place(push, t, item);
}
__device__ __forceinline__ uvec4 fetch_item(const GemmPush& push, uint64 base, Item item, Place place, uint k,
                                            uint left, const bool tail) {
  return fetch_stored(push, base, place, item.k, left, tail);
}
#ifndef INTEGER
__device__ __forceinline__ void convert_item(const GemmPush& push, const Tile& t, Item item, Place place,
                                             const uvec4& raw, uint k, bool inside, float (&v)[MAX_RUN]) {
  convert_stored(push, t, item, raw, k + item.k, inside, v);
}
#endif
#endif
