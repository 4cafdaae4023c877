// How matmul_coopmat loads operands from memory, and where they are staged in workgroup memory. gemm/coopmat.glsl
// has the rest.
#include "gemm/side.glsl"

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

// ---- workgroup memory, in chunks of 16 bytes: A's lines, then B's; a line lies along the operand's contiguous axis

const uint kChunkElements = 16u / BYTES;               // elements per chunk
const bool kAlongKA = kTransA == 0u;       // rows lie along K
const bool kAlongKB = kTransB != 0u;
const uint kLinesA = kAlongKA ? kTileM : kTileK, kChunksA = (kAlongKA ? kTileK : kTileM) / kChunkElements;
const uint kLinesB = kAlongKB ? kTileN : kTileK, kChunksB = (kAlongKB ? kTileK : kTileN) / kChunkElements;
const uint kPitchA = kChunksA + kPad, kPitchB = kChunksB + kPad;
const uint kStartB = kLinesA * kPitchA;

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

const uint kLoadsA = (kLinesA * kChunksA + kWorkgroup - 1u) / kWorkgroup;
const uint kLoadsB = (kLinesB * kChunksB + kWorkgroup - 1u) / kWorkgroup;
const bool kEvenA = kLinesA * kChunksA % kWorkgroup == 0u, kEvenB = kLinesB * kChunksB % kWorkgroup == 0u;

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
  // lines and columns from the tile's first on that are inside the operand (along K: the whole step)
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

// Names as in gemm/side.glsl.
#define kLines SIDE(kLinesA, kLinesB)
#define kChunks SIDE(kChunksA, kChunksB)
#define kEven SIDE(kEvenA, kEvenB)
#define kRaw SIDE(kRawA, kRawB)
#define chunk_of SIDE(chunk_a, chunk_b)
#define SIDE(a, b) a
#include "gemm/coopmat_side.glsl"
#undef SIDE
#define SIDE(a, b) b
#include "gemm/coopmat_side.glsl"
#undef SIDE
