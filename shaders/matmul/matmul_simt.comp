//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT -DNARROW
// Each step of K of a workgroup's tile is staged in workgroup memory; an invocation keeps its rows, columns and
// accumulators in registers. Method: CUTLASS's efficient GEMM; each of its parts is a constant. Workgroup memory and
// accumulators are f32 for all operand types. With INTEGER, a word of workgroup memory holds four int8 along K, and
// accumulators are int.
// Bounds are checked where operands are loaded and results are stored, not in the products (but with CHECKED): rows and
// columns beyond the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al.,
// "DietCode", MLSys 2022).
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_integer_dot_product : require
#endif
#include "lib/matmul.glsl"
#include "matmul_simt.abi.h"
#include "lib/matmul_epilogue.glsl"

layout(constant_id = MATMUL_SIMT_SPEC_ROWS) const uint kRows = 8u;
layout(constant_id = MATMUL_SIMT_SPEC_COLUMNS) const uint kColumns = 8u;
layout(constant_id = MATMUL_SIMT_SPEC_LANES_M) const uint kLanesM = 8u;
layout(constant_id = MATMUL_SIMT_SPEC_LANES_N) const uint kLanesN = 4u;
layout(constant_id = MATMUL_SIMT_SPEC_VECTOR) const uint kVector = 4u;
layout(constant_id = MATMUL_SIMT_SPEC_STRIDED) const uint kStrided = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_STAGES) const uint kStages = 2u;
layout(constant_id = MATMUL_SIMT_SPEC_PREFETCH) const uint kPrefetch = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_FETCHERS) const uint kFetchers = 128u;
layout(constant_id = MATMUL_SIMT_SPEC_INTERLEAVED) const uint kInterleaved = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_PAD_A) const uint kPadA = 0u;
layout(constant_id = MATMUL_SIMT_SPEC_PAD_B) const uint kPadB = 0u;
layout(constant_id = MATMUL_SIMT_SPEC_GROUP_A) const uint kGroupA = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_GROUP_B) const uint kGroupB = 1u;
layout(constant_id = MATMUL_SIMT_SPEC_CHECKED) const uint kChecked = 0u;
layout(constant_id = MATMUL_SIMT_SPEC_PAIRED) const uint kPaired = 0u;

#ifdef INTEGER
#define staged4 ivec4
const uint kPacked = 4u;       // values along K per word of workgroup memory
#else
#define staged4 vec4
const uint kPacked = 1u;
#endif

// ---- workgroup memory: [stage][k][row of A], [stage][k][column of B]

const uint kDepth = kTileK / kPacked;
const uint kPitchA = kTileM + kPadA, kPitchB = kTileN + kPadB;
const uint kStageA = kDepth * kPitchA, kStageB = kDepth * kPitchB;
shared staged4 staged_a[kStages * kStageA / 4u];
shared staged4 staged_b[kStages * kStageB / 4u];

// ---- items: what an invocation loads at a time: one run, or with INTEGER as many runs as fill whole words

// A's runs lie along K where A is stored so, otherwise along M.
const bool kAlongKA = kTransA == 0u;
const uint kSpanKA = kPacked == 1u ? (kAlongKA ? kWidthA : 1u) : kPacked;
const uint kSpanA = kAlongKA ? 1u : kWidthA;
const uint kItemsA = (kTileK / kSpanKA) * (kTileM / kSpanA);
const uint kLoadsA = (kItemsA + kFetchers - 1u) / kFetchers;

// Position in the tile of the item of an invocation's load: .x along M, .y along K. Where the tile divides evenly,
// loads differ by constants. A load without an item repeats the last item.
uvec2 item_a(uint load) {
  const uint runs = kTileM / kSpanA, rows = kFetchers / kGroupA;
  uint lane = gl_LocalInvocationID.x;
  if (kItemsA % kFetchers == 0u && kInterleaved != 0u && kAlongKA && kFetchers % kGroupA == 0u &&
      kTileM % max(rows, 1u) == 0u) {
    const uint spans = kTileM / max(rows, 1u);
    return uvec2(lane / kGroupA + load % spans * rows, (lane % kGroupA + load / spans * kGroupA) * kSpanKA);
  }
  if (kItemsA % kFetchers == 0u && kInterleaved != 0u && !kAlongKA && kFetchers % runs == 0u)
    return uvec2(lane % runs * kSpanA, (lane / runs + load * (kFetchers / runs)) * kSpanKA);
  uint q = min(kInterleaved != 0u ? lane + load * kFetchers : lane * kLoadsA + load, kItemsA - 1u);
  if (!kAlongKA) return uvec2(q % runs * kSpanA, q / runs * kSpanKA);
  uint outer = q / kGroupA;
  return uvec2(outer % kTileM, (outer / kTileM * kGroupA + q % kGroupA) * kSpanKA);
}
// True where the load has an item.
bool has_a(uint load) {
  if (kItemsA % kFetchers == 0u) return true;
  return (kInterleaved != 0u ? gl_LocalInvocationID.x + load * kFetchers : gl_LocalInvocationID.x * kLoadsA + load) <
         kItemsA;
}
// Element offset from the tile's first element.
uint offset_a(Tile t, uvec2 item) {
  uint inside = min(t.m + item.x, size_m() - kSpanA) - t.m;
  return kAlongKA ? inside * lda() + item.y : item.y * lda() + inside;
}

