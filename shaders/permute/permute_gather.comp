//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e16 -DELEMENT_BYTES=16
//! variant e1.long -DELEMENT_BYTES=1 -DLONG
//! variant e2.long -DELEMENT_BYTES=2 -DLONG
//! variant e4.long -DELEMENT_BYTES=4 -DLONG
//! variant e8.long -DELEMENT_BYTES=8 -DLONG
//! variant e16.long -DELEMENT_BYTES=16 -DLONG
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
//! variant e16.wide -DELEMENT_BYTES=16 -DWIDE -DLONG
// A box of the problem goes through workgroup memory: its runs in the source come in by aligned 16-byte words, its runs
// in the destination go out by aligned accesses of 8 bytes (an element, if that is more), wherever either begins.
// permute_gather.abi.h describes the tile.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_gather.abi.h"
layout(constant_id = PERMUTE_GATHER_SPEC_UNROLL) const uint kUnroll = 4u;
layout(constant_id = PERMUTE_GATHER_SPEC_SHARED_WORDS) const uint kSharedWords = 4096u;
layout(constant_id = PERMUTE_GATHER_SPEC_TEAM) const uint kTeam = 32u;
layout(constant_id = PERMUTE_GATHER_SPEC_TURN) const uint kTurn = 0u;
layout(constant_id = PERMUTE_GATHER_SPEC_INNER) const uint kInner = 0u;
#define OWN_WORDS PERMUTE_GATHER_WORDS
#include "permute/permute.glsl"
#include "permute/register_transpose.glsl"

shared uint staged[kSharedWords];

const uint kAccess = max(8u, ELEMENT_BYTES);        // bytes of a store
const uint kPositions = kAccess / ELEMENT_BYTES;    // of a lane
const uint kAccessWords = kAccess / 4u;
const uint kElementWords = max(1u, ELEMENT_BYTES / 4u);
// A lane's access takes elements of the next lane unless every element is an access.
const uint kStoring = kPositions > 1u ? kTeam - 1u : kTeam;
const uint kColumns = kTurn != 0u && ELEMENT_BYTES < 4 ? 4u / ELEMENT_BYTES : 1u;   // that a lane collects at once
const uint kSector = PERMUTE_GATHER_SECTOR / ELEMENT_BYTES;                        // elements

// Division by a number that is not known beforehand: n * d < 2^32.
struct Divisor {
  uint d, multiplier;
};
Divisor divisor_of(uint d) { return Divisor(d, 0xffffffffu / d + 1u); }
uint divide(uint n, Divisor by) {
  uint high, low;
  umulExtended(n, by.multiplier, high, low);
  return by.d == 1u ? n : high;
}

struct Tile {
  offset_t from, to;          // first element; of the source from the aligned base, of the destination from its own
  uint size[3], step[3];      // of the position axes: indices that are loaded, rows from one to the next (shared: 0)
  offset_t src[3];            // their strides in the source
  uint columns[3];            // valid indices of the column axes
  offset_t column_src[3], column_dst[3];
  uint rows, span;            // rows of workgroup memory, elements of each
  uint part, loaded;          // positions of a part, positions that are loaded
  bool first, last;           // part of the destination's runs
};

Tile locate_tile(uint id, Source source, offset_t lead) {
  Tile t;
  t.from = source.begin;
  t.to = lead;
  const uint bits = schedule().y;
  uint digit_p = 0u, digit_c = 0u;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint start = take_digit(id, a);
    if (a == 0u) { digit_p = start; start *= part().x; }
    if (a == 1u) { digit_c = start; start *= column_part(); }
    t.from += offset_t(start) * src_stride(a);
    t.to += offset_t(start) * dst_stride(a);
  }
  t.first = digit_p == 0u;
  t.last = digit_p + 1u == axis_count(0u);
  const uint valid_c = min(column_part(), column_extent() - digit_c * column_part());
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    t.size[i] = kInner != 0u ? position_sizes(0u)[i] : 1u;
    t.src[i] = kInner != 0u ? position_src(i) : offset_t(0);
    t.columns[i] = kInner != 0u ? column_sizes(0u)[i] : 1u;
    t.column_src[i] = kInner != 0u ? column_src(i) : src_stride(1u);
    t.column_dst[i] = kInner != 0u ? column_dst(i) : dst_stride(1u);
  }
  t.size[2] = min(part().y, cut_extent() - digit_p * part().x);
  t.src[2] = src_stride(0u);
  const bool cut_first = kInner == 0u || (bits & PERMUTE_GATHER_CUT_FIRST) != 0u;
  t.columns[2] = cut_first ? 1u : valid_c;
  if (cut_first) t.columns[0] = valid_c;
  t.column_src[2] = src_stride(1u);
  t.column_dst[2] = dst_stride(1u);
  t.rows = 1u;
  t.span = 1u;
  [[unroll]] for (uint i = 0u; i < 3u; ++i) {
    const bool shared_axis = (bits & (PERMUTE_GATHER_SHARED << i)) != 0u;
    t.step[i] = shared_axis ? 0u : t.rows;
    if (shared_axis) t.span += (t.size[i] - 1u) * uint(t.src[i]);
    else t.rows *= t.size[i];
    t.span += (t.columns[i] - 1u) * uint(t.column_src[i]);
  }
  const uint inner = t.size[0] * t.size[1];
  t.part = part().x * inner;
  t.loaded = t.size[2] * inner;
  return t;
}

