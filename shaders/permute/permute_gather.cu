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
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_gather.abi.h"
constexpr uint kUnroll = sectile_constant(PERMUTE_GATHER_SPEC_UNROLL, 4u);
constexpr uint kSharedWords = sectile_constant(PERMUTE_GATHER_SPEC_SHARED_WORDS, 4096u);
constexpr uint kTeam = sectile_constant(PERMUTE_GATHER_SPEC_TEAM, 32u);
constexpr uint kTurn = sectile_constant(PERMUTE_GATHER_SPEC_TURN, 0u);
constexpr uint kInner = sectile_constant(PERMUTE_GATHER_SPEC_INNER, 0u);
#define OWN_WORDS PERMUTE_GATHER_WORDS
#include "permute/permute.cuh"
#include "permute/register_transpose.cuh"

SECTILE_SHARED(uint, staged, kSharedWords);

constexpr uint kAccess = ELEMENT_BYTES > 8 ? ELEMENT_BYTES : 8u;   // bytes of a store
constexpr uint kPositions = kAccess / ELEMENT_BYTES;               // of a lane
constexpr uint kAccessWords = kAccess / 4u;
constexpr uint kElementWords = ELEMENT_BYTES > 4 ? ELEMENT_BYTES / 4u : 1u;
// A lane's access takes elements of the next lane unless every element is an access.
constexpr uint kStoring = kPositions > 1u ? kTeam - 1u : kTeam;
constexpr uint kColumns = kTurn != 0u && ELEMENT_BYTES < 4 ? 4u / ELEMENT_BYTES : 1u;   // that a lane collects at once
constexpr uint kSector = PERMUTE_GATHER_SECTOR / ELEMENT_BYTES;                         // elements

// Division by a number that is not known beforehand: n * d < 2^32.
struct Divisor {
  uint d, multiplier;
};
__device__ __forceinline__ Divisor divisor_of(uint d) { return {d, 0xffffffffu / d + 1u}; }
__device__ __forceinline__ uint divide(uint n, Divisor by) { return by.d == 1u ? n : __umulhi(n, by.multiplier); }

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

__device__ __forceinline__ Tile locate_tile(const PermutePush& push, uint id, const Source& source, offset_t lead) {
  Tile t = {};
  t.from = source.begin;
  t.to = lead;
  const uint bits = schedule(push).y;
  uint digit_p = 0u, digit_c = 0u;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    uint start = take_digit(push, id, a);
    if (a == 0u) { digit_p = start; start *= part(push).x; }
    if (a == 1u) { digit_c = start; start *= column_part(push); }
    t.from += offset_t(start) * src_stride(push, a);
    t.to += offset_t(start) * dst_stride(push, a);
  }
  t.first = digit_p == 0u;
  t.last = digit_p + 1u == axis_count(push, 0u);
  const uint valid_c = min(column_part(push), column_extent(push) - digit_c * column_part(push));
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    t.size[i] = 1u;
    t.columns[i] = 1u;
    t.src[i] = 0;
    t.column_src[i] = src_stride(push, 1u);
    t.column_dst[i] = dst_stride(push, 1u);
    if (kInner != 0u) {
      t.size[i] = i == 0u ? position_sizes(push, 0u).x : position_sizes(push, 0u).y;
      t.src[i] = position_src(push, i);
      t.columns[i] = i == 0u ? column_sizes(push, 0u).x : column_sizes(push, 0u).y;
      t.column_src[i] = column_src(push, i);
      t.column_dst[i] = column_dst(push, i);
    }
  }
  t.size[2] = min(part(push).y, cut_extent(push) - digit_p * part(push).x);
  t.src[2] = src_stride(push, 0u);
  const bool cut_first = kInner == 0u || (bits & PERMUTE_GATHER_CUT_FIRST) != 0u;
  t.columns[2] = cut_first ? 1u : valid_c;
  if (cut_first) t.columns[0] = valid_c;
  t.column_src[2] = src_stride(push, 1u);
  t.column_dst[2] = dst_stride(push, 1u);
  t.rows = 1u;
  t.span = 1u;
