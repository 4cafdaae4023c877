// What the permute_fused kernels share: words, memory accesses, and the computation on elements.
// A kernel that has words of its own defines OWN_WORDS, their list. WORDS (from the variant): 1-byte and 2-byte elements
// on a device that has only 32-bit accesses.
#ifdef WIDE
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define offset_t int64_t
#else
#define offset_t int
#endif
#include "lib/numbers.glsl"
#include "lib/activation.glsl"
#include "permute/permute_fused.abi.h"

layout(constant_id = PERMUTE_FUSED_SPEC_TYPE) const uint kType = SECTILE_TYPE_F32;
layout(constant_id = PERMUTE_FUSED_SPEC_OUT) const uint kOut = SECTILE_TYPE_F32;
layout(constant_id = PERMUTE_FUSED_SPEC_STAGE) const uint kStage = 0u;
layout(constant_id = PERMUTE_FUSED_SPEC_LOAD) const uint kLoad = 1u;
layout(constant_id = PERMUTE_FUSED_SPEC_STORE) const uint kStore = 1u;
layout(constant_id = PERMUTE_FUSED_SPEC_ADD) const uint kAddLoad = 1u;

const uint kHasAlpha = PERMUTE_FUSED_HAS_ALPHA ? 1u : 0u;
const uint kHasScale = PERMUTE_FUSED_HAS_SCALE ? 1u : 0u;
const uint kHasBias = PERMUTE_FUSED_HAS_BIAS ? 1u : 0u;
const uint kHasAdd = PERMUTE_FUSED_HAS_ADD ? 1u : 0u;
const uint kActivation = PERMUTE_FUSED_ACTIVATION_OF(kStage);

#define FIRST_WORDS PERMUTE_FUSED_FIRST_WORDS
#define LAST_WORDS PERMUTE_FUSED_LAST_WORDS
#define MAX_WORDS PERMUTE_FUSED_MAX_WORDS
#include "permute/permute.glsl"

float activation_word(const uint i) {
  return i < SECTILE_ACTIVATION_PARAMETERS(kActivation) ? activation_parameter(i) : 0.0;
}
uint bias_step(const uint a) {
  if (kHasBias == 0u) return 0u;
  return PERMUTE_FUSED_HAS_BIAS_STEPS ? own_bias_step(a) : scale_step(a);
}

float vector_element(uvec2 address, uint at) { return uintBitsToFloat(Ref4(address).x[at]); }

// ---- accesses: `width` elements, the first at element `at`

#ifdef WORDS
// Address of a byte. Its aligned word may lie partly outside the operand.
uvec2 word_of(uvec2 base, uint byte) {
  uint carry;
  uint low = uaddCarry(base.x, byte, carry);
  return uvec2(low, base.y + carry);
}
uvec4 load_part(uvec2 base, uint byte, const uint bytes) {
  uvec2 at = word_of(base, byte);
  return uvec4((Ref4(uvec2(at.x & ~3u, at.y)).x[0] >> (8u * (at.x & 3u))) & (0xffffffffu >> (32u - 8u * bytes)), 0u, 0u,
               0u);
}
// Each bit is written by one invocation only, so neighbours may do this in any order.
void store_part(uvec2 base, uint byte, const uint bytes, uint v) {
  uvec2 at = word_of(base, byte);
  uint shift = 8u * (at.x & 3u), mask = (0xffffffffu >> (32u - 8u * bytes)) << shift;
  at.x &= ~3u;
  atomicAnd(Ref4(at).x[0], ~mask);
  atomicOr(Ref4(at).x[0], (v << shift) & mask);
}
#endif

#ifdef WIDE
#define BASE(base, at, bytes) unpackUint2x32(packUint2x32(base) + uint64_t(at) * (bytes))
#define BYTE(at, bytes) 0u
#else
#define BASE(base, at, bytes) (base)
#define BYTE(at, bytes) (uint(at) * (bytes))
#endif

uvec4 load_elements(const uint type, uvec2 base, offset_t at, const uint width) {
  const uint bytes = bytes_of_type(type);
#ifdef WORDS
  if (width * bytes < 4u) return load_part(BASE(base, at, bytes), BYTE(at, bytes), width * bytes);
#endif
  return load_raw(BASE(base, at, bytes), BYTE(at, bytes), width * bytes);
}

void store_elements(offset_t at, const uint width, uvec4 v) {
  const uint bytes = bytes_of_type(kOut);
#ifdef WORDS
  if (width * bytes < 4u) {
    store_part(BASE(push.dst, at, bytes), BYTE(at, bytes), width * bytes, v.x);
    return;
  }
#endif
  store_raw(BASE(push.dst, at, bytes), BYTE(at, bytes), width * bytes, v);
}

// ---- computation

// Elements are held as the bits of a float, or of an int where source and result are integers and only add applies.

