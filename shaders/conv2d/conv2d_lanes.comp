//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
// For CPU devices: an invocation computes STRIP adjacent outputs of a row for CHANNELS output channels. A subgroup's
// lanes lie along pixels, and a workgroup has one block of channels, so the addresses of weights are uniform: lavapipe
// loads a weight once and multiplies a vector of pixels with it. It loads the image lane by lane, which takes some ten
// times as long, so each input is multiplied with the weights of all channels.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/conv2d_lanes.abi.h"
#include "conv2d/direct.glsl"
#include "conv2d/target.glsl"

layout(constant_id = CONV2D_LANES_SPEC_OUT_BLOCK) const uint kOutBlock = 0u;
layout(constant_id = CONV2D_LANES_SPEC_WEIGHTS) const uint kWeights = CONV2D_WEIGHTS_KCRS;
layout(constant_id = CONV2D_LANES_SPEC_STRIP) const uint kStrip = 4u;
layout(constant_id = CONV2D_LANES_SPEC_CHANNELS) const uint kChannels = 16u;
layout(constant_id = CONV2D_LANES_SPEC_STEP) const uint kStep = 0u;

// Columns of the filter at a time, and the inputs that an invocation has for them.
const uint kTaps = kStep == 0u ? 1u : kS;
const uint kInputs = kStep == 0u ? kStrip : (kStrip - 1u) * kStep + kS;

float acc[kStrip][kChannels];
uint offset[kInputs];              // bytes from a channel's first pixel
bool inside[kInputs];              // whether the input is inside the image
float inputs[kInputs];

struct Outputs {
  uint image, p, q;                // the strip's first pixel
  uint first;                      // first input channel of the group
  uint k, channels;                // the block's first channel, and its number of channels
  bool stored;                     // false for an invocation without outputs: it computes the last strip
};

// False for surplus workgroups of a folded grid.
bool locate_outputs(out Outputs o) {
  uint strips = (size_q() + kStrip - 1u) / kStrip, items = size_p() * strips;
  uint tiles = (items + kWorkgroup - 1u) / kWorkgroup, parts = (group_outputs() + kChannels - 1u) / kChannels;
  uint blocks = output_channels() / group_outputs() * parts;
  uint tile = group_id() / blocks, block = group_id() - tile * blocks;
  uint group = block / parts, k = (block - group * parts) * kChannels;
  o.first = group * group_inputs();
  o.k = group * group_outputs() + k;
  o.channels = min(group_outputs() - k, kChannels);
  o.image = tile / tiles;
  uint item = (tile - o.image * tiles) * kWorkgroup + gl_LocalInvocationID.x;
  o.stored = item < items;
  item = min(item, items - 1u);
  o.p = item / strips;
  o.q = (item - o.p * strips) * kStrip;
  return o.image < images();
}

// Elements from an image's first one to channel c, where a channel of it has `plane` elements.
uint channel_at(const uint block, uint c, uint plane) {
  return block == 0u ? c : block == 1u ? c * plane : c / block * plane + c % block;
}

uint weight_at(uint k, uint c, uint r, uint s) {
  if (kWeights == CONV2D_WEIGHTS_RSCK) return ((r * kS + s) * group_inputs() + c) * output_channels() + k;
  if (kWeights == CONV2D_WEIGHTS_KRSC) return ((k * kR + r) * kS + s) * group_inputs() + c;
  return ((k * group_inputs() + c) * kR + r) * kS + s;
}
float weight(uint at, uint k) {
  float v[MAX_RUN];
  convert_w(load_raw(push.b, run_at(kBType, at), bytes_of_type(kBType)), k, v);
  return v[0];
}

// Finds the inputs of row y from column x on. For one outside the image the channel's first pixel is loaded, which is
// always there.
void find_inputs(uint y, uint x) {
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    uint column = x + i * (kStep == 0u ? filter_stride().y : 1u);
    inside[i] = y < size_h() && column < size_w();    // unsigned: a negative row or column is large
    offset[i] = inside[i] ? run_at(kAType, (y * size_w() + column) * x_pitch()) : 0u;
  }
}

