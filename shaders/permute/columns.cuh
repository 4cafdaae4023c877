// Stores a tile whose part of each row of the destination begins and ends at a sector. Before it come
// permute/axis_runs.cuh, permute/gaps.cuh, and what reads workgroup memory:
// access_at(tile, position, c): the positions of column `c` from `position` on that fill a store. It may begin before
//   the tile's first position or end after its last one;
// element_at(tile, position, c): one position. `tile`: what they need to know of the tile;
// UNROLLED_EDGES: the columns of a row's first and last tile are unrolled.
constexpr uint kColumnsEach = (kColumns + kLanesS - 1u) / kLanesS;   // of an invocation

// Every kLanesD-th of a column's positions.
template <class Tile>
__device__ __forceinline__ void store_elements(const Tile& tile, SectileAddress base, offset_t row, uint c,
                                               uint begin, uint end) {
  for (uint position = begin; position < end; position += kLanesD)
    store_bytes(base, row + offset_t(position), ELEMENT_BYTES, element_at(tile, position, c));
}

// `to`: where all digits of S are 0; `begin_s`: the tile's first column. It has `columns` of them; there are `size_d`
// and `size_s` indices from its first to the last ones of D and S. `first`: it is the first tile of its rows.
template <class Tile>
__device__ __forceinline__ void store_columns(const PermutePush& push, SectileAddress base, offset_t to, Digits begin_s,
                                              uint size_d, uint size_s, uint columns, bool first,
                                              const Tile& tile) {
  const uint lane = threadIdx.x % kLanesD, column = threadIdx.x / kLanesD;
  if (!first && size_d >= kRows) {   // every access is whole
#pragma unroll
    for (uint g = 0u; g < kColumnsEach; ++g) {
      const uint c = g * kLanesS + column;
      if (kPacked != 0u ? c >= columns : kColumns % kLanesS != 0u && c >= kColumns) break;
      const offset_t row = to + after(push, begin_s, c, false);
      const uint skip = skip_of(row);
      uvec4 v[kAccesses];
#pragma unroll
      for (uint u = 0u; u < kAccesses; ++u) v[u] = access_at(tile, position_of(skip, u), c);
#pragma unroll
      for (uint u = 0u; u < kAccesses; ++u)
        if (kPacked != 0u || c < size_s) store_bytes(base, row + offset_t(position_of(skip, u)), 8u, v[u]);
    }
    return;
  }
#ifdef UNROLLED_EDGES
#pragma unroll
  for (uint g = 0u; g < kColumnsEach; ++g) {
    const uint c = g * kLanesS + column;
    if (c >= columns) break;
#else
#pragma unroll 1
  for (uint c = column; c < columns; c += kLanesS) {
#endif
    const offset_t row = to + after(push, begin_s, c, false);
    const uint skip = skip_of(row);
    if (has_gaps(push) && lane == 0u) {
      if (first) ask_for_sector(base, row);
      if (size_d < kRows) ask_for_sector(base, row + offset_t(size_d - 1u));
    }
    uvec4 v[kAccesses];
#pragma unroll
    for (uint u = 0u; u < kAccesses; ++u) v[u] = access_at(tile, position_of(skip, u), c);
#pragma unroll
    for (uint u = 0u; u < kAccesses; ++u) {
      const int position = position_of(skip, u);
      if (position + int(kPositions) <= int(size_d)) store_bytes(base, row + offset_t(position), 8u, v[u]);
    }
    // What has no whole access: the positions before the first sector, and the row's last ones.
    if (first) store_elements(tile, base, row, c, lane, min(skip, size_d));
    const uint tail = skip + ((max(size_d, skip) - skip) & ~(kPositions - 1u));
    if (tail < skip + kTileD) store_elements(tile, base, row, c, tail + lane, size_d);
  }
}
