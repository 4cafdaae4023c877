//! variant f16.prefetch -DF16 -DLOOP=PREFETCH -DLOADS=UPFRONT
//! variant f16.interleaved -O -DF16 -DLOOP=PREFETCH -DLOADS=INTERLEAVED
//! variant f16.pipelined -O -DF16 -DLOOP=PIPELINED
//! variant f16.pipelined-l2 -O -DF16 -DLOOP=PIPELINED_L2
//! variant f16.serial -DF16 -DLOOP=SERIAL
//! variant f16.f16.prefetch -DF16 -DHALF_ACCUMULATORS -DLOOP=PREFETCH -DLOADS=UPFRONT
//! variant f16.f16.interleaved -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PREFETCH -DLOADS=INTERLEAVED
//! variant f16.f16.peeled -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PEELED -DLOADS=INTERLEAVED
//! variant f16.f16.pipelined -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PIPELINED
//! variant f16.f16.pipelined-l2 -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PIPELINED_L2
//! variant f16.f16.serial -DF16 -DHALF_ACCUMULATORS -DLOOP=SERIAL
//! variant bf16.prefetch -DBF16 -DLOOP=PREFETCH -DLOADS=UPFRONT
//! variant bf16.interleaved -O -DBF16 -DLOOP=PREFETCH -DLOADS=INTERLEAVED
//! variant bf16.pipelined -O -DBF16 -DLOOP=PIPELINED
//! variant bf16.pipelined-l2 -O -DBF16 -DLOOP=PIPELINED_L2
//! variant bf16.serial -DBF16 -DLOOP=SERIAL
//! variant i8.prefetch -DI8 -DLOOP=PREFETCH -DLOADS=UPFRONT
//! variant i8.interleaved -O -DI8 -DLOOP=PREFETCH -DLOADS=INTERLEAVED
//! variant i8.pipelined -O -DI8 -DLOOP=PIPELINED
//! variant i8.pipelined-l2 -O -DI8 -DLOOP=PIPELINED_L2
//! variant i8.serial -DI8 -DLOOP=SERIAL
// Each step of K of a workgroup's tile is staged in workgroup memory and multiplied fragment by fragment on the matrix
// unit. Meanwhile the next step's operands are prefetched into registers. The accumulators reach the result through the
// same workgroup memory, so that stores are whole runs and no epilogue needs scratch in global memory.
// Bounds are checked where operands are loaded and results are stored, never in the products: rows and columns beyond
// the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al., "DietCode",
// MLSys 2022).
// LOOP (the loop over the steps of K) and LOADS (where its loads are) are variants and not specialization constants:
// with all of them in one module, used or not, NVIDIA's compiler (580.159.04) kept some prefetched operands in memory
// instead of registers (n = 1024: 86 us instead of 16).
#version 460
#pragma use_vulkan_memory_model
#define NARROW
#ifdef F16
#define COMPONENT float16_t
#define BYTES 2
#elif defined(BF16)
#define COMPONENT bfloat16_t
#define BYTES 2
#else
#define INTEGER
#define COMPONENT int8_t
#define BYTES 1
#endif
#ifdef HALF_ACCUMULATORS
#define ACC float16_t
#define ACC_BYTES 2
#elif defined(INTEGER)
#define ACC int32_t
#define ACC_BYTES 4
#else
#define ACC float
#define ACC_BYTES 4
#endif
#define PREFETCH 1    // LOOP: a step issues the next step's loads, where LOADS says; the last step is loaded twice
#define PEELED 2     // the same, but the loop ends once the last whole step is loaded
#define PIPELINED 3    // the next step is staged before a step's last product, whose fragments are in registers by then
#define PIPELINED_L2 4    // the same; needs 3 or more steps, none partial; starts with an L2 prefetch of the operands
#define SERIAL 5      // no load is in flight during the products: for short loops, with little code
#define UPFRONT 1    // LOADS: all before the step's fragments are loaded
#define INTERLEAVED 2   // some before each row of fragments is multiplied
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#ifdef BF16
#extension GL_EXT_bfloat16 : require
#define BF16_CONVERTED
#endif
#include "lib/matmul.glsl"
#include "matmul_coopmat.abi.h"
#include "lib/matmul_epilogue.glsl"

