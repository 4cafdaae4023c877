//! variant f32
//! variant f32.narrow
//! variant i8.narrow -DINTEGER
// Each invocation sums the products of one element of the result, with operands loaded from global memory one element at
// a time. It is the fallback that takes every problem.
#include "lib/cuda.cuh"
#include "conv2d/prologue.cuh"
#include "gemm/gemm.cuh"
#include "conv2d/conv2d_direct.abi.h"
#include "gemm/epilogue.cuh"
#include "conv2d/conv2d.cuh"
#include "conv2d/words.cuh"

constexpr uint kOutBlock = sectile_constant(CONV2D_DIRECT_SPEC_OUT_BLOCK, 0u);
constexpr uint kWeights = sectile_constant(CONV2D_DIRECT_SPEC_WEIGHTS, CONV2D_WEIGHTS_KCRS);
constexpr uint kOffset64 = sectile_constant(CONV2D_DIRECT_SPEC_OFFSET64, 0u);

// Products and quotients of element numbers: of 64 bits where they need to be.
__device__ __forceinline__ uint64 times(uint64 a, uint64 b) { return kOffset64 != 0u ? a * b : uint(a) * uint(b); }
__device__ __forceinline__ uint64 divided(uint64 a, uint64 b) { return kOffset64 != 0u ? a / b : uint(a) / uint(b); }

// Offset of an element in an image of `pixels` pixels.
__device__ __forceinline__ uint64 element_of_image(const uint block, uint c, uint pixel, uint pixels, uint pitch) {
  if (block == 0u) return times(pixel, pitch) + c;
  const uint outer = c / max(block, 1u);
  return times(times(outer, pixels) + pixel, pitch) + c - outer * block;
}

__device__ __forceinline__ acc_t element_x(const GemmPush& push, uint64 image, uint c, uint pixel) {
  const uint64 at = element_of_image(kBlock, c, pixel, height(push) * width(push), lda(push));
  const uvec4 raw = load_raw(image + bytes_of(kAType, at), 0u, bytes_of_type(kAType));
#ifdef INTEGER
  return byte_of(raw[0], 0u);
#else
  float v[MAX_RUN];
  convert_x(push, kAType, 1u, raw, c, true, v);
  return v[0];
#endif
}

// Element of the weights of output channel k; c counts the input channels of its group.
__device__ __forceinline__ acc_t element_w(const GemmPush& push, uint k, uint c, uint r, uint s) {
  const uint64 tap = r * kS + s;
  const uint64 at = kWeights == CONV2D_WEIGHTS_KCRS   ? times(times(k, size_k(push)) + c, kR * kS) + tap
                    : kWeights == CONV2D_WEIGHTS_KRSC ? times(times(k, kR * kS) + tap, size_k(push)) + c
                                                      : times(times(tap, size_k(push)) + c, size_n(push)) + k;
  const uvec4 raw = load_raw(address_of(push.b) + bytes_of(kBType, at), 0u, bytes_of_type(kBType));
#ifdef INTEGER
  return byte_of(raw[0], 0u);
#else
  float v[MAX_RUN];
  convert_b(push, raw, 0u, k, true, v);
  return v[0];
#endif
}

__device__ __forceinline__ acc_t sum_products(const GemmPush& push, uint64 image, uint k, uint p, uint q) {
  acc_t acc = 0;
  const uint first = k / group_channels(push) * size_k(push);   // of the group's input channels
  const uint top = p * stride_h(push) - pad_top(push), left = q * stride_w(push) - pad_left(push);
#pragma unroll 1
  for (uint r = 0u; r < kR; ++r) {
    const uint y = top + r * dilation_h(push);
    if (y >= height(push)) continue;   // above the image as well: y is modulo 2^32
#pragma unroll 1
    for (uint s = 0u; s < kS; ++s) {
      const uint x = left + s * dilation_w(push);
      if (x >= width(push)) continue;
#pragma unroll 1
      for (uint c = 0u; c < size_k(push); ++c)
        acc = plus_product(element_x(push, image, first + c, y * width(push) + x), element_w(push, k, c, r, s), acc);
    }
  }
  return acc;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  // The element's image, block of channels, pixel and channel of the block: the order of the result's memory.
  const uint channels = kOutBlock == 0u ? size_n(push) : kOutBlock, pixels = size_m(push) * out_width(push);
  const uint blocks = (size_n(push) + channels - 1u) / channels;
  const uint64 block_size = times(pixels, channels), image_size = times(block_size, blocks);
  const uint64 id = times(group_id(), kWorkgroup) + threadIdx.x;
  Tile t;
  t.batch = uint(divided(id, image_size));
  if (t.batch >= batches(push)) return;
  const uint64 in_image = id - t.batch * image_size;
  const uint block = uint(divided(in_image, block_size));
  const uint64 in_block = in_image - block * block_size;
  const uint pixel = uint(divided(in_block, channels)), k = block * channels + uint(in_block - uint64(pixel) * channels);

  const uint64 at = element_of_image(kOutBlock, k, pixel, pixels, ldd(push));
  const uint64 address = batch_address(address_of(push.d), kOutType, t.batch, d_batch(push));
  if (k >= size_n(push)) {   // the last block's surplus
    store_raw(address + bytes_of(kOutType, at), 0u, bytes_of_type(kOutType), {});
    return;
  }
  acc_t run[MAX_RUN] = {};
  const uint64 image = batch_address(address_of(push.a), kAType, t.batch, a_batch(push));
  const uint p = pixel / out_width(push);
  run[0] = sum_products(push, image, k, p, pixel - p * out_width(push));

  // Row 0 and column k of a result that has the element alone.
  Target g = {address + bytes_of(kOutType, at), 0u, 0u, 0u, k, t.batch};
  g.c = g.residual = g.d;
  if (kHasC != 0u)
    g.c = batch_address(c_address(push), kOutType, t.batch, c_batch(push)) +
          bytes_of(kOutType, element_of_image(kOutBlock, k, pixel, pixels, ldc(push)));
  if (kHasResidual != 0u)
    g.residual = batch_address(residual_address(push), kOutType, t.batch, r_batch(push)) +
                 bytes_of(kOutType, element_of_image(kOutBlock, k, pixel, pixels, ldr(push)));
  store_run(push, g, 0u, k, run);
}
