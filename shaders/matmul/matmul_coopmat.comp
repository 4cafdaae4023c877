//! variant f16.prefetch -DF16 -DLOOP=REFETCH -DLOADS=UPFRONT
//! variant f16.interleaved -O -DF16 -DLOOP=REFETCH -DLOADS=INTERLEAVED
//! variant f16.pipelined -O -DF16 -DLOOP=PIPELINED
//! variant f16.pipelined-l2 -O -DF16 -DLOOP=PIPELINED_L2
//! variant f16.serial -DF16 -DLOOP=SERIAL
//! variant f16.f16.prefetch -DF16 -DHALF_ACCUMULATORS -DLOOP=REFETCH -DLOADS=UPFRONT
//! variant f16.f16.interleaved -O -DF16 -DHALF_ACCUMULATORS -DLOOP=REFETCH -DLOADS=INTERLEAVED
//! variant f16.f16.peeled -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PEELED -DLOADS=INTERLEAVED
//! variant f16.f16.pipelined -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PIPELINED
//! variant f16.f16.pipelined-l2 -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PIPELINED_L2
//! variant f16.f16.serial -DF16 -DHALF_ACCUMULATORS -DLOOP=SERIAL
//! variant bf16.prefetch -DBF16 -DLOOP=REFETCH -DLOADS=UPFRONT
//! variant bf16.interleaved -O -DBF16 -DLOOP=REFETCH -DLOADS=INTERLEAVED
//! variant bf16.pipelined -O -DBF16 -DLOOP=PIPELINED
//! variant bf16.pipelined-l2 -O -DBF16 -DLOOP=PIPELINED_L2
//! variant bf16.serial -DBF16 -DLOOP=SERIAL
//! variant i8.prefetch -DI8 -DLOOP=REFETCH -DLOADS=UPFRONT
//! variant i8.interleaved -O -DI8 -DLOOP=REFETCH -DLOADS=INTERLEAVED
//! variant i8.pipelined -O -DI8 -DLOOP=PIPELINED
//! variant i8.pipelined-l2 -O -DI8 -DLOOP=PIPELINED_L2
//! variant i8.serial -DI8 -DLOOP=SERIAL
// A workgroup's tile in steps of K through workgroup memory, multiplied by a matrix unit, fragment by fragment; the
// operands of the next step are prefetched into registers meanwhile. The sums go to the result through the same workgroup
// memory, so that stores are whole runs and no epilogue needs global memory.
// Bounds are minded where operands are fetched and results are stored: rows and columns beyond the result are its last
// ones again, K's surplus is zeros (local padding: Zheng et al., "DietCode", MLSys 2022).
// LOOP over the steps of K and where its LOADS stand are a module's own and no constants of specialization: with all of them
// in one module, used or not, NVIDIA's compiler (580.159.04) kept the prefetched operands of some in memory (n = 1024: 86 us
// instead of 16).
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
#define REFETCH 1    // LOOP: loads stand among a step's products; the last whole step is fetched twice
#define PEELED 2     // the same, but ends where the last whole step is fetched
#define PIPELINED 3    // the next step is staged before a step's last product, whose fragments are loaded by then
#define PIPELINED_L2 4    // the same where no step is partial, they are 3 or more, and the operands were prefetched into the L2
#define SERIAL 5      // no load is in flight while a step is multiplied: short loops, little code
#define UPFRONT 1    // LOADS: before the step's fragments
#define INTERLEAVED 2   // a part before each row of fragments is multiplied
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

// ---- workgroup memory, in chunks of 16 bytes: A's rows, then B's; a row is what is contiguous in the operand

const uint kE = 16u / BYTES;               // elements of a chunk
const bool kAlongKA = kTransA == 0u;       // whether rows lie along K
const bool kAlongKB = kTransB != 0u;
const uint kRowsA = kAlongKA ? kTileM : kTileK, kChunksA = (kAlongKA ? kTileK : kTileM) / kE;
const uint kRowsB = kAlongKB ? kTileN : kTileK, kChunksB = (kAlongKB ? kTileK : kTileN) / kE;
const uint kPitchA = kChunksA + kPad, kPitchB = kChunksB + kPad;
const uint kStartB = kRowsA * kPitchA;

