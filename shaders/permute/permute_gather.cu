//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// A box of the problem goes through workgroup memory: its runs in the source come in by aligned 16-byte words, its runs
// in the destination go out by aligned accesses of 8 bytes, wherever either begins.
// permute_gather.abi.h describes the tile.
#include "lib/cuda.cuh"
#include "lib/divisor.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_gather.abi.h"
constexpr uint kUnroll = sectile_constant(PERMUTE_GATHER_SPEC_UNROLL, 4u);
constexpr uint kSharedWords = sectile_constant(PERMUTE_GATHER_SPEC_SHARED_WORDS, 4096u);
constexpr uint kTeam = sectile_constant(PERMUTE_GATHER_SPEC_TEAM, 32u);
constexpr uint kTurn = sectile_constant(PERMUTE_GATHER_SPEC_TURN, 0u);
constexpr uint kInner = sectile_constant(PERMUTE_GATHER_SPEC_INNER, 0u);
constexpr uint kMostColumns = sectile_constant(PERMUTE_GATHER_SPEC_COLUMNS, 128u);
constexpr uint kLoads = sectile_constant(PERMUTE_GATHER_SPEC_LOADS, 0u);
#define OWN_WORDS PERMUTE_GATHER_WORDS
#include "permute/permute.cuh"
#include "permute/register_transpose.cuh"

SECTILE_SHARED(uint, staged, kSharedWords);
// Of a column: x and y: its first whole access in the destination; z: 16 bits: the number of its positions that are the
// tile's; 8 bits: the first of them, counted from that access; 8 bits: positions before that access; w: the byte in a
// row.
SECTILE_SHARED(uint4, columns_of_tile, kMostColumns);

constexpr uint kAccess = 8u, kAccessWords = kAccess / 4u;   // bytes of a store
// Positions of a lane, and the most columns that it collects at once: macros, which parameters' types may name.
#define POSITIONS (8 / ELEMENT_BYTES)
#define MOST_COLUMNS (ELEMENT_BYTES < 4 ? 4 / ELEMENT_BYTES : 1)
constexpr uint kPositions = POSITIONS;
constexpr uint kElementWords = ELEMENT_BYTES > 4 ? ELEMENT_BYTES / 4u : 1u;
// A lane's access takes elements of the next lane unless every element is an access.
constexpr uint kStoring = kPositions > 1u ? kTeam - 1u : kTeam;
constexpr uint kColumns = kTurn != 0u ? MOST_COLUMNS : 1u;         // that a lane collects at once
constexpr uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;                         // elements

struct Tile {
  offset_t from, to;          // first element; of the source from the aligned base, of the destination from its own
  uint size[3], step[3];      // of the position axes: indices that are loaded, rows from one to the next (shared: 0)
  offset_t src[3];            // their strides in the source
  uint columns[3];            // valid indices of the column axes
  offset_t column_src[3], column_dst[3];
  uint rows, span;            // rows of workgroup memory, elements of each
  uint part, loaded;          // positions of a part, positions that are loaded
  bool first, last;           // part of the destination's runs
  bool inside;                // every word that is loaded lies wholly inside the source
  bool middle;                // a part's accesses are whole and wholly loaded: not the first part nor one of the last
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
    if (a == 1u) { digit_c = start; start *= staging(push).y; }
    t.from += offset_t(start) * src_stride(push, a);
    t.to += offset_t(start) * dst_stride(push, a);
  }
  t.first = digit_p == 0u;
  t.last = digit_p + 1u == axis_count(push, 0u);
  const uint valid_c = min(staging(push).y, column_extent(push) - digit_c * staging(push).y);
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    t.size[i] = position_sizes(push) >> 16u * i & 0xffffu;
    t.columns[i] = column_sizes(push) >> 16u * i & 0xffffu;
    t.src[i] = 0;
    t.column_src[i] = src_stride(push, 1u);
    t.column_dst[i] = dst_stride(push, 1u);
    if (i < kInner) {
      t.src[i] = position_src(push, i);
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
  offset_t reach = t.from;
#pragma unroll
  for (uint i = 0u; i < 3u; ++i) {
    const bool shared_axis = (bits & (PERMUTE_GATHER_SHARED << i)) != 0u;
    t.step[i] = shared_axis ? 0u : t.rows;
    if (shared_axis) {
      t.span += (t.size[i] - 1u) * uint(t.src[i]);
    } else {
      t.rows *= t.size[i];
      reach += offset_t(t.size[i] - 1u) * t.src[i];
    }
    t.span += (t.columns[i] - 1u) * uint(t.column_src[i]);
  }
  // A row's loads may end in the second word after its last element's.
  t.inside = t.from >= source.first + offset_t(kPer16) && reach + offset_t(t.span) < source.last - offset_t(kPer16);
  const uint inner = t.size[0] * t.size[1];
  t.part = part(push).x * inner;
  t.loaded = t.size[2] * inner;
  t.middle = !t.first && !t.last && t.size[2] == part(push).y;
  return t;
}

