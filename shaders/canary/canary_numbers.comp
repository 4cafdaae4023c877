//! variant f16 -DF16
//! variant bf16 -DBF16
//! variant nan -DNANS
//! variant dot -DDOT
// Canary for what products and conversions rest on beside the matrix unit: f32 to f16 and to bf16, a NaN through relu,
// dot products of four bytes. The functions are those of the kernels, with 0 for SECTILE_SPEC_NUMBERS; bf16 is converted
// as by matmul_coopmat2, the only kernel that lets the device do it.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef BF16
#extension GL_EXT_bfloat16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#endif
#ifdef DOT
#extension GL_EXT_integer_dot_product : require
#endif
#ifdef F16
#define PAIR pack_halves
#else
#define PAIR(a, b) pack32(bfloat16BitsToUintEXT(bf16vec2(a, b)))    // what the matrix's conversion is taken to do too
#endif
#include "lib/numbers.glsl"
#include "canary/canary_numbers.abi.h"

layout(local_size_x_id = SECTILE_SPEC_WORKGROUP, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = SECTILE_SPEC_WORKGROUP) const uint kWorkgroup = 64u;
layout(push_constant, std430) uniform Push { CanaryNumbersPush push; };

void main() {
  uint i = gl_GlobalInvocationID.x;
#ifdef DOT
  if (i >= CANARY_NUMBERS_DOTS) return;
  uint x = canary_bytes(i, 0u), y = canary_bytes(i, 1u);
  uvec2 found = uvec2(dotPacked4x8EXT(int(x), int(y)), 0u);
  found.y = uint(int(i) + dotPacked4x8EXT(int(y), int(x)));
#else
  if (i >= CANARY_NUMBERS_FLOATS) return;
  float v = uintBitsToFloat(canary_float(i)), negative = uintBitsToFloat(canary_float(i) ^ 0x80000000u);
#if defined(NANS)
  uvec2 found = floatBitsToUint(vec2(relu(v), relu(negative)));
#else
  // Beside a 1, whose bits show whether a half changes the other one.
  uvec2 found = uvec2(PAIR(v, 1.0), PAIR(1.0, negative));
#endif
#endif
  Ref4(push.words).x[CANARY_NUMBERS_WORDS * i] = found.x ^ push.seed;
  Ref4(push.words).x[CANARY_NUMBERS_WORDS * i + 1u] = found.y ^ push.seed;
}
