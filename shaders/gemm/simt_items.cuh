// Which invocation loads what of a tile, and the fetch of an operand that is stored as a matrix. Include after
// gemm/epilogue.cuh; what uses it follows in gemm/simt.cuh.
#include "gemm/matmul_simt.abi.h"

constexpr uint kRows = sectile_constant(MATMUL_SIMT_SPEC_ROWS, 8u);
constexpr uint kColumns = sectile_constant(MATMUL_SIMT_SPEC_COLUMNS, 8u);
constexpr uint kLanesM = sectile_constant(MATMUL_SIMT_SPEC_LANES_M, 8u);
constexpr uint kLanesN = sectile_constant(MATMUL_SIMT_SPEC_LANES_N, 4u);
constexpr uint kVector = sectile_constant(MATMUL_SIMT_SPEC_VECTOR, 4u);
constexpr uint kStrided = sectile_constant(MATMUL_SIMT_SPEC_STRIDED, 1u);
constexpr uint kStages = sectile_constant(MATMUL_SIMT_SPEC_STAGES, 2u);
constexpr uint kPrefetch = sectile_constant(MATMUL_SIMT_SPEC_PREFETCH, 1u);
constexpr uint kPaired = sectile_constant(MATMUL_SIMT_SPEC_PAIRED, 0u);
constexpr uint kFetchers = sectile_constant(MATMUL_SIMT_SPEC_FETCHERS, 128u);
constexpr uint kInterleaved = sectile_constant(MATMUL_SIMT_SPEC_INTERLEAVED, 1u);
constexpr uint kPadA = sectile_constant(MATMUL_SIMT_SPEC_PAD_A, 0u);
constexpr uint kPadB = sectile_constant(MATMUL_SIMT_SPEC_PAD_B, 0u);
constexpr uint kGroupA = sectile_constant(MATMUL_SIMT_SPEC_GROUP_A, 1u);
constexpr uint kGroupB = sectile_constant(MATMUL_SIMT_SPEC_GROUP_B, 1u);
constexpr uint kChecked = sectile_constant(MATMUL_SIMT_SPEC_CHECKED, 0u);

#ifdef INTEGER
constexpr uint kPacked = 4u;       // values along K per word of workgroup memory
#else
constexpr uint kPacked = 1u;
#endif

// ---- workgroup memory: [stage][k][row of A], [stage][k][column of B], words

constexpr uint kDepth = kTileK / kPacked;
constexpr uint kPitchA = kTileM + kPadA, kPitchB = kTileN + kPadB;
SECTILE_SHARED(uint, staged_a, kStages * kDepth * kPitchA);
SECTILE_SHARED(uint, staged_b, kStages * kDepth * kPitchB);

// ---- items: what an invocation loads at a time: one run, or with INTEGER as many runs as fill whole words

// Runs lie along K where the operand is stored so, otherwise along M (A) or N (B).
constexpr bool kAlongKA = kTransA == 0u, kAlongKB = kTransB == 1u;
constexpr uint kSpanKA = kPacked == 1u ? (kAlongKA ? kWidthA : 1u) : kPacked;
constexpr uint kSpanKB = kPacked == 1u ? (kAlongKB ? kWidthB : 1u) : kPacked;
constexpr uint kSpanA = kAlongKA ? 1u : kWidthA, kSpanB = kAlongKB ? 1u : kWidthB;
constexpr uint kItemsA = (kTileK / kSpanKA) * (kTileM / kSpanA), kItemsB = (kTileK / kSpanKB) * (kTileN / kSpanB);
constexpr uint kLoadsA = (kItemsA + kFetchers - 1u) / kFetchers, kLoadsB = (kItemsB + kFetchers - 1u) / kFetchers;

// Description of an operand. All members are constant but the leading dimension `ld` and `left`, the rows from the
// tile's first on that are inside the operand. `group`: consecutive invocations that load along K where runs lie so,
// otherwise across K.
struct Side {
  bool b, along_k;
  uint type, width, span, span_k, tile, group, items, loads, pitch;
  uint ld, left;
};
__device__ __forceinline__ Side side_a(const GemmPush& push, const Tile& t) {
  return {false,     kAlongKA,           kAType,
          kWidthA,   kSpanA,             kSpanKA,
          kTileM,    kAlongKA ? kGroupA : kTileM / kSpanA, kItemsA,
          kLoadsA,   kPitchA,            lda(push), size_m(push) - t.m};
}
__device__ __forceinline__ Side side_b(const GemmPush& push, const Tile& t) {
  return {true,     kAlongKB,           kBType,
          kWidthB,   kSpanB,             kSpanKB,
          kTileN,    kAlongKB ? kGroupB : kTileN / kSpanB, kItemsB,
          kLoadsB,   kPitchB,            ldb(push), columns(push) - t.n};
}

