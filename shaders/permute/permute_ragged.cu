//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// Transposes ragged matrices. Rows of the source come in by aligned 16-byte words, two of which are joined by shifts.
// Blocks of as many rows as fill a word of 32 bits are turned in registers, so that workgroup memory has the tile
// column by column; from there accesses of 8 bytes are shifted to where the destination's rows begin. All loads of a
// tile are in flight at once.
#include "lib/cuda.cuh"
#include "lib/divisor.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_ragged.abi.h"
constexpr uint kPacked = sectile_constant(PERMUTE_RAGGED_SPEC_PACKED, 0u);
constexpr uint kInner = sectile_constant(PERMUTE_RAGGED_SPEC_INNER, 0u);
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "permute/permute.cuh"
#include "permute/gaps.cuh"

constexpr uint kTileD = sectile_constant(PERMUTE_RAGGED_SPEC_TILE_D, 128u);
constexpr uint kRunBytes = sectile_constant(PERMUTE_RAGGED_SPEC_RUN_BYTES, 128u);
constexpr uint kLanesD = sectile_constant(PERMUTE_RAGGED_SPEC_LANES_D, 8u);
#define OUT_BYTES ELEMENT_BYTES
constexpr uint kPositions = 8u / ELEMENT_BYTES;   // elements of a store
#include "permute/ragged.cuh"

constexpr int kAtOnce = 4;   // accesses of a packed tile that are read before they are stored

struct Staged {};   // nothing depends on the tile

// Element `position` of column `c`.
__device__ __forceinline__ uvec4 element_at(const Staged&, uint position, uint c) {
#if ELEMENT_BYTES == 8
  return {{staged[place_of(c) + 2u * position], staged[place_of(c) + 2u * position + 1u]}};
#elif ELEMENT_BYTES == 4
  return words_of(staged[place_of(c) + position]);
#else
  return words_of(staged[place_of(c) + position / kBlock] >> (8u * ELEMENT_BYTES * (position % kBlock)));
#endif
}

// The positions of column `c` from `position` on that fill an access. It may begin before the column.
__device__ __forceinline__ uvec4 access_at(const Staged&, int position, uint c) {
#if ELEMENT_BYTES < 4
  const uint place = place_of(c) + uint(position >> kBlockShift),
             bits = 8u * ELEMENT_BYTES * (uint(position) % kBlock);
  const uint middle = staged[place + 1u];
  return {{funnel(staged[place], middle, bits), funnel(middle, staged[place + 2u], bits)}};
#else
  const uint place = place_of(c) + uint(position * int(kWordsOf));
  return {{staged[place], staged[place + 1u]}};
#endif
}

// The first `left` elements of `v`, then column `c` from its first element on.
__device__ __forceinline__ uvec4 with_next(const uvec4& v, uint c, uint left) {
#if ELEMENT_BYTES == 8
  return v;
#else
  const uint low = staged[place_of(c)], high = staged[place_of(c) + 1u];
  const uint bytes = left * ELEMENT_BYTES, bits = 8u * (bytes & 3u), kept = (1u << bits) - 1u;
  const uint first = low << bits, second = high << bits | (low >> 1u) >> (31u - bits);
  if (bytes >= 8u) return v;
  if (bytes >= 4u) return {{v[0], (v[1] & kept) | first}};
  return {{(v[0] & kept) | first, second}};
#endif
}

#include "permute/columns.cuh"

// Pieces of the destination that a packed tile has: one for each index of S's inner axes.
__device__ __forceinline__ uint pieces_of(const PermutePush& push) {
  uint pieces = 1u;
#pragma unroll
  for (uint i = 0u; i < 2u; ++i)
    if (i < kInner) pieces *= inner_sizes(push, i) >> 16u;
  return pieces;
}

// Stores a packed tile. Each index of S's inner axes has a piece of the destination: the first `d` positions of every
// `pieces`-th column, one column after the other. `to` is where all digits of S are 0, `begin` the tile's first column.
__device__ __forceinline__ void store_packed(const PermutePush& push, SectileAddress base, offset_t to, Digits begin,
                                             uint columns, uint d) {
  const uint pieces = pieces_of(push);
  const int end = int((advance(push, begin, columns, false).outer - begin.outer) * d);   // of a piece
  // Accesses of a piece at most, wherever it begins: some are idle.
  const uint each = (uint(end) + 2u * (kPositions - 1u)) / kPositions, accesses = pieces * each;
  const Divisor by_d = divisor_of(d), by_each = divisor_of(each);
#pragma unroll 1
  for (uint next = threadIdx.x; next < accesses; next += uint(kAtOnce) * kWorkgroup) {
    uvec4 v[kAtOnce];
    offset_t row[kAtOnce];   // where the piece begins
    int begins[kAtOnce];     // its position that is the access's first
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const uint access = min(next + uint(i) * kWorkgroup, accesses - 1u);
      const uint piece = kInner == 0u ? 0u : divide(access, by_each);
      row[i] = to + after(push, begin, piece, false);
      begins[i] = int((access - piece * each) * kPositions) - int(uint(row[i]) % kPositions);
      const int position = min(begins[i], end - 1);
      const uint w = divide(position < 0 ? 0u : uint(position), by_d), c = w * pieces + piece;
      const int inside = position - int(w * d);
      v[i] = with_next(access_at(Staged(), inside, c), min(c + pieces, kColumns - 1u), uint(int(d) - inside));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      if (next + uint(i) * kWorkgroup < accesses && begins[i] < end)
        store_part(base, row[i] + offset_t(begins[i]), 8u, v[i], -begins[i], end - begins[i]);
  }
}