// Loads an item. `left`: how much of K remains from the step's start on; only where `tail` is set may it be less than
// TILE_K.
uvec4 fetch_item_a(uvec2 base, uint at, uint k, uint left, const bool tail) {
#ifdef INTEGER
  uvec4 raw = uvec4(0u);
  [[unroll]] for (uint i = 0u; i < (kAlongKA ? 4u / kWidthA : 4u); ++i) {
    bool inside = !tail || k + i * (kAlongKA ? kWidthA : 1u) < left;
    uint word = load_raw(base, inside ? at + i * (kAlongKA ? kWidthA : lda()) : 0u, kWidthA).x;
    raw[i] = inside ? word : 0u;
  }
  return raw;
#else
  return load_raw(base, !tail || k < left ? run_at(kAType, at) : 0u, run_bytes(kAType, kWidthA));
#endif
}

// Stores an item to workgroup memory. `tail`: the step may hold less than TILE_K.
void stage_item_a(Tile t, uint stage, uvec2 item, uvec4 raw, uint k, uint left, const bool tail) {
  uint at = stage * (kStageA / 4u) + item.y / kPacked * (kPitchA / 4u) + item.x / 4u, part = item.x % 4u;
#ifdef INTEGER
  if (kAlongKA) {
    uint word = kWidthA == 4u   ? raw.x
                : kWidthA == 2u ? raw.x | (raw.y << 16)
                                : raw.x | (raw.y << 8) | (raw.z << 16) | (raw.w << 24);
    staged_a[at][part] = int(word);
    return;
  }
  ivec4 transposed;
  [[unroll]] for (uint i = 0u; i < kWidthA; ++i) {
    uvec4 byte = (raw >> (8u * i)) & 255u;
    transposed[i] = int(byte.x | (byte.y << 8) | (byte.z << 16) | (byte.w << 24));
  }
  if (kWidthA == 4u) staged_a[at] = transposed;
  else
    [[unroll]] for (uint i = 0u; i < kWidthA; ++i) staged_a[at][part + i] = transposed[i];
#else
  float v[MAX_RUN];
  convert_a(raw, k + item.y, !tail || item.y < left, v);
  if (kAlongKA) {
    [[unroll]] for (uint i = 0u; i < kWidthA; ++i) staged_a[at + i * (kPitchA / 4u)][part] = v[i];
  } else if (kWidthA >= 4u) {
    [[unroll]] for (uint i = 0u; i < kWidthA; i += 4u)
      staged_a[at + i / 4u] = vec4(v[i], v[i + 1u], v[i + 2u], v[i + 3u]);
  } else {
    [[unroll]] for (uint i = 0u; i < kWidthA; ++i) staged_a[at][part + i] = v[i];
  }
#endif
}

// B's runs lie along K where B is stored so, otherwise along N.
const bool kAlongKB = kTransB == 1u;
const uint kSpanKB = kPacked == 1u ? (kAlongKB ? kWidthB : 1u) : kPacked;
const uint kSpanB = kAlongKB ? 1u : kWidthB;
const uint kItemsB = (kTileK / kSpanKB) * (kTileN / kSpanB);
const uint kLoadsB = (kItemsB + kFetchers - 1u) / kFetchers;

