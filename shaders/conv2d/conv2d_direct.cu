//! variant f32
//! variant f32.narrow
//! variant i8.narrow -DINTEGER
// Each invocation computes one element of the result; operands are loaded from global memory one element at a time. The
// last resort that takes every problem, and what faster kernels are compared with.
#include "lib/cuda.cuh"
#include "conv2d/conv2d_direct.abi.h"
#include "conv2d/direct.cuh"

constexpr uint kOutBlock = sectile_constant(CONV2D_DIRECT_SPEC_OUT_BLOCK, 0u);
constexpr uint kWeights = sectile_constant(CONV2D_DIRECT_SPEC_WEIGHTS, CONV2D_WEIGHTS_KCRS);
constexpr uint kOffset64 = sectile_constant(CONV2D_DIRECT_SPEC_OFFSET64, 0u);

// ---- offsets in elements, of 64 bits where OFFSET64 is set

__device__ __forceinline__ uint64 times(uint64 a, uint64 b) { return kOffset64 != 0u ? a * b : uint(a) * uint(b); }

// Divides n by d, which is below 2^31, and returns the remainder.
__device__ __forceinline__ uint divide(uint64& n, uint d) {
  const uint64 quotient = kOffset64 != 0u ? n / d : uint(n) / d;
  const uint rest = uint(n - quotient * d);
  n = quotient;
  return rest;
}

// Offset of channel c of pixel (y, x) in an image of height x width pixels, `pitch` elements apart. `block`: channels
// of a block, 0 where all are one.
__device__ __forceinline__ uint64 element_of(const uint block, uint c, uint y, uint x, uint height, uint width,
                                             uint pitch) {
  const uint64 at = times(times(y, width) + x, pitch);
  if (block == 0u) return at + c;
  const uint outer = c / max(block, 1u);
  return at + times(times(times(height, width), pitch), outer) + (c - outer * block);
}

// One element.
__device__ __forceinline__ uvec4 load_element(uint64 base, const uint type, uint64 at) {
  return load_raw(base + bytes_of(type, at), 0u, bytes_of_type(type));
}

// ---- operands

// One more axis of an offset: `size` elements of the axis, of which it is number `at`.
__device__ __forceinline__ uint64 axis(uint64 outer, uint size, uint at) { return times(outer, size) + at; }

__device__ __forceinline__ uint64 weight_of(const GemmPush& push, uint k, uint c, uint r, uint s) {
  if (kWeights == CONV2D_WEIGHTS_RSCK)
    return axis(axis(axis(r, kS, s), group_inputs(push), c), output_channels(push), k);
  if (kWeights == CONV2D_WEIGHTS_KRSC) return axis(axis(axis(k, kR, r), kS, s), group_inputs(push), c);
  return axis(axis(axis(k, group_inputs(push), c), kR, r), kS, s);
}

// Element `at` of X, of channel c.
__device__ __forceinline__ acc_t input_element(const GemmPush& push, uint64 at, uint c) {
  const uvec4 raw = load_element(address_of(push.a), kAType, at);
#ifdef INTEGER
  return byte_of(raw[0], 0u);
#else
  float v[MAX_RUN];
  convert_x(push, kAType, 1u, raw, c, true, v);
  return v[0];
#endif
}

__device__ __forceinline__ acc_t weight_element(const GemmPush& push, uint64 at, uint k) {
  const uvec4 raw = load_element(address_of(push.b), kBType, at);
#ifdef INTEGER
  return byte_of(raw[0], 0u);
#else
  float v[MAX_RUN];
  convert_w(push, raw, k, v);
  return v[0];
#endif
}

// ---- an element of the result

struct Output {
  uint image, k, p, q;
};

// The sum of products. What is outside the image adds nothing.
__device__ __forceinline__ acc_t convolved(const GemmPush& push, const Output& o) {
  acc_t acc = 0;
  const uint64 image = times(x_image(push), o.image);
  const uint first = o.k / group_outputs(push) * group_inputs(push);   // of the group's input channels
  const uint top = o.p * filter_stride(push).x - padding(push).x, left = o.q * filter_stride(push).y - padding(push).y;
#pragma unroll 1
  for (uint r = 0u; r < kR; ++r) {
    const uint y = top + r * dilation(push).x;
#pragma unroll 1
    for (uint s = 0u; s < kS; ++s) {
      const uint x = left + s * dilation(push).y;
      if (y >= size_h(push) || x >= size_w(push)) continue;   // modulo 2^32: large above or left of the image
#pragma unroll 1
      for (uint c = 0u; c < group_inputs(push); ++c) {
        const uint64 at = image + element_of(kBlock, first + c, y, x, size_h(push), size_w(push), x_pitch(push));
        acc = plus_product(input_element(push, at, first + c),
                           weight_element(push, weight_of(push, o.k, c, r, s), o.k), acc);
      }
    }
  }
  return acc;
}

// The element's address in Y, C or the residual.
__device__ __forceinline__ uint64 result_at(const GemmPush& push, uint64 base, const Output& o, uint pitch,
                                            uint64 image) {
  const uint64 at = element_of(kOutBlock, o.k, o.p, o.q, size_p(push), size_q(push), pitch);
  return base + bytes_of(kOutType, times(image, o.image) + at);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  const uint inner = kOutBlock == 0u ? output_channels(push) : kOutBlock;
  const uint blocks = kOutBlock == 0u ? 1u : (output_channels(push) + kOutBlock - 1u) / max(kOutBlock, 1u);
  uint64 number = uint64(group_id()) * kWorkgroup + threadIdx.x;
  Output o;
  o.k = divide(number, inner);
  o.q = divide(number, size_q(push));
  o.p = divide(number, size_p(push));
  o.k += divide(number, blocks) * inner;
  if (number >= images(push)) return;
  o.image = uint(number);
  Target g = {result_at(push, address_of(push.d), o, y_pitch(push), y_image(push)), 0u, 0u, 0u, 0u, 0u, 0u, 0u};
  if (o.k >= output_channels(push)) {   // the last block's surplus
    store_raw(g.d, 0u, bytes_of_type(kOutType), {});
    return;
  }
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = result_at(push, c_address(push), o, c_pitch(push), c_image(push));
  if (kHasResidual != 0u)
    g.residual = result_at(push, residual_address(push), o, residual_pitch(push), residual_image(push));
  acc_t run[MAX_RUN] = {};
  run[0] = convolved(push, o);
  store_run_at(push, g, 0u, o.k, run, 0u, 0u, 0u);
}
