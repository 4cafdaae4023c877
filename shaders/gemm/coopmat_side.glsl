// The load of one operand of matmul_coopmat that is stored as a matrix. Included twice by gemm/coopmat_fetch.glsl:
// gemm/side.glsl says how.

// Bytes are never converted: without #ifndef INTEGER half of an int8 kernel would be code that nothing reaches.
const bool kRaw = SIDE(kAType == kType && kHasAScale == 0u, kBType == kType);

// Loads a chunk. Lines and columns beyond the operand are clamped to its last ones. Where the chunks do not divide
// evenly among the invocations, surplus invocations load from the last line. `n`: the tile's first column of B. `left`
// is how much of K remains from this step on; only where `last` is set may it be less than a whole step.
// The chunk's offset is computed again at every step: kept in registers it was slower by up to 15 % (H200, driver
// 580.159.04), since the loads are then issued back to back, and fragment loads wait for them.
#if SIDE(1, 0)
uvec4 chunk_of(Source s, uint load, uint k, uint left, const bool last) {
#else
uvec4 chunk_of(Source s, uint load, uint k, uint n, uint left, const bool last) {
#endif
  uvec2 p = chunk_position(load, kChunks);
  uint line = kEven ? p.x : min(p.x, kLines - 1u);
  if (kAlongK) line = min(line, s.rows - 1u);
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kChunkElements / kWidth; ++i) {
    uint column = p.y * kChunkElements + i * kWidth;
    if (!kAlongK) column = min(column, s.columns - kWidth);
#if SIDE(1, 0)
    uint along = kAlongK ? column : line;
#else
    uint along = kAlongK ? column : line, across = kAlongK ? line : column;
#endif
    bool inside = !last || along < left;
    uint at = inside ? line * SIDE(lda(), ldb()) + column : 0u;
    uvec4 raw = load_raw(s.base, run_at(kSideType, at), run_bytes(kSideType, kWidth));
    if (kRaw) {
      if (last && !inside) raw = uvec4(0u);
      insert_run(words, raw, i * kWidth, kWidth);
    }
#ifndef INTEGER
    else {
      // A has a scale along K, B has quantized formats: convert_a() and convert_b() differ.
      SIDE(convert_a(raw, k + along, inside, v), convert_b(raw, k + along, n + across, inside, v));
      [[unroll]] for (uint e = 0u; e < min(kWidth, 8u); ++e) all[(i * kWidth + e) % MAX_RUN] = v[e];
    }
#endif
  }
#ifndef INTEGER
  if (!kRaw) return packed(all);
#endif
  return words;
}
