// One operand of matmul_coopmat: its tile in workgroup memory, and the load of one that is stored as a matrix. Included
// twice by gemm/coopmat_fetch.glsl: gemm/side.abi.h says how.

// ---- workgroup memory: lines along the operand's contiguous axis, in chunks

const uint kLines = kAlongK ? kTile : kTileK, kChunks = (kAlongK ? kTileK : kTile) / kChunkElements;
const uint kPitch = kChunks + kPad;
const uint kStart = SIDE(0u, kLinesA * kPitchA);
// Each load of an invocation is one chunk.
const uint kLoads = (kLines * kChunks + kWorkgroup - 1u) / kWorkgroup;
const bool kEven = kLines * kChunks % kWorkgroup == 0u;

uvec4 prefetched[kLoads];             // the next step's chunks, in flight

// ---- an operand that is stored as a matrix

// The tile, and the distance between steps.
Source stored_start(Tile t) {
  return Source(SIDE(a_address(t, t.m, t.k), b_address(t, t.k, t.n)), SIDE(t.m, t.n),
                SIDE(size_m() - t.m, columns() - t.n));
}
uvec2 stored_step() {
  return bytes_of(kSideType, kAlongK ? uvec2(kTileK, 0u) : product64(kTileK, SIDE(lda(), ldb())));
}

// Bytes are never converted: without #ifndef INTEGER half of an int8 kernel would be code that nothing reaches.
const bool kRaw = SIDE(kAType == kType && kHasAScale == 0u, kBType == kType);

// Loads a chunk. Lines and columns beyond the operand are clamped to its last ones. Where the chunks do not divide
// evenly among the invocations, surplus invocations load from the last line. `left` is how much of K remains from this
// step on; only where `last` is set may it be less than a whole step.
// The chunk's offset is computed again at every step: kept in registers it was slower by up to 15 % (H200, driver
// 580.159.04), since the loads are then issued back to back, and fragment loads wait for them.
uvec4 fetch_stored_chunk(Source s, uint load, uint k, uint left, const bool last) {
  uvec2 p = chunk_position(load, kChunks);
  uint line = kEven ? p.x : min(p.x, kLines - 1u);
  if (kAlongK) line = min(line, s.inside - 1u);
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kChunkElements / kWidth; ++i) {
    uint column = p.y * kChunkElements + i * kWidth;
    if (!kAlongK) column = min(column, s.inside - kWidth);
    uint along = kAlongK ? column : line, across = kAlongK ? line : column;
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
      SIDE(convert_a(raw, k + along, inside, v), convert_b(raw, k + along, s.first + across, inside, v));
      [[unroll]] for (uint e = 0u; e < min(kWidth, 8u); ++e) all[(i * kWidth + e) % MAX_RUN] = v[e];
    }
#endif
  }
#ifndef INTEGER
  if (!kRaw) return packed(all);
#endif
  return words;
}

#ifndef GATHERED_WORDS
// ---- what gemm/coopmat_stage.glsl knows of an operand

Source start_of(Tile t) { return stored_start(t); }
uvec2 step_of() { return stored_step(); }
// Loads a chunk; `k`: the step's first.
uvec4 fetch_chunk(Source s, const uint load, uint k, uint left, const bool last) {
  return fetch_stored_chunk(s, load, k, left, last);
}
// What is staged of a load, and where: its line and its chunk.
uvec4 finished_chunk_of(const uint load) { return prefetched[load]; }
uvec2 position_of(uint load) { return chunk_position(load, kChunks); }
#endif
