// What the steps of a Winograd convolution share (conv2d_winograd.abi.h). Include after gemm/base.cuh.

constexpr uint kChannelsLast = sectile_constant(CONV2D_WINOGRAD_SPEC_CHANNELS_LAST, 0u);

__device__ __forceinline__ uint padded(uint size) {
  return (size + (CONV2D_WINOGRAD_PAD - 1u)) & ~(CONV2D_WINOGRAD_PAD - 1u);
}

// The number of this thread in the grid. Planes have less than 2^25 elements.
__device__ __forceinline__ uint item_of_invocation() { return group_id() * kWorkgroup + threadIdx.x; }

// A tile's image, and its first output there.
struct TilePlace {
  uint image, p, q;
};
__device__ __forceinline__ TilePlace place_of_tile(uint tile, uint tile_rows, uint tile_columns) {
  TilePlace place;
  const uint row = tile / tile_columns;
  place.q = (tile - row * tile_columns) * CONV2D_WINOGRAD_TILE;
  place.image = row / tile_rows;
  place.p = (row - place.image * tile_rows) * CONV2D_WINOGRAD_TILE;
  return place;
}
