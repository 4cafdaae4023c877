// Reads the word stream that gemm/gemm.abi.h describes; locates a workgroup's tile; loads and converts runs of A and
// B.
// NARROW and NO_BYTES (from the variant): see numbers.glsl. INTEGER: int8 products with int accumulators.
// CONV2D: the kernel is a convolution's, whose stream has more words (conv2d/conv2d.abi.h). GATHERED: as a product.
#include "lib/numbers.glsl"
#include "gemm/gemm.abi.h"
#ifdef CONV2D
#include "conv2d/conv2d.abi.h"
#define MAX_WORDS CONV2D_MAX_WORDS
#else
#define MAX_WORDS GEMM_MAX_WORDS
#endif

layout(local_size_x_id = SECTILE_SPEC_WORKGROUP, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = SECTILE_SPEC_WORKGROUP) const uint kWorkgroup = 128u;
// TYPE: the matrix unit's. An optimizer drops what is of no use with it. Not for int8, whose pipelined loops were 12 to
// 21 % slower with types that are known here (H200, driver 580.159.04).
#ifdef TYPE
const uint kType = TYPE;
#else
layout(constant_id = GEMM_SPEC_TYPE) const uint kType = SECTILE_TYPE_F32;
#endif
layout(constant_id = GEMM_SPEC_A_TYPE) const uint kAType = SECTILE_TYPE_F32;
layout(constant_id = GEMM_SPEC_B_TYPE) const uint kBType = SECTILE_TYPE_F32;
layout(constant_id = GEMM_SPEC_OUT_TYPE) const uint kOutType = SECTILE_TYPE_F32;
layout(constant_id = GEMM_SPEC_TRANS_A) const uint kTransA = 0u;
layout(constant_id = GEMM_SPEC_TRANS_B) const uint kTransB = 0u;
layout(constant_id = GEMM_SPEC_EPILOGUE) const uint kEpilogue = 0u;
layout(constant_id = GEMM_SPEC_WIDTH_A) const uint kWidthA = 1u;
layout(constant_id = GEMM_SPEC_WIDTH_B) const uint kWidthB = 1u;
layout(constant_id = GEMM_SPEC_WIDTH_D) const uint kWidthD = 1u;
layout(constant_id = GEMM_SPEC_GROUP_M) const uint kGroupM = 1u;
layout(constant_id = GEMM_SPEC_TILE_M) const uint kTileM = 64u;
layout(constant_id = GEMM_SPEC_TILE_N) const uint kTileN = 64u;
layout(constant_id = GEMM_SPEC_TILE_K) const uint kTileK = 16u;

layout(push_constant, std430) uniform Push { GemmPush push; };

// ---- words

#define W1(k) layout(constant_id = GEMM_SPEC_WORD0 + k) const uint kWord##k = 0u;
W1(0) W1(1) W1(2) W1(3) W1(4) W1(5) W1(6) W1(7) W1(8) W1(9) W1(10) W1(11) W1(12) W1(13) W1(14) W1(15)
W1(16)
#ifdef CONV2D
W1(17) W1(18) W1(19) W1(20) W1(21) W1(22) W1(23) W1(24) W1(25) W1(26) W1(27) W1(28) W1(29) W1(30) W1(31)
W1(32) W1(33) W1(34) W1(35)
#endif
#undef W1
uint specialized_words[MAX_WORDS - GEMM_PUSH_WORDS] = uint[MAX_WORDS - GEMM_PUSH_WORDS](
    kWord0, kWord1, kWord2, kWord3, kWord4, kWord5, kWord6, kWord7,
    kWord8, kWord9, kWord10, kWord11, kWord12, kWord13, kWord14, kWord15,
    kWord16
#ifdef CONV2D
    , kWord17, kWord18, kWord19, kWord20, kWord21, kWord22, kWord23, kWord24, kWord25, kWord26, kWord27,
    kWord28, kWord29, kWord30, kWord31, kWord32, kWord33, kWord34, kWord35
#endif
    );
uint word(const uint k) {
  return k < GEMM_PUSH_WORDS ? push.words[min(k, GEMM_PUSH_WORDS - 1)]
                               : specialized_words[max(k, GEMM_PUSH_WORDS) - GEMM_PUSH_WORDS];
}
uvec2 word2(const uint k) { return uvec2(word(k), word(k + 1u)); }