// The same for B: .x along N, .y along K.
uvec2 item_b(uint load) {
  const uint runs = kTileN / kSpanB, rows = kFetchers / kGroupB;
  uint lane = gl_LocalInvocationID.x;
  if (kItemsB % kFetchers == 0u && kInterleaved != 0u && kAlongKB && kFetchers % kGroupB == 0u &&
      kTileN % max(rows, 1u) == 0u) {
    const uint spans = kTileN / max(rows, 1u);
    return uvec2(lane / kGroupB + load % spans * rows, (lane % kGroupB + load / spans * kGroupB) * kSpanKB);
  }
  if (kItemsB % kFetchers == 0u && kInterleaved != 0u && !kAlongKB && kFetchers % runs == 0u)
    return uvec2(lane % runs * kSpanB, (lane / runs + load * (kFetchers / runs)) * kSpanKB);
  uint q = min(kInterleaved != 0u ? lane + load * kFetchers : lane * kLoadsB + load, kItemsB - 1u);
  if (!kAlongKB) return uvec2(q % runs * kSpanB, q / runs * kSpanKB);
  uint outer = q / kGroupB;
  return uvec2(outer % kTileN, (outer / kTileN * kGroupB + q % kGroupB) * kSpanKB);
}
// True where the load has an item.
bool has_b(uint load) {
  if (kItemsB % kFetchers == 0u) return true;
  return (kInterleaved != 0u ? gl_LocalInvocationID.x + load * kFetchers : gl_LocalInvocationID.x * kLoadsB + load) <
         kItemsB;
}
// Element offset from the tile's first element.
uint offset_b(Tile t, uvec2 item) {
  uint inside = min(t.n + item.x, size_n() - kSpanB) - t.n;
  return kAlongKB ? inside * ldb() + item.y : item.y * ldb() + inside;
}

// Loads an item. `left`: how much of K remains from the step's start on; only where `tail` is set may it be less than
// TILE_K.
uvec4 fetch_item_b(uvec2 base, uint at, uint k, uint left, const bool tail) {
#ifdef INTEGER
  uvec4 raw = uvec4(0u);
  [[unroll]] for (uint i = 0u; i < (kAlongKB ? 4u / kWidthB : 4u); ++i) {
    bool inside = !tail || k + i * (kAlongKB ? kWidthB : 1u) < left;
    uint word = load_raw(base, inside ? at + i * (kAlongKB ? kWidthB : ldb()) : 0u, kWidthB).x;
    raw[i] = inside ? word : 0u;
  }
  return raw;
#else
  return load_raw(base, !tail || k < left ? run_at(kBType, at) : 0u, run_bytes(kBType, kWidthB));
#endif
}

// Stores an item to workgroup memory. `tail`: the step may hold less than TILE_K.
void stage_item_b(Tile t, uint stage, uvec2 item, uvec4 raw, uint k, uint left, const bool tail) {
  uint at = stage * (kStageB / 4u) + item.y / kPacked * (kPitchB / 4u) + item.x / 4u, part = item.x % 4u;
#ifdef INTEGER
  if (kAlongKB) {
    uint word = kWidthB == 4u   ? raw.x
                : kWidthB == 2u ? raw.x | (raw.y << 16)
                                : raw.x | (raw.y << 8) | (raw.z << 16) | (raw.w << 24);
    staged_b[at][part] = int(word);
    return;
  }
  ivec4 transposed;
  [[unroll]] for (uint i = 0u; i < kWidthB; ++i) {
    uvec4 byte = (raw >> (8u * i)) & 255u;
    transposed[i] = int(byte.x | (byte.y << 8) | (byte.z << 16) | (byte.w << 24));
  }
  if (kWidthB == 4u) staged_b[at] = transposed;
  else
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i) staged_b[at][part + i] = transposed[i];
#else
  float v[MAX_RUN];
  convert_b(raw, k + item.y, min(t.n + item.x, size_n() - kSpanB), !tail || item.y < left, v);
  if (kAlongKB) {
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i) staged_b[at + i * (kPitchB / 4u)][part] = v[i];
  } else if (kWidthB >= 4u) {
    [[unroll]] for (uint i = 0u; i < kWidthB; i += 4u)
      staged_b[at + i / 4u] = vec4(v[i], v[i + 1u], v[i + 2u], v[i + 3u]);
  } else {
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i) staged_b[at][part + i] = v[i];
  }
#endif
}

// ---- steps

// The runs of a step in flight, where there is a prefetch, and their element offsets.
uvec4 raw_a[kPrefetch != 0u ? kLoadsA : 1u], raw_b[kPrefetch != 0u ? kLoadsB : 1u];
uint at_a[kPrefetch != 0u ? kLoadsA : 1u], at_b[kPrefetch != 0u ? kLoadsB : 1u];