#pragma unroll
  for (uint i = 0u; i < 3u; ++i) {
    const bool shared_axis = (bits & (PERMUTE_GATHER_SHARED << i)) != 0u;
    t.step[i] = shared_axis ? 0u : t.rows;
    if (shared_axis) t.span += (t.size[i] - 1u) * uint(t.src[i]);
    else t.rows *= t.size[i];
    t.span += (t.columns[i] - 1u) * uint(t.column_src[i]);
  }
  const uint inner = t.size[0] * t.size[1];
  t.part = part(push).x * inner;
  t.loaded = t.size[2] * inner;
  return t;
}

// First word of a row in workgroup memory.
__device__ __forceinline__ uint row_place(uint row, const uint3& staging) {
  return row * staging.z + (row >> staging.x) * staging.y;
}

// Loads the tile's rows.
__device__ __forceinline__ void stage(const Tile& t, const Source& source, const uint3& staging) {
  const uint bytes = t.span * ELEMENT_BYTES;
  const uint row_words = (bytes + (ELEMENT_BYTES < 4 ? 6u : 0u)) / 4u;   // its first byte may be a word's last
  const uint loads = (bytes + 31u - ELEMENT_BYTES) / 16u;                // of a row, at any address
  const uint items = t.rows * loads;
  const Divisor by_loads = divisor_of(loads), by_first = divisor_of(t.step[0] != 0u ? t.size[0] : 1u),
                by_second = divisor_of(t.step[1] != 0u ? t.size[1] : 1u);
  for (uint first = threadIdx.x; first < items; first += kWorkgroup * kUnroll) {
    uvec4 value[kUnroll];
    offset_t at[kUnroll];
    uint place[kUnroll], begin[kUnroll];   // of the row; the load's first word in it, which may wrap below 0
#pragma unroll
    for (uint u = 0u; u < kUnroll; ++u) {
      const uint item = min(first + u * kWorkgroup, items - 1u);
      const uint row = divide(item, by_loads), k = item - row * loads;
      uint rest = row;
      at[u] = t.from;
      if (kInner != 0u) {
        const uint second = divide(rest, by_first), third = divide(second, by_second);
        at[u] += offset_t(rest - second * by_first.d) * t.src[0] + offset_t(second - third * by_second.d) * t.src[1];
        rest = third;
      }
      if (t.step[2] != 0u) at[u] += offset_t(rest) * t.src[2];
      const uint ahead = uint(at[u]) & (kPer16 - 1u);
      at[u] += offset_t(k * kPer16) - offset_t(ahead);
      begin[u] = 4u * k - ahead * ELEMENT_BYTES / 4u;
      place[u] = row_place(row, staging);
      value[u] = load_word(source, at[u]);
    }
#pragma unroll
    for (uint u = 0u; u < kUnroll; ++u) {
      if (first + u * kWorkgroup >= items) break;
      mend_word(source, at[u], value[u]);
#pragma unroll
      for (uint w = 0u; w < 4u; ++w)
        if (begin[u] + w < row_words) staged[place[u] + begin[u] + w] = value[u][w];
    }
  }
}

