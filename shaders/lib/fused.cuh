// What the permute_fused kernels share: words, memory accesses, and the computation on elements.
// Include after lib/cuda.cuh. A kernel that has words of its own defines OWN_WORDS, their list. Every CUDA device has
// 1-byte and 2-byte accesses: the "word" and "narrow" variants are the same code.
#ifndef ELEMENT_BYTES   // memory.cuh has the type
#ifdef WIDE
using offset_t = long long;
#else
using offset_t = int;
#endif
#endif
#include "lib/numbers.cuh"
#include "lib/activation.cuh"
#include "permute/permute_fused.abi.h"

constexpr uint kType = sectile_constant(PERMUTE_FUSED_SPEC_TYPE, SECTILE_TYPE_F32);
constexpr uint kOut = sectile_constant(PERMUTE_FUSED_SPEC_OUT, SECTILE_TYPE_F32);
constexpr uint kStage = sectile_constant(PERMUTE_FUSED_SPEC_STAGE, 0u);
constexpr uint kLoad = sectile_constant(PERMUTE_FUSED_SPEC_LOAD, 1u);
constexpr uint kStore = sectile_constant(PERMUTE_FUSED_SPEC_STORE, 1u);
constexpr uint kAddLoad = sectile_constant(PERMUTE_FUSED_SPEC_ADD, 1u);

constexpr uint kHasAlpha = PERMUTE_FUSED_HAS_ALPHA ? 1u : 0u;
constexpr uint kHasScale = PERMUTE_FUSED_HAS_SCALE ? 1u : 0u;
constexpr uint kHasBias = PERMUTE_FUSED_HAS_BIAS ? 1u : 0u;
constexpr uint kHasAdd = PERMUTE_FUSED_HAS_ADD ? 1u : 0u;
constexpr uint kActivation = PERMUTE_FUSED_ACTIVATION_OF(kStage);

#define FIRST_WORDS PERMUTE_FUSED_FIRST_WORDS
#define LAST_WORDS PERMUTE_FUSED_LAST_WORDS
#define MAX_WORDS PERMUTE_FUSED_MAX_WORDS
#include "permute/permute.cuh"

__device__ __forceinline__ float activation_word(const PermutePush& push, const uint i) {
  return i < SECTILE_ACTIVATION_PARAMETERS(kActivation) ? activation_parameter(push, i) : 0.0f;
}
__device__ __forceinline__ uint bias_step(const PermutePush& push, const uint a) {
  if (kHasBias == 0u) return 0u;
  return PERMUTE_FUSED_HAS_BIAS_STEPS ? own_bias_step(push, a) : scale_step(push, a);
}

__device__ __forceinline__ float vector_element(uint64 address, uint at) {
  return __uint_as_float(__ldg(global_pointer<const uint>(address, uint64(at) * 4u)));
}

// ---- accesses: `width` elements, the first at element `at`

__device__ __forceinline__ uvec4 load_elements(const uint type, uint64 base, offset_t at, const uint width) {
  const uint bytes = bytes_of_type(type);
  return load_raw(base + uint64(at) * bytes, 0u, width * bytes);
}
__device__ __forceinline__ void store_elements(const PermutePush& push, offset_t at, const uint width, const uvec4& v) {
  const uint bytes = bytes_of_type(kOut);
  store_raw(address_of(push.dst) + uint64(at) * bytes, 0u, width * bytes, v);
}

// ---- computation

// Elements are held as the bits of a float, or of an int where source and result are integers and only add applies.

constexpr uint kFromInteger =
    kType == SECTILE_TYPE_I8 || kType == SECTILE_TYPE_U8 || kType == SECTILE_TYPE_I32 ? 1u : 0u;
constexpr uint kToInteger = kOut == SECTILE_TYPE_I8 || kOut == SECTILE_TYPE_U8 || kOut == SECTILE_TYPE_I32 ? 1u : 0u;
constexpr uint kInteger = (kHasAlpha | kHasScale | kHasBias) == 0u && kActivation <= SECTILE_ACTIVATION_RELU
                              ? kFromInteger & kToInteger
                              : 0u;
