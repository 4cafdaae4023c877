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
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#include "lib/divisor.glsl"
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_gather.abi.h"
layout(constant_id = PERMUTE_GATHER_SPEC_UNROLL) const uint kUnroll = 4u;
layout(constant_id = PERMUTE_GATHER_SPEC_SHARED_WORDS) const uint kSharedWords = 4096u;
layout(constant_id = PERMUTE_GATHER_SPEC_TEAM) const uint kTeam = 32u;
layout(constant_id = PERMUTE_GATHER_SPEC_TURN) const uint kTurn = 0u;
layout(constant_id = PERMUTE_GATHER_SPEC_INNER) const uint kInner = 0u;
layout(constant_id = PERMUTE_GATHER_SPEC_COLUMNS) const uint kMostColumns = 128u;
layout(constant_id = PERMUTE_GATHER_SPEC_LOADS) const uint kLoads = 0u;
#define OWN_WORDS PERMUTE_GATHER_WORDS
#include "permute/permute.glsl"
#include "permute/register_transpose.glsl"

shared uint staged[kSharedWords];
// Of a column: x and y: its first whole access in the destination; z: 16 bits: the number of its positions that are the
// tile's; 8 bits: the first of them, counted from that access; 8 bits: positions before that access; w: the byte in a
// row.
shared uvec4 columns_of_tile[kMostColumns];

const uint kAccess = 8u, kAccessWords = kAccess / 4u;   // bytes of a store
const uint kPositions = kAccess / ELEMENT_BYTES;        // of a lane
const uint kElementWords = max(1u, ELEMENT_BYTES / 4u);
// A lane's access takes elements of the next lane unless every element is an access.
const uint kStoring = kPositions > 1u ? kTeam - 1u : kTeam;
const uint kColumns = kTurn != 0u && ELEMENT_BYTES < 4 ? 4u / ELEMENT_BYTES : 1u;   // that a lane collects at once
const uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;                        // elements

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

Tile locate_tile(uint id, Source source, offset_t lead) {
  Tile t;
  t.from = source.begin;
  t.to = lead;
  const uint bits = schedule().y;
  uint digit_p = 0u, digit_c = 0u;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint start = take_digit(id, a);
    if (a == 0u) { digit_p = start; start *= part().x; }
    if (a == 1u) { digit_c = start; start *= staging().y; }
    t.from += offset_t(start) * src_stride(a);
    t.to += offset_t(start) * dst_stride(a);
  }
  t.first = digit_p == 0u;
  t.last = digit_p + 1u == axis_count(0u);
  const uint valid_c = min(staging().y, column_extent() - digit_c * staging().y);
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    t.size[i] = (position_sizes() >> (16u * i)) & 0xffffu;
    t.src[i] = 0;
    t.columns[i] = (column_sizes() >> (16u * i)) & 0xffffu;
    t.column_src[i] = src_stride(1u);
    t.column_dst[i] = dst_stride(1u);
    if (i < kInner) {
      t.src[i] = position_src(i);
      t.column_src[i] = column_src(i);
      t.column_dst[i] = column_dst(i);
    }
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
  offset_t reach = t.from;
  [[unroll]] for (uint i = 0u; i < 3u; ++i) {
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
  t.part = part().x * inner;
  t.loaded = t.size[2] * inner;
  t.middle = !t.first && !t.last && t.size[2] == part().y;
  return t;
}

// First word of a row in workgroup memory. A lane's consecutive positions are in consecutive rows, and from lane to
// lane comes a word of padding: with an odd pitch all lanes access different banks.
const uint kPaddingShift = kPositions == 8u ? 3u : kPositions == 4u ? 2u : kPositions == 2u ? 1u : 0u;
uint row_place(uint row, uint pitch) { return row * pitch + (kPositions > 1u ? row >> kPaddingShift : 0u); }

// Division of a load's number by what a tile's rows have.
struct Rows {
  uint loads;   // words of 16 bytes of a row, at any address
  Divisor by_loads, by_first, by_second;
};
Rows rows_of(Tile t) {
  const uint loads = kLoads != 0u ? kLoads : (t.span * ELEMENT_BYTES + 31u - ELEMENT_BYTES) / 16u;
  return Rows(loads, divisor_of(loads), divisor_of(t.step[0] != 0u ? t.size[0] : 1u),
              divisor_of(t.step[1] != 0u ? t.size[1] : 1u));
}

