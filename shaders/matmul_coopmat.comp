//! variant f16 -DCOMPONENT=float16_t -DSUM=float -DBYTES=2 -DSUM_BYTES=4 -DNARROW
//! variant f16.f16 -DCOMPONENT=float16_t -DSUM=float16_t -DBYTES=2 -DSUM_BYTES=2 -DNARROW
//! variant bf16 -DCOMPONENT=bfloat16_t -DSUM=float -DBYTES=2 -DSUM_BYTES=4 -DNARROW -DBRAIN
//! variant i8 -DCOMPONENT=int8_t -DSUM=int32_t -DBYTES=1 -DSUM_BYTES=4 -DNARROW -DINTEGER
// A workgroup's tile in steps of K through workgroup memory, multiplied by a matrix unit, fragment by fragment; the
// operands of the next step, or the next two, are on their way in registers meanwhile. The sums go to the result through
// the same workgroup memory, so that stores are whole runs and no epilogue needs global memory.
// Bounds are minded where operands are fetched and results are stored: rows and columns beyond the result are its last
// ones again, K's surplus is zeros (local padding: Zheng et al., "DietCode", MLSys 2022).
#version 460
#pragma use_vulkan_memory_model
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
#ifdef BRAIN
#extension GL_EXT_bfloat16 : require
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
layout(constant_id = MATMUL_COOPMAT_SPEC_SCHEDULE) const uint kSchedule = MATMUL_COOPMAT_LOADS_FIRST;
layout(constant_id = MATMUL_COOPMAT_SPEC_STORE_N) const uint kStoreN = 16u;
layout(constant_id = MATMUL_COOPMAT_SPEC_STAGED) const uint kStaged = 1024u;
layout(constant_id = MATMUL_COOPMAT_SPEC_AHEAD) const uint kAhead = 1u;
layout(constant_id = MATMUL_COOPMAT_SPEC_AGAIN) const uint kAgain = 0u;

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

// ---- fetching: every invocation has a chunk a turn

const uint kTurnsA = (kRowsA * kChunksA + kWorkgroup - 1u) / kWorkgroup;
const uint kTurnsB = (kRowsB * kChunksB + kWorkgroup - 1u) / kWorkgroup;
const bool kEvenA = kRowsA * kChunksA % kWorkgroup == 0u, kEvenB = kRowsB * kChunksB % kWorkgroup == 0u;

