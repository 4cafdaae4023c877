//! variant f32
//! variant f32.narrow
// Winograd convolution, the image: V = B^T x B for each channel of each tile. conv2d_winograd.abi.h has the method.
#include "lib/cuda.cuh"
#include "conv2d/prologue.cuh"
#include "gemm/gemm.cuh"
#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/conv2d.cuh"
#include "conv2d/winograd.cuh"

__device__ __forceinline__ uint size_h(const GemmPush& push) { return word(push, kAtEnd); }
__device__ __forceinline__ uint size_w(const GemmPush& push) { return word(push, kAtEnd + 1u); }

constexpr uint kChannels = kChannelsLast != 0u ? kWidthA : 1u;   // of a thread

// B^T times four elements, `step` from each other.
__device__ __forceinline__ void transform(float* v, const uint step) {
  const float a = v[0], b = v[step], c = v[2u * step], d = v[3u * step];
  v[0] = a - c;
  v[step] = b + c;
  v[2u * step] = c - b;
  v[3u * step] = b - d;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  const uint tiles = size_m(push) * size_n(push) * batches(push);
  const uint padded_tiles = padded(tiles), padded_channels = padded(size_k(push));
  const uint inner = kChannelsLast != 0u ? padded_channels / kChannels : padded_tiles;
  const uint item = item_of_invocation(), outer = item / inner, at = item - outer * inner;
  if (outer >= (kChannelsLast != 0u ? padded_tiles : padded_channels)) return;
  const uint tile = kChannelsLast != 0u ? outer : at, c = kChannelsLast != 0u ? at * kChannels : outer;

  const bool exists = tile < tiles && c < size_k(push);
  const TilePlace place = place_of_tile(exists ? tile : 0u, size_m(push), size_n(push));
  // Rows and columns before the first one wrap around to numbers that are not inside either.
  const uint top = place.p - low_half(word(push, kAtEnd + 2u)), left = place.q - high_half(word(push, kAtEnd + 2u));
  const uint64 image = batch_address(address_of(push.a), kAType, place.image, a_batch(push));
  float x[16u * kChannels];           // the tile's inputs, row by row
#pragma unroll
  for (uint r = 0u; r < 4u; ++r)
#pragma unroll
    for (uint s = 0u; s < 4u; ++s) {
      const bool inside = exists && top + r < size_h(push) && left + s < size_w(push);
      const uint element = ((top + r) * size_w(push) + left + s) * lda(push) + c * ldb(push);
      // Outside of the image its first elements are loaded, which always exist.
      const uvec4 raw =
          load_raw(image, inside ? element * bytes_of_type(kAType) : 0u, kChannels * bytes_of_type(kAType));
      float v[MAX_RUN];
      convert_x(push, kAType, kChannels, raw, exists ? c : 0u, inside, v);
#pragma unroll
      for (uint i = 0u; i < kChannels; ++i) x[(r * 4u + s) * kChannels + i] = v[i];
    }
#pragma unroll
  for (uint i = 0u; i < 4u * kChannels; ++i) transform(&x[i], 4u * kChannels);
#pragma unroll
  for (uint r = 0u; r < 4u; ++r)
#pragma unroll
    for (uint i = 0u; i < kChannels; ++i) transform(&x[r * 4u * kChannels + i], kChannels);
  const uint plane = padded_tiles * padded_channels, to = outer * ldd(push) + at * kChannels;
#pragma unroll
  for (uint e = 0u; e < CONV2D_WINOGRAD_PLANES; ++e) {
    uvec4 raw = {};
#pragma unroll
    for (uint i = 0u; i < kChannels; ++i) raw[i] = __float_as_uint(x[e * kChannels + i]);
    store_raw(address_of(push.d), (e * plane + to) * 4u, 4u * kChannels, raw);
  }
}