layout(constant_id = MATMUL_COOPMAT_SPEC_SUBGROUP) const uint kSubgroup = 32u;
layout(constant_id = MATMUL_COOPMAT_SPEC_SUB_M) const uint kSubM = 64u;
layout(constant_id = MATMUL_COOPMAT_SPEC_SUB_N) const uint kSubN = 64u;
layout(constant_id = MATMUL_COOPMAT_SPEC_FRAG_M) const uint kFragM = 16u;
layout(constant_id = MATMUL_COOPMAT_SPEC_FRAG_N) const uint kFragN = 16u;
layout(constant_id = MATMUL_COOPMAT_SPEC_FRAG_K) const uint kFragK = 16u;
layout(constant_id = MATMUL_COOPMAT_SPEC_PAD) const uint kPad = 1u;
layout(constant_id = MATMUL_COOPMAT_SPEC_STORE_M) const uint kStoreM = 16u;
layout(constant_id = MATMUL_COOPMAT_SPEC_STORE_N) const uint kStoreN = 16u;
layout(constant_id = MATMUL_COOPMAT_SPEC_STAGED) const uint kStaged = 1024u;
layout(constant_id = MATMUL_COOPMAT_SPEC_SLICE_K) const uint kSliceK = 1u;

// ---- workgroup memory, in chunks of 16 bytes: A's rows, then B's; a row lies along the operand's contiguous axis

const uint kChunkElements = 16u / BYTES;               // elements per chunk
const bool kAlongKA = kTransA == 0u;       // rows lie along K
const bool kAlongKB = kTransB != 0u;
const uint kRowsA = kAlongKA ? kTileM : kTileK, kChunksA = (kAlongKA ? kTileK : kTileM) / kChunkElements;
const uint kRowsB = kAlongKB ? kTileN : kTileK, kChunksB = (kAlongKB ? kTileK : kTileN) / kChunkElements;
const uint kPitchA = kChunksA + kPad, kPitchB = kChunksB + kPad;
const uint kStartB = kRowsA * kPitchA;

// Fragments of int8 may start at multiples of 8 bytes, all others at multiples of 16.
#if BYTES == 1
shared uvec2 staged[2u * kStaged];
#define PER_CHUNK 2u
void store_chunk(uint chunk, uvec4 v) { staged[2u * chunk] = v.xy; staged[2u * chunk + 1u] = v.zw; }
uvec4 load_chunk(uint chunk) { return uvec4(staged[2u * chunk], staged[2u * chunk + 1u]); }
#else
shared uvec4 staged[kStaged];
#define PER_CHUNK 1u
void store_chunk(uint chunk, uvec4 v) { staged[chunk] = v; }
uvec4 load_chunk(uint chunk) { return staged[chunk]; }
#endif
const uint kStagedElements = kChunkElements / PER_CHUNK;         // elements per element of staged[]

// ---- loading operands: each load of an invocation is one chunk

const uint kLoadsA = (kRowsA * kChunksA + kWorkgroup - 1u) / kWorkgroup;
const uint kLoadsB = (kRowsB * kChunksB + kWorkgroup - 1u) / kWorkgroup;
const bool kEvenA = kRowsA * kChunksA % kWorkgroup == 0u, kEvenB = kRowsB * kChunksB % kWorkgroup == 0u;

// Row and chunk of a load. Where a row has two or four chunks, eight invocations store their 16 bytes to workgroup
// memory in one transaction. Their rows are chosen so that, with one chunk of padding, they lie in different banks:
// four apart (offsets 0 and 320 mod 128 bytes) or two apart.
uvec2 chunk_position(uint load, const uint chunks) {
  uint lane = gl_LocalInvocationID.x;
  if (kWorkgroup % (8u * chunks) == 0u) {
    uint first = load * (kWorkgroup / chunks);
    if (chunks == 4u) return uvec2(first + (lane >> 5) * 8u + ((lane >> 2) & 1u) * 4u + ((lane >> 3) & 3u), lane & 3u);
    if (chunks == 2u) return uvec2(first + (lane >> 4) * 8u + ((lane >> 1) & 3u) * 2u + ((lane >> 3) & 1u), lane & 1u);
    return uvec2(first + lane / chunks, lane % chunks);
  }
  uint q = lane + load * kWorkgroup;
  return uvec2(q / chunks, q % chunks);
}

struct Source {
  uvec2 base;            // address of the step's first row and column
  // rows and columns from the tile's first on that are inside the operand (along K: the whole step)
  uint rows, columns;
};