// First word of a row in workgroup memory. A lane's consecutive positions are in consecutive rows, and from lane to
// lane comes a word of padding: with an odd pitch all lanes access different banks.
constexpr uint kPaddingShift = kPositions == 8u ? 3u : kPositions == 4u ? 2u : kPositions == 2u ? 1u : 0u;
__device__ __forceinline__ uint row_place(uint row, uint pitch) {
  return row * pitch + (kPositions > 1u ? row >> kPaddingShift : 0u);
}

// Division of a load's number by what a tile's rows have.
struct Rows {
  uint loads;   // words of 16 bytes of a row, at any address
  Divisor by_loads, by_first, by_second;
};
__device__ __forceinline__ Rows rows_of(const Tile& t) {
  const uint loads = kLoads != 0u ? kLoads : (t.span * ELEMENT_BYTES + 31u - ELEMENT_BYTES) / 16u;
  return {loads, divisor_of(loads), divisor_of(t.step[0] != 0u ? t.size[0] : 1u),
          divisor_of(t.step[1] != 0u ? t.size[1] : 1u)};
}

// Where a load's word is: in the source; in the row, where it is not the row's if below 0; in workgroup memory.
struct Load {
  offset_t at;
  int begin, place;
};
__device__ __forceinline__ Load locate_load(const Tile& t, const Rows& rows, uint pitch, uint item) {
  const uint row = kLoads != 0u ? item / max(kLoads, 1u) : divide(item, rows.by_loads), k = item - row * rows.loads;
  Load load;
  load.at = t.from;
  if (kInner != 0u) {
    const uint second = divide(row, rows.by_first), third = divide(second, rows.by_second);
    load.at += offset_t(row - second * rows.by_first.d) * t.src[0];
    load.at += offset_t(second - third * rows.by_second.d) * t.src[1];
    if (t.step[2] != 0u) load.at += offset_t(third) * t.src[2];
  } else {
    load.at += offset_t(row) * t.src[2];
  }
  const uint ahead = uint(load.at) & (kPer16 - 1u);
  load.at += offset_t(k * kPer16) - offset_t(ahead);
  load.begin = int(4u * k) - int(ahead * ELEMENT_BYTES / 4u);
  load.place = int(row_place(row, pitch)) + load.begin;
  return load;
}

__device__ __forceinline__ void stage_word(const Load& load, uint words, const uvec4& v) {
#pragma unroll
  for (uint w = 0u; w < 4u; ++w)
    if (uint(load.begin + int(w)) < words) staged[load.place + int(w)] = v[w];
}

// Loads the tile's rows.
__device__ __forceinline__ void stage(const Tile& t, const Source& source, uint pitch) {
  const Rows rows = rows_of(t);
  const uint items = t.rows * rows.loads;
  // Of a row, whose first byte may be a word's last.
  const uint words = (t.span * ELEMENT_BYTES + (ELEMENT_BYTES < 4 ? 6u : 0u)) / 4u;
  if (!t.inside) {
    // Some words are not wholly inside the source. No array: a loop with a loop inside is not unrolled, and would move
    // it to memory.
    for (uint item = threadIdx.x; item < items; item += kWorkgroup) {
      const Load load = locate_load(t, rows, pitch, item);
      stage_word(load, words, assemble_word(source, load.at));
    }
    return;
  }
  for (uint first = threadIdx.x; first < items; first += kWorkgroup * kUnroll) {
    uvec4 value[kUnroll];
    Load load[kUnroll];
#pragma unroll
    for (uint u = 0u; u < kUnroll; ++u) {
      load[u] = locate_load(t, rows, pitch, min(first + u * kWorkgroup, items - 1u));
      value[u] = load_bytes(source.base, load[u].at, 16u);
    }
#pragma unroll
    for (uint u = 0u; u < kUnroll; ++u) stage_word(load[u], first + u * kWorkgroup < items ? words : 0u, value[u]);
  }
}

