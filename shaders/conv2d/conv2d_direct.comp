//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8.narrow -DINTEGER -DNARROW
// Each invocation computes one element of the result; operands are loaded from global memory one element at a time. The
// fallback that takes every problem, and what faster kernels are compared with.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/prologue.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_direct.abi.h"
#include "gemm/epilogue.glsl"
#include "conv2d/conv2d.glsl"
#include "conv2d/words.glsl"

layout(constant_id = CONV2D_DIRECT_SPEC_OUT_BLOCK) const uint kOutBlock = 0u;
layout(constant_id = CONV2D_DIRECT_SPEC_WEIGHTS) const uint kWeights = CONV2D_WEIGHTS_KCRS;
layout(constant_id = CONV2D_DIRECT_SPEC_OFFSET64) const uint kOffset64 = 0u;

// ---- offsets in elements: two words, of which the upper one is used where FAR is set

// The upper word is selected, not branched around: SwiftShader compiles such branches, once they are inlined in a loop,
// for minutes.
uvec2 offset_of(uvec2 a) { return uvec2(a.x, kOffset64 != 0u ? a.y : 0u); }
uvec2 sum(uvec2 a, uvec2 b) { return offset_of(add64(a, b)); }
uvec2 times(uvec2 a, uint b) { return offset_of(product64(a.x, b) + uvec2(0u, a.y * b)); }
uvec2 times(uint a, uint b) { return times(uvec2(a, 0u), b); }

// Divides n by d, which is below 2^31, and returns the remainder.
uint divide(inout uvec2 n, uint d) {
  uint quotient = kOffset64 != 0u ? n.y / d : n.x / d;
  uint rest = (kOffset64 != 0u ? n.y : n.x) - quotient * d;
  if (kOffset64 == 0u) {
    n.x = quotient;
    return rest;
  }
  // Long division, one bit of the lower word at a time.
  uint low = 0u;
  [[dont_unroll]] for (uint bit = 32u; bit != 0u; --bit) {
    rest = rest * 2u + ((n.x >> (bit - 1u)) & 1u);
    uint more = rest >= d ? 1u : 0u;
    low = low * 2u + more;
    rest -= more * d;
  }
  n = uvec2(low, quotient);
  return rest;
}

// Offset of channel c of pixel (y, x) in an image of height x width pixels, `pitch` elements apart. `block`: channels of
// a block, 0 where all are one.
uvec2 element_of(const uint block, uint c, uint y, uint x, uint height, uint width, uint pitch) {
  uvec2 at = times(sum(times(y, width), uvec2(x, 0u)), pitch);
  if (block == 0u) return sum(at, uvec2(c, 0u));
  return sum(sum(at, times(times(times(height, width), pitch), c / block)), uvec2(c % block, 0u));
}
// Offset of an image.
uvec2 image_of(uint image, uvec2 pitch) {
  uvec2 at = times(image, pitch.x);
  if (kOffset64 != 0u) at.y += image * pitch.y;
  return at;
}

// One element. Base addresses are uniform in the workgroup, unless FAR is set: see matmul_direct.
uvec4 load_element(uvec2 base, const uint type, uvec2 at) {
  if (kOffset64 != 0u) return load_raw(add64(base, bytes_of(type, at)), 0u, bytes_of_type(type));
  return load_raw(base, at.x * bytes_of_type(type), bytes_of_type(type));
}

// ---- operands

// One more axis of an offset: `size` elements of the axis, of which it is number `at`.
uvec2 axis(uvec2 outer, uint size, uint at) { return sum(times(outer, size), uvec2(at, 0u)); }

uvec2 weight_of(uint k, uint c, uint r, uint s) {
  if (kWeights == CONV2D_WEIGHTS_RSCK)
    return axis(axis(axis(uvec2(r, 0u), kS, s), group_inputs(), c), output_channels(), k);
  if (kWeights == CONV2D_WEIGHTS_KRSC) return axis(axis(axis(uvec2(k, 0u), kR, r), kS, s), group_inputs(), c);
  return axis(axis(axis(uvec2(k, 0u), group_inputs(), c), kR, r), kS, s);
}

// Element `at` of X, of channel c; 0 outside the image. Then the image's first element is loaded, which always exists.
acc_t input_element(uvec2 at, bool inside, uint c) {
  uvec4 raw = load_element(push.a, kAType, inside ? at : uvec2(0u));
#ifdef INTEGER
  return inside ? bitfieldExtract(int(raw.x), 0, 8) : 0;
#else
  float v[MAX_RUN];
  unpack_run(kAType, 1u, raw, v);
  return inside ? with_prologue(v[0], c) : 0.0;
#endif
}