// Row and chunk of a turn. Where a row has two or four chunks, the eight invocations whose 16 bytes are stored at once
// take rows that, with one chunk of padding, lie in different banks: four apart (offsets 0 and 320 of 128) or two apart.
uvec2 place(uint turn, const uint chunks) {
  uint lane = gl_LocalInvocationID.x;
  if (kWorkgroup % (8u * chunks) == 0u) {
    uint first = turn * (kWorkgroup / chunks);
    if (chunks == 4u) return uvec2(first + (lane >> 5) * 8u + ((lane >> 2) & 1u) * 4u + ((lane >> 3) & 3u), lane & 3u);
    if (chunks == 2u) return uvec2(first + (lane >> 4) * 8u + ((lane >> 1) & 3u) * 2u + ((lane >> 3) & 1u), lane & 1u);
    return uvec2(first + lane / chunks, lane % chunks);
  }
  uint q = lane + turn * kWorkgroup;
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

// A turn's chunk of A. Rows and columns beyond the operand are its last ones; a turn that has not work for all gives the
// rest its last row. `left` is how much of K the step has where `last` says that it may be less than all.
// Where the chunk lies is worked out at every step: kept in registers instead it was slower by up to 15 % (H200, driver
// 580.159.04), since loads then follow each other at once, and fragments wait behind them.
uvec4 chunk_a(Source s, uint turn, uint k, uint left, const bool last) {
  uvec2 p = place(turn, kChunksA);
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

uvec4 chunk_b(Source s, uint turn, uint k, uint n, uint left, const bool last) {
  uvec2 p = place(turn, kChunksB);
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

// Sets of a step's chunks on their way.
uvec4 coming_a[kAhead][kTurnsA], coming_b[kAhead][kTurnsB];

// Along K: the step that is fetched next, and how much of K is left from its beginning on.
struct Way {
  Source a, b;
  uvec2 step_a, step_b;
  uint k, n, left;
};

// `last`: the step may have been a partial one.
void advance(inout Way way, const bool last) {
  way.a.base = add64(way.a.base, way.step_a);
  way.b.base = add64(way.b.base, way.step_b);
  way.k += kTileK;
  way.left -= last ? min(way.left, kTileK) : kTileK;
}

// Of a step's turns, A's before B's, those that belong to part `part` of `parts`.
void fetch_part(const uint set, Way way, const uint part, const uint parts, const bool last) {
  const uint turns = kTurnsA + kTurnsB;
  [[unroll]] for (uint i = 0u; i < kTurnsA; ++i)
    if (i * parts / turns == part) coming_a[set][i] = chunk_a(way.a, i, way.k, way.left, last);
  [[unroll]] for (uint i = 0u; i < kTurnsB; ++i)
    if ((kTurnsA + i) * parts / turns == part) coming_b[set][i] = chunk_b(way.b, i, way.k, way.n, way.left, last);
}

void fetch_next(const uint set, inout Way way, const bool last) {
  fetch_part(set, way, 0u, 1u, last);
  advance(way, last);
}

void put_step(const uint set) {
  [[unroll]] for (uint i = 0u; i < kTurnsA; ++i) {
    uvec2 p = place(i, kChunksA);
    if (kEvenA || p.x < kRowsA) put(p.x * kPitchA + p.y, coming_a[set][i]);
  }
  [[unroll]] for (uint i = 0u; i < kTurnsB; ++i) {
    uvec2 p = place(i, kChunksB);
    if (kEvenB || p.x < kRowsB) put(kStartB + p.x * kPitchB + p.y, coming_b[set][i]);
  }
}

// ---- multiplying

const uint kFragsM = kSubM / kFragM, kFragsN = kSubN / kFragN, kProducts = kTileK / kFragK;
coopmat<SUM, gl_ScopeSubgroup, kFragM, kFragN, gl_MatrixUseAccumulator> sums[kFragsM][kFragsN];
coopmat<COMPONENT, gl_ScopeSubgroup, kFragM, kFragK, gl_MatrixUseA> frag_a[kFragsM];
coopmat<COMPONENT, gl_ScopeSubgroup, kFragK, kFragN, gl_MatrixUseB> frag_b[kFragsN];

void load_fragments(const uint product, uint sub_m, uint sub_n) {
  [[unroll]] for (uint i = 0u; i < kFragsM; ++i) {
    uint m = sub_m + i * kFragM, k = product * kFragK;
    uint at = kAlongKA ? m * kPitchA * PER_CHUNK + k / kUnit : k * kPitchA * PER_CHUNK + m / kUnit;
    coopMatLoad(frag_a[i], staged, at, kPitchA * PER_CHUNK,
                kAlongKA ? gl_CooperativeMatrixLayoutRowMajor : gl_CooperativeMatrixLayoutColumnMajor);
  }
  [[unroll]] for (uint j = 0u; j < kFragsN; ++j) {
    uint n = sub_n + j * kFragN, k = product * kFragK;
    uint at = (kStartB + (kAlongKB ? n : k) * kPitchB) * PER_CHUNK + (kAlongKB ? k : n) / kUnit;
    coopMatLoad(frag_b[j], staged, at, kPitchB * PER_CHUNK,
                kAlongKB ? gl_CooperativeMatrixLayoutColumnMajor : gl_CooperativeMatrixLayoutRowMajor);
  }
}

void multiply_row(const uint i) {
  [[unroll]] for (uint j = 0u; j < kFragsN; ++j) sums[i][j] = coopMatMulAdd(frag_a[i], frag_b[j], sums[i][j]);
}

void multiply_all(uint sub_m, uint sub_n) {
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub_m, sub_n);
    [[unroll]] for (uint i = 0u; i < kFragsM; ++i) multiply_row(i);
  }
}

// ---- the result: a fragment's rows of the subgroup's tile through its own part of workgroup memory

const uint kStorePitch = kStoreN * SUM_BYTES / 16u + 1u;     // chunks

float sum_at(uint chunk, const uint element) {
#if SUM_BYTES == 2
  return unpackHalf2x16(get(chunk + element / 8u)[element % 8u / 2u])[element % 2u];
#else
  return uintBitsToFloat(get(chunk + element / 4u)[element % 4u]);
#endif
}

// Sums of a run in workgroup memory to the result.
void store_staged(Target target, uint chunk, uint column, uint m, uint n) {
  const uint sum_elements = 16u / SUM_BYTES;
  acc_t v[MAX_RUN];
  [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) {
    v[e] = acc_t(0);
    if (e < kWidthD) {
      // Runs of less than a chunk start inside one.
      uint inside = kWidthD < sum_elements ? column % sum_elements + e : e;
#ifdef INTEGER
      v[e] = int(get(chunk + inside / 4u)[inside % 4u]);
#else
      v[e] = sum_at(chunk, inside);
#endif
    }
  }
  store_run(target, m, n, v);
}

void store_tile(Tile t, uint sub_m, uint sub_n) {
  Target target = target_of(t);
  const uint runs = kStoreN / kWidthD, sum_elements = 16u / SUM_BYTES, parts = kSubN / kStoreN;
  uint base = gl_SubgroupID * kFragM * kStorePitch;
  uint part = 0u;
  // Fragments cannot be indexed by a variable: what belongs to a part is picked out, and the code that finishes runs,
  // which is long, stands here once.
  do {
    [[unroll]] for (uint i = 0u; i < kFragsM; ++i)
      [[unroll]] for (uint first = 0u; first < parts; ++first)
        if (part == i * parts + first)
          [[unroll]] for (uint j = 0u; j < kStoreN / kFragN; ++j)
            coopMatStore(sums[i][first * (kStoreN / kFragN) + j], staged, (base + j * kFragN / sum_elements) * PER_CHUNK,
                         kStorePitch * PER_CHUNK, gl_CooperativeMatrixLayoutRowMajor);
    subgroupMemoryBarrierShared();   // the fragments are stored before other invocations of the subgroup read them
    subgroupBarrier();
    uint run = gl_SubgroupInvocationID;
    do {
      uint row = run / runs, column = run % runs * kWidthD;
      uint m = t.m + sub_m + part / parts * kFragM + row, n = t.n + sub_n + part % parts * kStoreN + column;
      if (row < kFragM && m < size_m() && n < size_n())
        store_staged(target, base + row * kStorePitch + column / sum_elements, column, m, n);
      run += kSubgroup;
    } while (run < kFragM * runs);
    subgroupBarrier();               // what is stored next overwrites what was read
    ++part;
  } while (part < kFragsM * parts);
}

// The whole of K with nothing in flight.
void multiply_now(Way way, uint sub_m, uint sub_n) {
  do {
    uint turn = 0u;
    do {
      uvec2 p = place(turn, kChunksA);
      if (kEvenA || p.x < kRowsA) put(p.x * kPitchA + p.y, chunk_a(way.a, turn, way.k, way.left, true));
    } while (++turn < kTurnsA);
    turn = 0u;
    do {
      uvec2 p = place(turn, kChunksB);
      if (kEvenB || p.x < kRowsB) put(kStartB + p.x * kPitchB + p.y, chunk_b(way.b, turn, way.k, way.n, way.left, true));
    } while (++turn < kTurnsB);
    barrier();                         // the step's tiles are in workgroup memory before fragments are loaded
    multiply_all(sub_m, sub_n);
    barrier();                         // all fragments are loaded before the next step overwrites the tiles
    advance(way, true);
  } while (way.left != 0u);
}

// On to the next whole step; behind the last one its operands come once more, for nobody.
void advance_or_stay(inout Way way) {
  bool more = way.left >= 2u * kTileK;
  way.a.base = add64(way.a.base, more ? way.step_a : uvec2(0u));
  way.b.base = add64(way.b.base, more ? way.step_b : uvec2(0u));
  way.k += more ? kTileK : 0u;
  way.left -= more ? kTileK : 0u;
}

// Stages and multiplies what has come in `set`, which takes the loads of another whole step.
void multiply_step(const uint set, inout Way way, uint sub_m, uint sub_n) {
  put_step(set);
  barrier();                           // the step's tiles are in workgroup memory before fragments are loaded
  if (kAgain != 0u) advance_or_stay(way);
  if (kSchedule == MATMUL_COOPMAT_LOADS_FIRST) fetch_part(set, way, 0u, 1u, false);
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub_m, sub_n);
    if (kSchedule == MATMUL_COOPMAT_LOADS_FENCED && p == 0u) {
      subgroupMemoryBarrierShared();   // orders nothing that needs it: keeps the loads behind the fragments
      fetch_part(set, way, 0u, 1u, false);
      subgroupMemoryBarrierShared();
    }
    [[unroll]] for (uint i = 0u; i < kFragsM; ++i) {
      if (kSchedule == MATMUL_COOPMAT_LOADS_SPREAD) fetch_part(set, way, p * kFragsM + i, kProducts * kFragsM, false);
      multiply_row(i);
    }
  }
  // Behind the loads: in front of them, with no choice to make, it costs 2 to 10 % (H200, driver 580.159.04).
  if (kAgain == 0u) advance(way, false);
  barrier();                           // all fragments are loaded before the next step overwrites the tiles
}

