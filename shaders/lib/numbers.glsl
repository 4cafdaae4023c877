// What every kernel that computes shares: element types as numbers, and loads and stores of runs (consecutive elements
// in one access).
// NARROW (from the variant): 1-byte and 2-byte loads and stores are available. NO_BYTES (with NARROW): only 2-byte ones
// are, and a byte is loaded as half of a 2-byte load, so that the module needs no 8-bit storage.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#ifdef NARROW
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#ifndef NO_BYTES
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#endif
#endif
#include "lib/abi.h"

uint bytes_of_type(const uint type) {
  return type == SECTILE_TYPE_F32 || type == SECTILE_TYPE_I32    ? 4u
         : type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16 ? 2u
                                                                 : 1u;
}

// ---- numbers: what each conversion yields is in docs/reference/numbers.md

layout(constant_id = SECTILE_SPEC_NUMBERS) const uint kNumbers = 0u;

// f32 to f16 as bits: to nearest, ties to even; beyond the ends to infinity; a NaN stays a NaN; subnormals are kept.
uint half_by_integers(float v) {
  uint bits = floatBitsToUint(v), size = bits & 0x7fffffffu;
  // From 2^-14 on: another bias of the exponent, and 13 bits less. A carry is the next exponent, at last infinity's.
  uint normal = min((size - (112u << 23) + 0xfffu + ((size >> 13) & 1u)) >> 13, 0x7c00u);
  // Below, in units of 2^-24, the least f16. At 2^-25 the shift is 24, and at 25 nothing is left.
  uint shift = min(126u - (size >> 23), 25u), fraction = (size & 0x7fffffu) | 0x800000u;
  uint subnormal = (fraction + (1u << (shift - 1u)) - 1u + ((fraction >> shift) & 1u)) >> shift;
  // No early return: inlined, that would be many blocks.
  uint finite = size < 0x38800000u ? subnormal : normal;
  return ((bits >> 16) & 0x8000u) | (size > 0x7f800000u ? 0x7e00u : finite);
}
// F16_BY_DEVICE: the planner has refused devices whose conversion is not to be trusted, and the kernel is half as long.
uint half_bits(float v) {
#ifndef F16_BY_DEVICE
  if ((kNumbers & SECTILE_NUMBERS_F16) != 0u) return half_by_integers(v);
#endif
  return packHalf2x16(vec2(v, 0.0));
}
uint pack_halves(float a, float b) {
#ifndef F16_BY_DEVICE
  if ((kNumbers & SECTILE_NUMBERS_F16) != 0u) return half_by_integers(a) | (half_by_integers(b) << 16);
#endif
  return packHalf2x16(vec2(a, b));
}

// max(v, 0), but a NaN stays a NaN.
float relu(float v) {
  if ((kNumbers & SECTILE_NUMBERS_NAN) != 0u) {
    // What is below 0 down to -inf; the negative NaNs are above.
    return floatBitsToUint(v) - 0x80000001u < 0x7f800000u ? 0.0 : v;
  }
  return v < 0.0 ? 0.0 : v;
}

// a + b, or the end of the type that it lies beyond.
int saturated_sum(int a, int b) {
  int sum = a + b;
  // The addends have one sign and the sum has the other: it overflowed.
  if (((a ^ sum) & (b ^ sum)) < 0) return a < 0 ? int(0x80000000u) : 0x7fffffff;
  return sum;
}

// An integer as an f32 that rounds to the same bf16 as the integer itself. What does not fit the 24 bits of an f32
// leaves a mark in the lowest one, far below the bits of a bf16 (rounding to odd: Boldo and Melquiond 2008).
float float_for_bf16(int v) {
  uint size = uint(v < 0 ? -v : v);
  if (size >= 1u << 24) size = (size & ~0xffu) | ((size & 0xffu) != 0u ? 0x100u : 0u);
  return v < 0 ? -float(size) : float(size);
}

float bf16_to_float(uint bits) { return uintBitsToFloat(bits << 16); }
// A device's own conversion may round to zero (VK_KHR_shader_bfloat16). NVIDIA's does, and RoundingModeRTE or
// FPRoundingMode does not change it (580.159.04).
// The bits of a float, rounded to those of a bf16 (nearest, ties to even) in the upper half; the lower one is anything.
uint rounded_to_bf16(float v) {            // a NaN stays a NaN
  uint bits = floatBitsToUint(v);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : bits + 0x7fffu + ((bits >> 16) & 1u);
}
// The same by arithmetic, for sums: infinities and NaNs need no test, and half of the instructions are floating point's.
// In units of v's last place, v + 0x7f7f + (0x80 + 1 if the lowest bit that stays is set): each product is exact, so a
// device without fma rounds alike. A float below 2^-126 is cut off, not rounded; arithmetic may take it for 0 anyway.
// On a device without fma that flushes subnormals so is one below 2^-118: half of its last place is subnormal.
uint rounded_sum_to_bf16(float v) {
  uint bits = floatBitsToUint(v);
  float power = uintBitsToFloat(bits & 0xff800000u), odd = uintBitsToFloat(bits & 0xff810000u);
  return floatBitsToUint(fma(odd, 1.0 / 65536.0, fma(power, 32639.0 / 8388608.0, v)));
}
uint upper_halves(uint low, uint high) { return (low >> 16) | (high & 0xffff0000u); }
uint float_to_bf16(float v) { return rounded_to_bf16(v) >> 16; }
uint pack_pair(const uint type, float a, float b) {
  if (type == SECTILE_TYPE_F16) return pack_halves(a, b);
  return upper_halves(rounded_to_bf16(a), rounded_to_bf16(b));
}
uint pack_sums(const uint type, float a, float b) {
  if (type == SECTILE_TYPE_F16) return pack_halves(a, b);
  return upper_halves(rounded_sum_to_bf16(a), rounded_sum_to_bf16(b));
}
vec2 unpack_pair(const uint type, uint bits) {
  if (type == SECTILE_TYPE_F16) return unpackHalf2x16(bits);
  return vec2(uintBitsToFloat(bits << 16), uintBitsToFloat(bits & 0xffff0000u));
}
// ---- memory: arrays are members of the block and are indexed there (indexing the reference would emit Int64)