void prefetch(uvec2 a, uvec2 b, uint left, const bool tail) {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i) raw_a[i] = fetch_item_a(a, at_a[i], item_a(i).y, left, tail);
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) raw_b[i] = fetch_item_b(b, at_b[i], item_b(i).y, left, tail);
}
void stage_prefetched(Tile t, uint stage, uint k, uint left, const bool tail) {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i)
    if (has_a(i)) stage_item_a(t, stage, item_a(i), raw_a[i], k, left, tail);
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i)
    if (has_b(i)) stage_item_b(t, stage, item_b(i), raw_b[i], k, left, tail);
}
// Without a prefetch: loads and stages one item at a time; only kFetchers invocations take part.
void stage_fetched(Tile t, uvec2 a, uvec2 b, uint k, uint left) {
  if (gl_LocalInvocationID.x >= kFetchers) return;
  uint i = 0u;
  do {
    uvec2 item = item_a(i);
    if (has_a(i)) stage_item_a(t, 0u, item, fetch_item_a(a, offset_a(t, item), item.y, left, true), k, left, true);
  } while (++i < kLoadsA);
  i = 0u;
  do {
    uvec2 item = item_b(i);
    if (has_b(i)) stage_item_b(t, 0u, item, fetch_item_b(b, offset_b(t, item), item.y, left, true), k, left, true);
  } while (++i < kLoadsB);
}
// ---- products

const uint kSubgroupM = kLanesM * kRows, kSubgroupN = kLanesN * kColumns;
acc_t acc[kRows][kColumns];
uint own_m, own_n;             // first row and column of this invocation in the tile

// Distance of the i-th row (column) from the first; constant after unrolling.
uint row_offset(uint i) { return i / kVector * (kStrided != 0u ? kLanesM * kVector : kVector) + i % kVector; }
uint column_offset(uint i) { return i / kVector * (kStrided != 0u ? kLanesN * kVector : kVector) + i % kVector; }

void locate_invocation() {
  const uint lanes = kLanesM * kLanesN;
  const uint across = kTileN / kSubgroupN;
  uint subgroup = gl_LocalInvocationID.x / lanes, lane = gl_LocalInvocationID.x % lanes;
  own_m = subgroup / across * kSubgroupM + lane / kLanesN * (kStrided != 0u ? kVector : kRows);
  own_n = subgroup % across * kSubgroupN + lane % kLanesN * (kStrided != 0u ? kVector : kColumns);
}

void multiply_row(Tile t, uint stage, uint row, uint k) {
  acc_t x[kRows], y[kColumns];
  // Indices in vectors of four. The invocation's own part is a separate term, so that the rest is constant.
  uint from_a = stage * (kStageA / 4u) + row * (kPitchA / 4u) + own_m / 4u;
  uint from_b = stage * (kStageB / 4u) + row * (kPitchB / 4u) + own_n / 4u;
  [[unroll]] for (uint i = 0u; i < kRows; i += kVector) {
    if (kVector == 4u) {
      staged4 v = staged_a[from_a + row_offset(i) / 4u];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) x[i + j] = v[j];
    } else {
      uint at = own_m % 4u + row_offset(i);
      x[i] = staged_a[from_a + at / 4u][at % 4u];
    }
  }
  [[unroll]] for (uint i = 0u; i < kColumns; i += kVector) {
    if (kVector == 4u) {
      staged4 v = staged_b[from_b + column_offset(i) / 4u];
      [[unroll]] for (uint j = 0u; j < 4u; ++j) y[i + j] = v[j];
    } else {
      uint at = own_n % 4u + column_offset(i);
      y[i] = staged_b[from_b + at / 4u][at % 4u];
    }
  }
  [[unroll]] for (uint i = 0u; i < kRows; ++i) {
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) {
      if (kChecked != 0u && !(t.m + own_m + row_offset(i) < size_m() && t.n + own_n + column_offset(j) < size_n() &&
                              k + row * kPacked < t.k_end))
        continue;
#if defined(DOT)
      acc[i][j] += dotPacked4x8EXT(x[i], y[j]);
#elif defined(INTEGER)
      [[unroll]] for (int b = 0; b < 32; b += 8) acc[i][j] += bitfieldExtract(x[i], b, 8) * bitfieldExtract(y[j], b, 8);
#else
      acc[i][j] = fma(x[i], y[j], acc[i][j]);
#endif
    }
  }
}