// Where a load's word is: in the source; in the row, where it is not the row's if below 0; in workgroup memory.
struct Load {
  offset_t at;
  int begin, place;
};
Load locate_load(Tile t, Rows rows, uint pitch, uint item) {
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

void stage_word(Load load, uint words, uvec4 v) {
  [[unroll]] for (uint w = 0u; w < 4u; ++w)
    if (uint(load.begin + int(w)) < words) staged[load.place + int(w)] = v[w];
}

// Loads the tile's rows.
void stage(Tile t, Source source, uint pitch) {
  const Rows rows = rows_of(t);
  const uint items = t.rows * rows.loads;
  // Of a row, whose first byte may be a word's last.
  const uint words = (t.span * ELEMENT_BYTES + (ELEMENT_BYTES < 4 ? 6u : 0u)) / 4u;
  uint first = gl_LocalInvocationID.x;
  if (!t.inside) {
    // Some words are not wholly inside the source. No array: a loop with a loop inside is not unrolled, and would move
    // it to memory.
    for (; first < items; first += kWorkgroup) {
      const Load load = locate_load(t, rows, pitch, first);
      stage_word(load, words, assemble_word(source, load.at));
    }
    return;
  }
  do {   // tested at the bottom: lavapipe executes uniform loads of a top-tested loop once too often
    uvec4 value[kUnroll];
    Load load[kUnroll];
    [[unroll]] for (uint u = 0u; u < kUnroll; ++u) {
      load[u] = locate_load(t, rows, pitch, min(first + u * kWorkgroup, items - 1u));
      value[u] = load_bytes(source.base, load[u].at, 16u);
    }
    [[unroll]] for (uint u = 0u; u < kUnroll; ++u)
      stage_word(load[u], first + u * kWorkgroup < items ? words : 0u, value[u]);
    first += kWorkgroup * kUnroll;
  } while (first - gl_LocalInvocationID.x < items);
}

// Fills the table of columns. A lane's columns at once (`groups` of them along column axis 0) may be more than there
// are; these have no positions.
void list_columns(Tile t, uint groups) {
  const uint first = groups * kColumns, count = first * t.columns[1] * t.columns[2];
  for (uint c = gl_LocalInvocationID.x; c < count; c += kWorkgroup) {
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
#ifdef WIDE
    const uvec2 at = unpackUint2x32(uint64_t(to));
#else
    const uvec2 at = uvec2(uint(to), 0u);
#endif
    columns_of_tile[c] = uvec4(at, own | (begin - skip) << 16 | skip << 24, offset * ELEMENT_BYTES);
  }
}

// Where a lane's positions are in workgroup memory: the byte of column 0. Positions that are not loaded are not stored:
// a lane that begins there has position 0 instead; one that ends there goes on a few rows.
void place_positions(Tile t, uint position, uint pitch, out uint place[kPositions]) {
  if (position >= t.loaded) position = 0u;
  if (kInner == 0u) {
    const uint first = row_place(position, pitch) * 4u, start = uint(t.from) + position * uint(t.src[2]);
    [[unroll]] for (uint j = 0u; j < kPositions; ++j)
      place[j] = first + 4u * j * pitch + (((start + j * uint(t.src[2])) * ELEMENT_BYTES) & 3u);
    return;
  }
  const uint second = position / t.size[0];
  uint i0 = position - second * t.size[0], i2 = second / t.size[1], i1 = second - i2 * t.size[1];
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
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
void turn(uint word[kPositions], out uvec4 column[kColumns]) {
#if ELEMENT_BYTES < 4
  uvec4 row[kPositions];
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) row[j] = uvec4(word[j], 0u, 0u, 0u);
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

// The lane's accesses of the columns that start `offset` bytes after column 0.
void collect(uint place[kPositions], uint offset, out uvec4 column[kColumns]) {
#if ELEMENT_BYTES >= 4
  [[unroll]] for (uint j = 0u; j < kPositions; ++j)
    [[unroll]] for (uint w = 0u; w < kElementWords; ++w)
      column[0][j * kElementWords + w] = staged[int((place[j] + offset) / 4u) + int(w)];
#else
  uint word[kPositions];
  [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
    const uint at = place[j] + offset, bits = 8u * (at & 3u);
    const int first = int(at / 4u);
    word[j] = kTurn != 0u ? funnel(staged[first], staged[first + 1], bits) : staged[first] >> bits;
  }
  turn(word, column);
#endif
}

// Stores the lane's positions of a column, from `position` on. A lane that stores nothing has a position beyond all.
void store_column(Tile t, uvec2 base, uint position, uvec4 entry, uvec4 own) {
  const uint skip = entry.z >> 24, begin = (entry.z >> 16) & 0xffu, count = entry.z & 0xffffu;
  uvec4 v = own;
  if (kPositions > 1u) {
    const uint next_x = subgroupShuffleDown(own.x, 1u);
#if ELEMENT_BYTES < 4
    const uint next_y = subgroupShuffleDown(own.y, 1u), bits = 8u * ((skip * ELEMENT_BYTES) & 3u);
    const bool half_way = skip * ELEMENT_BYTES >= 4u;
    const uint a = half_way ? own.y : own.x, b = half_way ? next_x : own.y, d = half_way ? next_y : next_x;
    v.xy = uvec2(funnel(a, b, bits), funnel(b, d, bits));
#else
    v.xy = skip != 0u ? uvec2(own.y, next_x) : own.xy;
#endif
  }
#ifdef WIDE
  const offset_t to = offset_t(packUint2x32(entry.xy));
#else
  const offset_t to = offset_t(entry.x);
#endif
  if (t.middle) {
    if (position - begin < count) store_bytes(base, to + offset_t(position), kAccess, v);
    return;
  }
  const int from = t.first ? -int(skip) : int(begin), end = from + int(count), at = int(position);
  if (at < end && at + int(kPositions) > from) store_part(base, to + offset_t(at), kAccess, v, from - at, end - at);
#if ELEMENT_BYTES < 8
  // The run's first elements, before the first aligned access.
  if (t.first && at == 0) {
    [[unroll]] for (uint j = 0u; j + 1u < kPositions; ++j)
      if (j < min(skip, count))
        store_bytes(base, to - offset_t(skip) + offset_t(j), ELEMENT_BYTES, uvec4(element_of(own, j), 0u, 0u, 0u));
  }
#endif
}

void main() {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const uint pitch = staging().x;
  const uvec3 plan = schedule();
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, PERMUTE_SECTOR);
  const Tile t = locate_tile(id, source, lead_of(push.dst, PERMUTE_SECTOR));
  const uint groups = (t.columns[0] + kColumns - 1u) / kColumns;
  stage(t, source, pitch);
  list_columns(t, groups);
  barrier();   // all rows are staged, and all columns listed, before loads by other invocations

  const uint invocation = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
  const uint lane = invocation % kTeam, team = invocation / kTeam;
  const uint sharing = plan.x, set = team / sharing, sets = kWorkgroup / kTeam / sharing;
  const uint items = groups * t.columns[1] * t.columns[2], each = (items + sharing - 1u) / sharing;
  for (uint window = set; window < plan.z; window += sets) {   // the lanes of a team stay together for the shuffles
    const uint position = (window * kStoring + lane) * kPositions;
    uint place[kPositions];
    place_positions(t, position, pitch, place);
    const uint storing = lane < kStoring ? position : 0x40000000u;
    uint item = team % sharing * each;
    const uint end = min(item + each, items);
    if (kInner == 0u && kTurn != 0u) {
      // Consecutive columns: a word of each position goes over to the next turn.
      int next[kPositions];   // its place
      uint low[kPositions], bits[kPositions];
      [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
        next[j] = int(place[j] / 4u + min(item, items));
        bits[j] = 8u * (place[j] & 3u);
        low[j] = staged[next[j]];
      }
      for (; item < end; ++item) {
        uint word[kPositions];
        [[unroll]] for (uint j = 0u; j < kPositions; ++j) {
          const uint high = staged[++next[j]];
          word[j] = funnel(low[j], high, bits[j]);
          low[j] = high;
        }
        uvec4 column[kColumns];
        turn(word, column);
        [[unroll]] for (uint c = 0u; c < kColumns; ++c)
          store_column(t, base, storing, columns_of_tile[item * kColumns + c], column[c]);
      }
    } else {
      for (; item < end; ++item) {
        uvec4 column[kColumns];
        collect(place, columns_of_tile[item * kColumns].w, column);
        [[unroll]] for (uint c = 0u; c < kColumns; ++c)
          store_column(t, base, storing, columns_of_tile[item * kColumns + c], column[c]);
      }
    }
  }
}