// Fills the table of columns. A lane's columns at once (`groups` of them along column axis 0) may be more than there
// are; these have no positions.
__device__ __forceinline__ void list_columns(const Tile& t, uint groups) {
  const uint first = groups * kColumns, count = first * t.columns[1] * t.columns[2];
  for (uint c = threadIdx.x; c < count; c += kWorkgroup) {
    uint c0 = c, offset = 0u;
    offset_t to = t.to;
    if (kInner != 0u) {
      const uint upper = c / first, third = upper / t.columns[1], c1 = upper - third * t.columns[1];
      c0 = c - upper * first;
      offset = c1 * uint(t.column_src[1]) + third * uint(t.column_src[2]);
      to += offset_t(c1) * t.column_dst[1] + offset_t(third) * t.column_dst[2];
    }
    offset += c0 * uint(t.column_src[0]);
    to += offset_t(c0) * t.column_dst[0];
    const uint below = 0u - uint(to), skip = below & (kPositions - 1u);
    const uint begin = below & (kSector - 1u);
    uint end = t.part + ((below - t.part) & (kSector - 1u));
    end = t.last ? t.loaded : min(end, t.loaded);
    uint own = end - min(t.first ? 0u : begin, end);
    if (c0 >= t.columns[0]) own = 0u;
    to += offset_t(skip);
    store_workgroup(&columns_of_tile[c], make_uint4(uint(to), uint(uint64(to) >> 32),
                                                    own | (begin - skip) << 16 | skip << 24, offset * ELEMENT_BYTES));
  }
}

// Where a lane's positions are in workgroup memory: the byte of column 0. Positions that are not loaded are not stored:
// a lane that begins there has position 0 instead; one that ends there goes on a few rows.
__device__ __forceinline__ void place_positions(const Tile& t, uint position, uint pitch, uint (&place)[POSITIONS]) {
  if (position >= t.loaded) position = 0u;
  if (kInner == 0u) {
    const uint first = row_place(position, pitch) * 4u, start = uint(t.from) + position * uint(t.src[2]);
#pragma unroll
    for (uint j = 0u; j < kPositions; ++j)
      place[j] = first + 4u * j * pitch + (((start + j * uint(t.src[2])) * ELEMENT_BYTES) & 3u);
    return;
  }
  const uint second = position / t.size[0];
  uint i0 = position - second * t.size[0], i2 = second / t.size[1], i1 = second - i2 * t.size[1];
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j) {
    i2 = min(i2, t.size[2] - 1u);
    const uint row = i2 * t.step[2] + i0 * t.step[0] + i1 * t.step[1];
    const uint along = (t.step[2] == 0u ? i2 * uint(t.src[2]) : 0u) + (t.step[0] == 0u ? i0 * uint(t.src[0]) : 0u) +
                       (t.step[1] == 0u ? i1 * uint(t.src[1]) : 0u);
    // The lowest bits of where the row starts count.
    const uint start = uint(t.from) + i0 * uint(t.src[0]) + i1 * uint(t.src[1]) + i2 * uint(t.src[2]) - along;
    place[j] = 4u * row_place(row, pitch) + ((start * ELEMENT_BYTES) & 3u) + along * ELEMENT_BYTES;
    ++i0;
    if (i0 == t.size[0]) { i0 = 0u; ++i1; }
    if (i1 == t.size[1]) { i1 = 0u; ++i2; }
  }
}

// Columns of a lane, turned: from a word of columns of each position, the positions of each column.
__device__ __forceinline__ void turn(const uint (&word)[POSITIONS], uvec4 (&column)[MOST_COLUMNS]) {
#if ELEMENT_BYTES < 4
  uvec4 row[POSITIONS];
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j) row[j] = words_of(word[j]);
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

// The lane's accesses of the columns that start `offset` bytes after column 0.
__device__ __forceinline__ void collect(const uint (&place)[POSITIONS], uint offset, uvec4 (&column)[MOST_COLUMNS]) {
#if ELEMENT_BYTES >= 4
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j)
#pragma unroll
    for (uint w = 0u; w < kElementWords; ++w)
      column[0][j * kElementWords + w] = staged[int((place[j] + offset) / 4u) + int(w)];
#else
  uint word[POSITIONS];
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j) {
    const uint at = place[j] + offset, bits = 8u * (at & 3u);
    const int first = int(at / 4u);
    const uint low = staged[first];
    word[j] = kTurn != 0u ? funnel(low, staged[first + 1], bits) : low >> bits;
  }
  turn(word, column);
#endif
}

