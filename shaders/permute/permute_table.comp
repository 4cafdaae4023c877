//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e1.bytes -DELEMENT_BYTES=1 -DBYTES
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// Boxes of the problem go through workgroup memory: their runs in the source come in by aligned 16-byte words, their
// runs in the destination go out by aligned accesses of 8 bytes, wherever either begins. Where an access's elements are
// in workgroup memory is worked out once for many boxes. permute_table.abi.h describes the tile.
// Variants: bytes: single bytes of workgroup memory are read as such.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef BYTES
#extension GL_EXT_shared_memory_block : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#endif
#include "lib/divisor.glsl"
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_table.abi.h"
layout(constant_id = PERMUTE_TABLE_SPEC_LOADS) const uint kLoads = 3u;
layout(constant_id = PERMUTE_TABLE_SPEC_STORES) const uint kStores = 4u;
layout(constant_id = PERMUTE_TABLE_SPEC_INNER) const uint kInner = 0u;
layout(constant_id = PERMUTE_TABLE_SPEC_AHEAD) const uint kAhead = 0u;
#define OWN_WORDS PERMUTE_TABLE_WORDS
#include "permute/permute.glsl"
#include "permute/gaps.glsl"

#ifdef BYTES
// The same memory: tiles are written by words.
shared Words { uint staged[4u * kLoads * kWorkgroup]; };
shared Bytes { uint8_t staged_bytes[16u * kLoads * kWorkgroup]; };
#else
shared uint staged[4u * kLoads * kWorkgroup];
#endif

const uint kAccess = 8u;                              // bytes of a store
const uint kPositions = kAccess / ELEMENT_BYTES;      // of a store
const uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;  // elements
const uint kEntryWords = max(1u, kPositions / 2u);    // of a store: 16 bits an element

const uint kAtOnce = ELEMENT_BYTES == 1 ? 2u : 4u;    // accesses that are read before they are stored
const uint kUnit = ELEMENT_BYTES < 4 ? ELEMENT_BYTES : 1u;   // entries count bytes or, of wider ones, elements
const uint kWhole = kPositions << 4u;                 // a range of all; of none it is 0
const uint kAsks = 8u;   // a range's bit: the access's sector is asked for before
const uint kNowhere = 0xffffffffu;

// The invocation's table. Offsets count from the tile's first element.
offset_t load_at[kLoads];                  // of its words in the source
uint load_place[kLoads];                   // and in workgroup memory, in words; kNowhere: there is none
offset_t store_at[kStores];                // of its accesses in the destination
uint store_range[(kStores + 3u) / 4u];     // 4 bits: the first element of an access that is stored; 4 bits: their end
uint store_entry[kStores * kEntryWords];   // where its elements are in workgroup memory, in bytes or elements

// The walk: its first tile, then the one that is moved.
struct Walk {
  offset_t from, to;           // first element; of the source from the aligned base, of the destination from its own
  offset_t step_src, step_dst; // from tile to tile
  uint part_index, column_index, step_part, step_column;   // of the tile along axes 0 and 1
  uint tiles;
};

Walk locate(uint id, Source source, offset_t lead) {
  Walk w;
  w.from = source.begin;
  w.to = lead;
  w.step_src = w.step_dst = 0;
  w.part_index = w.column_index = w.step_part = w.step_column = w.tiles = 0u;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    const uint tile = take_digit(id, a);
    const uint indices = a == 0u ? part().x : a == 1u ? staging().y : 1u;   // of a tile
    if (a == schedule().x) {
      // A step is over the first tiles of all walks: those that run at once move neighbouring tiles.
      const uint step = axis_count(a), most = schedule().z;
      w.tiles = tile + (most - 1u) * step < walk_end() ? most : most - 1u;
      w.step_src = offset_t(indices * step) * src_stride(a);
      w.step_dst = offset_t(indices * step) * dst_stride(a);
      if (a == 0u) w.step_part = step;
      if (a == 1u) w.step_column = step;
    }
    if (a == 0u) w.part_index = tile;
    if (a == 1u) w.column_index = tile;
    w.from += offset_t(tile * indices) * src_stride(a);
    w.to += offset_t(tile * indices) * dst_stride(a);
  }
  return w;
}

