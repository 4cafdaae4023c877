// Runs of axes that ragged transposes have, D along the destination and S along the source, and where a tile lies in
// them; permute_ragged.abi.h describes both. Before it come permute/permute.cuh and the constants kTileD, kColumns,
// kLanesD, kPacked, kInner, kSector and kPositions, the elements of a store.

// Digits of an index of D or S: of its inner axes, then of the outermost.
struct Digits {
  uint inner[2], outer;
};

__device__ __forceinline__ Digits digits_of(const PermutePush& push, uint index, const bool d) {
  Digits g;
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    g.inner[i] = 0u;
    if (i < kInner) {
      const uint size = d ? inner_sizes(push, i) & 0xffffu : inner_sizes(push, i) >> 16u;
      g.inner[i] = index % size;
      index /= size;
    }
  }
  g.outer = index;
  return g;
}

// `n` indices after `g`, fewer than 2^16.
__device__ __forceinline__ Digits advance(const PermutePush& push, Digits g, uint n, const bool d) {
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    if (i < kInner) {
      const uint size = d ? inner_sizes(push, i) & 0xffffu : inner_sizes(push, i) >> 16u, sum = g.inner[i] + n;
      const Divisor by = {size, d ? multiplier_d(push, i) : multiplier_s(push, i)};
      n = divide(sum, by);
      g.inner[i] = sum - n * size;
    }
  }
  g.outer += n;
  return g;
}

// Elements from where all digits are 0: in the source for D, in the destination for S.
__device__ __forceinline__ offset_t offset_of(const PermutePush& push, Digits g, const bool d) {
  offset_t at = offset_t(g.outer) * (d ? src_stride(push, 0u) : dst_stride(push, 1u));
#pragma unroll
  for (uint i = 0u; i < 2u; ++i)
    if (i < kInner) at += offset_t(g.inner[i]) * (d ? inner_src(push, i) : inner_dst(push, i));
  return at;
}

// The same `n` indices after `g`.
__device__ __forceinline__ offset_t after(const PermutePush& push, Digits g, uint n, const bool d) {
  return offset_of(push, advance(push, g, n, d), d);
}

// Positions of a row of the destination before the first sector.
__device__ __forceinline__ uint skip_of(offset_t row) { return (0u - uint(row)) & (kSector - 1u); }

// The first position of the invocation's access `u` of a column.
__device__ __forceinline__ int position_of(uint skip, uint u) {
  return int(skip + (threadIdx.x % kLanesD + u * kLanesD) * kPositions);
}

// Where a tile begins along D and along S. Leaves in `id` the tile's number along the other axes.
struct Start {
  uint d, s;
};

__device__ __forceinline__ Start take_tile(const PermutePush& push, uint& id) {
  uint at_d, at_s;
  if (s_first(push) != 0u) {
    const uint rest = divide_by_count(push, id, 1u);
    at_s = id - rest * axis_count(push, 1u);
    id = divide_by_count(push, rest, 0u);
    at_d = rest - id * axis_count(push, 0u);
  } else {
    at_d = take_digit(push, id, 0u);
    at_s = take_digit(push, id, 1u);
  }
  return {at_d * kTileD, at_s * (kPacked != 0u ? tile_s(push) : kColumns)};
}