const uint kHasC = kEpilogue & GEMM_EPILOGUE_C;
const uint kHasCIsD = (kEpilogue & GEMM_EPILOGUE_C_IS_D) != 0u ? 1u : 0u;
const uint kHasBias = (kEpilogue & (GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN)) != 0u ? 1u : 0u;
const uint kHasScale = (kEpilogue & (GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN)) != 0u ? 1u : 0u;
const uint kHasResidual = (kEpilogue & GEMM_EPILOGUE_RESIDUAL) != 0u ? 1u : 0u;
const uint kHasBScale = kBType >= SECTILE_TYPE_Q8 ? 1u : 0u;
const uint kHasAScale = (kEpilogue & GEMM_EPILOGUE_A_SCALE) != 0u ? 1u : 0u;
const uint kBatched = (kEpilogue & GEMM_EPILOGUE_BATCHED) != 0u ? 1u : 0u;
const uint kSplit = (kEpilogue & GEMM_EPILOGUE_SPLIT) != 0u ? 1u : 0u;
const uint kPushedEpilogue = (kEpilogue & GEMM_EPILOGUE_PUSHED) != 0u ? 1u : 0u;
const uint kActivation = (kEpilogue >> GEMM_EPILOGUE_ACTIVATION_SHIFT) & 15u;
const uint kActivationLast = (kEpilogue & GEMM_EPILOGUE_ACTIVATION_LAST) != 0u ? 1u : 0u;
const uint kActivationWords = kActivation == SECTILE_ACTIVATION_LEAKY_RELU ? 1u
                              : kActivation == SECTILE_ACTIVATION_CLAMP    ? 2u
                                                                           : 0u;

// Offsets in the word stream. A part that the problem lacks takes no words.
const uint kAtC = 0u;
const uint kAtBias = kAtC + 2u * kHasC;
const uint kAtScale = kAtBias + 2u * kHasBias;
const uint kAtResidual = kAtScale + 2u * kHasScale;
const uint kAtBScale = kAtResidual + 2u * kHasResidual;
const uint kAtAScale = kAtBScale + 2u * kHasBScale;
#ifdef CONV2D
layout(constant_id = CONV2D_SPEC_PROLOGUE) const uint kPrologue = 0u;
const uint kHasXScale = (kPrologue & CONV2D_PROLOGUE_SCALE) != 0u ? 1u : 0u;
const uint kHasXBias = (kPrologue & CONV2D_PROLOGUE_BIAS) != 0u ? 1u : 0u;
const uint kAtXScale = kAtAScale + 2u * kHasAScale;
const uint kAtXBias = kAtXScale + 2u * kHasXScale;
const uint kAtActivation = kAtXBias + 2u * kHasXBias;
#else
const uint kAtActivation = kAtAScale + 2u * kHasAScale;
#endif
const uint kAtSizes = kAtActivation + kActivationWords;     // M, N, K, alpha, lda, ldb, ldd
const uint kAtLdc = kAtSizes + 7u;
const uint kAtBeta = kAtLdc + kHasC;
const uint kAtLdr = kAtBeta + (kHasC | kHasCIsD);
const uint kAtSplitK = kAtLdr + kHasResidual;
#ifdef GEMM_REDUCE
const uint kHasSplits = 1u;
#else
const uint kHasSplits = kSplit;
#endif
const uint kAtSplits = kAtSplitK + kSplit;
const uint kAtBatches = kAtSplits + kHasSplits;
const uint kAtBatchA = kAtBatches + kBatched;
const uint kAtBatchB = kAtBatchA + 2u * kBatched;
const uint kAtBatchD = kAtBatchB + 2u * kBatched;
const uint kAtBatchC = kAtBatchD + 2u * kBatched;
const uint kAtBatchR = kAtBatchC + 2u * kHasC * kBatched;
const uint kAtRelu = kAtBatchR + 2u * kHasResidual * kBatched;
const uint kAtEnd = kAtRelu + kPushedEpilogue;

uint size_m() { return word(kAtSizes); }
uint size_n() { return word(kAtSizes + 1u); }
uint size_k() { return word(kAtSizes + 2u); }
float alpha() { return uintBitsToFloat(word(kAtSizes + 3u)); }
uint lda() { return word(kAtSizes + 4u); }
uint ldb() { return word(kAtSizes + 5u); }
uint ldd() { return word(kAtSizes + 6u); }
uint ldc() { return kHasC != 0u ? word(kAtLdc) : ldd(); }
float beta() { return uintBitsToFloat(word(kAtBeta)); }
uint splits() { return kHasSplits != 0u ? word(kAtSplits) : 1u; }
uint batches() { return kBatched != 0u ? word(kAtBatches) : 1u; }