#ifndef SECTILE_REFS   // memory.glsl has them
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Ref16 { uvec4 x[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Ref8 { uvec2 x[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Ref4 { uint x[]; };
#endif
#ifdef NARROW
#ifndef SECTILE_REF2
layout(buffer_reference, std430, buffer_reference_align = 2) buffer Ref2 { uint16_t x[]; };
#endif
#ifdef NO_BYTES
// Loads the aligned two bytes around it. The other byte may lie outside the operand: before an operand that begins at
// an odd address, or after one whose last byte has an even address. Precondition: that byte is readable. It is where
// the allocation begins at an even address and has an even size, as Vulkan's memory does; both bytes lie in one page in
// any case. Its value is not used, and the plan's ranges do not contain it.
uint load_byte(uvec2 base, uint at) {
  at += base.x & 1u;   // 32-bit sum: offsets stay below 2^31
  return (uint(Ref2(uvec2(base.x & ~1u, base.y)).x[at >> 1]) >> (8u * (at & 1u))) & 0xffu;
}
#else
#ifndef SECTILE_REF1
layout(buffer_reference, std430, buffer_reference_align = 1) buffer Ref1 { uint8_t x[]; };
#endif
#define load_byte(base, at) uint(Ref1(base).x[at])
#endif
#endif

// Loads `bytes` bytes (1, 2, 4, 8 or 16, constant after specialization) from byte offset `at`, a multiple of `bytes`.
// Shorter values are returned in the low bits of word 0.
uvec4 load_raw(uvec2 base, uint at, const uint bytes) {
  if (bytes == 16u) return Ref16(base).x[at >> 4];
  if (bytes == 8u) return uvec4(Ref8(base).x[at >> 3], 0u, 0u);
#ifdef NARROW
  if (bytes == 2u) return uvec4(uint(Ref2(base).x[at >> 1]), 0u, 0u, 0u);
  if (bytes == 1u) return uvec4(load_byte(base, at), 0u, 0u, 0u);
#endif
  return uvec4(Ref4(base).x[at >> 2], 0u, 0u, 0u);
}
void store_raw(uvec2 base, uint at, const uint bytes, uvec4 v) {
  if (bytes == 16u) Ref16(base).x[at >> 4] = v;
  else if (bytes == 8u) Ref8(base).x[at >> 3] = v.xy;
#ifdef NARROW
  else if (bytes == 2u) Ref2(base).x[at >> 1] = uint16_t(v.x);
#ifndef NO_BYTES
  else if (bytes == 1u) Ref1(base).x[at] = uint8_t(v.x);
#endif
#endif
  else Ref4(base).x[at >> 2] = v.x;
}

#define MAX_RUN 8     // maximum number of elements in one access

// The low nibble less 8, by f32's bits: 2^23 + nibble is exact, and a conversion has a quarter of the rate.
float nibble(uint bits) { return uintBitsToFloat(0x4b000000u | (bits & 15u)) - 8388616.0; }

// Unpacks the elements of a raw run to floats. A Q4 nibble q yields q - 8; the caller multiplies by the block's scale.
void unpack_run(const uint type, const uint width, uvec4 raw, out float v[MAX_RUN]) {
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) v[i] = 0.0;
  if (type == SECTILE_TYPE_F32) {
    [[unroll]] for (uint i = 0u; i < min(width, 4u); ++i) v[i] = uintBitsToFloat(raw[i]);
  } else if (type == SECTILE_TYPE_F16 || type == SECTILE_TYPE_BF16) {
    if (width == 1u) v[0] = unpack_pair(type, raw.x).x;
    [[unroll]] for (uint i = 0u; i < width / 2u; ++i) {
      vec2 pair = unpack_pair(type, raw[i]);
      v[2u * i] = pair.x;
      v[2u * i + 1u] = pair.y;
    }
  } else if (type == SECTILE_TYPE_Q4) {
    [[unroll]] for (uint i = 0u; i < width; ++i) v[i] = nibble(raw.x >> (4u * i));
  } else if (type == SECTILE_TYPE_I32) {
    [[unroll]] for (uint i = 0u; i < min(width, 4u); ++i) v[i] = float(int(raw[i]));
  } else if (type == SECTILE_TYPE_U8) {
    [[unroll]] for (uint i = 0u; i < width; ++i) v[i] = float((raw[i / 4u] >> (8u * (i % 4u))) & 0xffu);
  } else {
    [[unroll]] for (uint i = 0u; i < width; ++i) v[i] = float(bitfieldExtract(int(raw[i / 4u]), int(8u * (i % 4u)), 8));
  }
}