uvec4 packed(float v[MAX_RUN]) {
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = pack_pair(kType, v[2u * i], v[2u * i + 1u]);
  return words;
}

// Inserts `width` elements into a chunk, from element `first` on.
void insert_run(inout uvec4 words, uvec4 raw, const uint first, const uint width) {
  const uint bytes = width * BYTES;
  if (bytes == 16u) words = raw;
  else if (bytes == 8u) { if (first == 0u) words.xy = raw.xy; else words.zw = raw.xy; }
  else if (bytes == 4u) words[first * BYTES / 4u] = raw.x;
  else words[first * BYTES / 4u] |= raw.x << (8u * (first * BYTES % 4u));
}

const bool kRawA = kAType == kType && kHasAScale == 0u, kRawB = kBType == kType;

// Loads a chunk of A. Rows and columns beyond the operand are clamped to its last ones. Where the chunks do not divide
// evenly among the invocations, surplus invocations load from the last row. `left` is how much of K remains from this
// step on; only where `last` is set may it be less than a whole step.
// The chunk's offset is computed again at every step: kept in registers it was slower by up to 15 % (H200, driver
// 580.159.04), since the loads are then issued back to back, and fragment loads wait behind them.
uvec4 chunk_a(Source s, uint load, uint k, uint left, const bool last) {
  uvec2 p = chunk_position(load, kChunksA);
  uint row = kEvenA ? p.x : min(p.x, kRowsA - 1u);
  if (kAlongKA) row = min(row, s.rows - 1u);
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kChunkElements / kWidthA; ++i) {
    uint column = p.y * kChunkElements + i * kWidthA;
    if (!kAlongKA) column = min(column, s.columns - kWidthA);
    uint along = kAlongKA ? column : row;
    bool inside = !last || along < left;
    uint at = inside ? row * lda() + column : 0u;
    uvec4 raw = load_raw(s.base, run_at(kAType, at), run_bytes(kAType, kWidthA));
    if (kRawA) {
      if (last && !inside) raw = uvec4(0u);
      insert_run(words, raw, i * kWidthA, kWidthA);
    } else {
      convert_a(raw, k + along, inside, v);
      [[unroll]] for (uint e = 0u; e < min(kWidthA, 8u); ++e) all[(i * kWidthA + e) % MAX_RUN] = v[e];
    }
  }
  return kRawA ? words : packed(all);
}

uvec4 chunk_b(Source s, uint load, uint k, uint n, uint left, const bool last) {
  uvec2 p = chunk_position(load, kChunksB);
  uint row = kEvenB ? p.x : min(p.x, kRowsB - 1u);
  if (kAlongKB) row = min(row, s.rows - 1u);
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kChunkElements / kWidthB; ++i) {
    uint column = p.y * kChunkElements + i * kWidthB;
    if (!kAlongKB) column = min(column, s.columns - kWidthB);
    uint along = kAlongKB ? column : row, across = kAlongKB ? row : column;
    bool inside = !last || along < left;
    uint at = inside ? row * ldb() + column : 0u;
    uvec4 raw = load_raw(s.base, run_at(kBType, at), run_bytes(kBType, kWidthB));
    if (kRawB) {
      if (last && !inside) raw = uvec4(0u);
      insert_run(words, raw, i * kWidthB, kWidthB);
    } else {
      convert_b(raw, k + along, n + across, inside, v);
      [[unroll]] for (uint e = 0u; e < min(kWidthB, 8u); ++e) all[(i * kWidthB + e) % MAX_RUN] = v[e];
    }
  }
  return kRawB ? words : packed(all);
}

// The next step's chunks, in flight.
uvec4 prefetched_a[kLoadsA], prefetched_b[kLoadsB];

// Position along K: the step to load next, and how much of K is left from its start on.
struct Fetch {
  Source a, b;
  uvec2 step_a, step_b;
  uint k, n, left;
};

// `last`: the step may be partial.
void advance(inout Fetch fetch, const bool last) {
  fetch.a.base = add64(fetch.a.base, fetch.step_a);
  fetch.b.base = add64(fetch.b.base, fetch.step_b);
  fetch.k += kTileK;
  fetch.left -= last ? min(fetch.left, kTileK) : kTileK;
}