// v rounded to `type`. NVIDIA's compiler takes unpackHalf2x16(packHalf2x16(v)) for v itself (driver 580.159.04), so a
// bit that is 0 and that no compiler knows stands between: D is aligned to its elements, which have 2 bytes or more.
float rounded_to(const uint type, float v) {
  if (type == SECTILE_TYPE_F16) return unpackHalf2x16(half_bits(v) ^ (push.d.x & 1u)).x;
  if (type == SECTILE_TYPE_BF16) return uintBitsToFloat(rounded_to_bf16(v) & 0xffff0000u);
  return v;
}
vec2 rounded_pair(const uint type, vec2 v) {
  if (type == SECTILE_TYPE_F16) return unpackHalf2x16(pack_halves(v.x, v.y) ^ (push.d.x & 1u));
  if (type == SECTILE_TYPE_BF16) return vec2(rounded_to(type, v.x), rounded_to(type, v.y));
  return v;
}

// A converted number of A or B, rounded to TYPE. Where the kernel stages bits of that type, packing them rounds.
#ifdef TYPE
float operand_of(float v) { return v; }
vec2 operands_of(vec2 v) { return v; }
#else
float operand_of(float v) { return rounded_to(kType, v); }
vec2 operands_of(vec2 v) { return rounded_pair(kType, v); }
#endif

// ---- addresses: 64-bit arithmetic on two words, so that no kernel needs 64-bit integers

uvec2 add64(uvec2 a, uvec2 b) {
  uint carry;
  uint low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
// Bytes of a number of elements; Q4 has two elements a byte.
uvec2 bytes_of(const uint type, uvec2 elements) {
  if (type == SECTILE_TYPE_F32 || type == SECTILE_TYPE_I32)
    return uvec2(elements.x << 2, (elements.y << 2) | (elements.x >> 30));
  if (type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16)
    return uvec2(elements.x << 1, (elements.y << 1) | (elements.x >> 31));
  if (type == SECTILE_TYPE_Q4) return uvec2((elements.x >> 1) | (elements.y << 31), elements.y >> 1);
  return elements;
}
uvec2 product64(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return uvec2(low, high);
}
// address + (row * ld + column) elements.
uvec2 element_address(uvec2 address, const uint type, uint row, uint ld, uint column) {
  return add64(address, bytes_of(type, add64(product64(row, ld), uvec2(column, 0u))));
}
// address + batch * stride elements; the stride is the two words from k on.
uvec2 batch_address(uvec2 address, const uint type, uint batch, const uint k) {
  if (kBatched == 0u) return address;
  uvec2 elements = product64(batch, word(k));
  elements.y += batch * word(k + 1u);
  return add64(address, bytes_of(type, elements));
}

// ---- tiles

#ifdef GATHERED
layout(constant_id = CONV2D_SPEC_FLATTENED_BATCH) const uint kFlattenedBatch = 0u;
// The image that has column n, where columns are flattened.
uint image_of_column(uint n) {
  uint high, low;
  umulExtended(n, word(kAtEnd + 10u), high, low);
  return (high + n) >> ((word(kAtEnd + 7u) >> 16) & 31u);
}
#else
const uint kFlattenedBatch = 0u;
uint image_of_column(uint n) { return 0u; }
#endif
uint columns() { return kFlattenedBatch != 0u ? size_n() * batches() : size_n(); }      // that tiles divide among them

struct Tile {
  uint m, n;              // first row and column of the result
  uint k, k_end;          // range of K that this workgroup sums
  uint batch, split;
};

uint group_id() {
  return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
}

// False for surplus workgroups of a folded grid. Whole workgroups return together, so every barrier is reached by all.
bool locate_tile(out Tile t) {
  uint id = group_id();
  uint tiles_m = (size_m() + kTileM - 1u) / kTileM, tiles_n = (columns() + kTileN - 1u) / kTileN;
  uint tiles = tiles_m * tiles_n;
  uint outer = 0u;
  if (id >= tiles) {   // a branch, because a division takes some 150 clocks and most grids have one batch and no split
    outer = id / tiles;
    id -= outer * tiles;
  }
  t.split = 0u;
  t.batch = outer;
  if (kSplit != 0u) {
    t.batch = outer / splits();
    t.split = outer - t.batch * splits();
  }
  if (kGroupM <= 1u) {
    t.m = id / tiles_n;
    t.n = id - t.m * tiles_n;
  } else {
    uint band = id / (kGroupM * tiles_n);
    uint rows = min(tiles_m - band * kGroupM, kGroupM);
    id -= band * kGroupM * tiles_n;
    t.n = id / rows;
    t.m = band * kGroupM + id - t.n * rows;
  }
  t.m *= kTileM;
  t.n *= kTileN;
  t.k = 0u;
  t.k_end = size_k();
  if (kSplit != 0u) {
    t.k = t.split * word(kAtSplitK);
    t.k_end = min(t.k_end, t.k + word(kAtSplitK));
  }
  return t.batch < (kFlattenedBatch != 0u ? 1u : batches());
}

// Address of A[m, k]; B[k, n] below.
uvec2 a_address(Tile t, uint m, uint k) {
  uvec2 base = batch_address(push.a, kAType, t.batch, kAtBatchA);
  return kTransA == 0u ? element_address(base, kAType, m, lda(), k) : element_address(base, kAType, k, lda(), m);
}
uvec2 b_address(Tile t, uint k, uint n) {
  uvec2 base = batch_address(push.b, kBType, t.batch, kAtBatchB);
  return kTransB == 0u ? element_address(base, kBType, k, ldb(), n) : element_address(base, kBType, n, ldb(), k);
}

// ---- runs

// Unpacks the int8 elements of a raw run.
void unpack_bytes(const uint width, uvec4 raw, out int v[MAX_RUN]) {
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i)
    v[i] = i < width ? bitfieldExtract(int(raw[i / 4u]), int(8u * (i % 4u)), 8) : 0;
}