// First word of a row in workgroup memory.
uint row_place(uint row, uvec3 staging) { return row * staging.z + (row >> staging.x) * staging.y; }

// Loads the tile's rows.
void stage(Tile t, Source source, uvec3 staging) {
  const uint bytes = t.span * ELEMENT_BYTES;
  const uint row_words = (bytes + (ELEMENT_BYTES < 4 ? 6u : 0u)) / 4u;   // its first byte may be a word's last
  const uint loads = (bytes + 31u - ELEMENT_BYTES) / 16u;                 // of a row, at any address
  const uint items = t.rows * loads;
  const Divisor by_loads = divisor_of(loads), by_first = divisor_of(t.step[0] != 0u ? t.size[0] : 1u),
                by_second = divisor_of(t.step[1] != 0u ? t.size[1] : 1u);
  uint first = gl_LocalInvocationID.x;
  do {   // tested at the bottom: lavapipe executes uniform loads of a top-tested loop once too often
    uvec4 value[kUnroll];
    offset_t at[kUnroll];
    uint place[kUnroll], begin[kUnroll];   // of the row; the load's first word in it, which may wrap below 0
    [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
      const uint item = min(first + u * kWorkgroup, items - 1u);
      const uint row = divide(item, by_loads), k = item - row * loads;
      uint rest = row;
      if (kInner != 0u) {
        const uint second = divide(rest, by_first), third = divide(second, by_second);
        at[u] = t.from + offset_t(rest - second * by_first.d) * t.src[0] +
                offset_t(second - third * by_second.d) * t.src[1];
        rest = third;
      } else {
        at[u] = t.from;
      }
      if (t.step[2] != 0u) at[u] += offset_t(rest) * t.src[2];
      const uint ahead = uint(at[u]) & (kPer16 - 1u);
      at[u] += offset_t(k * kPer16) - offset_t(ahead);
      begin[u] = 4u * k - ahead * ELEMENT_BYTES / 4u;
      place[u] = row_place(row, staging);
      value[u] = load_word(source, at[u]);
    }
    [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
      if (first + u * kWorkgroup >= items) break;
      mend_word(source, at[u], value[u]);
      [[unroll]] for (uint w = 0u; w < 4u; ++w)
        if (begin[u] + w < row_words) staged[place[u] + begin[u] + w] = value[u][w];
    }
    first += kWorkgroup * kUnroll;
  } while (first - gl_LocalInvocationID.x < items);
}

// Where a lane's positions are in workgroup memory: the byte of column 0.
void place_positions(Tile t, uint position, uvec3 staging, out uint place[kPositions]) {
  uint i0 = 0u, i1 = 0u, i2 = position;
  if (kInner != 0u) {
    const uint second = position / t.size[0];
    i0 = position - second * t.size[0];
    i2 = second / t.size[1];
    i1 = second - i2 * t.size[1];
  }
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
    i2 = min(i2, t.size[2] - 1u);   // what lies beyond is not stored
    uint row = i2 * t.step[2], along = t.step[2] == 0u ? i2 * uint(t.src[2]) : 0u;
    offset_t start = t.from;
    if (t.step[2] != 0u) start += offset_t(i2) * t.src[2];
    if (kInner != 0u) {
      row += i0 * t.step[0] + i1 * t.step[1];
      if (t.step[0] == 0u) along += i0 * uint(t.src[0]); else start += offset_t(i0) * t.src[0];
      if (t.step[1] == 0u) along += i1 * uint(t.src[1]); else start += offset_t(i1) * t.src[1];
    }
    place[j] = 4u * row_place(row, staging) + (uint(start) * ELEMENT_BYTES & 3u) + along * ELEMENT_BYTES;
    if (kInner != 0u) {
      ++i0;
      if (i0 == t.size[0]) { i0 = 0u; ++i1; }
      if (i1 == t.size[1]) { i1 = 0u; ++i2; }
    } else {
      ++i2;
    }
  }
}

