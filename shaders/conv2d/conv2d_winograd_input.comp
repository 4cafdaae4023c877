//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
// Winograd convolution, the image: V = B^T x B for each channel of each tile. conv2d_winograd.abi.h has the method.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/prologue.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/conv2d.glsl"
#include "conv2d/winograd.glsl"

uint size_h() { return word(kAtImage); }
uint size_w() { return word(kAtImage + 1u); }

const uint kChannels = kChannelsLast != 0u ? kWidthA : 1u;   // of an invocation; a vector's other elements are zero

vec4 x[16];                           // the tile's inputs, row by row
vec4 scale = vec4(1.0), bias = vec4(0.0);

void load_prologue(uint c) {
  [[unroll]] for (uint i = 0u; i < kChannels; ++i) {
    scale[i] = prologue_scale(c + i);
    bias[i] = prologue_bias(c + i);
  }
}

// Zeros outside of the image, for which the image's first elements are loaded, which always exist.
vec4 input_at(uvec2 image, uint at, bool inside) {
  float v[MAX_RUN];
  unpack_run(kAType, kChannels, load_raw(image, inside ? at * bytes_of_type(kAType) : 0u,
                                         kChannels * bytes_of_type(kAType)), v);
  vec4 channels = vec4(0.0);
  [[unroll]] for (uint i = 0u; i < kChannels; ++i)
    channels[i] = inside ? with_prologue(v[i], scale[i], bias[i]) : 0.0;
  return channels;
}

// Rows of B^T times four elements.
void transform(inout vec4 a, inout vec4 b, inout vec4 c, inout vec4 d) {
  vec4 first = a - c, second = b + c, third = c - b, fourth = b - d;
  a = first;
  b = second;
  c = third;
  d = fourth;
}

void main() {
  uint tiles = size_m() * size_n() * batches();
  uint padded_tiles = padded(tiles), padded_channels = padded(size_k());
  uint inner = kChannelsLast != 0u ? padded_channels / kChannels : padded_tiles;
  uint item = item_of_invocation(), outer = item / inner, at = item - outer * inner;
  if (outer >= (kChannelsLast != 0u ? padded_tiles : padded_channels)) return;
  uint tile = kChannelsLast != 0u ? outer : at, c = kChannelsLast != 0u ? at * kChannels : outer;

  bool exists = tile < tiles && c < size_k();
  TilePlace place = place_of_tile(exists ? tile : 0u, size_m(), size_n());
  uvec2 pad = halves(word(kAtImage + 2u));
  // Rows and columns before the first one wrap around to numbers that are not inside either.
  uint top = place.p - pad.x, left = place.q - pad.y;
  uvec2 image = batch_address(push.a, kAType, place.image, a_batch());
  if (exists) load_prologue(c);
  [[unroll]] for (uint r = 0u; r < 4u; ++r) {
    [[unroll]] for (uint s = 0u; s < 4u; ++s) {
      bool inside = exists && top + r < size_h() && left + s < size_w();
      x[r * 4u + s] = input_at(image, ((top + r) * size_w() + left + s) * lda() + c * ldb(), inside);
    }
  }
  [[unroll]] for (uint i = 0u; i < 4u; ++i) transform(x[i], x[4u + i], x[8u + i], x[12u + i]);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) transform(x[4u * i], x[4u * i + 1u], x[4u * i + 2u], x[4u * i + 3u]);
  uint plane = padded_tiles * padded_channels, to = outer * ldd() + at * kChannels;
  [[unroll]] for (uint e = 0u; e < CONV2D_WINOGRAD_PLANES; ++e)
    store_raw(push.d, (e * plane + to) * 4u, 4u * kChannels, floatBitsToUint(x[e]));
}