// What the table depends on beside the addresses' lowest bits, which the walk keeps.
struct Kind {
  uint indices, columns;   // valid indices of the last position axis and the last column axis
  bool first, last;        // part of the destination's runs
};

// A number for each kind: a tile has fewer than 2^16 indices and 2^14 columns.
uint key_of(Kind kind) {
  return kind.indices | kind.columns << 16u | (kind.first ? 1u : 0u) << 30u | (kind.last ? 1u : 0u) << 31u;
}

Kind kind_of(Walk w) {
  const uint start = w.part_index * part().x;
  const bool limited = (schedule().y & PERMUTE_TABLE_LIMITED_LAST) != 0u;   // then it is not cut
  const uint extent = limited ? part().y : cut_extent();
  return Kind(min(part().y, extent - start), min(staging().y, column_extent() - w.column_index * staging().y),
              start == 0u, extent - start <= part().x);
}

// A position's row of workgroup memory, its element there and the lead of its row, the last modulo a word, in one
// number: numbers of positions add up to that of their sum.
const uint kRowShift = 15u, kLeadShift = 28u;
uint packed(uint row, uint element, uint lead) { return (row << kRowShift) + element + (lead << kLeadShift); }

struct Tile {
  uint size[3];               // of the position axes: indices that are loaded
  uint inner;                 // positions of an index of the last one
  offset_t src[3];            // their strides in the source
  uint move[3];   // from an index to the next: packed(), of the row, the element there and the lead
  uint rows_to[3];            // rows from an index to the next; shared: 0
  uint columns[3];            // valid indices of the column axes
  offset_t column_src[3], column_dst[3];
  uint rows;                  // of workgroup memory
  offset_t reach;             // elements of the source from the first row to the last
};

Tile tile_of(Kind kind) {
  Tile t;
  const uint bits = schedule().y;
  const bool cut_first = kInner == 0u || (bits & PERMUTE_TABLE_CUT_FIRST) != 0u;
  [[unroll]] for (uint i = 0u; i < 2u; ++i) {
    t.size[i] = 1u;
    t.columns[i] = 1u;
    t.src[i] = 0;
    t.column_src[i] = src_stride(1u);
    t.column_dst[i] = dst_stride(1u);
    if (i < kInner) {
      t.size[i] = inner_sizes(i) & 0xffffu;
      t.columns[i] = inner_sizes(i) >> 16u;
      t.src[i] = position_src(i);
      t.column_src[i] = column_src(i);
      t.column_dst[i] = column_dst(i);
    }
  }
  t.inner = t.size[0] * t.size[1];
  if (kInner == 2u && (bits & PERMUTE_TABLE_LIMITED_INNER) != 0u) {
    t.inner = t.size[1];
    t.size[1] = (t.inner + t.size[0] - 1u) / t.size[0];
  }
  t.size[2] = kind.indices;
  t.src[2] = src_stride(0u);
  t.columns[2] = cut_first ? 1u : kind.columns;
  if (cut_first) t.columns[0] = kind.columns;
  t.column_src[2] = src_stride(1u);
  t.column_dst[2] = dst_stride(1u);
  t.rows = 1u;
  t.reach = 0;
  [[unroll]] for (uint i = 0u; i < 3u; ++i) {
    const bool shared_axis = (bits & (PERMUTE_TABLE_SHARED << i)) != 0u;
    t.rows_to[i] = shared_axis ? 0u : t.rows;
    t.move[i] = shared_axis ? packed(0u, uint(t.src[i]), 0u) : packed(t.rows, 0u, uint(t.src[i]));
    if (!shared_axis) {
      t.rows *= t.size[i];
      t.reach += offset_t(t.size[i] - 1u) * t.src[i];
    }
  }
  return t;
}