// A conversion alone rounds an i32 to bf16 once. A computation is in f32, to which it rounds an i32 first.
constexpr uint kConvertedAlone = (kHasAlpha | kHasScale | kHasBias | kHasAdd | kActivation) == 0u ? 1u : 0u;
constexpr uint kOddlyRounded = kOut == SECTILE_TYPE_BF16 ? kConvertedAlone : 0u;

// Unpacks a raw run to v[first] and following.
__device__ __forceinline__ void unpack_elements(const uint type, const uint width, const uvec4& raw, const uint first,
                                                uint (&v)[MAX_RUN]) {
  float f[MAX_RUN];
  unpack_run(type, width, raw, f);
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i) {
    if (i >= width) continue;
    const int part = byte_of(raw[(i / 4u) % 4u], i % 4u);
    if (type == SECTILE_TYPE_I32 && kOddlyRounded != 0u) f[i] = float_for_bf16(int(raw[i % 4u]));
    if (kInteger == 0u) v[(first + i) % MAX_RUN] = __float_as_uint(f[i]);
    else if (type == SECTILE_TYPE_I32) v[(first + i) % MAX_RUN] = raw[i % 4u];
    else v[(first + i) % MAX_RUN] = type == SECTILE_TYPE_U8 ? uint(part) & 0xffu : uint(part);
  }
}

// `factor`: alpha times scale.
__device__ __forceinline__ uint computed(const PermutePush& push, uint x, float factor, float bias, uint add) {
  const bool last = (kStage & PERMUTE_FUSED_ACTIVATION_LAST) != 0u;
  if (kInteger != 0u) {
    if (kActivation != 0u && !last && int(x) < 0) x = 0u;   // relu
    const int sum = saturated_sum(int(x), int(add));
    return kActivation != 0u && last && sum < 0 ? 0u : uint(sum);
  }
  float v = __uint_as_float(x);
  if ((kStage & PERMUTE_FUSED_ZERO) != 0u) v = 0.0f;
  else if ((kHasAlpha | kHasScale) != 0u) v *= factor;
  if (kHasBias != 0u) v += bias;
  if (!last) v = activation_of(kActivation, v, activation_word(push, 0u), activation_word(push, 1u));
  if (kHasAdd != 0u) v += __uint_as_float(add);
  if (last) v = activation_of(kActivation, v, activation_word(push, 0u), activation_word(push, 1u));
  return __float_as_uint(v);
}

// Rounds to nearest, ties to even; saturates; a NaN becomes 0.
__device__ __forceinline__ int to_integer(uint bits) {
  const int low = kOut == SECTILE_TYPE_I8 ? -128 : 0, high = kOut == SECTILE_TYPE_I8 ? 127 : 255;
  int v = int(bits);
  if (kInteger == 0u) v = (bits & 0x7fffffffu) > 0x7f800000u ? 0 : nearest_int(__uint_as_float(bits));
  if (kOut == SECTILE_TYPE_I32) return v;
  return v < low ? low : v > high ? high : v;
}

// Packs v[first] and following into a raw run.
__device__ __forceinline__ uvec4 pack_elements(const uint width, const uint first, const uint (&v)[MAX_RUN]) {
  uvec4 raw = {};
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i) {
    if (i >= width) continue;
    const uint bits = v[(first + i) % MAX_RUN];
    if (kOut == SECTILE_TYPE_F32) {
      raw[i % 4u] = bits;
    } else if (kOut == SECTILE_TYPE_I32) {
      raw[i % 4u] = uint(to_integer(bits));
    } else if (kToInteger != 0u) {
      raw[i / 4u] |= (uint(to_integer(bits)) & 0xffu) << (8u * (i % 4u));
    } else if (i % 2u == 0u) {
      const uint other = i + 1u < width ? v[(first + i + 1u) % MAX_RUN] : 0u;
      raw[i / 2u] = pack_pair(kOut, __uint_as_float(bits), __uint_as_float(other));
    }
  }
  return raw;
}
