// Loads and stages the chunks of one operand of matmul_coopmat, and loads its fragments. Included twice by
// gemm/coopmat.glsl: gemm/side.abi.h says how. `k`: the step's first; `left`: how much of K remains from there on; only
// where `last` is set may it be less than a whole step.

// Issues those loads that are in part `part` of `parts` of a step's. `before`: loads of the other operand before these.
void prefetch_chunks(Source s, uint k, uint left, const uint part, const uint parts, const uint before,
                     const bool last) {
  [[unroll]] for (uint i = 0u; i < kLoads; ++i)
    if ((before + i) * parts / (kLoadsA + kLoadsB) == part) prefetched[i] = fetch_chunk(s, i, k, left, last);
}

// FINISH_B_EARLY: pipelined loops compute what is staged of B before the barrier after which they stage it.
#if defined FINISH_B_EARLY && LOOP == PIPELINED && SIDE(0, 1)
uvec4 finished[kLoads];
void finish_chunks() {
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) finished[i] = finished_chunk_of(i);
}
#define STAGED(load) finished[load]
#else
void finish_chunks() {}
#define STAGED(load) finished_chunk_of(load)
#endif

void stage_prefetched_chunks() {
  [[unroll]] for (uint i = 0u; i < kLoads; ++i) {
    uvec2 p = position_of(i);
    if (kEven || p.x < kLines) store_chunk(kStart + p.x * kPitch + p.y, STAGED(i));
  }
}
#undef STAGED
// Without a prefetch: loads and stages one chunk at a time.
void stage_fetched_chunks(Source s, uint k, uint left) {
  uint load = 0u;
  do {
    uvec2 p = position_of(load);
    if (kEven || p.x < kLines) store_chunk(kStart + p.x * kPitch + p.y, fetch_chunk(s, load, k, left, true));
  } while (++load < kLoads);
}

// Fragments of a product: of all rows of A (columns of B) of a subgroup's tile, from `first` on.
coopmat<COMPONENT, gl_ScopeSubgroup, SIDE(kFragM, kFragK), SIDE(kFragK, kFragN), SIDE(gl_MatrixUseA, gl_MatrixUseB)>
    frags[SETS][kFrags];
void load_frags(const uint product, uint first, uint k) {
  [[unroll]] for (uint i = 0u; i < kFrags; ++i) {
    uint across = first + i * SIDE(kFragM, kFragN), line = kAlongK ? across : k, along = kAlongK ? k : across;
    coopMatLoad(frags[SET(product)][i], staged, (kStart + line * kPitch) * PER_CHUNK + along / kStagedElements,
                kPitch * PER_CHUNK,
                kAlongK == SIDE(true, false) ? gl_CooperativeMatrixLayoutRowMajor
                                             : gl_CooperativeMatrixLayoutColumnMajor);
  }
}

#if LOOP == PIPELINED_L2
uint l2_words[kL2Prefetches];
void prefetch_side_to_l2() {
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x, all = gl_NumWorkGroups.x * kWorkgroup;
  uint end = SIDE(size_m(), size_n()) * size_k() * BYTES;
  [[unroll]] for (uint i = 0u; i < kL2Prefetches; ++i) {
    uint at = 32u * (id + i * all);
    l2_words[i] = at < end ? Ref4(SIDE(push.a, push.b)).x[at / 4u] : 0u;
  }
}
#endif