void multiply(Tile t, uint stage, uint k) {
  const uint unrolled = min(kDepth, 8u);
  uint row = 0u;
  do {
    [[unroll]] for (uint i = 0u; i < unrolled; ++i) multiply_row(t, stage, row + i, k);
    row += unrolled;
  } while (row < kDepth);
}

// ---- the loop along K

struct Fetch {
  uvec2 a, b, step_a, step_b;    // operands of the step loaded last, and the distance to the next step
  uint k, remaining;                // remaining: full steps after that one
};

// After the last full step its operands are loaded and staged once more, and not used: a branch would keep the compiler
// from interleaving loads and products.
void advance(inout Fetch fetch) {
  bool more = fetch.remaining != 0u;
  fetch.a = add64(fetch.a, more ? fetch.step_a : uvec2(0u));
  fetch.b = add64(fetch.b, more ? fetch.step_b : uvec2(0u));
  fetch.k += more ? kTileK : 0u;
  fetch.remaining -= more ? 1u : 0u;
}

// Multiplies the step in `stage`, while the next step is loaded and then staged in the other buffer.
void multiply_step(Tile t, uint stage, inout Fetch fetch) {
  uint k = fetch.k;
  advance(fetch);
  prefetch(fetch.a, fetch.b, kTileK, false);
  multiply(t, stage, k);
  stage_prefetched(t, stage ^ 1u, fetch.k, kTileK, false);
  // orders the staging of the next step before its products, and all loads of this step before its buffer is reused
  barrier();
}

// Multiplies the full steps of K, and advances the operands past them.
void multiply_full(Tile t, inout uvec2 a, inout uvec2 b, uvec2 step_a, uvec2 step_b, uint full) {
  Fetch fetch = Fetch(a, b, step_a, step_b, t.k, full - 1u);
  prefetch(a, b, kTileK, false);
  stage_prefetched(t, 0u, fetch.k, kTileK, false);
  barrier();   // orders the staging of the first step before its products
  uint step = 0u, stage = 0u;
  do {
    multiply_step(t, kPaired != 0u ? 0u : stage, fetch);
    ++step;
    if (kPaired != 0u) {
      if (step < full) {
        multiply_step(t, 1u, fetch);
        ++step;
      }
    } else {
      stage ^= 1u;
    }
  } while (step < full);
  a = add64(fetch.a, step_a);
  b = add64(fetch.b, step_b);
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;
  locate_invocation();
  [[unroll]] for (uint i = 0u; i < kRows; ++i)
    [[unroll]] for (uint j = 0u; j < kColumns; ++j) acc[i][j] = acc_t(0);

  // Splits that start after the end of K have nothing to sum.
  uint length = t.k_end - min(t.k, t.k_end), full = length / kTileK, left = length - full * kTileK;
  uvec2 a = a_address(t, t.m, t.k), b = b_address(t, t.k, t.n);
  const uvec2 step_a = bytes_of(kAType, product64(kTileK, kAlongKA ? 1u : lda()));
  const uvec2 step_b = bytes_of(kBType, product64(kTileK, kAlongKB ? 1u : ldb()));
  if (kPrefetch != 0u) {
    [[unroll]] for (uint i = 0u; i < kLoadsA; ++i) at_a[i] = offset_a(t, item_a(i));
    [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) at_b[i] = offset_b(t, item_b(i));
    uint k = t.k + full * kTileK;
    if (full != 0u) multiply_full(t, a, b, step_a, step_b, full);
    if (left != 0u) {
      prefetch(a, b, left, true);
      stage_prefetched(t, 0u, k, left, true);
      barrier();   // as in multiply_full()
      multiply(t, 0u, k);
    }
  } else if (length != 0u) {
    uint k = t.k;
    do {
      stage_fetched(t, a, b, k, t.k_end - k);
      barrier();   // orders the staging of the step before its products
      multiply(t, 0u, k);
      barrier();   // orders all loads of this step before the next step is staged
      a = add64(a, step_a);
      b = add64(b, step_b);
      k += kTileK;
    } while (k < t.k_end);
  }

  Target target = target_of(t);
  [[unroll]] for (uint i = 0u; i < kRows; ++i) {
    uint m = t.m + own_m + row_offset(i);
    [[unroll]] for (uint j = 0u; j < kColumns; j += kWidthD) {
      uint n = t.n + own_n + column_offset(j);
      acc_t run[MAX_RUN];
      [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) run[e] = acc[i][min(j + e, kColumns - 1u)];
      if (m < size_m() && n < size_n()) store_run(target, m, n, run);
    }
  }
}