// Issues part `part` of `parts` of a step's loads, A's before B's.
void fetch_part(Fetch fetch, const uint part, const uint parts, const bool last) {
  const uint loads = kLoadsA + kLoadsB;
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i)
    if (i * parts / loads == part) prefetched_a[i] = chunk_a(fetch.a, i, fetch.k, fetch.left, last);
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i)
    if ((kLoadsA + i) * parts / loads == part)
      prefetched_b[i] = chunk_b(fetch.b, i, fetch.k, fetch.n, fetch.left, last);
}

void fetch_next(inout Fetch fetch, const bool last) {
  fetch_part(fetch, 0u, 1u, last);
  advance(fetch, last);
}

void stage_prefetched() {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i) {
    uvec2 p = chunk_position(i, kChunksA);
    if (kEvenA || p.x < kRowsA) store_chunk(p.x * kPitchA + p.y, prefetched_a[i]);
  }
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) {
    uvec2 p = chunk_position(i, kChunksB);
    if (kEvenB || p.x < kRowsB) store_chunk(kStartB + p.x * kPitchB + p.y, prefetched_b[i]);
  }
}

// ---- multiplying

const uint kFragsM = kSubM / kFragM, kFragsN = kSubN / kFragN, kProducts = kTileK / kFragK / kSliceK;
coopmat<ACC, gl_ScopeSubgroup, kFragM, kFragN, gl_MatrixUseAccumulator> acc[kFragsM][kFragsN];
#if LOOP == PIPELINED || LOOP == PIPELINED_L2
#define SETS kProducts               // a product's fragments are loaded while the previous one is multiplied
#define SET(product) product
#else
#define SETS 1
#define SET(product) 0
#endif
coopmat<COMPONENT, gl_ScopeSubgroup, kFragM, kFragK, gl_MatrixUseA> frag_a[SETS][kFragsM];
coopmat<COMPONENT, gl_ScopeSubgroup, kFragK, kFragN, gl_MatrixUseB> frag_b[SETS][kFragsN];

// A subgroup's part of the tile: its first row and column, and the start of its slice of K within each step.
struct SubgroupTile {
  uint m, n, k;
};

void load_fragments(const uint product, SubgroupTile sub) {
  uint k = product * kFragK;
  if (kSliceK > 1u) k += sub.k;
  [[unroll]] for (uint i = 0u; i < kFragsM; ++i) {
    uint m = sub.m + i * kFragM;
    uint at = kAlongKA ? m * kPitchA * PER_CHUNK + k / kStagedElements : k * kPitchA * PER_CHUNK + m / kStagedElements;
    coopMatLoad(frag_a[SET(product)][i], staged, at, kPitchA * PER_CHUNK,
                kAlongKA ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor);
  }
  [[unroll]] for (uint j = 0u; j < kFragsN; ++j) {
    uint n = sub.n + j * kFragN;
    uint at = (kStartB + (kAlongKB ? n : k) * kPitchB) * PER_CHUNK + (kAlongKB ? k : n) / kStagedElements;
    coopMatLoad(frag_b[SET(product)][j], staged, at, kPitchB * PER_CHUNK,
                kAlongKB ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor);
  }
}

void multiply_row(const uint product, const uint i) {
  [[unroll]] for (uint j = 0u; j < kFragsN; ++j)
    acc[i][j] = coopMatMulAdd(frag_a[SET(product)][i], frag_b[SET(product)][j], acc[i][j]);
}

void multiply_product(const uint product) {
  [[unroll]] for (uint i = 0u; i < kFragsM; ++i) multiply_row(product, i);
}

void multiply_all(SubgroupTile sub) {
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub);
    multiply_product(p);
  }
}

#include "lib/coopmat_store.glsl"

#if LOOP == SERIAL

void multiply(Fetch fetch, SubgroupTile sub) {
  do {
    uint load = 0u;
    do {
      uvec2 p = chunk_position(load, kChunksA);
      if (kEvenA || p.x < kRowsA) store_chunk(p.x * kPitchA + p.y, chunk_a(fetch.a, load, fetch.k, fetch.left, true));
    } while (++load < kLoadsA);
    load = 0u;
    do {
      uvec2 p = chunk_position(load, kChunksB);
      if (kEvenB || p.x < kRowsB)
        store_chunk(kStartB + p.x * kPitchB + p.y, chunk_b(fetch.b, load, fetch.k, fetch.n, fetch.left, true));
    } while (++load < kLoadsB);
    barrier();                         // the step's tiles are in workgroup memory before fragments are loaded
    multiply_all(sub);
    barrier();                         // all fragments are loaded before the next step overwrites the tiles
    advance(fetch, true);
  } while (fetch.left != 0u);
}