// Where 16-byte word `k` of a row is in workgroup memory, in 32-bit words, with the rotation of its elements in the
// lowest two bits. `scatter`: PERMUTE_TABLE_SCATTER's mask.
uint place_of(uint row, uint k, uint scatter) {
  const uint unit = PERMUTE_TABLE_UNIT(row, k, staging().x, kPositions);
  const uint turn = ELEMENT_BYTES < 8 ? PERMUTE_TABLE_TURN(unit, scatter) : 0u;
  const uint place = PERMUTE_TABLE_SCATTER(unit, scatter);
  return 4u * place + (turn & 3u);
}
uint scatter_of() { return (schedule().y & PERMUTE_TABLE_SCATTERED) != 0u ? 7u : 0u; }

void list_loads(Tile t, offset_t from) {
  const uint scatter = scatter_of();
  const Divisor by_words = divisor_of(staging().x), by_first = divisor_of(t.rows_to[0] != 0u ? t.size[0] : 1u),
                by_second = divisor_of(t.rows_to[1] != 0u ? t.size[1] : 1u);
  [[unroll]] for (uint u = 0u; u < kLoads; ++u) {
    const uint item = min(gl_LocalInvocationID.x + u * kWorkgroup, t.rows * staging().x - 1u);
    const uint row = divide(item, by_words), k = item - row * staging().x;
    offset_t at = 0;
    if (kInner != 0u) {
      const uint second = divide(row, by_first), third = divide(second, by_second);
      at += offset_t(row - second * by_first.d) * t.src[0] + offset_t(second - third * by_second.d) * t.src[1];
      if (t.rows_to[2] != 0u) at += offset_t(third) * t.src[2];
    } else {
      at += offset_t(row) * t.src[2];
    }
    const bool own = gl_LocalInvocationID.x + u * kWorkgroup == item;
    load_place[u] = own ? place_of(row, k, scatter) : kNowhere;
    load_at[u] = at + offset_t(k * kPer16) - offset_t((uint(from) + uint(at)) & (kPer16 - 1u));
  }
}

// The tile's positions, from an access before the first of a run on: where a run's elements are in workgroup memory, of
// its first column. A shared last axis moves along a row, so the positions of one of its indices are enough.
struct Period {
  Divisor positions;
  uint step;   // elements of a row from a period to the next
};
Period period_of(Tile t, uint loaded) {
  const bool shared_axis = (schedule().y & PERMUTE_TABLE_SHARED << 2u) != 0u;
  return Period(divisor_of(shared_axis ? t.inner : loaded), shared_axis ? uint(t.src[2]) : 0u);
}
uint loaded_positions(Tile t) {
  return (schedule().y & PERMUTE_TABLE_LIMITED_LAST) != 0u ? cut_extent() : t.size[2] * t.inner;
}

// Lists the positions of a period, and those that an access has before and after it, in workgroup memory that holds no
// tile: 16 bits of the element in its row, 16 bits of the row's first word.
void list_positions(Tile t, offset_t from) {
  const uint loaded = loaded_positions(t), words = staging().x;
  const Period period = period_of(t, loaded);
  const Divisor by_size0 = divisor_of(t.size[0]), by_inner = divisor_of(t.inner);
  for (uint i = gl_LocalInvocationID.x; i < period.positions.d + 2u * kPositions; i += kWorkgroup) {
    uint q = max(i, kPositions) - kPositions;
    if (period.step == 0u) q = min(q, loaded - 1u);
    uint i0 = 0u, i1 = 0u, i2 = q;
    if (kInner != 0u) {
      i2 = divide(q, by_inner);
      const uint inside = q - i2 * t.inner;
      i1 = divide(inside, by_size0);
      i0 = inside - i1 * t.size[0];
    }
    const uint sum = packed(0u, 0u, uint(from)) + i0 * t.move[0] + i1 * t.move[1] + i2 * t.move[2];
    const uint row = sum >> kRowShift & ((1u << (kLeadShift - kRowShift)) - 1u);
    const uint at = (sum & ((1u << kRowShift) - 1u)) + (sum >> kLeadShift & (kPer16 - 1u));
    staged[PERMUTE_TABLE_POSITION(i)] = at | PERMUTE_TABLE_UNIT(row, 0u, words, kPositions) << 16u;
  }
}