// Fragments of int8 may start at 8 bytes, all others at 16.
#if BYTES == 1
shared uvec2 staged[2u * kStaged];
#define PER_CHUNK 2u
void put(uint chunk, uvec4 v) { staged[2u * chunk] = v.xy; staged[2u * chunk + 1u] = v.zw; }
uvec4 get(uint chunk) { return uvec4(staged[2u * chunk], staged[2u * chunk + 1u]); }
#else
shared uvec4 staged[kStaged];
#define PER_CHUNK 1u
void put(uint chunk, uvec4 v) { staged[chunk] = v; }
uvec4 get(uint chunk) { return staged[chunk]; }
#endif
const uint kUnit = kE / PER_CHUNK;         // elements of what is indexed

// ---- fetching: every load of an invocation is one chunk

const uint kLoadsA = (kRowsA * kChunksA + kWorkgroup - 1u) / kWorkgroup;
const uint kLoadsB = (kRowsB * kChunksB + kWorkgroup - 1u) / kWorkgroup;
const bool kEvenA = kRowsA * kChunksA % kWorkgroup == 0u, kEvenB = kRowsB * kChunksB % kWorkgroup == 0u;

// Row and chunk of a load. Where a row has two or four chunks, the eight invocations whose 16 bytes are stored at once
// take rows that, with one chunk of padding, lie in different banks: four apart (offsets 0 and 320 of 128) or two apart.
uvec2 place(uint load, const uint chunks) {
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
  uvec2 base;            // of the step's first row and column
  uint rows, columns;    // that are inside, in the tile; along K the whole step's
};

uvec4 packed(float v[MAX_RUN]) {
  uvec4 words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) words[i] = pack_pair(kType, v[2u * i], v[2u * i + 1u]);
  return words;
}

// `width` elements into a chunk's element `first` and on.
void insert_run(inout uvec4 words, uvec4 raw, const uint first, const uint width) {
  const uint bytes = width * BYTES;
  if (bytes == 16u) words = raw;
  else if (bytes == 8u) { if (first == 0u) words.xy = raw.xy; else words.zw = raw.xy; }
  else if (bytes == 4u) words[first * BYTES / 4u] = raw.x;
  else words[first * BYTES / 4u] |= raw.x << (8u * (first * BYTES % 4u));
}

const bool kRawA = kAType == kType && kHasAScale == 0u, kRawB = kBType == kType;

// The chunk of A that a load fetches. Rows and columns beyond the operand are its last ones; a load that not every invocation has a chunk for gives the
// rest its last row. `left` is how much of K the step has where `last` says that it may be less than all.
// Where the chunk lies is worked out at every step: kept in registers instead it was slower by up to 15 % (H200, driver
// 580.159.04), since loads then follow each other at once, and fragments wait behind them.
uvec4 chunk_a(Source s, uint load, uint k, uint left, const bool last) {
  uvec2 p = place(load, kChunksA);
  uint row = kEvenA ? p.x : min(p.x, kRowsA - 1u);
  if (kAlongKA) row = min(row, s.rows - 1u);
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kE / kWidthA; ++i) {
    uint column = p.y * kE + i * kWidthA;
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
  uvec2 p = place(load, kChunksB);
  uint row = kEvenB ? p.x : min(p.x, kRowsB - 1u);
  if (kAlongKB) row = min(row, s.rows - 1u);
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kE / kWidthB; ++i) {
    uint column = p.y * kE + i * kWidthB;
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

// Along K: the step that is fetched next, and how much of K is left from its beginning on.
struct Fetch {
  Source a, b;
  uvec2 step_a, step_b;
  uint k, n, left;
};

// `last`: the step may have been a partial one.
void advance(inout Fetch fetch, const bool last) {
  fetch.a.base = add64(fetch.a.base, fetch.step_a);
  fetch.b.base = add64(fetch.b.base, fetch.step_b);
  fetch.k += kTileK;
  fetch.left -= last ? min(fetch.left, kTileK) : kTileK;
}

// Of a step's loads, A's before B's, those that belong to part `part` of `parts`.
void fetch_part(Fetch fetch, const uint part, const uint parts, const bool last) {
  const uint loads = kLoadsA + kLoadsB;
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i)
    if (i * parts / loads == part) prefetched_a[i] = chunk_a(fetch.a, i, fetch.k, fetch.left, last);
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i)
    if ((kLoadsA + i) * parts / loads == part) prefetched_b[i] = chunk_b(fetch.b, i, fetch.k, fetch.n, fetch.left, last);
}

void fetch_next(inout Fetch fetch, const bool last) {
  fetch_part(fetch, 0u, 1u, last);
  advance(fetch, last);
}

