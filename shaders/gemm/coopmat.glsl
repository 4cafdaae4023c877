// The loop of matmul_coopmat over steps of K: loads, products, store. Include after gemm/coopmat_fetch.glsl.
// What is done alike with A and with B is written out for both, in one function each: with a function for each side,
// called by these, conv2d_coopmat's 128x64x32 took 2 to 5 times as long
// (H200, driver 580.159.04, `bench "conv2d f16 nhwc 16x64x56x56 k=64 r=3x3 p=1 weights=krsc"`: 123 us for 25).
// Of an operand it knows these; a kernel of which one is gathered (GATHERED_WORDS) defines them itself.
#ifndef GATHERED_WORDS
#define CHUNK_A(s, load, k, left, last) chunk_a(s, load, k, left, last)         // loads a chunk
#define CHUNK_B(s, load, k, n, left, last) chunk_b(s, load, k, n, left, last)
#define STAGED_A(load) prefetched_a[load]                                       // what is staged of it
#define STAGED_B(load) prefetched_b[load]
#define FIRST_A(t) Source(a_address(t, t.m, t.k), size_m() - t.m, size_m() - t.m)
#define FIRST_B(t) Source(b_address(t, t.k, t.n), size_n() - t.n, size_n() - t.n)
#define POSITION_A(load) chunk_position(load, kChunksA)                         // where it is staged
#define POSITION_B(load) chunk_position(load, kChunksB)
#define STEP_A bytes_of(kAType, kAlongKA ? uvec2(kTileK, 0u) : product64(kTileK, lda()))
#define STEP_B bytes_of(kBType, kAlongKB ? uvec2(kTileK, 0u) : product64(kTileK, ldb()))
#endif

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

// Issues part `part` of `parts` of a step's loads, A's before B's, or (LOADS_B_FIRST) after them.
void fetch_part_of_b(Fetch fetch, const uint part, const uint parts, const uint before, const bool last) {
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i)
    if ((before + i) * parts / (kLoadsA + kLoadsB) == part)
      prefetched_b[i] = CHUNK_B(fetch.b, i, fetch.k, fetch.n, fetch.left, last);
}
void fetch_part(Fetch fetch, const uint part, const uint parts, const bool last) {
#ifdef LOADS_B_FIRST
  const uint before = kLoadsB;
  fetch_part_of_b(fetch, part, parts, 0u, last);
#else
  const uint before = 0u;
#endif
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i)
    if ((before + i) * parts / (kLoadsA + kLoadsB) == part)
      prefetched_a[i] = CHUNK_A(fetch.a, i, fetch.k, fetch.left, last);
#ifndef LOADS_B_FIRST
  fetch_part_of_b(fetch, part, parts, kLoadsA, last);
#endif
}

void fetch_next(inout Fetch fetch, const bool last) {
  fetch_part(fetch, 0u, 1u, last);
  advance(fetch, last);
}

// FINISH_B_EARLY: pipelined loops compute what is staged of B before the barrier after which they stage it.
#if defined FINISH_B_EARLY && LOOP == PIPELINED
uvec4 finished_b[kLoadsB];
void finish_prefetched() {
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) finished_b[i] = STAGED_B(i);
}
#define STORED_B(load) finished_b[load]
#else
void finish_prefetched() {}
#define STORED_B(load) STAGED_B(load)
#endif

void stage_prefetched() {
  [[unroll]] for (uint i = 0u; i < kLoadsA; ++i) {
    uvec2 p = POSITION_A(i);
    if (kEvenA || p.x < kLinesA) store_chunk(p.x * kPitchA + p.y, STAGED_A(i));
  }
  [[unroll]] for (uint i = 0u; i < kLoadsB; ++i) {
    uvec2 p = POSITION_B(i);
    if (kEvenB || p.x < kLinesB) store_chunk(kStartB + p.x * kPitchB + p.y, STORED_B(i));
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

#include "gemm/coopmat_store.glsl"

#if LOOP == SERIAL

void multiply(Fetch fetch, SubgroupTile sub) {
  do {
    uint load = 0u;
    do {
      uvec2 p = POSITION_A(load);
      if (kEvenA || p.x < kLinesA) store_chunk(p.x * kPitchA + p.y, CHUNK_A(fetch.a, load, fetch.k, fetch.left, true));
    } while (++load < kLoadsA);
    load = 0u;
    do {
      uvec2 p = POSITION_B(load);
      if (kEvenB || p.x < kLinesB)
        store_chunk(kStartB + p.x * kPitchB + p.y, CHUNK_B(fetch.b, load, fetch.k, fetch.n, fetch.left, true));
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
  fetch_part(fetch, 0u, 1u, false);
#endif
  [[unroll]] for (uint p = 0u; p < kProducts; ++p) {
    load_fragments(p, sub);
    [[unroll]] for (uint i = 0u; i < kFragsM; ++i) {
#if LOOP == PEELED
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
  finish_prefetched();
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
    finish_prefetched();
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
    finish_prefetched();
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
  fetch.a = FIRST_A(t);
  fetch.b = FIRST_B(t);
  fetch.step_a = STEP_A;
  fetch.step_b = STEP_B;
  fetch.k = t.k;
  fetch.n = t.n;
  fetch.left = t.k_end - t.k;
  if (fetch.left != 0u) multiply(fetch, sub);
  store_tile(t, sub);
}
