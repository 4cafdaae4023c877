//! variant f32
//! variant f32.narrow
//! variant i8.narrow -DINTEGER
// Groups of one input channel: an invocation computes STRIP adjacent outputs of a row for CHANNELS adjacent output
// channels. It keeps a row of the filter in registers. With the usual strides each input of the row is loaded once, for
// all outputs of the strip.
#include "lib/cuda.cuh"
#include "conv2d/conv2d_depthwise.abi.h"
#include "conv2d/direct.cuh"
#include "conv2d/target.cuh"

constexpr uint kStrip = sectile_constant(CONV2D_DEPTHWISE_SPEC_STRIP, 4u);
constexpr uint kWeights = sectile_constant(CONV2D_DEPTHWISE_SPEC_WEIGHTS, CONV2D_WEIGHTS_KCRS);
constexpr uint kChannels = sectile_constant(CONV2D_DEPTHWISE_SPEC_CHANNELS, 1u);

// Row r of the filter: [column][output channel].
__device__ __forceinline__ void load_weights(const GemmPush& push, uint k, uint r, acc_t* weights) {
#pragma unroll
  for (uint s = 0u; s < kS; ++s)
#pragma unroll
    for (uint e = 0u; e < kChannels; e += kWidthB) {
      const uint at = kWeights == CONV2D_WEIGHTS_RSCK ? (r * kS + s) * output_channels(push) + k + e
                                                      : ((k + e) * kR + r) * kS + s;
      const uvec4 raw = load_raw(address_of(push.b), run_at(kBType, at), run_bytes(kBType, kWidthB));
      acc_t v[MAX_RUN];
#ifdef INTEGER
      unpack_bytes(kWidthB, raw, v);
#else
      convert_w(push, raw, k + e, v);
#endif
#pragma unroll
      for (uint i = 0u; i < kWidthB; ++i) weights[s * kChannels + e + i] = v[i];
    }
}

// An invocation's inputs: of the image's row that begins at `row`, of the input channels of output channels from k on.
struct Inputs {
  uint64 image;
  uint row, k;
};

// What column x has for each output channel; zeros outside the image.
__device__ __forceinline__ void load_column(const GemmPush& push, const Inputs& in, uint x, acc_t* column) {
  const bool inside = x < size_w(push);   // left of the image as well: x is modulo 2^32
#pragma unroll
  for (uint e = 0u; e < kChannels; e += kWidthA) {
    const uint channel = (in.k + e) / group_outputs(push);
    const uint plane = size_h(push) * size_w(push) * x_pitch(push);
    const uint at = (in.row + x) * x_pitch(push) + channel * (kBlock == 0u ? 1u : plane);
    const uvec4 raw = load_raw(in.image, inside ? run_at(kAType, at) : 0u, run_bytes(kAType, kWidthA));
    acc_t v[MAX_RUN];
#ifdef INTEGER
    unpack_bytes(kWidthA, raw, v);
#else
    convert_x(push, kAType, kWidthA, raw, channel, true, v);
#endif
#pragma unroll
    for (uint i = 0u; i < kWidthA; ++i) column[e + i] = inside ? v[i] : acc_t(0);
  }
}

// Adds the products of output j with column s of the filter.
__device__ __forceinline__ void add_products(const acc_t* column, const acc_t* weights, const uint j, const uint s,
                                             acc_t* acc) {
#pragma unroll
  for (uint c = 0u; c < kChannels; ++c)
    acc[j * kChannels + c] = plus_product(column[c], weights[s * kChannels + c], acc[j * kChannels + c]);
}

// Outputs are `stride` apart and the filter's columns 1: each column of the image is loaded once.
__device__ __forceinline__ void add_row(const GemmPush& push, const Inputs& in, const acc_t* weights, uint x,
                                        const uint stride, acc_t* acc) {
#pragma unroll
  for (uint i = 0u; i < (kStrip - 1u) * stride + kS; ++i) {
    acc_t column[kChannels];
    load_column(push, in, x + i, column);
#pragma unroll
    for (uint j = 0u; j < kStrip; ++j)
      if (i >= j * stride && i - j * stride < kS) add_products(column, weights, j, i - j * stride, acc);
  }
}
__device__ __forceinline__ void add_row_of_any_stride(const GemmPush& push, const Inputs& in, const acc_t* weights,
                                                      uint x, acc_t* acc) {
#pragma unroll
  for (uint j = 0u; j < kStrip; ++j)
#pragma unroll
    for (uint s = 0u; s < kS; ++s) {
      acc_t column[kChannels];
      load_column(push, in, x + j * filter_stride(push).y + s * dilation(push).y, column);
      add_products(column, weights, j, s, acc);
    }
}

// Where an invocation's outputs are: image, row, first column and first channel.
struct Outputs {
  uint image, p, q, k;
};

// False for an invocation without outputs.
__device__ __forceinline__ bool locate_outputs(const GemmPush& push, Outputs& o) {
  const uint strips = (size_q(push) + kStrip - 1u) / kStrip, chunks = output_channels(push) / kChannels;
  const uint items = size_p(push) * strips * chunks, groups = (items + kWorkgroup - 1u) / kWorkgroup;
  const uint group = group_id();
  o.image = group / groups;
  const uint item = (group - o.image * groups) * kWorkgroup + threadIdx.x;
  if (kBlock == 0u) {
    const uint place = item / chunks;
    o.k = (item - place * chunks) * kChannels;
    o.p = place / strips;
    o.q = (place - o.p * strips) * kStrip;
  } else {
    const uint line = item / strips;
    o.q = (item - line * strips) * kStrip;
    o.k = line / size_p(push) * kChannels;
    o.p = line % size_p(push);
  }
  return o.image < images(push) && item < items;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  Outputs o;
  if (!locate_outputs(push, o)) return;
  acc_t acc[kStrip * kChannels];
#pragma unroll
  for (uint i = 0u; i < kStrip * kChannels; ++i) acc[i] = 0;
  const uint x = o.q * filter_stride(push).y - padding(push).y;
  Inputs in = {batch_address(address_of(push.a), kAType, o.image, x_image(push)), 0u, o.k};
#pragma unroll 1
  for (uint r = 0u; r < kR; ++r) {
    const uint y = o.p * filter_stride(push).x - padding(push).x + r * dilation(push).x;
    if (y >= size_h(push)) continue;   // above the image as well: y is modulo 2^32
    in.row = y * size_w(push);
    acc_t weights[kS * kChannels];
    load_weights(push, o.k, r, weights);
    if (dilation(push).y == 1u && filter_stride(push).y == 1u) add_row(push, in, weights, x, 1u, acc);
    else if (dilation(push).y == 1u && filter_stride(push).y == 2u) add_row(push, in, weights, x, 2u, acc);
    else add_row_of_any_stride(push, in, weights, x, acc);
  }

  // The image of the result as a matrix: a row a pixel of all channels, or of one channel.
  Target g = target_of_image(push, o.image);
  g.column = kBlock == 0u ? 0u : o.k;
  const uint pixel = (kBlock == 0u ? o.p : o.k * size_p(push) + o.p) * size_q(push) + o.q;
#pragma unroll
  for (uint j = 0u; j < kStrip; ++j) {
    if (o.q + j >= size_q(push)) continue;
#pragma unroll
    for (uint e = 0u; e < kChannels; e += kWidthD) {
      acc_t run[MAX_RUN];
#pragma unroll
      for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc[j * kChannels + min(e + i, kChannels - 1u)];
      store_run(push, g, pixel + j, o.k + e, run);
    }
  }
}
