// What kernels share whose results have a GEMM's epilogue: the constants and words of gemm/gemm.abi.h, numbers,
// addresses, runs. gemm/gemm.glsl has the rest of a GEMM.
// NARROW and NO_BYTES (from the variant): see numbers.glsl. INTEGER: int8 products with int accumulators.
// A kernel that is no GEMM defines OWN_WORDS, its list; one with further operands EXTRA_ADDRESS_WORDS; one of which an
// operand is gathered GATHERED_WORDS, kFlattenedBatch and BATCH_OF_COLUMN(n); one that has more words MAX_WORDS
// GEMM_MOST_WORDS.
#include "gemm/gemm.abi.h"
#include "lib/numbers.glsl"
#include "lib/words.abi.h"

#ifndef OWN_WORDS
#define OWN_WORDS GEMM_WORDS
#endif
#ifndef EXTRA_ADDRESS_WORDS
#define EXTRA_ADDRESS_WORDS GEMM_NO_WORDS
#endif
#ifndef MAX_WORDS
#define MAX_WORDS GEMM_MAX_WORDS
#endif
#if MAX_WORDS != GEMM_MAX_WORDS && MAX_WORDS != GEMM_MOST_WORDS
#error MAX_WORDS is GEMM_MAX_WORDS or GEMM_MOST_WORDS
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
#if MAX_WORDS > GEMM_MAX_WORDS
W1(17) W1(18) W1(19) W1(20) W1(21) W1(22) W1(23) W1(24) W1(25) W1(26) W1(27) W1(28) W1(29) W1(30) W1(31)
W1(32) W1(33) W1(34) W1(35)
#endif
#undef W1
uint specialized_words[MAX_WORDS - GEMM_PUSH_WORDS] = uint[MAX_WORDS - GEMM_PUSH_WORDS](
    kWord0, kWord1, kWord2, kWord3, kWord4, kWord5, kWord6, kWord7,
    kWord8, kWord9, kWord10, kWord11, kWord12, kWord13, kWord14, kWord15,
    kWord16
#if MAX_WORDS > GEMM_MAX_WORDS
    , kWord17, kWord18, kWord19, kWord20, kWord21, kWord22, kWord23, kWord24, kWord25, kWord26, kWord27,
    kWord28, kWord29, kWord30, kWord31, kWord32, kWord33, kWord34, kWord35
#endif
    );
uint word(const uint k) {
  return k < GEMM_PUSH_WORDS ? push.words[min(k, GEMM_PUSH_WORDS - 1)]
                               : specialized_words[max(k, GEMM_PUSH_WORDS) - GEMM_PUSH_WORDS];
}


// Where each list begins is where the one before it ends.
const uint stream_end = 0u;
SECTILE_READ(GEMM_ADDRESS_WORDS)
SECTILE_READ(EXTRA_ADDRESS_WORDS)
const uint operands_end = stream_end + SECTILE_SIZE(GEMM_ADDRESS_WORDS) + SECTILE_SIZE(EXTRA_ADDRESS_WORDS);
SECTILE_READ(GEMM_ACTIVATION_WORDS)
const uint activation_end = operands_end + SECTILE_SIZE(GEMM_ACTIVATION_WORDS);
SECTILE_READ(OWN_WORDS)
#ifdef GATHERED_WORDS
const uint own_end = activation_end + SECTILE_SIZE(OWN_WORDS);
SECTILE_READ(GATHERED_WORDS)
#endif

const uint kHasC = kEpilogue & GEMM_EPILOGUE_C;
const uint kHasCIsD = (kEpilogue & GEMM_EPILOGUE_C_IS_D) != 0u ? 1u : 0u;
const uint kHasBias = (kEpilogue & (GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN)) != 0u ? 1u : 0u;
const uint kHasScale = (kEpilogue & (GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN)) != 0u ? 1u : 0u;
const uint kHasResidual = (kEpilogue & GEMM_EPILOGUE_RESIDUAL) != 0u ? 1u : 0u;
const uint kHasAScale = (kEpilogue & GEMM_EPILOGUE_A_SCALE) != 0u ? 1u : 0u;
const uint kBatched = (kEpilogue & GEMM_EPILOGUE_BATCHED) != 0u ? 1u : 0u;
const uint kSplit = (kEpilogue & GEMM_EPILOGUE_SPLIT) != 0u ? 1u : 0u;
const uint kPushedEpilogue = (kEpilogue & GEMM_EPILOGUE_PUSHED) != 0u ? 1u : 0u;
const uint kActivation = GEMM_ACTIVATION;
const uint kActivationLast = (kEpilogue & GEMM_EPILOGUE_ACTIVATION_LAST) != 0u ? 1u : 0u;
const uint kActivationWords = GEMM_ACTIVATION_PARAMETERS;

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
// address + batch * stride elements.
uvec2 batch_address(uvec2 address, const uint type, uint batch, uvec2 stride) {
  if (kBatched == 0u) return address;
  uvec2 elements = product64(batch, stride.x);
  elements.y += batch * stride.y;
  return add64(address, bytes_of(type, elements));
}
// n / d for n below 2^31: FastDivision in the planner has the multiplier and the shift of d.
uint fast_quotient(uint n, uint multiplier, uint shift) {
  uint high, low;
  umulExtended(n, multiplier, high, low);
  return (high + n) >> shift;
}

// ---- results

struct Tile {
  uint m, n;              // first row and column of the result
  uint k, k_end;          // range of K that this workgroup sums
  uint batch, split;
};

#ifdef GATHERED_WORDS
// The batch that has column n, where all batches' columns are one matrix's.
uint batch_of_column(uint n) { return BATCH_OF_COLUMN(n); }
#else
const uint kFlattenedBatch = 0u;
uint batch_of_column(uint n) { return 0u; }
#endif

uint group_id() {
  return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
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
