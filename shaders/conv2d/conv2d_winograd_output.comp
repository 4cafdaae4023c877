//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
// Winograd convolution, the result: A^T s A for each tile, and the epilogue. conv2d_winograd.abi.h has the method.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/prologue.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_winograd.abi.h"
#include "gemm/epilogue.glsl"
#include "conv2d/target.glsl"
#include "conv2d/conv2d.glsl"
#include "conv2d/winograd.glsl"

uint size_p() { return word(kAtImage); }
uint size_q() { return word(kAtImage + 1u); }

const uint kChannels = kChannelsLast != 0u ? kWidthD : 1u;   // of an invocation; a vector's other elements are zero

vec4 sums[16];                        // of the tile, row by row

// A^T times four elements.
void transform(inout vec4 a, inout vec4 b, vec4 c, vec4 d) {
  a = a + b + c;
  b = b - c - d;
}

// Stores the outputs `left` and `right` of row p; `column` is the left one's.
void store_outputs(Target g, uint p, uint column, uint k, vec4 left, vec4 right) {
  float run[MAX_RUN];
  uint pixel = p * size_q() + column;
  if (kChannelsLast == 0u) {
    [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = i == 0u ? left.x : right.x;
    store_run(g, k, pixel, run);
    run[0] = right.x;
    if (kWidthD == 1u && column + 1u < size_q()) store_run(g, k, pixel + 1u, run);
    return;
  }
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = left[min(i, 3u)];
  store_run(g, pixel, k, run);
  if (column + 1u >= size_q()) return;
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) run[i] = right[min(i, 3u)];
  store_run(g, pixel + 1u, k, run);
}

void main() {
  uint rows = (size_p() + 1u) / 2u, columns = (size_q() + 1u) / 2u, tiles = rows * columns * batches();
  uint channels = kChannelsLast != 0u ? size_n() : size_m();
  uint inner = kChannelsLast != 0u ? channels / kChannels : tiles;
  uint item = item_of_invocation(), outer = item / inner, at = item - outer * inner;
  if (outer >= (kChannelsLast != 0u ? tiles : channels)) return;
  uint tile = kChannelsLast != 0u ? outer : at, k = kChannelsLast != 0u ? at * kChannels : outer;

  uint plane = padded(tiles) * padded(channels), from = outer * lda() + at * kChannels;
  [[unroll]] for (uint e = 0u; e < CONV2D_WINOGRAD_PLANES; ++e)
    sums[e] = uintBitsToFloat(load_raw(push.a, (e * plane + from) * 4u, 4u * kChannels));
  [[unroll]] for (uint i = 0u; i < 4u; ++i) transform(sums[i], sums[4u + i], sums[8u + i], sums[12u + i]);
  [[unroll]] for (uint i = 0u; i < 2u; ++i)
    transform(sums[4u * i], sums[4u * i + 1u], sums[4u * i + 2u], sums[4u * i + 3u]);

  TilePlace place = place_of_tile(tile, rows, columns);
  Target g = target_of_image(place.image);
  store_outputs(g, place.p, place.q, k, sums[0], sums[1]);
  if (place.p + 1u < size_p()) store_outputs(g, place.p + 1u, place.q, k, sums[4], sums[5]);
}
