//! variant f32
//! variant f32.narrow
// Winograd convolution, the result: A^T s A for each tile, and the epilogue. conv2d_winograd.abi.h has the method.
#include "lib/cuda.cuh"
#include "conv2d/prologue.cuh"
#include "gemm/gemm.cuh"
#include "conv2d/conv2d_winograd.abi.h"
#include "gemm/epilogue.cuh"
#include "conv2d/conv2d.cuh"
#include "conv2d/winograd.cuh"

__device__ __forceinline__ uint size_p(const GemmPush& push) { return word(push, kAtEnd); }
__device__ __forceinline__ uint size_q(const GemmPush& push) { return word(push, kAtEnd + 1u); }

constexpr uint kChannels = kChannelsLast != 0u ? kWidthD : 1u;   // of a thread

// A^T times four elements, `step` from each other, in place of the first two.
__device__ __forceinline__ void transform(float* v, const uint step) {
  const float a = v[0], b = v[step], c = v[2u * step], d = v[3u * step];
  v[0] = a + b + c;
  v[step] = b - c - d;
}

// The image of the result as a matrix.
__device__ __forceinline__ Target target_of_image(const GemmPush& push, uint image) {
  Target g = {batch_address(address_of(push.d), kOutType, image, d_batch(push)), 0u, 0u, 0u, 0u, image};
  g.c = g.residual = g.d;
  if (kHasC != 0u) g.c = batch_address(c_address(push), kOutType, image, c_batch(push));
  if (kHasResidual != 0u) g.residual = batch_address(residual_address(push), kOutType, image, r_batch(push));
  return g;
}

// Stores the outputs `left` and `right` of row p; `column` is the left one's.
__device__ __forceinline__ void store_outputs(const GemmPush& push, const Target& g, uint p, uint column, uint k,
                                              const float* left, const float* right) {
  const uint pixel = p * size_q(push) + column;
  float run[MAX_RUN] = {};
  if (kChannelsLast == 0u) {
    run[0] = left[0];
    run[1] = right[0];
    store_run(push, g, k, pixel, run);
    run[0] = right[0];
    if (kWidthD == 1u && column + 1u < size_q(push)) store_run(push, g, k, pixel + 1u, run);
    return;
  }
#pragma unroll
  for (uint i = 0u; i < kChannels; ++i) run[i] = left[i];
  store_run(push, g, pixel, k, run);
  if (column + 1u >= size_q(push)) return;
#pragma unroll
  for (uint i = 0u; i < kChannels; ++i) run[i] = right[i];
  store_run(push, g, pixel + 1u, k, run);
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  const uint rows = (size_p(push) + 1u) / 2u, columns = (size_q(push) + 1u) / 2u;
  const uint tiles = rows * columns * batches(push);
  const uint channels = kChannelsLast != 0u ? size_n(push) : size_m(push);
  const uint inner = kChannelsLast != 0u ? channels / kChannels : tiles;
  const uint item = item_of_invocation(), outer = item / inner, at = item - outer * inner;
  if (outer >= (kChannelsLast != 0u ? tiles : channels)) return;
  const uint tile = kChannelsLast != 0u ? outer : at, k = kChannelsLast != 0u ? at * kChannels : outer;

  const uint plane = padded(tiles) * padded(channels), from = outer * lda(push) + at * kChannels;
  float sums[16u * kChannels];        // of the tile, row by row
#pragma unroll
  for (uint e = 0u; e < CONV2D_WINOGRAD_PLANES; ++e) {
    const uvec4 raw = load_raw(address_of(push.a), (e * plane + from) * 4u, 4u * kChannels);
#pragma unroll
    for (uint i = 0u; i < kChannels; ++i) sums[e * kChannels + i] = __uint_as_float(raw[i]);
  }
#pragma unroll
  for (uint i = 0u; i < 4u * kChannels; ++i) transform(&sums[i], 4u * kChannels);
#pragma unroll
  for (uint r = 0u; r < 2u; ++r)
#pragma unroll
    for (uint i = 0u; i < kChannels; ++i) transform(&sums[r * 4u * kChannels + i], kChannels);
  const TilePlace place = place_of_tile(tile, rows, columns);
  const Target g = target_of_image(push, place.image);
  store_outputs(push, g, place.p, place.q, k, sums, sums + kChannels);
  if (place.p + 1u < size_p(push))
    store_outputs(push, g, place.p + 1u, place.q, k, sums + 4u * kChannels, sums + 5u * kChannels);
}