// The same for the last steps, of which one may be partial, and behind which nothing is left to fetch.
void multiply_last(Way way, uint steps, uint sub_m, uint sub_n) {
  do {
    put_step(0u);
    barrier();                         // as above
    [[unroll]] for (uint i = 0u; i < kTurnsA; ++i) coming_a[0][i] = coming_a[kAhead - 1u][i];
    [[unroll]] for (uint i = 0u; i < kTurnsB; ++i) coming_b[0][i] = coming_b[kAhead - 1u][i];
    if (way.left != 0u) fetch_next(kAhead - 1u, way, true);
    multiply_all(sub_m, sub_n);
    barrier();                         // as above; the results go through the same memory
  } while (--steps != 0u);
}

void fetch_first(inout Way way, const bool last) {
  fetch_next(0u, way, last);
  if (kAhead == 2u && (!last || way.left != 0u)) fetch_next(kAhead - 1u, way, last);
}

// The loops have no branch, which would keep the compiler from moving loads. This one has all whole steps, and is for one
// step ahead; which of the two is faster only a measurement says.
void multiply_again(Way way, uint sub_m, uint sub_n) {
  uint turns = way.left / kTileK;
  if (turns != 0u) {
    fetch_part(0u, way, 0u, 1u, false);
    do {
      multiply_step(0u, way, sub_m, sub_n);
    } while (--turns != 0u);
    advance(way, false);
  }
  if (way.left != 0u) {
    fetch_next(0u, way, true);
    multiply_last(way, 1u, sub_m, sub_n);
  }
}