#elif LOOP == PREFETCH || LOOP == PEELED

#if LOOP == PREFETCH
// Advances to the next whole step. After the last one its operands are loaded once more and not used.
void advance_or_stay(inout Fetch fetch) {
  bool more = fetch.left >= 2u * kTileK;
  fetch.a.base = add64(fetch.a.base, more ? fetch.step_a : uvec2(0u));
  fetch.b.base = add64(fetch.b.base, more ? fetch.step_b : uvec2(0u));
  fetch.k += more ? kTileK : 0u;
  fetch.left -= more ? kTileK : 0u;
}
#endif

// Stages and multiplies the prefetched step, and loads another whole step meanwhile.
void multiply_step(inout Fetch fetch, SubgroupTile sub) {
  stage_prefetched();
  barrier();                           // the step's tiles are in workgroup memory before fragments are loaded
#if LOOP == PREFETCH
  advance_or_stay(fetch);
#endif
#if LOADS == UPFRONT
  fetch_part(fetch, 0u, 1u, false);
#endif
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub);
    [[unroll]] for (uint i = 0u; i < kFragsM; ++i) {
#if LOADS == INTERLEAVED
      fetch_part(fetch, p * kFragsM + i, kProducts * kFragsM, false);
#endif
      multiply_row(p, i);
    }
  }
#if LOOP == PEELED
  // After the loads: before them, as an unconditional advance, it costs 2 to 10 % (H200, driver 580.159.04).
  advance(fetch, false);
#endif
  barrier();                           // all fragments are loaded before the next step overwrites the tiles
}

// The last `steps` steps. The very last may be partial, and nothing is left to load after it.
void multiply_tail(Fetch fetch, uint steps, SubgroupTile sub) {
  do {
    stage_prefetched();
    barrier();                         // as above
    if (fetch.left != 0u) fetch_next(fetch, true);
    multiply_all(sub);
    barrier();                         // as above; the results use the same memory
  } while (--steps != 0u);
}

// The loops have no branch: one would keep the compiler from moving loads. Which of the two loops is faster can only be
// measured.
#if LOOP == PREFETCH
void multiply(Fetch fetch, SubgroupTile sub) {
  uint pending = fetch.left / kTileK;
  if (pending != 0u) {
    fetch_part(fetch, 0u, 1u, false);
    do {
      multiply_step(fetch, sub);
    } while (--pending != 0u);
    advance(fetch, false);
  }
  if (fetch.left != 0u) {
    fetch_next(fetch, true);
    multiply_tail(fetch, 1u, sub);
  }
}
#else
void multiply(Fetch fetch, SubgroupTile sub) {
  uint steps = (fetch.left - 1u) / kTileK + 1u, whole = fetch.left / kTileK;
  // Two calls. With bounds checks (K has no whole step) each load is waited for, so that zeros can replace what is
  // beyond K.
  if (whole != 0u) fetch_next(fetch, false);
  else fetch_next(fetch, true);
  if (whole > 1u) {
    uint pending = whole - 1u;
    steps -= pending;
    do {
      multiply_step(fetch, sub);
    } while (--pending != 0u);
  }
  multiply_tail(fetch, steps, sub);
}
#endif

#else

// Multiplies all products of the staged step but the last, and loads the last one's fragments.
void multiply_all_but_last(SubgroupTile sub) {
  barrier();                           // the step's tiles are in workgroup memory before fragments are loaded
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub);
    if (p != 0u) multiply_product(p - 1u);
  }
  barrier();                           // all fragments are loaded before anything overwrites the tiles
}

// Multiplies the staged step. Meanwhile stages the next step and loads the one after it, a whole one.
void multiply_step(inout Fetch fetch, SubgroupTile sub) {
  multiply_all_but_last(sub);
  stage_prefetched();
  fetch_part(fetch, 0u, 1u, false);
  multiply_product(kProducts - 1u);
  advance(fetch, false);
}

#if LOOP == PIPELINED_L2

const uint kL2Prefetches = 2u;
uint l2_words_a[kL2Prefetches], l2_words_b[kL2Prefetches];