// The entries of two positions in one number: 16 bits each. `along`: the column's elements, in both halves.
uint two_entries(uint first, uint along, uint scatter) {
  const uint kBoth = 0x10001u;
  const uint one = staged[PERMUTE_TABLE_POSITION(first)],
             other = kPositions > 1u ? staged[PERMUTE_TABLE_POSITION(first + 1u)] : 0u;
  const uint at = bitfieldInsert(one, other, 16, 16) + along;
  const uint unit = bitfieldInsert(other, one >> 16u, 0, 16) + (at / kPer16 & 0xffffu / kPer16 * kBoth);
  const uint place = PERMUTE_TABLE_SCATTER(unit, scatter);
  const uint turn = ELEMENT_BYTES < 8 ? PERMUTE_TABLE_TURN(unit, scatter) & 3u * kBoth : 0u;
  return (place * kPer16 | ((at + turn * (kPer16 / 4u)) & (kPer16 - 1u) * kBoth)) * kUnit;
}

// The accesses of the tile: the planner makes tiles that have no more than the workgroup has places for.
void list_stores(Tile t, Kind kind, offset_t to) {
  const uint own = part().x * t.inner, loaded = loaded_positions(t);
  const uint before_sector = own % kSector == 0u ? 0u : kSector - 1u;
  // Accesses that a run has at most.
  uint most = kind.last ? loaded : own + before_sector;
  if (kind.first) most = (kind.last ? loaded : own + kSector - 1u) + kPositions - 1u;
  most = (most + kPositions - 1u) / kPositions;
  const uint columns = t.columns[0] * t.columns[1] * t.columns[2];
  const Divisor by_most = divisor_of(most), by_first = divisor_of(t.columns[0]), by_second = divisor_of(t.columns[1]);
  const Period period = period_of(t, loaded);
  const uint scatter = scatter_of() * 0x10001u;
  // One at a time: so it was timed, with at most 128 registers for the larger row.
  [[dont_unroll]] for (uint s = 0u; s < kStores; ++s) {
    const uint item = gl_LocalInvocationID.x + s * kWorkgroup;
    const uint number = divide(item, by_most), column = min(number, columns - 1u), nth = item - number * most;
    const uint upper = divide(column, by_first), c2 = divide(upper, by_second), c0 = column - upper * t.columns[0],
               c1 = upper - c2 * t.columns[1];
    const offset_t run =
        offset_t(c0) * t.column_dst[0] + offset_t(c1) * t.column_dst[1] + offset_t(c2) * t.column_dst[2];
    uint along = c0 * uint(t.column_src[0]) + c1 * uint(t.column_src[1]) + c2 * uint(t.column_src[2]);
    const uint start = uint(to) + uint(run), below = 0u - start;
    // Positions of the run: of the access's first, and the end of the tile's.
    const int position =
        (kind.first ? -int(start & (kPositions - 1u)) : int(below & (kSector - 1u))) + int(nth * kPositions);
    const int end = int(kind.last ? loaded : min(own + ((below - own) & (kSector - 1u)), loaded));
    const uint stored = number < columns ? uint(clamp(end - position, 0, int(kPositions))) : 0u;
    const bool end_of_row = (kind.first && position <= 0) || (kind.last && position + int(kPositions) >= end);
    const uint skipped = uint(max(-position, 0)), sector = end_of_row && has_gaps() ? kAsks : 0u;
    const uint range = skipped < stored ? skipped | sector | stored << 4u : 0u;
    const uint q = uint(clamp(position, 0, int(loaded) - 1)), index = divide(q, period.positions),
               first = kPositions + (position < 0 ? uint(position) : q - index * period.positions.d);
    along = (along + index * period.step) * 0x10001u;
    uint entry[kEntryWords];
    [[unroll]] for (uint i = 0u; i < kEntryWords; ++i) entry[i] = two_entries(first + 2u * i, along, scatter);
    // Constant indices: others would move the table to memory.
    [[unroll]] for (uint k = 0u; k < kStores; ++k) {
      if (k == s) {
        store_at[k] = run + offset_t(position);
        store_range[k / 4u] = (k % 4u == 0u ? 0u : store_range[k / 4u]) | range << (8u * (k % 4u));
        [[unroll]] for (uint i = 0u; i < kEntryWords; ++i) store_entry[k * kEntryWords + i] = entry[i];
      }
    }
  }
}

