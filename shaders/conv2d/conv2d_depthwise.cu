//! variant f32
//! variant f32.narrow
//! variant i8.narrow -DINTEGER
// Groups of one input channel: an invocation computes STRIP adjacent outputs of a row for CHANNELS adjacent output
// channels. It keeps a row of the filter in registers. With the usual strides each input of the row is loaded once, for
// all outputs of the strip.
#include "lib/cuda.cuh"
#include "conv2d/prologue.cuh"
#include "gemm/gemm.cuh"
#include "conv2d/conv2d_depthwise.abi.h"
#include "gemm/epilogue.cuh"
#include "conv2d/conv2d.cuh"
#include "conv2d/words.cuh"

constexpr uint kStrip = sectile_constant(CONV2D_DEPTHWISE_SPEC_STRIP, 4u);
constexpr uint kWeights = sectile_constant(CONV2D_DEPTHWISE_SPEC_WEIGHTS, CONV2D_WEIGHTS_KCRS);
constexpr uint kChannels = sectile_constant(CONV2D_DEPTHWISE_SPEC_CHANNELS, 1u);

// Row r of the filter: [column][output channel].
__device__ __forceinline__ void load_filter(const GemmPush& push, uint k, uint r, acc_t* filter) {
#pragma unroll
  for (uint s = 0u; s < kS; ++s)
#pragma unroll
    for (uint e = 0u; e < kChannels; e += kWidthB) {
      const uint at = kWeights == CONV2D_WEIGHTS_RSCK ? (r * kS + s) * size_n(push) + k + e
                                                      : ((k + e) * kR + r) * kS + s;
      const uvec4 raw = load_raw(address_of(push.b), run_at(kBType, at), run_bytes(kBType, kWidthB));
      acc_t v[MAX_RUN];
#ifdef INTEGER
      unpack_bytes(kWidthB, raw, v);
#else
      convert_b(push, raw, 0u, k + e, true, v);
#endif
#pragma unroll
      for (uint i = 0u; i < kWidthB; ++i) filter[s * kChannels + e + i] = v[i];
    }
}

// An invocation's inputs: of the image's row that begins at `row`, of the input channels of output channels from k on.
struct Inputs {
  uint64 image;
  uint row, k;
};

// What column x has for each output channel; zeros outside the image.
__device__ __forceinline__ void load_column(const GemmPush& push, const Inputs& in, uint x, acc_t* column) {
  const bool inside = x < width(push);   // left of the image as well: x is modulo 2^32
#pragma unroll
  for (uint e = 0u; e < kChannels; e += kWidthA) {
    const uint c = (in.k + e) / group_channels(push);
    const uint at = (in.row + x) * lda(push) + (kBlock == 0u ? c : c * (height(push) * width(push) * lda(push)));
    const uvec4 raw = load_raw(in.image, inside ? run_at(kAType, at) : 0u, run_bytes(kAType, kWidthA));
    acc_t v[MAX_RUN];
#ifdef INTEGER
    unpack_bytes(kWidthA, raw, v);
#else
    convert_x(push, kAType, kWidthA, raw, c, true, v);
#endif
#pragma unroll
    for (uint i = 0u; i < kWidthA; ++i) column[e + i] = inside ? v[i] : acc_t(0);
  }
}

// Adds the products of output j with column s of the filter.
__device__ __forceinline__ void add_products(const acc_t* column, const acc_t* filter, const uint j, const uint s,
                                             acc_t* acc) {
#pragma unroll
  for (uint c = 0u; c < kChannels; ++c)
    acc[j * kChannels + c] = plus_product(column[c], filter[s * kChannels + c], acc[j * kChannels + c]);
}