void load_inputs(uvec2 image, uint c) {
  uint channel = channel_at(kBlock, c, size_h() * size_w() * x_pitch());
  uvec2 base = add64(image, bytes_of(kAType, uvec2(channel, 0u)));
  float scale = prologue_scale(c), bias = prologue_bias(c);
  [[unroll]] for (uint i = 0u; i < kInputs; ++i) {
    float v[MAX_RUN];
    unpack_run(kAType, 1u, load_raw(base, offset[i], bytes_of_type(kAType)), v);
    inputs[i] = inside[i] ? with_prologue(v[0], scale, bias) : 0.0;
  }
}

// Adds the products of channel c of the group with row r of the filter, from column s on.
void add_products(Outputs o, uint c, uint r, uint s) {
  [[unroll]] for (uint i = 0u; i < kChannels; ++i) {
    uint k = o.k + min(i, o.channels - 1u);
    [[unroll]] for (uint t = 0u; t < kTaps; ++t) {
      float w = weight(weight_at(k, c, r, s + t), k);
      [[unroll]] for (uint j = 0u; j < kStrip; ++j)
        acc[j][i] = fma(inputs[kStep == 0u ? j : j * kStep + t], w, acc[j][i]);
    }
  }
}

// The loop over channels is the innermost one: where inputs lie is then computed once for all of them. Loops are tested
// at the bottom: lavapipe executes loads at uniform addresses once more after a top-tested loop.
void convolve(Outputs o) {
  uvec2 image = batch_address(push.a, kAType, o.image, x_image());
  uint y = o.p * filter_stride().x - padding().x, r = 0u;
  do {
    uint x = o.q * filter_stride().y - padding().y, s = 0u;
    do {
      find_inputs(y, x);
      uint c = 0u;
      do {
        load_inputs(image, o.first + c);
        add_products(o, c, r, s);
      } while (++c < group_inputs());
      x += dilation().y;
      s += kTaps;
    } while (s < kS);
    y += dilation().x;
  } while (++r < kR);
}

// Element of channel k of output j in Y, C or the residual.
uint result_at(Outputs o, uint j, uint k, uint pitch) {
  return channel_at(kOutBlock, k, size_p() * size_q() * pitch) + (o.p * size_q() + o.q + j) * pitch;
}
float result_value(uvec2 base, uint at) {
  float v[MAX_RUN];
  unpack_run(kOutType, 1u, load_raw(base, run_at(kOutType, at), bytes_of_type(kOutType)), v);
  return v[0];
}
void store_bits(Target g, uint at, uint bits) {
  store_raw(g.d, run_at(kOutType, at), bytes_of_type(kOutType), uvec4(bits, 0u, 0u, 0u));
}

void store_output(Outputs o, Target g, uint j, uint i) {
  uint k = o.k + i, at = result_at(o, j, k, y_pitch());
  float c = 0.0, residual = 0.0;
  if (kHasC != 0u) c = result_value(g.c, result_at(o, j, k, c_pitch()));
  if (kHasCIsD != 0u) c = result_value(g.d, at);
  if (kHasResidual != 0u) residual = result_value(g.residual, result_at(o, j, k, residual_pitch()));
  float v = finished(g, acc[j][i], 0u, k, c, residual);
  store_bits(g, at, kOutType == SECTILE_TYPE_F32 ? floatBitsToUint(v) : pack_pair(kOutType, v, 0.0) & 0xffffu);
}

// The zeros after the last channel.
void store_surplus(Outputs o, Target g, uint j) {
  if (kOutBlock <= 1u || o.k + o.channels != output_channels()) return;
  uint surplus = kOutBlock - 1u - (output_channels() - 1u) % kOutBlock;
  [[unroll]] for (uint i = 0u; i + 1u < kOutBlock; ++i)
    if (i < surplus) store_bits(g, result_at(o, j, output_channels() + i, y_pitch()), 0u);
}

void main() {
  Outputs o;
  if (!locate_outputs(o)) return;
  [[unroll]] for (uint j = 0u; j < kStrip; ++j)
    [[unroll]] for (uint i = 0u; i < kChannels; ++i) acc[j][i] = 0.0;
  convolve(o);
  Target g = target_of_image(o.image);
  [[unroll]] for (uint j = 0u; j < kStrip; ++j) {
    if (o.stored && o.q + j < size_q()) {
      [[unroll]] for (uint i = 0u; i < kChannels; ++i)
        if (i < o.channels) store_output(o, g, j, i);
      store_surplus(o, g, j);
    }
  }
}
