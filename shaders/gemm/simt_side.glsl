// One operand of matmul_simt: which invocation loads what of its tile, and the load of one that is stored as a matrix.
// Included twice by gemm/simt_fetch.glsl: gemm/side.glsl says how.

// ---- workgroup memory: [stage][k][row of A, column of B]

const uint kPitch = kTile + SIDE(kPadA, kPadB), kStage = kDepth * kPitch;
shared staged4 staged_side[kStages * kStage / 4u];

// ---- items: what an invocation loads at a time: one run, or with INTEGER as many runs as fill whole words

const uint kSpan = kAlongK ? 1u : kWidth;                                          // of an item, across K
const uint kSpanK = kPacked == 1u ? (kAlongK ? kWidth : 1u) : kPacked;             // and along K
const uint kItems = (kTileK / kSpanK) * (kTile / kSpan);
const uint kLoads = (kItems + kFetchers - 1u) / kFetchers;
// Consecutive invocations that load along K where runs lie so, otherwise across K.
const uint kLoadGroup = kAlongK || kIsGathered ? SIDE(kGroupA, kGroupB) : kTile / kSpan;

// The item of an invocation's load. Where the tile divides evenly, loads differ by constants. A load without an item
// repeats the last item.
Item item_of(uint load) {
  const uint runs = kTile / kSpan, rows = kFetchers / kLoadGroup;
  uint lane = gl_LocalInvocationID.x;
  // Otherwise some items would lie beyond the tile.
  if (kInterleaved != 0u && kItems % kFetchers == 0u && kFetchers % kLoadGroup == 0u) {
    if (kAlongK && kTile % max(rows, 1u) == 0u) {
      const uint spans = kTile / max(rows, 1u);
      return Item(lane / kLoadGroup + load % spans * rows, (lane % kLoadGroup + load / spans * kLoadGroup) * kSpanK);
    }
    // A load has `rows` rows of K.
    if (!kAlongK && runs % kLoadGroup == 0u && kItems / runs % max(rows, 1u) == 0u) {
      const uint spans = max(runs / kLoadGroup, 1u);
      return Item((lane % kLoadGroup + load % spans * kLoadGroup) * kSpan,
                  (lane / kLoadGroup + load / spans * rows) * kSpanK);
    }
  }
  uint q = min(kInterleaved != 0u ? lane + load * kFetchers : lane * kLoads + load, kItems - 1u);
  if (!kAlongK) return Item(q % runs * kSpan, q / runs * kSpanK);
  uint outer = q / kLoadGroup;
  return Item(outer % kTile, (outer / kTile * kLoadGroup + q % kLoadGroup) * kSpanK);
}
// True where the load has an item.
bool has_item(uint load) {
  if (kItems % kFetchers == 0u) return true;
  uint lane = gl_LocalInvocationID.x;
  return (kInterleaved != 0u ? lane + load * kFetchers : lane * kLoads + load) < kItems;
}
// The item's row (column) of the operand, clamped to its last one.
uint across_of(Tile t, Item item) {
  return min(SIDE(t.m, t.n) + item.across, SIDE(size_m(), columns()) - kSpan);
}

// ---- an operand that is stored as a matrix: a load's place in the tile stays the same, and the tile moves on

// Address of the tile's first element, and the distance between steps.
uvec2 stored_start(Tile t) { return SIDE(a_address(t, t.m, t.k), b_address(t, t.k, t.n)); }
uvec2 stored_step() { return bytes_of(kSideType, product64(kTileK, kAlongK ? 1u : SIDE(lda(), ldb()))); }
// Element offset from the tile's first element.
uint stored_place(Tile t, Item item) {
  uint inside = across_of(t, item) - SIDE(t.m, t.n), ld = SIDE(lda(), ldb());
  return kAlongK ? inside * ld + item.k : item.k * ld + inside;
}

// Loads an item. `at`: its place. `k`: its first, in the step. `left`: how much of K remains from the step's start on;
// less than TILE_K only where `tail` is set.
uvec4 fetch_stored(uvec2 base, uint at, uint k, uint left, const bool tail) {
#ifdef INTEGER
  uvec4 raw = uvec4(0u);
  [[unroll]] for (uint i = 0u; i < (kAlongK ? 4u / kWidth : 4u); ++i) {
    bool inside = !tail || k + i * (kAlongK ? kWidth : 1u) < left;
    uint word = load_raw(base, inside ? at + i * (kAlongK ? kWidth : SIDE(lda(), ldb())) : 0u, kWidth).x;
    raw[i] = inside ? word : 0u;
  }
  return raw;
#else
  return load_raw(base, !tail || k < left ? run_at(kSideType, at) : 0u, run_bytes(kSideType, kWidth));
#endif
}