// The lane's access of column `c` of those that start `offset` bytes after column 0.
void collect(uint place[kPositions], uint offset, out uvec4 column[kColumns]) {
#if ELEMENT_BYTES >= 4
  [[unroll]] for (uint j = 0u; j < kPositions; ++j)
    [[unroll]] for (uint w = 0u; w < kElementWords; ++w)
      column[0][j * kElementWords + w] = staged[(place[j] + offset) / 4u + w];
#else
  const uint per_word = 4u / ELEMENT_BYTES;
  uvec4 row[kPositions];
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
    const uint at = place[j] + offset, word = at / 4u, bits = 8u * (at & 3u);
    row[j] = uvec4(kTurn != 0u ? funnel(staged[word], staged[word + 1u], bits) : staged[word] >> bits, 0u, 0u, 0u);
  }
  [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
    column[c] = uvec4(0u);
    [[unroll]] for (uint w = 0u; w < kAccessWords; ++w) {
#if ELEMENT_BYTES == 1
      column[c][w] = quad_of(row[4u * w], row[4u * w + 1u], row[4u * w + 2u], row[4u * w + 3u], c);
#else
      column[c][w] = pair_of(row[2u * w], row[2u * w + 1u], c);
#endif
    }
  }
#endif
}

// Elements from `at` on to the next sector.
uint to_sector(offset_t at) { return (0u - uint(at)) & (kSector - 1u); }

void main() {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const uvec3 rows = staging(), plan = schedule();
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, PERMUTE_GATHER_SECTOR);
  const Tile t = locate_tile(id, source, lead_of(push.dst, PERMUTE_GATHER_SECTOR));
  stage(t, source, rows);
  barrier();   // all rows are staged before loads by other invocations

  const uint invocation = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  const uint lane = invocation % kTeam, team = invocation / kTeam;
  const uint sharing = plan.x, set = team / sharing, sets = kWorkgroup / kTeam / sharing;
  const uint groups = (t.columns[0] + kColumns - 1u) / kColumns;
  const Divisor by_groups = divisor_of(groups), by_second = divisor_of(t.columns[1]);
  const uint items = groups * t.columns[1] * t.columns[2], each = (items + sharing - 1u) / sharing;
  uint window = set;
  do {
    const uint position = (window * kStoring + lane) * kPositions;
    uint place[kPositions];
    place_positions(t, position, rows, place);
    const bool storing = lane < kStoring && window < plan.z;
    uint k = 0u;
    do {   // every lane of a subgroup takes part in the shuffles
      const uint item = team % sharing * each + k, inside = min(item, items - 1u);
      const uint upper = divide(inside, by_groups), third = divide(upper, by_second);
      const uint c0 = (inside - upper * groups) * kColumns, c1 = upper - third * by_second.d;
      const uint offset = (c0 * uint(t.column_src[0]) + c1 * uint(t.column_src[1]) + third * uint(t.column_src[2])) *
                          ELEMENT_BYTES;
      offset_t to = t.to + offset_t(c0) * t.column_dst[0] + offset_t(c1) * t.column_dst[1] +
                    offset_t(third) * t.column_dst[2];
      uvec4 column[kColumns];
      collect(place, offset, column);
      [[unroll]] for (uint c = 0u; c < kColumns; ++c) {
        const uvec4 own = column[c];
        uvec4 v = own;
        uint skip = 0u;   // positions before the destination's first access
        if (kPositions > 1u) {
          skip = (0u - uint(to)) & (kPositions - 1u);
          const uint next_x = subgroupShuffleDown(own.x, 1u), next_y = subgroupShuffleDown(own.y, 1u);
          const bool half_way = skip * ELEMENT_BYTES >= 4u;
          const uint a = half_way ? own.y : own.x, b = half_way ? next_x : own.y, d = half_way ? next_y : next_x,
                     bits = 8u * (skip * ELEMENT_BYTES & 3u);
          v.xy = ELEMENT_BYTES < 4 ? uvec2(funnel(a, b, bits), funnel(b, d, bits)) : uvec2(a, b);
        }
        const uint end = t.last ? t.loaded : min(t.loaded, t.part + to_sector(to + offset_t(t.part)));
        const uint begin = t.first ? 0u : to_sector(to);
        const bool valid = item < items && k < each && c0 + c < t.columns[0];
        const int at = int(position + skip);
        if (valid && storing && at < int(end) && at + int(kPositions) > int(begin))
          store_part(base, to + offset_t(at), kAccess, v, int(begin) - at, int(end) - at);
        // The run's first elements, before the first aligned access.
        if (kPositions > 1u && valid && t.first && position == 0u) {
          [[unroll]] for (uint j = 0u; j + 1u < kPositions; ++j)
            if (j < min(skip, end)) store_bytes(base, to + offset_t(j), ELEMENT_BYTES, uvec4(element_of(own, j), 0u, 0u, 0u));
        }
        to += t.column_dst[0];
      }
      ++k;
    } while (k < each);
    window += sets;
  } while (window - set < plan.z);
}