// Position in the tile of the item of an invocation's load. Where the tile divides evenly, loads differ by constants. A
// load without an item repeats the last item.
struct Item {
  uint across, k;
};
__device__ __forceinline__ Item item_of(const Side& s, uint load) {
  const uint runs = s.tile / s.span, rows = kFetchers / s.group, lane = threadIdx.x;
  const bool whole = kInterleaved != 0u && s.items % kFetchers == 0u;  // otherwise some items would lie beyond the tile
  if (whole && s.along_k && kFetchers % s.group == 0u && s.tile % max(rows, 1u) == 0u) {
    const uint spans = s.tile / max(rows, 1u);
    return {lane / s.group + load % spans * rows, (lane % s.group + load / spans * s.group) * s.span_k};
  }
  if (whole && !s.along_k && kFetchers % s.group == 0u && runs % s.group == 0u) {
    const uint spans = runs / s.group, lines = kFetchers / s.group;   // a load has `lines` lines of K
    if (s.items / runs % lines == 0u)
      return {(lane % s.group + load % spans * s.group) * s.span, (lane / s.group + load / spans * lines) * s.span_k};
  }
  const uint q = min(kInterleaved != 0u ? lane + load * kFetchers : lane * s.loads + load, s.items - 1u);
  if (!s.along_k) return {q % runs * s.span, q / runs * s.span_k};
  const uint outer = q / s.group;
  return {outer % s.tile, (outer / s.tile * s.group + q % s.group) * s.span_k};
}
// True where the load has an item.
__device__ __forceinline__ bool has_item(const Side& s, uint load) {
  if (s.items % kFetchers == 0u) return true;
  return (kInterleaved != 0u ? threadIdx.x + load * kFetchers : threadIdx.x * s.loads + load) < s.items;
}
// The item's row (column) from the tile's first on, clamped to the operand.
__device__ __forceinline__ uint inside_of(const Side& s, Item item) { return min(item.across, s.left - s.span); }
// Element offset from the tile's first element.
__device__ __forceinline__ uint offset_of(const Side& s, Item item) {
  return s.along_k ? inside_of(s, item) * s.ld + item.k : item.k * s.ld + inside_of(s, item);
}

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

// ---- the fetch of a stored operand

// Both operands of a tile: addresses in the step that is loaded next, and the distances to the step behind it.
struct Operands {
  Side a, b;
  uint64 at_a, at_b, step_a, step_b;
};
__device__ __forceinline__ Operands stored_operands(const GemmPush& push, const Tile& t) {
  Operands o = {side_a(push, t), side_b(push, t), a_address(push, t, t.m, t.k), b_address(push, t, t.k, t.n), 0u, 0u};
  o.step_a = bytes_of(kAType, uint64(kTileK) * (kAlongKA ? 1u : lda(push)));
  o.step_b = bytes_of(kBType, uint64(kTileK) * (kAlongKB ? 1u : ldb(push)));
  return o;
}

// Loads an item whose first element is `at` elements from the tile's first. `k`: the item's, in the step. `left`: how
// much of K remains from the step's start on; only where `tail` is set may it be less than TILE_K.
__device__ __forceinline__ uvec4 fetch_stored(const Side& s, uint64 base, uint at, uint k, uint left, const bool tail) {
#ifdef INTEGER
  uvec4 raw = {};
#pragma unroll
  for (uint i = 0u; i < 4u; ++i) {
    if (s.along_k && i >= 4u / s.width) continue;
    const bool inside = !tail || k + i * (s.along_k ? s.width : 1u) < left;
    const uint word = load_raw(base, inside ? at + i * (s.along_k ? s.width : s.ld) : 0u, s.width)[0];
    raw[i] = inside ? word : 0u;
  }
  return raw;
#else
  return load_raw(base, !tail || k < left ? run_at(s.type, at) : 0u, run_bytes(s.type, s.width));
#endif
}
// Converts an item of floats. `k`: the item's, in all of K.
__device__ __forceinline__ void convert_stored(const GemmPush& push, const Tile& t, const Side& s, Item item,
                                               const uvec4& raw, uint k, bool inside, float (&v)[MAX_RUN]) {
  if (s.b) convert_b(push, raw, k, t.n + inside_of(s, item), inside, v);
  else convert_a(push, raw, k, inside, v);
}