// Prefetches both operands, each contiguous in memory, into L2: each invocation loads a word from up to two sectors of
// 32 bytes per operand at the start. Without this each step waits for DRAM, since all workgroups are at the same K.
// What two sectors an invocation do not cover (few tiles, long K) is loaded with its step: with all of B prefetched, 16
// rows take 19.6 us instead of 15.2 (f16 nt 16x4096x4096). The loaded words are first used after the last step, so
// nothing waits for them.
void prefetch_to_l2() {
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x, all = gl_NumWorkGroups.x * kWorkgroup;
  uint end_a = size_m() * size_k() * BYTES, end_b = size_n() * size_k() * BYTES;
  [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) {
    uint at = 32u * (id + i * all);
    l2_words_a[i] = at < end_a ? Ref4(push.a).x[at / 4u] : 0u;
  }
  [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) {
    uint at = 32u * (id + i * all);
    l2_words_b[i] = at < end_b ? Ref4(push.b).x[at / 4u] : 0u;
  }
}

// K has no partial step, so nothing checks its bounds. The last two steps are written out, without loads.
void multiply(Fetch fetch, SubgroupTile sub) {
  uint pending = fetch.left / kTileK - 2u;
  prefetch_to_l2();
  fetch_next(fetch, false);
  stage_prefetched();
  fetch_next(fetch, false);
  do {
    multiply_step(fetch, sub);
  } while (--pending != 0u);
  multiply_all_but_last(sub);
  stage_prefetched();
  multiply_product(kProducts - 1u);
  multiply_all_but_last(sub);
  multiply_product(kProducts - 1u);    // all fragments are loaded, so the results may overwrite the tiles
  if (size_k() == 0xffffffffu) {       // never true; K is pushed, so the compiler must keep the loads
    uint any = 0u;
    [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) any ^= l2_words_a[i] ^ l2_words_b[i];
    store_chunk(0u, uvec4(any));
  }
}

#else

void multiply(Fetch fetch, SubgroupTile sub) {
  uint steps = (fetch.left - 1u) / kTileK + 1u, whole = fetch.left / kTileK;
  // Two paths. With bounds checks each load is waited for, so that zeros can replace what is beyond K.
  if (whole >= 2u) {
    fetch_next(fetch, false);
    stage_prefetched();
    fetch_next(fetch, false);
    uint pending = whole - 2u;
    steps -= pending;
    if (pending != 0u) {
      do {
        multiply_step(fetch, sub);
      } while (--pending != 0u);
    }
  } else {
    fetch_next(fetch, true);
    stage_prefetched();
    if (fetch.left != 0u) fetch_next(fetch, true);
  }
  // Tail: at most three steps, the last of which may be partial.
  do {
    multiply_all_but_last(sub);
    if (steps > 1u) {
      stage_prefetched();
      if (fetch.left != 0u) fetch_next(fetch, true);
    }
    multiply_product(kProducts - 1u);
  } while (--steps != 0u);
}
#endif
#endif

void main() {
  Tile t;
  if (!locate_tile(t)) return;     // whole workgroups return, so every barrier is reached by all
  const uint subs_n = kTileN / kSubN;
  uint id = gl_SubgroupID % kSubs;
  SubgroupTile sub = SubgroupTile(id / subs_n * kSubM, id % subs_n * kSubN, gl_SubgroupID / kSubs * (kTileK / kSliceK));
  [[unroll]] for (uint i = 0u; i < kFragsM; ++i)
    [[unroll]] for (uint j = 0u; j < kFragsN; ++j)
      acc[i][j] = coopmat<ACC, gl_ScopeSubgroup, kFragM, kFragN, gl_MatrixUseAccumulator>(ACC(0));

  Fetch fetch;
  fetch.a = Source(a_address(t, t.m, t.k), size_m() - t.m, size_m() - t.m);
  fetch.b = Source(b_address(t, t.k, t.n), size_n() - t.n, size_n() - t.n);
  fetch.step_a = bytes_of(kAType, kAlongKA ? uvec2(kTileK, 0u) : product64(kTileK, lda()));
  fetch.step_b = bytes_of(kBType, kAlongKB ? uvec2(kTileK, 0u) : product64(kTileK, ldb()));
  fetch.k = t.k;
  fetch.n = t.n;
  fetch.left = t.k_end - t.k;
  if (fetch.left != 0u) multiply(fetch, sub);
  store_tile(t, sub);
}