void put_step() {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i) {
    uvec2 p = place(i, kChunksA);
    if (kEvenA || p.x < kRowsA) put(p.x * kPitchA + p.y, prefetched_a[i]);
  }
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) {
    uvec2 p = place(i, kChunksB);
    if (kEvenB || p.x < kRowsB) put(kStartB + p.x * kPitchB + p.y, prefetched_b[i]);
  }
}

// ---- multiplying

const uint kFragsM = kSubM / kFragM, kFragsN = kSubN / kFragN, kProducts = kTileK / kFragK / kSliceK;
coopmat<ACC, gl_ScopeSubgroup, kFragM, kFragN, gl_MatrixUseAccumulator> acc[kFragsM][kFragsN];
#if LOOP == PIPELINED || LOOP == PIPELINED_L2
#define SETS kProducts               // a product's fragments are loaded while the one before is multiplied
#define SET(product) product
#else
#define SETS 1
#define SET(product) 0
#endif
coopmat<COMPONENT, gl_ScopeSubgroup, kFragM, kFragK, gl_MatrixUseA> frag_a[SETS][kFragsM];
coopmat<COMPONENT, gl_ScopeSubgroup, kFragK, kFragN, gl_MatrixUseB> frag_b[SETS][kFragsN];

// A subgroup's part of the tile, and where in each step its slice of K begins.
struct Part {
  uint m, n, k;
};

void load_fragments(const uint product, Part sub) {
  uint k = product * kFragK;
  if (kSliceK > 1u) k += sub.k;
  [[unroll]] for (uint i = 0u; i < kFragsM; ++i) {
    uint m = sub.m + i * kFragM;
    uint at = kAlongKA ? m * kPitchA * PER_CHUNK + k / kUnit : k * kPitchA * PER_CHUNK + m / kUnit;
    coopMatLoad(frag_a[SET(product)][i], staged, at, kPitchA * PER_CHUNK,
                kAlongKA ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor);
  }
  [[unroll]] for (uint j = 0u; j < kFragsN; ++j) {
    uint n = sub.n + j * kFragN;
    uint at = (kStartB + (kAlongKB ? n : k) * kPitchB) * PER_CHUNK + (kAlongKB ? k : n) / kUnit;
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

void multiply_all(Part sub) {
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub);
    multiply_product(p);
  }
}

#include "lib/coopmat_store.glsl"

#if LOOP == SERIAL

void multiply(Fetch fetch, Part sub) {
  do {
    uint load = 0u;
    do {
      uvec2 p = place(load, kChunksA);
      if (kEvenA || p.x < kRowsA) put(p.x * kPitchA + p.y, chunk_a(fetch.a, load, fetch.k, fetch.left, true));
    } while (++load < kLoadsA);
    load = 0u;
    do {
      uvec2 p = place(load, kChunksB);
      if (kEvenB || p.x < kRowsB) put(kStartB + p.x * kPitchB + p.y, chunk_b(fetch.b, load, fetch.k, fetch.n, fetch.left, true));
    } while (++load < kLoadsB);
    barrier();                         // the step's tiles are in workgroup memory before fragments are loaded
    multiply_all(sub);
    barrier();                         // all fragments are loaded before the next step overwrites the tiles
    advance(fetch, true);
  } while (fetch.left != 0u);
}

#elif LOOP == REFETCH || LOOP == PEELED

#if LOOP == REFETCH
// On to the next whole step; behind the last one its operands are fetched once more and not used.
void advance_or_stay(inout Fetch fetch) {
  bool more = fetch.left >= 2u * kTileK;
  fetch.a.base = add64(fetch.a.base, more ? fetch.step_a : uvec2(0u));
  fetch.b.base = add64(fetch.b.base, more ? fetch.step_b : uvec2(0u));
  fetch.k += more ? kTileK : 0u;
  fetch.left -= more ? kTileK : 0u;
}
#endif

// Stages and multiplies the prefetched step, and fetches another whole step meanwhile.
void multiply_step(inout Fetch fetch, Part sub) {
  put_step();
  barrier();                           // the step's tiles are in workgroup memory before fragments are loaded
#if LOOP == REFETCH
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
  // Behind the loads: in front of them, with no choice to make, it costs 2 to 10 % (H200, driver 580.159.04).
  advance(fetch, false);
#endif
  barrier();                           // all fragments are loaded before the next step overwrites the tiles
}