// Numbers, not bools: glslang compiles || between specialization constants to branches.
const uint kFromInteger = kType == SECTILE_TYPE_I8    ? 1u
                          : kType == SECTILE_TYPE_U8  ? 1u
                          : kType == SECTILE_TYPE_I32 ? 1u
                                                      : 0u;
const uint kToInteger = kOut == SECTILE_TYPE_I8    ? 1u
                        : kOut == SECTILE_TYPE_U8  ? 1u
                        : kOut == SECTILE_TYPE_I32 ? 1u
                                                   : 0u;
const uint kInteger = (kHasAlpha | kHasScale | kHasBias) == 0u && kActivation <= SECTILE_ACTIVATION_RELU
                         ? kFromInteger & kToInteger
                         : 0u;
// A conversion alone rounds an i32 to bf16 once. A computation is in f32, to which it rounds an i32 first.
const uint kConvertedAlone = (kHasAlpha | kHasScale | kHasBias | kHasAdd | kActivation) == 0u ? 1u : 0u;
const uint kOddlyRounded = kOut == SECTILE_TYPE_BF16 ? kConvertedAlone : 0u;

// Unpacks a raw run to v[first] and following.
void unpack_elements(const uint type, const uint width, uvec4 raw, const uint first, inout uint v[MAX_RUN]) {
  if (kInteger != 0u) {
    [[unroll]] for (uint i = 0u; i < width; ++i) {
      int part = int(raw[(i / 4u) % 4u]), shift = int(8u * (i % 4u));
      v[(first + i) % MAX_RUN] = type == SECTILE_TYPE_I32 ? raw[i % 4u]
                                 : type == SECTILE_TYPE_U8 ? bitfieldExtract(uint(part), shift, 8)
                                                           : uint(bitfieldExtract(part, shift, 8));
    }
    return;
  }
  float f[MAX_RUN];
  unpack_run(type, width, raw, f);
  [[unroll]] for (uint i = 0u; i < width; ++i) {
    if (type == SECTILE_TYPE_I32 && kOddlyRounded != 0u) f[i] = float_for_bf16(int(raw[i % 4u]));
    v[(first + i) % MAX_RUN] = floatBitsToUint(f[i]);
  }
}

// `factor`: alpha times scale.
uint computed(uint x, float factor, float bias, uint add) {
  const bool last = (kStage & PERMUTE_FUSED_ACTIVATION_LAST) != 0u;
  if (kInteger != 0u) {
    int a = int(x);
    if (kActivation != 0u && !last) a = max(a, 0);   // relu
    int sum = saturated_sum(a, int(add));
    return uint(kActivation != 0u && last ? max(sum, 0) : sum);
  }
  float v = uintBitsToFloat(x);
  if ((kStage & PERMUTE_FUSED_ZERO) != 0u) v = 0.0;
  else if ((kHasAlpha | kHasScale) != 0u) v *= factor;
  if (kHasBias != 0u) v += bias;
  if (kHasAdd != 0u && last) v += uintBitsToFloat(add);
  v = activation_of(kActivation, v, activation_word(0u), activation_word(1u));
  if (kHasAdd != 0u && !last) v += uintBitsToFloat(add);
  return floatBitsToUint(v);
}

// Rounds to nearest, ties to even; saturates; a NaN becomes 0.
int to_integer(uint bits) {
  const int low = kOut == SECTILE_TYPE_I8 ? -128 : 0, high = kOut == SECTILE_TYPE_I8 ? 127 : 255;
  if (kInteger != 0u) return kOut == SECTILE_TYPE_I32 ? int(bits) : clamp(int(bits), low, high);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0;
  float v = roundEven(uintBitsToFloat(bits));
  if (kOut != SECTILE_TYPE_I32) return int(clamp(v, float(low), float(high)));
  if (v >= 2147483648.0) return 0x7fffffff;
  return v <= -2147483648.0 ? int(0x80000000u) : int(v);
}

// Packs v[first] and following into a raw run.
uvec4 pack_elements(const uint width, const uint first, uint v[MAX_RUN]) {
  uvec4 raw = uvec4(0u);
  [[unroll]] for (uint i = 0u; i < width; ++i) {
    uint bits = v[(first + i) % MAX_RUN];
    if (kOut == SECTILE_TYPE_F32) {
      raw[i % 4u] = bits;
    } else if (kOut == SECTILE_TYPE_I32) {
      raw[i % 4u] = uint(to_integer(bits));
    } else if (kToInteger != 0u) {
      raw[(i / 4u) % 4u] |= (uint(to_integer(bits)) & 0xffu) << (8u * (i % 4u));
    } else if (i % 2u == 0u) {
      // Two elements at once, because the pack instruction takes two.
      uint other = i + 1u < width ? v[(first + i + 1u) % MAX_RUN] : 0u;
      raw[(i / 2u) % 4u] = pack_pair(kOut, uintBitsToFloat(bits), uintBitsToFloat(other));
    }
  }
  return raw;
}