// Stores the lane's positions of a column, from `position` on. A lane that stores nothing has a position beyond all.
__device__ __forceinline__ void store_column(const Tile& t, SectileAddress base, uint position, const uint4& entry,
                                             const uvec4& own) {
  const uint skip = entry.z >> 24, begin = (entry.z >> 16) & 0xffu, count = entry.z & 0xffffu;
  uvec4 v = own;
  if (kPositions > 1u) {
    const uint next_x = subgroup_down(own[0]);
#if ELEMENT_BYTES < 4
    const uint next_y = subgroup_down(own[1]), bits = 8u * ((skip * ELEMENT_BYTES) & 3u);
    const bool half_way = skip * ELEMENT_BYTES >= 4u;
    const uint a = half_way ? own[1] : own[0], b = half_way ? next_x : own[1], d = half_way ? next_y : next_x;
    v[0] = funnel(a, b, bits);
    v[1] = funnel(b, d, bits);
#else
    v[0] = skip != 0u ? own[1] : own[0];
    v[1] = skip != 0u ? next_x : own[1];
#endif
  }
  const offset_t to = offset_t(uint64(entry.y) << 32 | entry.x);
  if (t.middle) {
    if (position - begin < count) store_bytes(base, to + offset_t(position), kAccess, v);
    return;
  }
  const int from = t.first ? -int(skip) : int(begin), end = from + int(count), at = int(position);
  if (at < end && at + int(kPositions) > from) store_part(base, to + offset_t(at), kAccess, v, from - at, end - at);
#if ELEMENT_BYTES < 8
  // The run's first elements, before the first aligned access.
  if (t.first && at == 0) {
#pragma unroll
    for (uint j = 0u; j + 1u < kPositions; ++j)
      if (j < min(skip, count))
        store_bytes(base, to - offset_t(skip) + offset_t(j), ELEMENT_BYTES, words_of(element_of(own, j)));
  }
#endif
}

// With one workgroup a multiprocessor stated, ptxas spills nothing to fit more of them.
SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const uint pitch = staging(push).x;
  const uint3 plan = schedule(push);
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, PERMUTE_SECTOR);
  const Tile t = locate_tile(push, id, source, lead_of(push.dst, PERMUTE_SECTOR));
  const uint groups = (t.columns[0] + kColumns - 1u) / kColumns;
  stage(t, source, pitch);
  list_columns(t, groups);
  __syncthreads();   // all rows are staged, and all columns listed, before loads by other invocations

  const uint lane = threadIdx.x % kTeam, team = threadIdx.x / kTeam;
  const uint sharing = plan.x, set = team / sharing, sets = kWorkgroup / kTeam / sharing;
  const uint items = groups * t.columns[1] * t.columns[2], each = (items + sharing - 1u) / sharing;
  for (uint window = set; window < plan.z; window += sets) {   // the lanes of a team stay together for the shuffles
    const uint position = (window * kStoring + lane) * kPositions;
    uint place[POSITIONS];
    place_positions(t, position, pitch, place);
    const uint storing = lane < kStoring ? position : 0x40000000u;
    uint item = team % sharing * each;
    const uint end = min(item + each, items);
    if (kInner == 0u && kTurn != 0u) {
      // Consecutive columns: a word of each position goes over to the next turn.
      int next[POSITIONS];   // its place
      uint low[POSITIONS], bits[POSITIONS];
#pragma unroll
      for (uint j = 0u; j < kPositions; ++j) {
        next[j] = int(place[j] / 4u + min(item, items));
        bits[j] = 8u * (place[j] & 3u);
        low[j] = staged[next[j]];
      }
      for (; item < end; ++item) {
        uint word[POSITIONS];
#pragma unroll
        for (uint j = 0u; j < kPositions; ++j) {
          const uint high = staged[++next[j]];
          word[j] = funnel(low[j], high, bits[j]);
          low[j] = high;
        }
        uvec4 column[MOST_COLUMNS];
        turn(word, column);
#pragma unroll
        for (uint c = 0u; c < kColumns; ++c)
          store_column(t, base, storing, load_workgroup(&columns_of_tile[item * kColumns + c]), column[c]);
      }
    } else {
      for (; item < end; ++item) {
        uvec4 column[MOST_COLUMNS];
        collect(place, load_workgroup(&columns_of_tile[item * kColumns]).w, column);
#pragma unroll
        for (uint c = 0u; c < kColumns; ++c)
          store_column(t, base, storing, load_workgroup(&columns_of_tile[item * kColumns + c]), column[c]);
      }
    }
  }
}