// The word of an entry's element, the element in its lowest bits.
uint element_at(uint entry) {
#if defined(BYTES)
  return uint(staged_bytes[entry]);
#elif ELEMENT_BYTES == 1
  return staged[entry >> 2u] >> (8u * (entry & 3u));
#elif ELEMENT_BYTES == 2
  return staged[entry >> 2u] >> (8u * (entry & 2u));
#else
  return staged[entry];
#endif
}
uint range_of(const uint s) { return (store_range[s / 4u] >> (8u * (s % 4u))) & (0xffu & ~kAsks); }
bool asks(const uint s) { return (store_range[s / 4u] & kAsks << (8u * (s % 4u))) != 0u; }
uint entry_of(const uint s, const uint j) {
  const uint two = store_entry[s * kEntryWords + j / 2u];
  return j % 2u == 0u ? two & 0xffffu : two >> 16u;
}

uint two_halves(const uint s, const uint j) {
  return bitfieldInsert(element_at(entry_of(s, j)), element_at(entry_of(s, j + 1u)), 16, 16);
}
uint four_bytes(const uint s, const uint j) {
  const uint low = bitfieldInsert(element_at(entry_of(s, j)), element_at(entry_of(s, j + 1u)), 8, 8);
  const uint high = bitfieldInsert(element_at(entry_of(s, j + 2u)), element_at(entry_of(s, j + 3u)), 8, 8);
  return bitfieldInsert(low, high, 16, 16);
}

// The elements of access `s`.
uvec4 access_of(const uint s) {
#if ELEMENT_BYTES == 8
  const uint entry = 2u * entry_of(s, 0u);
  return uvec4(staged[entry], staged[entry + 1u], 0u, 0u);
#elif ELEMENT_BYTES == 4
  return uvec4(element_at(entry_of(s, 0u)), element_at(entry_of(s, 1u)), 0u, 0u);
#elif ELEMENT_BYTES == 2
  return uvec4(two_halves(s, 0u), two_halves(s, 2u), 0u, 0u);
#else
  return uvec4(four_bytes(s, 0u), four_bytes(s, 4u), 0u, 0u);
#endif
}

// Writes a word's four parts, in an order that depends on the invocation, so that 32 invocations write to different
// banks.
void stage_word(uint place, uvec4 value) {
  if (place == kNowhere) return;
  const uint first = gl_LocalInvocationID.x >> 3u, turn = first - place;
  uvec4 v = (turn & 1u) != 0u ? value.yzwx : value;
  v = (turn & 2u) != 0u ? v.zwxy : v;
  [[unroll]] for (uint i = 0u; i < 4u; ++i) staged[(place & ~3u) + ((i + first) & 3u)] = v[i];
}

// The words of the next tile, loaded while the one before it is stored.
uvec4 value[kLoads];

// Loads the words of a tile all of which are inside the source.
void fetch(Source source, offset_t from) {
  [[unroll]] for (uint u = 0u; u < kLoads; ++u) value[u] = load_bytes(source.base, from + load_at[u], 16u);
}

