//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Transposes ragged matrices. Rows of the source come in by aligned 16-byte words, two of which are joined by shifts.
// Blocks of as many rows as fill a word of 32 bits are turned in registers, so that workgroup memory has the tile
// column by column; from there accesses of 8 bytes are shifted to where the destination's rows begin. All loads of a
// tile are in flight at once.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/divisor.glsl"
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_ragged.abi.h"
layout(constant_id = PERMUTE_RAGGED_SPEC_PACKED) const uint kPacked = 0u;
layout(constant_id = PERMUTE_RAGGED_SPEC_INNER) const uint kInner = 0u;
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "permute/permute.glsl"
#include "permute/gaps.glsl"

layout(constant_id = PERMUTE_RAGGED_SPEC_TILE_D) const uint kTileD = 128u;
layout(constant_id = PERMUTE_RAGGED_SPEC_RUN_BYTES) const uint kRunBytes = 128u;
layout(constant_id = PERMUTE_RAGGED_SPEC_LANES_D) const uint kLanesD = 8u;
#define OUT_BYTES ELEMENT_BYTES
const uint kPositions = 8u / ELEMENT_BYTES;   // elements of a store
#include "permute/ragged.glsl"

const int kAtOnce = 4;   // accesses of a packed tile that are read before they are stored

// Element `position` of column `c`.
uvec4 element_at(uint position, uint c) {
#if ELEMENT_BYTES == 4
  return uvec4(staged[place_of(c) + position], 0u, 0u, 0u);
#else
  return uvec4(staged[place_of(c) + position / kBlock] >> (8u * ELEMENT_BYTES * (position % kBlock)), 0u, 0u, 0u);
#endif
}

// The positions of column `c` from `position` on that fill an access. It may begin before the column.
uvec4 access_at(int position, uint c) {
#if ELEMENT_BYTES < 4
  const uint place = place_of(c) + uint(position >> kBlockShift),
             bits = 8u * ELEMENT_BYTES * (uint(position) % kBlock);
  const uint middle = staged[place + 1u];
  return uvec4(funnel(staged[place], middle, bits), funnel(middle, staged[place + 2u], bits), 0u, 0u);
#else
  const uint place = place_of(c) + uint(position);
  return uvec4(staged[place], staged[place + 1u], 0u, 0u);
#endif
}

// The first `left` elements of `v`, then column `c` from its first element on.
uvec4 with_next(uvec4 v, uint c, uint left) {
  const uint low = staged[place_of(c)], high = staged[place_of(c) + 1u];
  const uint bytes = left * ELEMENT_BYTES, bits = 8u * (bytes & 3u), kept = (1u << bits) - 1u;
  const uint first = low << bits, second = high << bits | (low >> 1u) >> (31u - bits);
  if (bytes >= 8u) return v;
  if (bytes >= 4u) return uvec4(v.x, (v.y & kept) | first, 0u, 0u);
  return uvec4((v.x & kept) | first, second, 0u, 0u);
}

// Every kLanesD-th of a column's positions.
void store_elements(uvec2 base, offset_t row, uint c, uint begin, uint end) {
  for (uint position = begin; position < end; position += kLanesD)
    store_bytes(base, row + offset_t(position), ELEMENT_BYTES, element_at(position, c));
}

// Pieces of the destination that a packed tile has: one for each index of S's inner axes.
uint pieces_of() {
  uint pieces = 1u;
  [[unroll]] for (uint i = 0u; i < 2u; ++i)
    if (i < kInner) pieces *= inner_sizes(i) >> 16u;
  return pieces;
}

// Stores a packed tile. Each index of S's inner axes has a piece of the destination: the first `d` positions of every
// `pieces`-th column, one column after the other. `to` is where all digits of S are 0, `begin` the tile's first column.
void store_packed(uvec2 base, offset_t to, Digits begin, uint columns, uint d) {
  const uint pieces = pieces_of();
  const int end = int((advance(begin, columns, false).outer - begin.outer) * d);   // of a piece
  // Accesses of a piece at most, wherever it begins: some are idle.
  const uint each = (uint(end) + 2u * (kPositions - 1u)) / kPositions, accesses = pieces * each;
  const Divisor by_d = divisor_of(d), by_each = divisor_of(each);
  [[dont_unroll]] for (uint next = gl_LocalInvocationID.x; next < accesses; next += uint(kAtOnce) * kWorkgroup) {
    uvec4 v[kAtOnce];
    offset_t row[kAtOnce];   // where the piece begins
    int begins[kAtOnce];     // its position that is the access's first
    [[unroll]] for (int i = 0; i < kAtOnce; ++i) {
      const uint access = min(next + uint(i) * kWorkgroup, accesses - 1u);
      const uint piece = kInner == 0u ? 0u : divide(access, by_each);
      row[i] = to + after(begin, piece, false);
      begins[i] = int((access - piece * each) * kPositions) - int(uint(row[i]) % kPositions);
      const int position = min(begins[i], end - 1);
      const uint w = divide(uint(max(position, 0)), by_d), c = w * pieces + piece;
      const int inside = position - int(w * d);
      v[i] = with_next(access_at(inside, c), min(c + pieces, kColumns - 1u), uint(int(d) - inside));
    }
    [[unroll]] for (int i = 0; i < kAtOnce; ++i)
      if (next + uint(i) * kWorkgroup < accesses && begins[i] < end)
        store_part(base, row[i] + offset_t(begins[i]), 8u, v[i], -begins[i], end - begins[i]);
  }
}

