//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8.narrow -DINTEGER -DNARROW
// Each invocation computes one element of the result; operands are loaded from global memory one element at a time. The
// last resort that takes every problem, and what faster kernels are compared with.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/conv2d_direct.abi.h"
#include "conv2d/direct.glsl"

layout(constant_id = CONV2D_DIRECT_SPEC_OUT_BLOCK) const uint kOutBlock = 0u;
layout(constant_id = CONV2D_DIRECT_SPEC_WEIGHTS) const uint kWeights = CONV2D_WEIGHTS_KCRS;
layout(constant_id = CONV2D_DIRECT_SPEC_OFFSET64) const uint kOffset64 = 0u;

// ---- offsets in elements: two words (no kernel needs 64-bit integers); the upper one is used where OFFSET64 is set

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

// Offset of channel c of pixel (y, x) in an image of height x width pixels, `pitch` elements apart. `block`: channels
// of a block, 0 where all are one.
uvec2 element_of(const uint block, uint c, uint y, uint x, uint height, uint width, uint pitch) {
  uvec2 at = times(sum(times(y, width), uvec2(x, 0u)), pitch);
  if (block == 0u) return sum(at, uvec2(c, 0u));
  return sum(sum(at, times(times(times(height, width), pitch), c / block)), uvec2(c % block, 0u));
}
// One element. Base addresses are uniform in the workgroup, unless OFFSET64 is set: see matmul_direct.
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

// Element `at` of X, of channel c.
acc_t input_element(uvec2 at, uint c) {
  uvec4 raw = load_element(push.a, kAType, at);
#ifdef INTEGER
  return bitfieldExtract(int(raw.x), 0, 8);
#else
  float v[MAX_RUN];
  unpack_run(kAType, 1u, raw, v);
  return with_prologue(v[0], c);
#endif
}

acc_t weight_element(uvec2 at, uint k) {
  uvec4 raw = load_element(push.b, kBType, at);
#ifdef INTEGER
  return bitfieldExtract(int(raw.x), 0, 8);
#else
  float v[MAX_RUN];
  convert_w(raw, k, v);
  return v[0];
#endif
}

// ---- an element of the result

struct Output {
  uint image, k, p, q;
};

// The sum of products. What is outside the image adds nothing. Loops are tested at the bottom: lavapipe executes loads
// at uniform addresses once more after a top-tested loop.
acc_t convolved(Output o) {
  acc_t acc = acc_t(0);
  if (group_inputs() == 0u) return acc;
  uvec2 image = times(x_image(), o.image);
  uint first = o.k / group_outputs() * group_inputs();   // of the group's input channels
  uint top = o.p * filter_stride().x - padding().x, left = o.q * filter_stride().y - padding().y;
  uint r = 0u;
  do {
    uint y = top + r * dilation().x, s = 0u;
    do {
      uint x = left + s * dilation().y, c = 0u;
      if (y >= size_h() || x >= size_w()) continue;   // modulo 2^32: large above or left of the image
      do {
        uvec2 at = sum(image, element_of(kBlock, first + c, y, x, size_h(), size_w(), x_pitch()));
        acc = plus_product(input_element(at, first + c), weight_element(weight_of(o.k, c, r, s), o.k), acc);
      } while (++c < group_inputs());
    } while (++s < kS);
  } while (++r < kR);
  return acc;
}

// The element's offset in Y, C or the residual.
uvec2 result_at(Output o, uint pitch, uvec2 image) {
  return sum(times(image, o.image), element_of(kOutBlock, o.k, o.p, o.q, size_p(), size_q(), pitch));
}
// Moves an address by an offset where that has 64 bits. Returns what is left of it.
uint moved(inout uvec2 address, uvec2 at) {
  if (kOffset64 == 0u) return at.x;
  address = add64(address, bytes_of(kOutType, at));
  return 0u;
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
  if (o.image >= images() || number.y != 0u) return;
  Target g;
  g.d = push.d;
  uint at = moved(g.d, result_at(o, y_pitch(), y_image()));
  if (o.k >= output_channels()) {   // the last block's surplus
    store_raw(g.d, at * bytes_of_type(kOutType), bytes_of_type(kOutType), uvec4(0u));
    return;
  }
  g.c = g.residual = g.d;
  uint at_c = at, at_residual = at;
  if (kHasC != 0u) {
    g.c = c_address();
    at_c = moved(g.c, result_at(o, c_pitch(), c_image()));
  }
  if (kHasResidual != 0u) {
    g.residual = residual_address();
    at_residual = moved(g.residual, result_at(o, residual_pitch(), residual_image()));
  }
  g.bias = bias_address();
  g.scale = scale_address();
  acc_t run[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc_t(0);
  run[0] = convolved(o);
  store_run_at(g, 0u, o.k, run, at, at_c, at_residual);
}
