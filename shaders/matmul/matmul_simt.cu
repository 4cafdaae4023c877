//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT
// Each step of K of a workgroup's tile is staged in workgroup memory; an invocation keeps its rows, columns and
// accumulators in registers. Method: CUTLASS's efficient GEMM; each of its parts is a constant. Workgroup memory and
// accumulators are f32 for all operand types. With INTEGER, a word of workgroup memory holds four int8 along K, and
// accumulators are int.
// Bounds are checked where operands are loaded and results are stored, not in the products (but with CHECKED): rows and
// columns beyond the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al.,
// "DietCode", MLSys 2022).
#include "lib/cuda.cuh"
#include "lib/matmul.cuh"
#include "matmul_simt.abi.h"
#include "lib/matmul_epilogue.cuh"

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
// tile's first on that are inside the operand.
struct Side {
  bool b, along_k;
  uint type, width, span, span_k, tile, group, items, loads, pitch;
  uint ld, left;
};
__device__ __forceinline__ Side side_a(const MatmulPush& push, const Tile& t) {
  return {false,   kAlongKA, kAType,  kWidthA, kSpanA,    kSpanKA,           kTileM,
          kGroupA, kItemsA,  kLoadsA, kPitchA, lda(push), size_m(push) - t.m};
}
__device__ __forceinline__ Side side_b(const MatmulPush& push, const Tile& t) {
  return {true,    kAlongKB, kBType,  kWidthB, kSpanB,    kSpanKB,           kTileN,
          kGroupB, kItemsB,  kLoadsB, kPitchB, ldb(push), size_n(push) - t.n};
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
  if (whole && !s.along_k && kFetchers % runs == 0u)
    return {lane % runs * s.span, (lane / runs + load * (kFetchers / runs)) * s.span_k};
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

// Loads an item. `left`: how much of K remains from the step's start on; only where `tail` is set may it be less than
// TILE_K.
__device__ __forceinline__ uvec4 fetch_item(const Side& s, uint64 base, uint at, uint k, uint left, const bool tail) {
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

__device__ __forceinline__ uint& staged(const Side& s, uint at) { return s.b ? staged_b[at] : staged_a[at]; }

// Stores an item to workgroup memory. `tail`: the step may hold less than TILE_K.
__device__ __forceinline__ void stage_item(const MatmulPush& push, const Tile& t, const Side& s, uint stage, Item item,
                                           const uvec4& raw, uint k, uint left, const bool tail) {
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
  const bool inside = !tail || item.k < left;
  float v[MAX_RUN];
  if (s.b) convert_b(push, raw, k + item.k, t.n + inside_of(s, item), inside, v);
  else convert_a(push, raw, k + item.k, inside, v);
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

// ---- steps

// Loads the runs of a step, where there is a prefetch.
__device__ __forceinline__ void prefetch(const Side& s, uint64 base, uint left, const bool tail, const uint* at,
                                         uvec4* raw) {
#pragma unroll
  for (uint i = 0u; i < s.loads; ++i) raw[i] = fetch_item(s, base, at[i], item_of(s, i).k, left, tail);
}
__device__ __forceinline__ void stage_prefetched(const MatmulPush& push, const Tile& t, const Side& s, uint stage,
                                                 uint k, uint left, const bool tail, const uvec4* raw) {
#pragma unroll
  for (uint i = 0u; i < s.loads; ++i)
    if (has_item(s, i)) stage_item(push, t, s, stage, item_of(s, i), raw[i], k, left, tail);
}
// Without a prefetch: loads and stages one item at a time; only kFetchers invocations take part.
__device__ __forceinline__ void stage_fetched(const MatmulPush& push, const Tile& t, const Side& s, uint64 base, uint k,
                                              uint left) {
  if (threadIdx.x >= kFetchers) return;
#pragma unroll 1
  for (uint i = 0u; i < s.loads; ++i) {
    const Item item = item_of(s, i);
    if (has_item(s, i))
      stage_item(push, t, s, 0u, item, fetch_item(s, base, offset_of(s, item), item.k, left, true), k, left, true);
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
__device__ __forceinline__ void multiply_row(const MatmulPush& push, const Tile& t, Own own, uint stage, uint row,
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
                              t.n + own.n + column_offset(j) < size_n(push) && k + row * kPacked < t.k_end))
        continue;
      acc[i * kColumns + j] = multiplied(x[i], y[j], acc[i * kColumns + j]);
    }
}

__device__ __forceinline__ void multiply(const MatmulPush& push, const Tile& t, Own own, uint stage, uint k,
                                         acc_t* acc) {
  constexpr uint unrolled = kDepth < 8u ? kDepth : 8u;
#pragma unroll 1
  for (uint row = 0u; row < kDepth; row += unrolled) {
#pragma unroll
    for (uint i = 0u; i < unrolled; ++i) multiply_row(push, t, own, stage, row + i, k, acc);
  }
}

// ---- the loop along K

struct Operands {
  Side a, b;
  uint64 at_a, at_b, step_a, step_b;   // addresses of the step loaded last, and the distance to the next step
};

// Without a prefetch: one buffer, and no load in flight during the products.
__device__ __forceinline__ void multiply_fetched(const MatmulPush& push, const Tile& t, Own own, Operands o,
                                                 acc_t* acc) {
#pragma unroll 1
  for (uint k = t.k; k < t.k_end; k += kTileK) {
    stage_fetched(push, t, o.a, o.at_a, k, t.k_end - k);
    stage_fetched(push, t, o.b, o.at_b, k, t.k_end - k);
    __syncthreads();   // orders the staging of the step before its products
    multiply(push, t, own, 0u, k, acc);
    __syncthreads();   // orders all loads of this step before the next step is staged
    o.at_a += o.step_a;
    o.at_b += o.step_b;
  }
}

__device__ __forceinline__ void multiply_prefetched(const MatmulPush& push, const Tile& t, Own own, Operands o,
                                                    acc_t* acc) {
  uvec4 raw_a[kLoadsA], raw_b[kLoadsB];
  uint at_a[kLoadsA], at_b[kLoadsB];
#pragma unroll
  for (uint i = 0u; i < kLoadsA; ++i) at_a[i] = offset_of(o.a, item_of(o.a, i));
#pragma unroll
  for (uint i = 0u; i < kLoadsB; ++i) at_b[i] = offset_of(o.b, item_of(o.b, i));
  const auto fetch = [&](uint left, const bool tail) {
    prefetch(o.a, o.at_a, left, tail, at_a, raw_a);
    prefetch(o.b, o.at_b, left, tail, at_b, raw_b);
  };
  const auto stage_to = [&](uint stage, uint k, uint left, const bool tail) {
    stage_prefetched(push, t, o.a, stage, k, left, tail, raw_a);
    stage_prefetched(push, t, o.b, stage, k, left, tail, raw_b);
  };
  uint k = t.k;
  const uint length = t.k_end - t.k, full = length / kTileK, left = length - full * kTileK;
  uint remaining = full;   // full steps that are not multiplied yet
  // Multiplies the step in `stage`, while the next step is loaded and then staged in the other buffer. After the last
  // full step its operands are loaded and staged once more, and not used: a branch would keep the compiler from
  // interleaving loads and products.
  const auto multiply_step = [&](uint stage) {
    const uint current_k = k;
    const bool more = --remaining != 0u;
    o.at_a += more ? o.step_a : 0u;
    o.at_b += more ? o.step_b : 0u;
    k += more ? kTileK : 0u;
    fetch(kTileK, false);
    multiply(push, t, own, stage, current_k, acc);
    stage_to(stage ^ 1u, k, kTileK, false);
    // orders the staging of the next step before its products, and all loads of this step before its buffer is reused
    __syncthreads();
  };
  if (full != 0u) {
    fetch(kTileK, false);
    stage_to(0u, k, kTileK, false);
    __syncthreads();   // orders the staging of the first step before its products
    uint stage = 0u;
#pragma unroll 1
    do {
      multiply_step(kPaired != 0u ? 0u : stage);
      if (kPaired == 0u) {
        stage ^= 1u;
      } else if (remaining != 0u) {
        multiply_step(1u);
      }
    } while (remaining != 0u);
    o.at_a += o.step_a;
    o.at_b += o.step_b;
    k += kTileK;
  }
  if (left != 0u) {
    fetch(left, true);
    stage_to(0u, k, left, true);
    __syncthreads();   // as above
    multiply(push, t, own, 0u, k, acc);
  }
}

__device__ __forceinline__ void sum_products(const MatmulPush& push, const Tile& t, Own own, acc_t* acc) {
  Operands o = {side_a(push, t), side_b(push, t), a_address(push, t, t.m, t.k), b_address(push, t, t.k, t.n), 0u, 0u};
  o.step_a = bytes_of(kAType, uint64(kTileK) * (kAlongKA ? 1u : lda(push)));
  o.step_b = bytes_of(kBType, uint64(kTileK) * (kAlongKB ? 1u : ldb(push)));
  if (kPrefetch != 0u) multiply_prefetched(push, t, own, o, acc);
  else multiply_fetched(push, t, own, o, acc);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ MatmulPush push) {
  Tile t;
  if (!locate_tile(push, t)) return;
  const Own own = locate_invocation();
  acc_t acc[kRows * kColumns];
#pragma unroll
  for (uint i = 0u; i < kRows * kColumns; ++i) acc[i] = 0;
  // Splits that start after the end of K have nothing to sum.
  if (t.k < t.k_end) sum_products(push, t, own, acc);

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
      if (m < size_m(push) && n < size_n(push)) store_run(push, target, m, n, run);
    }
  }
}