// Asks for the sectors at the ends of a packed tile's rows that have gaps behind them. Returns 0.
offset_t ask_for_sectors(uvec2 base, offset_t to, Digits begin, uint columns, uint d) {
  uint asked = 0u;
  for (uint c = gl_LocalInvocationID.x; c < columns; c += kWorkgroup) {
    const offset_t row = to + after(begin, c, false);
    asked += ask_for_sector(base, row) + ask_for_sector(base, row + offset_t(d - 1u));
  }
  return offset_t(asked);
}

// The same as store_packed() where rows have gaps behind them, by single elements: neighbouring invocations store those
// of a sector at once, so that it is not written in more parts than it must be. Rows that share sectors are counted
// with their gaps, others without most of them.
void store_with_gaps(uvec2 base, offset_t to, Digits begin, uint columns, uint d) {
  const uint pieces = pieces_of();
  const uint rows = advance(begin, columns, false).outer - begin.outer;   // of a piece
  const offset_t pitch = dst_stride(1u);
  const bool shares = pitch <= offset_t(2u * d);
  uint counted = shares ? uint(pitch) : 1u;   // positions of a row
  while (counted < d) counted *= 2u;
  const Divisor by = divisor_of(counted);
  [[dont_unroll]] for (uint piece = 0u; piece < pieces; ++piece) {
    const offset_t first = to + after(begin, piece, false);
    const uint before = shares ? uint(first) % kSector : 0u, end = before + rows * counted;
    [[dont_unroll]] for (uint next = gl_LocalInvocationID.x; next < end; next += uint(kAtOnce) * kWorkgroup) {
      uint v[kAtOnce];
      offset_t at[kAtOnce];
      bool stored[kAtOnce];
      [[unroll]] for (int i = 0; i < kAtOnce; ++i) {
        const uint x = next + uint(i) * kWorkgroup, n = max(x, before) - before;
        const uint row = divide(n, by), position = n - row * counted;
        stored[i] = x >= before && x < end && position < d;
        at[i] = first + offset_t(row) * pitch + offset_t(position);
        v[i] = element_at(min(position, d - 1u), min(row * pieces + piece, columns - 1u)).x;
      }
      [[unroll]] for (int i = 0; i < kAtOnce; ++i)
        if (stored[i]) store_bytes(base, at[i], ELEMENT_BYTES, uvec4(v[i], 0u, 0u, 0u));
    }
  }
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, PERMUTE_SECTOR);
  const Start tile = take_tile(id);
  const uint size_d = extent_d() - tile.d, size_s = extent_s() - tile.s;   // indices from the tile's first to the last
  const uint columns = min(size_s, kPacked != 0u ? tile_s() : kColumns);
  const bool first = tile.d == 0u;                                     // part of the destination's rows
  const Digits begin_d = digits_of(tile.d, true), begin_s = digits_of(tile.s, false);
  // Of the tile's first element of S, with all digits of D 0; and the other way round.
  offset_t from = source.begin + offset_t(tile.s), to = lead_of(push.dst, PERMUTE_SECTOR) + offset_t(tile.d);
  [[unroll]] for (uint a = 2u; a < kAxes; ++a) {
    const uint digit = take_digit(id, a);
    from += offset_t(digit) * src_stride(a);
    to += offset_t(digit) * dst_stride(a);
  }
  if (kPacked == PERMUTE_RAGGED_GAPS) to += ask_for_sectors(base, to, begin_s, columns, size_d);
  stage_tile(source, from, begin_d, size_d, columns);
  barrier();   // the whole tile is staged before loads by other invocations

  if (kPacked == PERMUTE_RAGGED_GAPS) {
    store_with_gaps(base, to, begin_s, columns, size_d);
    return;
  }
  if (kPacked != 0u) {
    store_packed(base, to, begin_s, columns, size_d);
    return;
  }
  const uint lane = gl_LocalInvocationID.x % kLanesD, column = gl_LocalInvocationID.x / kLanesD;
  if (!first && size_d >= kRows) {   // every access is whole
    [[unroll]] for (uint g = 0u; g < (kColumns + kLanesS - 1u) / kLanesS; ++g) {
      const uint c = g * kLanesS + column;
      if (kColumns % kLanesS != 0u && c >= kColumns) break;
      const offset_t row = to + after(begin_s, c, false);
      const uint skip = skip_of(row);
      uvec4 v[kAccesses];
      [[unroll]] for (uint u = 0u; u < kAccesses; ++u) v[u] = access_at(position_of(skip, u), c);
      [[unroll]] for (uint u = 0u; u < kAccesses; ++u)
        if (c < size_s) store_bytes(base, row + offset_t(position_of(skip, u)), 8u, v[u]);
    }
    return;
  }
  [[dont_unroll]] for (uint c = column; c < columns; c += kLanesS) {
    offset_t row = to + after(begin_s, c, false);
    const uint skip = skip_of(row);
    if (has_gaps() && lane == 0u) {   // what is asked for is 0
      if (first) row += offset_t(ask_for_sector(base, row));
      if (size_d < kRows) row += offset_t(ask_for_sector(base, row + offset_t(size_d - 1u)));
    }
    uvec4 v[kAccesses];
    [[unroll]] for (uint u = 0u; u < kAccesses; ++u) v[u] = access_at(position_of(skip, u), c);
    [[unroll]] for (uint u = 0u; u < kAccesses; ++u) {
      const int position = position_of(skip, u);
      if (position + int(kPositions) <= int(size_d)) store_bytes(base, row + offset_t(position), 8u, v[u]);
    }
    // What has no whole access: the positions before the first sector, and the row's last ones.
    if (first) store_elements(base, row, c, lane, min(skip, size_d));
    const uint tail = skip + ((max(size_d, skip) - skip) & ~(kPositions - 1u));
    if (tail < skip + kTileD) store_elements(base, row, c, tail + lane, size_d);
  }
}