// The last steps, of which one may be partial, and behind which nothing is left to fetch.
void multiply_last(Fetch fetch, uint steps, Part sub) {
  do {
    put_step();
    barrier();                         // as above
    if (fetch.left != 0u) fetch_next(fetch, true);
    multiply_all(sub);
    barrier();                         // as above; the results go through the same memory
  } while (--steps != 0u);
}

// The loops have no branch, which would keep the compiler from moving loads. Which of the two is faster only a measurement
// says.
#if LOOP == REFETCH
void multiply(Fetch fetch, Part sub) {
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
    multiply_last(fetch, 1u, sub);
  }
}
#else
void multiply(Fetch fetch, Part sub) {
  uint steps = (fetch.left - 1u) / kTileK + 1u, whole = fetch.left / kTileK;
  // Here twice: with bounds, where K has no whole step, each load is waited for, so that zeros can take the place of what is
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
  multiply_last(fetch, steps, sub);
}
#endif

#else

// Of the step that is staged, all products but the last one, whose fragments it loads.
void multiply_first(Part sub) {
  barrier();                           // the step's tiles are in workgroup memory before fragments are loaded
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub);
    if (p != 0u) multiply_product(p - 1u);
  }
  barrier();                           // all fragments are loaded before anything overwrites the tiles
}

// The step that is staged; meanwhile the next one is staged, and a whole one behind that is fetched.
void multiply_step(inout Fetch fetch, Part sub) {
  multiply_first(sub);
  put_step();
  fetch_part(fetch, 0u, 1u, false);
  multiply_product(kProducts - 1u);
  advance(fetch, false);
}

#if LOOP == PIPELINED_L2

const uint kL2Prefetches = 2u;
uint seen_a[kL2Prefetches], seen_b[kL2Prefetches];

// Asks for both operands, each a run of memory, in pieces of 32 bytes, two an invocation, at once: otherwise each step waits
// for the DRAM, since all workgroups are at the same K. More pieces than that (few tiles, long K) come with their steps: with
// all of B's asked for, 16 rows take 19.6 us instead of 15.2 (f16 nt 16x4096x4096). What has come is looked at only when all
// is done.
void prefetch_to_l2() {
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x, all = gl_NumWorkGroups.x * kWorkgroup;
  uint end_a = size_m() * size_k() * BYTES, end_b = size_n() * size_k() * BYTES;
  [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) {
    uint at = 32u * (id + i * all);
    seen_a[i] = at < end_a ? Ref4(push.a).x[at / 4u] : 0u;
  }
  [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) {
    uint at = 32u * (id + i * all);
    seen_b[i] = at < end_b ? Ref4(push.b).x[at / 4u] : 0u;
  }
}

// Nothing minds bounds of K; the last two steps, without loads, are written out.
void multiply(Fetch fetch, Part sub) {
  uint pending = fetch.left / kTileK - 2u;
  prefetch_to_l2();
  fetch_next(fetch, false);
  put_step();
  fetch_next(fetch, false);
  do {
    multiply_step(fetch, sub);
  } while (--pending != 0u);
  multiply_first(sub);
  put_step();
  multiply_product(kProducts - 1u);
  multiply_first(sub);
  multiply_product(kProducts - 1u);    // the results go through the tiles' memory: no fragment is left to load
  if (size_k() == 0xffffffffu) {       // never: K is pushed, so the loads stay
    uint any = 0u;
    [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) any ^= seen_a[i] ^ seen_b[i];
    put(0u, uvec4(any));
  }
}

#else

void multiply(Fetch fetch, Part sub) {
  uint steps = (fetch.left - 1u) / kTileK + 1u, whole = fetch.left / kTileK;
  // Here twice: with bounds each load is waited for, so that zeros can take the place of what is beyond K.
  if (whole >= 2u) {
    fetch_next(fetch, false);
    put_step();
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
    put_step();
    if (fetch.left != 0u) fetch_next(fetch, true);
  }
  // What is left: at most three steps, the last of which may be partial.
  do {
    multiply_first(sub);
    if (steps > 1u) {
      put_step();
      if (fetch.left != 0u) fetch_next(fetch, true);
    }
    multiply_product(kProducts - 1u);
  } while (--steps != 0u);
}
#endif
#endif

void main() {
  Tile t;
  if (!locate_tile(t)) return;     // whole workgroups, so no barrier is missed
  const uint subs_n = kTileN / kSubN;
  uint id = gl_SubgroupID % kSubs;
  Part sub = Part(id / subs_n * kSubM, id % subs_n * kSubN, gl_SubgroupID / kSubs * (kTileK / kSliceK));
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
