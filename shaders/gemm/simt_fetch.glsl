// How matmul_simt loads operands from memory, and stages them in workgroup memory. gemm/simt.glsl has the rest.
// A kernel of which an operand is gathered (GATHERED_WORDS) defines these two itself.
#ifndef GATHERED_WORDS
// Converts a raw run; `item` is its position in the tile, `k` that of its first element along K.
#define CONVERT_A(t, item, raw, k, inside, v) convert_a(raw, k, inside, v)
#define CONVERT_B(t, item, raw, k, n, inside, v) convert_b(raw, k, n, inside, v)
#endif

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
  CONVERT_A(t, item, raw, k + item.y, !tail || item.y < left, v);
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
  uint inside = min(t.n + item.x, columns() - kSpanB) - t.n;
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
  CONVERT_B(t, item, raw, k + item.y, min(t.n + item.x, columns() - kSpanB), !tail || item.y < left, v);
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