acc_t weight_element(uvec2 at, uint k) {
  uvec4 raw = load_element(push.b, kBType, at);
#ifdef INTEGER
  return bitfieldExtract(int(raw.x), 0, 8);
#else
  float v[MAX_RUN];
  convert_b(raw, 0u, k, true, v);
  return v[0];
#endif
}

// ---- an element of the result

struct Output {
  uint image, k, p, q;
};

// The sum of products. Loops are tested at the bottom: lavapipe executes loads at uniform addresses once more after a
// top-tested loop.
acc_t convolved(Output o) {
  acc_t acc = acc_t(0);
  if (group_inputs() == 0u) return acc;
  uvec2 image = image_of(o.image, a_batch()), step = dilation();
  uint y0 = o.p * filter_stride().x - padding().x, x0 = o.q * filter_stride().y - padding().y;
  uint first = o.k / group_outputs() * group_inputs(), c = 0u;
  do {
    uint r = 0u;
    do {
      uint s = 0u;
      do {
        uint y = y0 + r * step.x, x = x0 + s * step.y;
        bool inside = y < size_h() && x < size_w();     // what lies before the image wraps to large numbers
        uvec2 at = sum(image, element_of(kBlock, first + c, y, x, size_h(), size_w(), lda()));
        acc += input_element(at, inside, first + c) * weight_element(weight_of(o.k, c, r, s), o.k);
      } while (++s < kS);
    } while (++r < kR);
  } while (++c < group_inputs());
  return acc;
}

// The element's offset in Y, C or the residual.
uvec2 result_at(Output o, uint pitch, uvec2 image_pitch) {
  return sum(image_of(o.image, image_pitch), element_of(kOutBlock, o.k, o.p, o.q, size_p(), size_q(), pitch));
}
float result_value(uvec2 base, uvec2 at) {
  float v[MAX_RUN];
  unpack_run(kOutType, 1u, load_element(base, kOutType, at), v);
  return v[0];
}

// Applies the epilogue to the sum. Yields the element's bits.
uint finished_bits(Output o, uvec2 at, acc_t acc) {
  Target vectors;
  vectors.bias = bias_address();
  vectors.scale = scale_address();
  uvec2 residual_at = uvec2(0u);
  if (kHasResidual != 0u) residual_at = result_at(o, ldr(), r_batch());
#ifdef INTEGER
  if (kOutType == SECTILE_TYPE_I32) {
    int residual = 0;
    if (kHasResidual != 0u) residual = int(load_element(residual_address(), kOutType, residual_at).x);
    return uint(finished_int(vectors, acc, 0u, o.k, residual));
  }
#endif
  float c = 0.0, residual = 0.0;
  if (kHasC != 0u) c = result_value(c_address(), result_at(o, ldc(), c_batch()));
  if (kHasCIsD != 0u) c = result_value(push.d, at);
  if (kHasResidual != 0u) residual = result_value(residual_address(), residual_at);
  float v = finished(vectors, acc, 0u, o.k, c, residual);
  return kOutType == SECTILE_TYPE_F32 ? floatBitsToUint(v) : pack_pair(kOutType, v, 0.0) & 0xffffu;
}

void main() {
  const uint inner = kOutBlock == 0u ? output_channels() : kOutBlock;
  const uint blocks = kOutBlock == 0u ? 1u : (output_channels() + kOutBlock - 1u) / kOutBlock;
  uvec2 number = add64(product64(group_id(), kWorkgroup), uvec2(gl_LocalInvocationID.x, 0u));
  Output o;
  o.k = divide(number, inner);
  o.q = divide(number, size_q());
  o.p = divide(number, size_p());
  o.k += divide(number, blocks) * inner;
  o.image = number.x;
  if (o.image >= batches() || number.y != 0u) return;
  uvec2 at = result_at(o, ldd(), d_batch());
  uint bits = 0u;                     // surplus channels are zero bits
  if (o.k < output_channels()) bits = finished_bits(o, at, convolved(o));
  uvec2 base = kOffset64 != 0u ? add64(push.d, bytes_of(kOutType, at)) : push.d;
  store_raw(base, kOffset64 != 0u ? 0u : at.x * bytes_of_type(kOutType), bytes_of_type(kOutType), uvec4(bits, 0u, 0u, 0u));
}
