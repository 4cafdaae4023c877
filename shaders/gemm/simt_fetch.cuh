// What matmul_simt loads of its operands, and how. gemm/simt.cuh has the rest. Include after gemm/epilogue.cuh.
// CUDA has no variables of an invocation outside functions: what GLSL has there is passed here.
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
constexpr uint kDepth = kTileK / kPacked;

// ---- workgroup memory, in words: [stage][k][row of A, column of B]

constexpr uint kPitchA = kTileM + kPadA, kPitchB = kTileN + kPadB;
SECTILE_SHARED(uint, staged_a, kStages * kDepth * kPitchA);
SECTILE_SHARED(uint, staged_b, kStages * kDepth * kPitchB);

// ---- items: what an invocation loads at a time: one run, or with INTEGER as many runs as fill whole words

constexpr bool kAlongKA = kTransA == 0u, kAlongKB = kTransB == 1u;
#ifdef GATHERED_WORDS
constexpr bool kIsGatheredA = kGatheredSide == 0u, kIsGatheredB = kGatheredSide != 0u;
#else
constexpr bool kIsGatheredA = false, kIsGatheredB = false;
#endif
constexpr uint kSpanA = kAlongKA ? 1u : kWidthA, kSpanB = kAlongKB ? 1u : kWidthB;             // of an item, across K
constexpr uint kSpanKA = kPacked == 1u ? (kAlongKA ? kWidthA : 1u) : kPacked;                  // and along K
constexpr uint kSpanKB = kPacked == 1u ? (kAlongKB ? kWidthB : 1u) : kPacked;
constexpr uint kItemsA = (kTileK / kSpanKA) * (kTileM / kSpanA), kItemsB = (kTileK / kSpanKB) * (kTileN / kSpanB);
constexpr uint kLoadsA = (kItemsA + kFetchers - 1u) / kFetchers, kLoadsB = (kItemsB + kFetchers - 1u) / kFetchers;
// Consecutive invocations that load along K where runs lie so, otherwise across K.
constexpr uint kLoadGroupA = kAlongKA || kIsGatheredA ? kGroupA : kTileM / kSpanA;
constexpr uint kLoadGroupB = kAlongKB || kIsGatheredB ? kGroupB : kTileN / kSpanB;

// One operand: constants, but for the last two. GLSL has a file that is included twice in place of it (gemm/side.glsl);
// here that costs time. NVRTC 13.0 folds constants that it meets in a struct later, and orders loads and products
// otherwise: with the constants in the functions themselves, products of f16 and bf16 took 1 to 2.5 % longer on an H200
// (driver 580.159.04, 2026-11-27, bench --preset matmul --device cuda:0), convolutions up to 3 % (--preset conv2d).
struct Side {
  bool b;        // B, otherwise A
  bool along_k, gathered;
  uint type, width;
  uint span, span_k, tile, load_group, items, loads, pitch;
  uint ld;       // the operand's leading dimension
  uint left;     // rows (columns) of the operand from the tile's first on
};
__device__ __forceinline__ Side side_a(const GemmPush& push, const Tile& t) {
  return {false,       kAlongKA, kIsGatheredA, kAType,   kWidthA,   kSpanA,              kSpanKA, kTileM,
          kLoadGroupA, kItemsA,  kLoadsA,      kPitchA,  lda(push), size_m(push) - t.m};
}
__device__ __forceinline__ Side side_b(const GemmPush& push, const Tile& t) {
  return {true,        kAlongKB, kIsGatheredB, kBType,   kWidthB,   kSpanB,               kSpanKB, kTileN,
          kLoadGroupB, kItemsB,  kLoadsB,      kPitchB,  ldb(push), columns(push) - t.n};
}

