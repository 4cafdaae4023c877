//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8.narrow -DINTEGER -DNARROW
// Groups of one input channel: an invocation computes STRIP adjacent outputs of a row for CHANNELS adjacent output
// channels. It keeps a row of the filter in registers. With the usual strides each input of the row is loaded once, for
// all outputs of the strip.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/conv2d_depthwise.abi.h"
#include "conv2d/direct.glsl"
#include "conv2d/target.glsl"

layout(constant_id = CONV2D_DEPTHWISE_SPEC_STRIP) const uint kStrip = 4u;
layout(constant_id = CONV2D_DEPTHWISE_SPEC_WEIGHTS) const uint kWeights = CONV2D_WEIGHTS_KCRS;
layout(constant_id = CONV2D_DEPTHWISE_SPEC_CHANNELS) const uint kChannels = 1u;

acc_t acc[kStrip][kChannels];
acc_t weights[kS][kChannels];      // a row of the filter
acc_t column[kChannels];           // what a column of the image has for each output channel
uint channel[kChannels];           // the input channel of each output channel

// Where an invocation's outputs are: image, row, first column and first channel.
struct Outputs {
  uint image, p, q, k;
};

// False for an invocation without outputs.
bool locate_outputs(out Outputs o) {
  uint strips = (size_q() + kStrip - 1u) / kStrip, chunks = output_channels() / kChannels;
  uint items = size_p() * strips * chunks, groups = (items + kWorkgroup - 1u) / kWorkgroup;
  uint group = group_id();
  o.image = group / groups;
  uint item = (group - o.image * groups) * kWorkgroup + gl_LocalInvocationID.x;
  if (kBlock == 0u) {
    uint place = item / chunks;
    o.k = (item - place * chunks) * kChannels;
    o.p = place / strips;
    o.q = (place - o.p * strips) * kStrip;
  } else {
    uint line = item / strips;
    o.q = (item - line * strips) * kStrip;
    o.k = line / size_p() * kChannels;
    o.p = line % size_p();
  }
  return o.image < images() && item < items;
}

void load_weights(uint k, uint r) {
  [[unroll]] for (uint s = 0u; s < kS; ++s) {
    [[unroll]] for (uint e = 0u; e < kChannels; e += kWidthB) {
      uint at = kWeights == CONV2D_WEIGHTS_RSCK ? (r * kS + s) * output_channels() + k + e
                                                : ((k + e) * kR + r) * kS + s;
      uvec4 raw = load_raw(push.b, run_at(kBType, at), run_bytes(kBType, kWidthB));
      acc_t v[MAX_RUN];
#ifdef INTEGER
      unpack_bytes(kWidthB, raw, v);
#else
      convert_w(raw, k + e, v);
#endif
      [[unroll]] for (uint i = 0u; i < kWidthB; ++i) weights[s][e + i] = v[i];
    }
  }
}

// Column x of the image's row whose first pixel is number `row`; zeros outside the image, for which the image's first
// elements are loaded, which always exist.
void load_column(uvec2 image, uint row, uint x) {
  bool inside = x < size_w();        // modulo 2^32: large above or left of the image
  [[unroll]] for (uint e = 0u; e < kChannels; e += kWidthA) {
    uint at = (row + x) * x_pitch() + channel[e] * (kBlock == 0u ? 1u : size_h() * size_w() * x_pitch());
    uvec4 raw = load_raw(image, inside ? run_at(kAType, at) : 0u, run_bytes(kAType, kWidthA));
    acc_t v[MAX_RUN];
#ifdef INTEGER
    unpack_bytes(kWidthA, raw, v);
    [[unroll]] for (uint i = 0u; i < kWidthA; ++i) column[e + i] = inside ? v[i] : 0;
#else
    unpack_run(kAType, kWidthA, raw, v);
    [[unroll]] for (uint i = 0u; i < kWidthA; ++i) column[e + i] = inside ? with_prologue(v[i], channel[e] + i) : 0.0;
#endif
  }
}

// Adds the products of output j with column s of the filter.
void add_products(uint j, uint s) {
  [[unroll]] for (uint c = 0u; c < kChannels; ++c) acc[j][c] = plus_product(column[c], weights[s][c], acc[j][c]);
}

// Outputs are `stride` apart and the filter's columns 1: each column of the image is loaded once.
void add_row(uvec2 image, uint row, uint x, const uint stride) {
  [[unroll]] for (uint i = 0u; i < (kStrip - 1u) * stride + kS; ++i) {
    load_column(image, row, x + i);
    [[unroll]] for (uint j = 0u; j < kStrip; ++j)
      if (i >= j * stride && i - j * stride < kS) add_products(j, i - j * stride);
  }
}
void add_row_of_any_stride(uvec2 image, uint row, uint x) {
  [[unroll]] for (uint j = 0u; j < kStrip; ++j) {
    [[unroll]] for (uint s = 0u; s < kS; ++s) {
      load_column(image, row, x + j * filter_stride().y + s * dilation().y);
      add_products(j, s);
    }
  }
}

// The loop is tested at the bottom: lavapipe executes loads at uniform addresses once more after a top-tested loop.
void convolve(Outputs o) {
  uvec2 image = batch_address(push.a, kAType, o.image, x_image());
  uint x = o.q * filter_stride().y - padding().y, r = 0u;
  do {
    uint y = o.p * filter_stride().x - padding().x + r * dilation().x;
    if (y < size_h()) {
      load_weights(o.k, r);
      if (dilation().y == 1u && filter_stride().y == 1u) add_row(image, y * size_w(), x, 1u);
      else if (dilation().y == 1u && filter_stride().y == 2u) add_row(image, y * size_w(), x, 2u);
      else add_row_of_any_stride(image, y * size_w(), x);
    }
  } while (++r < kR);
}

void main() {
  Outputs o;
  if (!locate_outputs(o)) return;
  [[unroll]] for (uint c = 0u; c < kChannels; ++c) {
    channel[c] = (o.k + c) / group_outputs();
    [[unroll]] for (uint j = 0u; j < kStrip; ++j) acc[j][c] = acc_t(0);
  }
  convolve(o);

  // The image of the result as a matrix: a row a pixel of all channels, or of one channel.
  Target g = target_of_image(o.image);
  g.column = kBlock == 0u ? 0u : o.k;
  uint pixel = (kBlock == 0u ? o.p : o.k * size_p() + o.p) * size_q() + o.q;
  [[unroll]] for (uint j = 0u; j < kStrip; ++j) {
    if (o.q + j >= size_q()) continue;
    [[unroll]] for (uint e = 0u; e < kChannels; e += kWidthD) {
      acc_t run[MAX_RUN];
      [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = acc[j][min(e + i, kChannels - 1u)];
      store_run(g, pixel + j, o.k + e, run);
    }
  }
}