// Loads and stages the words of a tile of which some are not wholly inside the source. A loop with a loop inside is not
// unrolled, so no array has its index.
void stage_slowly(Source source, offset_t from) {
  [[dont_unroll]] for (uint u = 0u; u < kLoads; ++u) {
    offset_t at = 0;
    uint place = kNowhere;
    [[unroll]] for (uint k = 0u; k < kLoads; ++k) {
      at = k == u ? load_at[k] : at;
      place = k == u ? load_place[k] : place;
    }
    stage_word(place, assemble_word(source, from + at));
  }
}

bool is_inside(Source source, offset_t reach, offset_t from) {
  const offset_t last_word = from + reach + offset_t((staging().x - 1u) * kPer16);   // at most
  return from >= source.first + offset_t(kPer16) && last_word <= source.last;
}

// Asks for the sectors at the ends of rows that have gaps behind them. Returns 0.
uint ask_for_sectors(uvec2 base, offset_t to) {
  uint nothing = 0u;
  [[unroll]] for (uint s = 0u; s < kStores; ++s)
    if (asks(s)) nothing |= ask_for_sector(base, to + store_at[s] + offset_t(range_of(s) & 7u));
  return nothing;
}

// Stores the tile's accesses. Some are read before the first of them is stored, so that reads overlap.
void store_accesses(uvec2 base, offset_t to) {
  if (has_gaps()) to += offset_t(ask_for_sectors(base, to));
  [[unroll]] for (uint first = 0u; first < kStores; first += kAtOnce) {
    uvec4 v[kAtOnce];
    bool parts = false;
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i)
      if (first + i < kStores) v[i] = access_of(first + i);
    [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
      if (first + i < kStores) {
        const uint range = range_of(first + i);
        if (range == kWhole) store_bytes(base, to + store_at[first + i], kAccess, v[i]);
        parts = parts || (range != kWhole && range != 0u);
      }
    }
    if (parts) {
      [[unroll]] for (uint i = 0u; i < kAtOnce; ++i) {
        if (first + i < kStores) {
          const uint range = range_of(first + i);
          if (range != kWhole && range != 0u)
            store_part(base, to + store_at[first + i], kAccess, v[i], int(range & 15u), int(range >> 4u));
        }
      }
    }
  }
}

void main() {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, PERMUTE_SECTOR);
  Walk w = locate(id, source, lead_of(push.dst, PERMUTE_SECTOR));
  if (w.tiles == 0u) return;
  uint listed = 0u;   // the kind that the table is for
  offset_t reach = 0;   // of its tiles
  bool fetched = false;   // the tile's words
  do {
    const Kind kind = kind_of(w);
    if (key_of(kind) != listed) {
      listed = key_of(kind);
      const Tile t = tile_of(kind);
      reach = t.reach;
      list_loads(t, w.from);
      list_positions(t, w.from);
      barrier();   // all positions are listed before entries are made of them by other invocations
      list_stores(t, kind, w.to);
      barrier();   // all entries are made before a tile is staged in the same memory
    }
    if (fetched || is_inside(source, reach, w.from)) {
      if (!fetched) fetch(source, w.from);
      [[unroll]] for (uint u = 0u; u < kLoads; ++u) stage_word(load_place[u], value[u]);
    } else {
      stage_slowly(source, w.from);
    }
    barrier();   // the whole tile is staged before loads by other invocations
    // A walk's tiles never grow, so the words that are listed are the next one's too.
    fetched = kAhead != 0u && w.tiles > 1u && is_inside(source, reach, w.from + w.step_src);
    if (fetched) fetch(source, w.from + w.step_src);
    store_accesses(base, w.to);
    barrier();   // all loads are done before the next tile is staged
    w.from += w.step_src;
    w.to += w.step_dst;
    w.part_index += w.step_part;
    w.column_index += w.step_column;
  } while (--w.tiles != 0u);
}
