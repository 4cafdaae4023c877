// How matmul_coopmat loads operands from memory, and where they are staged in workgroup memory. gemm/coopmat.glsl
// has the rest. Include after gemm/epilogue.glsl.
#include "gemm/side.abi.h"

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
const bool kAlongKA = kTransA == 0u, kAlongKB = kTransB != 0u;

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
  uint first, inside;    // the tile's first row of A (column of B), and how many from there on are inside the operand
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

// Names as in gemm/side.abi.h, for gemm/coopmat_side.glsl, gemm/coopmat_stage.glsl and conv2d/coopmat_side.glsl.
#define kLines SIDE(kLinesA, kLinesB)
#define kChunks SIDE(kChunksA, kChunksB)
#define kStart SIDE(kStartA, kStartB)
#define kEven SIDE(kEvenA, kEvenB)
#define kRaw SIDE(kRawA, kRawB)
#define kFrags SIDE(kFragsM, kFragsN)
#define frags SIDE(frags_a, frags_b)
#define finished SIDE(finished_a, finished_b)
#define l2_words SIDE(l2_words_a, l2_words_b)
#define fetch_stored_chunk SIDE(fetch_stored_chunk_a, fetch_stored_chunk_b)
#define fetch_chunk SIDE(fetch_chunk_a, fetch_chunk_b)
#define finished_chunk_of SIDE(finished_chunk_of_a, finished_chunk_of_b)
#define position_of SIDE(position_of_a, position_of_b)
#define prefetch_chunks SIDE(prefetch_chunks_a, prefetch_chunks_b)
#define finish_chunks SIDE(finish_chunks_a, finish_chunks_b)
#define stage_prefetched_chunks SIDE(stage_prefetched_chunks_a, stage_prefetched_chunks_b)
#define stage_fetched_chunks SIDE(stage_fetched_chunks_a, stage_fetched_chunks_b)
#define load_frags SIDE(load_frags_a, load_frags_b)
#define prefetch_side_to_l2 SIDE(prefetch_side_to_l2_a, prefetch_side_to_l2_b)

#define SIDE(a, b) a
#include "gemm/coopmat_side.glsl"
#undef SIDE
#define SIDE(a, b) b
#include "gemm/coopmat_side.glsl"
#undef SIDE