// Outputs are `stride` apart and the filter's columns 1: each column of the image is loaded once.
__device__ __forceinline__ void add_row(const GemmPush& push, const Inputs& in, const acc_t* filter, uint x,
                                        const uint stride, acc_t* acc) {
#pragma unroll
  for (uint i = 0u; i < (kStrip - 1u) * stride + kS; ++i) {
    acc_t column[kChannels];
    load_column(push, in, x + i, column);
#pragma unroll
    for (uint j = 0u; j < kStrip; ++j)
      if (i >= j * stride && i - j * stride < kS) add_products(column, filter, j, i - j * stride, acc);
  }
}
__device__ __forceinline__ void add_row_of_any_stride(const GemmPush& push, const Inputs& in, const acc_t* filter,
                                                      uint x, acc_t* acc) {
#pragma unroll
  for (uint j = 0u; j < kStrip; ++j)
#pragma unroll
    for (uint s = 0u; s < kS; ++s) {
      acc_t column[kChannels];
      load_column(push, in, x + j * stride_w(push) + s * dilation_w(push), column);
      add_products(column, filter, j, s, acc);
    }
}

// Where an invocation's outputs are: image, row, first column and first channel.
struct Outputs {
  uint image, p, q, k;
};

// False for an invocation without outputs.
__device__ __forceinline__ bool locate_outputs(const GemmPush& push, Outputs& out) {
  const uint strips = (out_width(push) + kStrip - 1u) / kStrip, chunks = size_n(push) / kChannels;
  const uint items = size_m(push) * strips * chunks, groups = (items + kWorkgroup - 1u) / kWorkgroup;
  const uint group = group_id();
  out.image = group / groups;
  const uint item = (group - out.image * groups) * kWorkgroup + threadIdx.x;
  if (kBlock == 0u) {
    const uint place = item / chunks;
    out.k = (item - place * chunks) * kChannels;
    out.p = place / strips;
    out.q = (place - out.p * strips) * kStrip;
  } else {
    const uint line = item / strips;
    out.q = (item - line * strips) * kStrip;
    out.k = line / size_m(push) * kChannels;
    out.p = line % size_m(push);
  }
  return out.image < batches(push) && item < items;
}

// Address of an element of the result, or of an operand that is laid out as it.
__device__ __forceinline__ uint64 address_in(const GemmPush& push, uint64 base, uint64 image_pitch, uint pitch,
                                             const Outputs& out) {
  const uint pixel = out.p * out_width(push) + out.q;
  const uint at = pixel * pitch + (kBlock == 0u ? out.k : out.k * (size_m(push) * out_width(push) * pitch));
  return batch_address(base, kOutType, out.image, image_pitch) + bytes_of(kOutType, at);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  Outputs out;
  if (!locate_outputs(push, out)) return;
  acc_t acc[kStrip * kChannels];
#pragma unroll
  for (uint i = 0u; i < kStrip * kChannels; ++i) acc[i] = 0;
  const uint x = out.q * stride_w(push) - pad_left(push);
  Inputs in = {batch_address(address_of(push.a), kAType, out.image, a_batch(push)), 0u, out.k};
#pragma unroll 1
  for (uint r = 0u; r < kR; ++r) {
    const uint y = out.p * stride_h(push) - pad_top(push) + r * dilation_h(push);
    if (y >= height(push)) continue;   // above the image as well: y is modulo 2^32
    in.row = y * width(push);
    acc_t filter[kS * kChannels];
    load_filter(push, out.k, r, filter);
    if (dilation_w(push) == 1u && stride_w(push) == 1u) add_row(push, in, filter, x, 1u, acc);
    else if (dilation_w(push) == 1u && stride_w(push) == 2u) add_row(push, in, filter, x, 2u, acc);
    else add_row_of_any_stride(push, in, filter, x, acc);
  }

  Target g = {address_in(push, address_of(push.d), d_batch(push), ldd(push), out), 0u, 0u, 0u, out.k, out.image};
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = address_in(push, c_address(push), c_batch(push), ldc(push), out);
  if (kHasResidual != 0u) g.residual = address_in(push, residual_address(push), r_batch(push), ldr(push), out);
#pragma unroll
  for (uint j = 0u; j < kStrip; ++j) {
    if (out.q + j >= out_width(push)) continue;
#pragma unroll
    for (uint e = 0u; e < kChannels; e += kWidthD) {
      acc_t run[MAX_RUN];
#pragma unroll
      for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc[j * kChannels + min(e + i, kChannels - 1u)];
      store_run(push, g, j, out.k + e, run);
    }
  }
}