// Position of an item in its tile: a row of A or a column of B, and the first of its elements along K.
struct Item {
  uint across, k;
};
// The item of an invocation's load. Where the tile divides evenly, loads differ by constants. A load without an item
// repeats the last item.
__device__ __forceinline__ Item item_of(const Side& s, uint load) {
  const uint runs = s.tile / s.span, rows = kFetchers / s.load_group, lane = threadIdx.x;
  const bool whole = kInterleaved != 0u && s.items % kFetchers == 0u;  // otherwise some items would lie beyond the tile
  if (whole && s.along_k && kFetchers % s.load_group == 0u && s.tile % max(rows, 1u) == 0u) {
    const uint spans = s.tile / max(rows, 1u);
    return {lane / s.load_group + load % spans * rows, (lane % s.load_group + load / spans * s.load_group) * s.span_k};
  }
  if (whole && !s.along_k && kFetchers % s.load_group == 0u && runs % s.load_group == 0u) {
    const uint spans = runs / s.load_group;
    if (s.items / runs % rows == 0u)   // a load has `rows` rows of K
      return {(lane % s.load_group + load % spans * s.load_group) * s.span,
              (lane / s.load_group + load / spans * rows) * s.span_k};
  }
  const uint q = min(kInterleaved != 0u ? lane + load * kFetchers : lane * s.loads + load, s.items - 1u);
  if (!s.along_k) return {q % runs * s.span, q / runs * s.span_k};
  const uint outer = q / s.load_group;
  return {outer % s.tile, (outer / s.tile * s.load_group + q % s.load_group) * s.span_k};
}
// True where the load has an item.
__device__ __forceinline__ bool has_item(const Side& s, uint load) {
  if (s.items % kFetchers == 0u) return true;
  return (kInterleaved != 0u ? threadIdx.x + load * kFetchers : threadIdx.x * s.loads + load) < s.items;
}
// The item's row (column) from the tile's first on, clamped to the operand.
__device__ __forceinline__ uint inside_of(const Side& s, Item item) { return min(item.across, s.left - s.span); }
// The item's row (column) of the operand.
__device__ __forceinline__ uint across_of(const Tile& t, const Side& s, Item item) {
  return (s.b ? t.n : t.m) + inside_of(s, item);
}

// ---- an operand that is stored as a matrix: a load's place in the tile stays the same, and the tile moves on

// Element offset from the tile's first element.
__device__ __forceinline__ uint stored_place(const Side& s, Item item) {
  return s.along_k ? inside_of(s, item) * s.ld + item.k : item.k * s.ld + inside_of(s, item);
}
// Loads an item. `at`: its place. `k`: its first, in the step. `left`: how much of K remains from the step's start on;
// less than TILE_K only where `tail` is set.
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
#ifndef INTEGER
// Converts an item. `k`: the item's, in all of K. A has a scale along K, B has quantized formats: convert_a() and
// convert_b() differ.
__device__ __forceinline__ void convert_stored(const GemmPush& push, const Tile& t, const Side& s, Item item,
                                               const uvec4& raw, uint k, bool inside, float (&v)[MAX_RUN]) {
  if (s.b) convert_b(push, raw, k, across_of(t, s, item), inside, v);
  else convert_a(push, raw, k, inside, v);
}
#endif

// ---- both operands of a tile

struct Fetch {
  Side side_a, side_b;
  uint64 a, b, step_a, step_b;   // operands of the step loaded last, and the distance to the next step
  uint k, remaining;             // that step's first k, and the full steps that are not multiplied yet
};
// Before the first step; an operand that is gathered has no address yet.
__device__ __forceinline__ Fetch stored_fetch(const GemmPush& push, const Tile& t) {
  return {side_a(push, t),
          side_b(push, t),
          kIsGatheredA ? 0u : a_address(push, t, t.m, t.k),
          kIsGatheredB ? 0u : b_address(push, t, t.k, t.n),
          kIsGatheredA ? 0u : bytes_of(kAType, uint64(kTileK) * (kAlongKA ? 1u : lda(push))),
          kIsGatheredB ? 0u : bytes_of(kBType, uint64(kTileK) * (kAlongKB ? 1u : ldb(push))),
          t.k,
          0u};
}

#ifndef GATHERED_WORDS
// ---- what gemm/simt.cuh knows of operands. A kernel of which one is gathered has these itself. `k`: the step's first

using Place = uint;             // what an invocation keeps of an item from step to step

__device__ __forceinline__ Fetch first_fetch(const GemmPush& push, const Tile& t) { return stored_fetch(push, t); }
__device__ __forceinline__ Place place_of(const GemmPush&, const Tile&, const Side& s, Item item) {
  return stored_place(s, item);
}
__device__ __forceinline__ uvec4 fetch_item(const GemmPush&, const Side& s, uint64 base, Item item, Place place, uint,
                                            uint left, const bool tail) {
  return fetch_stored(s, base, place, item.k, left, tail);
}
#ifndef INTEGER
__device__ __forceinline__ void convert_item(const GemmPush& push, const Tile& t, const Side& s, Item item, Place,
                                             const uvec4& raw, uint k, bool inside, float (&v)[MAX_RUN]) {
  convert_stored(push, t, s, item, raw, k + item.k, inside, v);
}
#endif
#endif