// Bytes of a run of `width` elements.
uint run_bytes(const uint type, const uint width) {
  return type == SECTILE_TYPE_Q4 ? width / 2u : width * bytes_of_type(type);
}
// Byte offset of element `at`, the first of a run.
uint run_at(const uint type, uint at) { return type == SECTILE_TYPE_Q4 ? at / 2u : at * bytes_of_type(type); }

float load_float(uvec2 address, uint at) { return uintBitsToFloat(Ref4(address).x[at]); }
float load_half(uvec2 address, uint at) {
#ifdef NARROW
  return unpackHalf2x16(uint(Ref2(address).x[at])).x;
#else
  return unpackHalf2x16(Ref4(address).x[at / 2u])[at % 2u];
#endif
}

// Converts a raw run of kWidthA elements of A. `k` is the first element's, for a.scale: a run lies along K, or along M
// where A is transposed. Yields zeros where `inside` is false.
void convert_a(uvec4 raw, uint k, bool inside, out float v[MAX_RUN]) {
  unpack_run(kAType, kWidthA, raw, v);
  [[unroll]] for (uint i = 0u; i < kWidthA; ++i) {
    if (kHasAScale != 0u) v[i] *= load_float(word2(kAtAScale), inside ? k + (kTransA == 0u ? i : 0u) : 0u);
    if (kHasAScale != 0u || kAType != kType) v[i] = operand_of(v[i]);
    if (!inside) v[i] = 0.0;
  }
}

// b.scale[n][k / 32] of a 4-bit B.
float block_scale(uint n, uint k) {
  return load_half(add64(word2(kAtBScale), bytes_of(SECTILE_TYPE_F16, product64(n, ldb() / 32u))), k / 32u);
}

// The same for B[k, n]; a run lies along N, or along K where B is transposed. A quantized B is shared by all batches.
void convert_b(uvec4 raw, uint k, uint n, bool inside, out float v[MAX_RUN]) {
  unpack_run(kBType, kWidthB, raw, v);
  if (kBType == SECTILE_TYPE_Q8) {
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i)
      v[i] *= load_float(word2(kAtBScale), inside ? n + (kTransB == 0u ? i : 0u) : 0u);
  } else if (kBType == SECTILE_TYPE_Q4) {
    // Runs lie along K and never cross a block of 32. The last run may extend beyond K; its surplus nibbles are set to
    // zero.
    float scale = block_scale(inside ? n : 0u, inside ? k : 0u);
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i) v[i] = k + i < size_k() ? v[i] * scale : 0.0;
  }
  // Two at once: the instructions take two.
  [[unroll]] for (uint i = 0u; i < kWidthB; i += 2u) {
    if (kBType == kType) continue;
    vec2 pair = operands_of(vec2(v[i], v[i + 1u]));
    v[i] = pair.x;
    v[i + 1u] = pair.y;
  }
  [[unroll]] for (uint i = 0u; i < kWidthB; ++i)
    if (!inside) v[i] = 0.0;
}

// Loads and converts the run of kWidthA elements of A at element offset `at` from `base`. Where `inside` is false it
// yields zeros, and the element at `base` is loaded instead, which is always in bounds.
void fetch_a(uvec2 base, uint at, uint k, bool inside, out float v[MAX_RUN]) {
  convert_a(load_raw(base, inside ? run_at(kAType, at) : 0u, run_bytes(kAType, kWidthA)), k, inside, v);
}
void fetch_b(uvec2 base, uint at, uint k, uint n, bool inside, out float v[MAX_RUN]) {
  convert_b(load_raw(base, inside ? run_at(kBType, at) : 0u, run_bytes(kBType, kWidthB)), k, n, inside, v);
}