// Asks for the sectors at the ends of a packed tile's rows that have gaps behind them.
__device__ __forceinline__ void ask_for_sectors(const PermutePush& push, SectileAddress base, offset_t to, Digits begin,
                                                uint columns, uint d) {
  for (uint c = threadIdx.x; c < columns; c += kWorkgroup) {
    const offset_t row = to + after(push, begin, c, false);
    ask_for_sector(base, row);
    ask_for_sector(base, row + offset_t(d - 1u));
  }
}

// The same as store_packed() where rows have gaps behind them, by single elements: neighbouring invocations store those
// of a sector at once, so that it is not written in more parts than it must be. Rows that share sectors are counted
// with their gaps, others without most of them.
__device__ __forceinline__ void store_with_gaps(const PermutePush& push, SectileAddress base, offset_t to, Digits begin,
                                                uint columns, uint d) {
  const uint pieces = pieces_of(push);
  const uint rows = advance(push, begin, columns, false).outer - begin.outer;   // of a piece
  const offset_t pitch = dst_stride(push, 1u);
  const bool shares = pitch <= offset_t(2u * d);
  uint counted = shares ? uint(pitch) : 1u;   // positions of a row
  while (counted < d) counted *= 2u;
  const Divisor by = divisor_of(counted);
#pragma unroll 1
  for (uint piece = 0u; piece < pieces; ++piece) {
    const offset_t first = to + after(push, begin, piece, false);
    const uint before = shares ? uint(first) % kSector : 0u, end = before + rows * counted;
#pragma unroll 1
    for (uint next = threadIdx.x; next < end; next += uint(kAtOnce) * kWorkgroup) {
      uint v[kAtOnce];
      offset_t at[kAtOnce];
      bool stored[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const uint x = next + uint(i) * kWorkgroup, n = max(x, before) - before;
        const uint row = divide(n, by), position = n - row * counted;
        stored[i] = x >= before && x < end && position < d;
        at[i] = first + offset_t(row) * pitch + offset_t(position);
        v[i] = element_at(Staged(), min(position, d - 1u), min(row * pieces + piece, columns - 1u))[0];
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        if (stored[i]) store_bytes(base, at[i], ELEMENT_BYTES, words_of(v[i]));
    }
  }
}

// With one workgroup a multiprocessor stated, ptxas spills nothing to fit more of them.
SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, PERMUTE_SECTOR);
  const Start tile = take_tile(push, id);
  const uint size_d = extent_d(push) - tile.d, size_s = extent_s(push) - tile.s;   // from the tile's first to the last
  const uint columns = min(size_s, kPacked != 0u ? tile_s(push) : kColumns);
  const bool first = tile.d == 0u;                                     // part of the destination's rows
  const Digits begin_d = digits_of(push, tile.d, true), begin_s = digits_of(push, tile.s, false);
  // Of the tile's first element of S, with all digits of D 0; and the other way round.
  offset_t from = source.begin + offset_t(tile.s), to = lead_of(push.dst, PERMUTE_SECTOR) + offset_t(tile.d);
#pragma unroll
  for (uint a = 2u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a);
    from += offset_t(digit) * src_stride(push, a);
    to += offset_t(digit) * dst_stride(push, a);
  }
  if (kPacked == PERMUTE_RAGGED_GAPS) ask_for_sectors(push, base, to, begin_s, columns, size_d);
  stage_tile(push, source, from, begin_d, size_d, columns);
  __syncthreads();   // the whole tile is staged before loads by other invocations

  if (kPacked == PERMUTE_RAGGED_GAPS) {
    store_with_gaps(push, base, to, begin_s, columns, size_d);
    return;
  }
  if (kPacked != 0u) {
    store_packed(push, base, to, begin_s, columns, size_d);
    return;
  }
  store_columns(push, base, to, begin_s, size_d, size_s, columns, first, Staged());
}