// Where a lane's positions are in workgroup memory: the byte of column 0.
__device__ __forceinline__ void place_positions(const Tile& t, uint position, const uint3& staging,
                                                uint (&place)[kPositions]) {
  uint i0 = 0u, i1 = 0u, i2 = position;
  if (kInner != 0u) {
    const uint second = position / t.size[0];
    i0 = position - second * t.size[0];
    i2 = second / t.size[1];
    i1 = second - i2 * t.size[1];
  }
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j) {
    i2 = min(i2, t.size[2] - 1u);   // what lies beyond is not stored
    uint row = i2 * t.step[2], along = t.step[2] == 0u ? i2 * uint(t.src[2]) : 0u;
    offset_t start = t.from;
    if (t.step[2] != 0u) start += offset_t(i2) * t.src[2];
    if (kInner != 0u) {
      row += i0 * t.step[0] + i1 * t.step[1];
      if (t.step[0] == 0u) along += i0 * uint(t.src[0]);
      else start += offset_t(i0) * t.src[0];
      if (t.step[1] == 0u) along += i1 * uint(t.src[1]);
      else start += offset_t(i1) * t.src[1];
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

// The lane's accesses of the columns that start `offset` bytes after column 0.
__device__ __forceinline__ void collect(const uint (&place)[kPositions], uint offset, uvec4 (&column)[kColumns]) {
#if ELEMENT_BYTES >= 4
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j)
#pragma unroll
    for (uint w = 0u; w < kElementWords; ++w)
      column[0][j * kElementWords + w] = staged[(place[j] + offset) / 4u + w];
#else
  uvec4 row[kPositions];
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j) {
    const uint at = place[j] + offset, word = at / 4u, bits = 8u * (at & 3u);
    const uint low = staged[word];
    row[j] = words_of(kTurn != 0u ? funnel(low, staged[word + 1u], bits) : low >> bits);
  }
#pragma unroll
  for (uint c = 0u; c < kColumns; ++c) {
    column[c] = {};
#pragma unroll
    for (uint w = 0u; w < kAccessWords; ++w) {
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
__device__ __forceinline__ uint to_sector(offset_t at) { return (0u - uint(at)) & (kSector - 1u); }

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const uint3 rows = staging(push), plan = schedule(push);
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, PERMUTE_GATHER_SECTOR);
  const Tile t = locate_tile(push, id, source, lead_of(push.dst, PERMUTE_GATHER_SECTOR));
  stage(t, source, rows);
  __syncthreads();   // all rows are staged before loads by other invocations

  const uint lane = threadIdx.x % kTeam, team = threadIdx.x / kTeam;
  const uint sharing = plan.x, set = team / sharing, sets = kWorkgroup / kTeam / sharing;
  const uint groups = (t.columns[0] + kColumns - 1u) / kColumns;
  const Divisor by_groups = divisor_of(groups), by_second = divisor_of(t.columns[1]);
  const uint items = groups * t.columns[1] * t.columns[2], each = (items + sharing - 1u) / sharing;
  for (uint round = 0u; round < plan.z; round += sets) {
    const uint window = round + set, position = (window * kStoring + lane) * kPositions;
    uint place[kPositions];
    place_positions(t, position, rows, place);
    const bool storing = lane < kStoring && window < plan.z;
    for (uint k = 0u; k < each; ++k) {   // every lane of a subgroup takes part in the shuffles
      const uint item = team % sharing * each + k, inside = min(item, items - 1u);
      const uint upper = divide(inside, by_groups), third = divide(upper, by_second);
      const uint c0 = (inside - upper * groups) * kColumns, c1 = upper - third * by_second.d;
      const uint offset =
          (c0 * uint(t.column_src[0]) + c1 * uint(t.column_src[1]) + third * uint(t.column_src[2])) * ELEMENT_BYTES;
      offset_t to = t.to + offset_t(c0) * t.column_dst[0] + offset_t(c1) * t.column_dst[1] +
                    offset_t(third) * t.column_dst[2];
      uvec4 column[kColumns];
      collect(place, offset, column);
#pragma unroll
      for (uint c = 0u; c < kColumns; ++c) {
        const uvec4 own = column[c];
        uvec4 v = own;
        uint skip = 0u;   // positions before the destination's first access
        if (kPositions > 1u) {
          skip = (0u - uint(to)) & (kPositions - 1u);
          const uint next_x = subgroup_down(own[0]), next_y = subgroup_down(own[1]);
          const bool half_way = skip * ELEMENT_BYTES >= 4u;
          const uint a = half_way ? own[1] : own[0], b = half_way ? next_x : own[1], d = half_way ? next_y : next_x,
                     bits = 8u * (skip * ELEMENT_BYTES & 3u);
          v[0] = ELEMENT_BYTES < 4 ? funnel(a, b, bits) : a;
          v[1] = ELEMENT_BYTES < 4 ? funnel(b, d, bits) : b;
        }
        const uint end = t.last ? t.loaded : min(t.loaded, t.part + to_sector(to + offset_t(t.part)));
        const uint begin = t.first ? 0u : to_sector(to);
        const bool valid = item < items && k < each && c0 + c < t.columns[0];
        const int at = int(position + skip);
        if (valid && storing && at < int(end) && at + int(kPositions) > int(begin))
          store_part(base, to + offset_t(at), kAccess, v, int(begin) - at, int(end) - at);
        // The run's first elements, before the first aligned access.
        if (kPositions > 1u && valid && t.first && position == 0u) {
#pragma unroll
          for (uint j = 0u; j + 1u < kPositions; ++j)
            if (j < min(skip, end)) store_bytes(base, to + offset_t(j), ELEMENT_BYTES, words_of(element_of(own, j)));
        }
        to += t.column_dst[0];
      }
    }
  }
}