// This one ends where the last whole step is fetched.
void multiply_steps(Way way, uint sub_m, uint sub_n) {
  uint steps = (way.left - 1u) / kTileK + 1u, whole = way.left / kTileK;
  // Here twice: with bounds, where K has too few whole steps, each load is waited for, so that zeros can take the place of
  // what is beyond K.
  if (whole >= kAhead) fetch_first(way, false);
  else fetch_first(way, true);
  if (whole >= 2u * kAhead) {
    uint turns = whole / kAhead - 1u;   // of a step for each set
    steps -= turns * kAhead;
    do {
      multiply_step(0u, way, sub_m, sub_n);
      if (kAhead == 2u) multiply_step(kAhead - 1u, way, sub_m, sub_n);
    } while (--turns != 0u);
  }
  multiply_last(way, steps, sub_m, sub_n);
}

void main() {
  Tile t;
  if (!locate_tile(t)) return;     // whole workgroups, so no barrier is missed
  const uint subs_n = kTileN / kSubN;
  uint sub_m = gl_SubgroupID / subs_n * kSubM, sub_n = gl_SubgroupID % subs_n * kSubN;
  [[unroll]] for (uint i = 0u; i < kFragsM; ++i)
    [[unroll]] for (uint j = 0u; j < kFragsN; ++j)
      sums[i][j] = coopmat<SUM, gl_ScopeSubgroup, kFragM, kFragN, gl_MatrixUseAccumulator>(SUM(0));

  Way way = Way(Source(a_address(t, t.m, t.k), size_m() - t.m, size_m() - t.m),
                Source(b_address(t, t.k, t.n), size_n() - t.n, size_n() - t.n),
                bytes_of(kAType, kAlongKA ? uvec2(kTileK, 0u) : product64(kTileK, lda())),
                bytes_of(kBType, kAlongKB ? uvec2(kTileK, 0u) : product64(kTileK, ldb())), t.k, t.n, t.k_end - t.k);
  if (way.left != 0u) {
    if (kSchedule == MATMUL_COOPMAT_LOADS_NOW)
      multiply_now(way, sub_m, sub_n);
    else if (kAgain != 0u)
      multiply_again(way, sub_m, sub_n);
    else
      multiply_steps(way, sub_m, sub_n);
  }
  store_tile(t, sub_m, sub_n);
}
