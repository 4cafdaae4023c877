//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// Boxes of the problem go through workgroup memory: their runs in the source come in by aligned 16-byte words, their
// runs in the destination go out by aligned accesses of 8 bytes, wherever either begins. Where an access's elements are
// in workgroup memory is worked out once for many boxes. permute_table.abi.h describes the tile.
#include "lib/cuda.cuh"
#include "lib/divisor.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_table.abi.h"
constexpr uint kLoads = sectile_constant(PERMUTE_TABLE_SPEC_LOADS, 3u);
constexpr uint kStores = sectile_constant(PERMUTE_TABLE_SPEC_STORES, 4u);
constexpr uint kInner = sectile_constant(PERMUTE_TABLE_SPEC_INNER, 0u);
constexpr bool kAhead = sectile_constant(PERMUTE_TABLE_SPEC_AHEAD, 0u) != 0u;
#define OWN_WORDS PERMUTE_TABLE_WORDS
#include "permute/permute.cuh"
#include "permute/gaps.cuh"

SECTILE_SHARED(uint, staged, 4u * kLoads * kWorkgroup);

constexpr uint kAccess = 8u;                              // bytes of a store
constexpr uint kPositions = kAccess / ELEMENT_BYTES;      // of a store
constexpr uint kSector = PERMUTE_SECTOR / ELEMENT_BYTES;  // elements
#define ENTRY_WORDS (ELEMENT_BYTES < 8 ? 4 / ELEMENT_BYTES : 1)   // of a store: 16 bits an element
constexpr uint kEntryWords = ENTRY_WORDS;
constexpr uint kUnit = ELEMENT_BYTES < 4 ? ELEMENT_BYTES : 1u;   // entries count bytes or, of wider ones, elements

// The invocation's table. Offsets count from the tile's first element.
struct Table {
  offset_t* load_at;    // kLoads: of its words in the source
  uint* load_place;     // and in workgroup memory, in words; kNowhere: there is none
  offset_t* store_at;   // kStores: of its accesses in the destination
  uint* range;          // kRangeWords: of an access 3 bits: the first element that is stored; kAsks; 4 bits: their end
  uint* entry;          // kStores * kEntryWords: where its elements are in workgroup memory, in bytes or elements
};
constexpr uint kAtOnce = ELEMENT_BYTES == 1 ? 2u : 4u;   // accesses that are read before they are stored
constexpr uint kRangeWords = (kStores + 3u) / 4u;
constexpr uint kWhole = kPositions << 4u;   // a range of all; of none it is 0
constexpr uint kAsks = 8u;   // a range's bit: the access's sector is asked for before
constexpr uint kNowhere = 0xffffffffu;

// The walk: its first tile, then the one that is moved.
struct Walk {
  offset_t from, to;             // first element; of the source from the aligned base, of the destination from its own
  offset_t step_src, step_dst;   // from tile to tile
  uint part_index, column_index, step_part, step_column;   // of the tile along axes 0 and 1
  uint tiles;
};

__device__ __forceinline__ Walk locate(const PermutePush& push, uint id, const Source& source, offset_t lead) {
  Walk w = {};
  w.from = source.begin;
  w.to = lead;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    const uint tile = take_digit(push, id, a);
    const uint indices = a == 0u ? part(push).x : a == 1u ? staging(push).y : 1u;   // of a tile
    if (a == schedule(push).x) {
      // A step is over the first tiles of all walks: those that run at once move neighbouring tiles.
      const uint step = axis_count(push, a), most = schedule(push).z;
      w.tiles = tile + (most - 1u) * step < walk_end(push) ? most : most - 1u;
      w.step_src = offset_t(indices * step) * src_stride(push, a);
      w.step_dst = offset_t(indices * step) * dst_stride(push, a);
      if (a == 0u) w.step_part = step;
      if (a == 1u) w.step_column = step;
    }
    if (a == 0u) w.part_index = tile;
    if (a == 1u) w.column_index = tile;
    w.from += offset_t(tile * indices) * src_stride(push, a);
    w.to += offset_t(tile * indices) * dst_stride(push, a);
  }
  return w;
}

// What the table depends on beside the addresses' lowest bits, which the walk keeps.
struct Kind {
  uint indices, columns;   // valid indices of the last position axis and the last column axis
  bool first, last;        // part of the destination's runs
};

// A number for each kind: a tile has fewer than 2^16 indices and 2^14 columns.
__device__ __forceinline__ uint key_of(const Kind& kind) {
  return kind.indices | kind.columns << 16u | (kind.first ? 1u : 0u) << 30u | (kind.last ? 1u : 0u) << 31u;
}

__device__ __forceinline__ Kind kind_of(const PermutePush& push, const Walk& w) {
  const uint start = w.part_index * part(push).x;
  const bool limited = (schedule(push).y & PERMUTE_TABLE_LIMITED_LAST) != 0u;   // then it is not cut
  const uint extent = limited ? part(push).y : cut_extent(push);
  return {min(part(push).y, extent - start),
          min(staging(push).y, column_extent(push) - w.column_index * staging(push).y), start == 0u,
          extent - start <= part(push).x};
}

// A position's row of workgroup memory, its element there and the lead of its row, the last modulo a word, in one
// number: numbers of positions add up to that of their sum.
constexpr uint kRowShift = 15u, kLeadShift = 28u;
__device__ __forceinline__ uint packed(uint row, uint element, uint lead) {
  return (row << kRowShift) + element + (lead << kLeadShift);
}

struct Tile {
  uint size[3];                // of the position axes: indices that are loaded
  uint inner;                  // positions of an index of the last one
  offset_t src[3];             // their strides in the source
  uint move[3];   // from an index to the next: packed(), of the row, the element there and the lead
  uint rows_to[3];             // rows from an index to the next; shared: 0
  uint columns[3];             // valid indices of the column axes
  offset_t column_src[3], column_dst[3];
  uint rows;                   // of workgroup memory
  offset_t reach;              // elements of the source from the first row to the last
};

__device__ __forceinline__ Tile tile_of(const PermutePush& push, const Kind& kind) {
  Tile t = {};
  const uint bits = schedule(push).y;
  const bool cut_first = kInner == 0u || (bits & PERMUTE_TABLE_CUT_FIRST) != 0u;
#pragma unroll
  for (uint i = 0u; i < 2u; ++i) {
    t.size[i] = 1u;
    t.columns[i] = 1u;
    t.src[i] = 0;
    t.column_src[i] = src_stride(push, 1u);
    t.column_dst[i] = dst_stride(push, 1u);
    if (i < kInner) {
      t.size[i] = inner_sizes(push, i) & 0xffffu;
      t.columns[i] = inner_sizes(push, i) >> 16u;
      t.src[i] = position_src(push, i);
      t.column_src[i] = column_src(push, i);
      t.column_dst[i] = column_dst(push, i);
    }
  }
  t.inner = t.size[0] * t.size[1];
  if (kInner == 2u && (bits & PERMUTE_TABLE_LIMITED_INNER) != 0u) {
    t.inner = t.size[1];
    t.size[1] = (t.inner + t.size[0] - 1u) / t.size[0];
  }
  t.size[2] = kind.indices;
  t.src[2] = src_stride(push, 0u);
  t.columns[2] = cut_first ? 1u : kind.columns;
  if (cut_first) t.columns[0] = kind.columns;
  t.column_src[2] = src_stride(push, 1u);
  t.column_dst[2] = dst_stride(push, 1u);
  t.rows = 1u;
#pragma unroll
  for (uint i = 0u; i < 3u; ++i) {
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
__device__ __forceinline__ uint place_of(const PermutePush& push, uint row, uint k, uint scatter) {
  const uint unit = PERMUTE_TABLE_UNIT(row, k, staging(push).x, kPositions);
  const uint turn = ELEMENT_BYTES < 8 ? PERMUTE_TABLE_TURN(unit, scatter) : 0u;
  const uint place = PERMUTE_TABLE_SCATTER(unit, scatter);
  return 4u * place + (turn & 3u);
}
__device__ __forceinline__ uint scatter_of(const PermutePush& push) {
  return (schedule(push).y & PERMUTE_TABLE_SCATTERED) != 0u ? 7u : 0u;
}

__device__ __forceinline__ void list_loads(const PermutePush& push, const Tile& t, offset_t from, const Table& table) {
  const uint words = staging(push).x, scatter = scatter_of(push);
  const Divisor by_words = divisor_of(words), by_first = divisor_of(t.rows_to[0] != 0u ? t.size[0] : 1u),
                by_second = divisor_of(t.rows_to[1] != 0u ? t.size[1] : 1u);
#pragma unroll
  for (uint u = 0u; u < kLoads; ++u) {
    const uint item = min(threadIdx.x + u * kWorkgroup, t.rows * words - 1u);
    const uint row = divide(item, by_words), k = item - row * words;
    offset_t at = 0;
    if (kInner != 0u) {
      const uint second = divide(row, by_first), third = divide(second, by_second);
      at += offset_t(row - second * by_first.d) * t.src[0] + offset_t(second - third * by_second.d) * t.src[1];
      if (t.rows_to[2] != 0u) at += offset_t(third) * t.src[2];
    } else {
      at += offset_t(row) * t.src[2];
    }
    const bool own = threadIdx.x + u * kWorkgroup == item;
    table.load_place[u] = own ? place_of(push, row, k, scatter) : kNowhere;
    table.load_at[u] = at + offset_t(k * kPer16) - offset_t((uint(from) + uint(at)) & (kPer16 - 1u));
  }
}

__device__ __forceinline__ int clamped(int v, int least, int most) { return v < least ? least : v > most ? most : v; }

// The accesses of all runs in the order in which invocations take them: first those inside the runs, then the first and
// the last two of each. These may be stored in part, which takes a path of its own: few subgroups do. (On Vulkan that
// gained nothing.)
struct RunOrder {
  Divisor inside;         // accesses of a run
  uint most, all_inside;  // of a run in all; inside all runs
};

__device__ __forceinline__ RunOrder run_order(uint columns, uint most) {
  const uint ends = min(most, 3u);
  return {divisor_of(max(most - ends, 1u)), most, columns * (most - ends)};
}

// Access `k` of a run.
struct RunAccess {
  uint column, k;
};

__device__ __forceinline__ RunAccess access_in(const RunOrder& order, uint item) {
  const bool inside = item < order.all_inside;
  const uint number = inside ? item : item - order.all_inside, size = inside ? order.inside.d : min(order.most, 3u);
  const uint column = inside     ? divide(number, order.inside)
                      : size > 2u ? number / 3u
                                  : number >> (size - 1u);
  const uint i = number - column * size;
  return {column, inside ? i + 1u : i == 0u ? 0u : order.most - size + i};
}

// The tile's positions, from an access before the first of a run on: where a run's elements are in workgroup memory, of
// its first column. A shared last axis moves along a row, so the positions of one of its indices are enough.
struct Period {
  Divisor positions;
  uint step;   // elements of a row from a period to the next
};
__device__ __forceinline__ Period period_of(const PermutePush& push, const Tile& t, uint loaded) {
  const bool shared_axis = (schedule(push).y & PERMUTE_TABLE_SHARED << 2u) != 0u;
  return {divisor_of(shared_axis ? t.inner : loaded), shared_axis ? uint(t.src[2]) : 0u};
}
__device__ __forceinline__ uint loaded_positions(const PermutePush& push, const Tile& t) {
  return (schedule(push).y & PERMUTE_TABLE_LIMITED_LAST) != 0u ? cut_extent(push) : t.size[2] * t.inner;
}

// Lists the positions of a period, and those that an access has before and after it, in workgroup memory that holds no
// tile: 16 bits of the element in its row, 16 bits of the row's first word.
__device__ __forceinline__ void list_positions(const PermutePush& push, const Tile& t, offset_t from) {
  const uint loaded = loaded_positions(push, t), words = staging(push).x;
  const Period period = period_of(push, t, loaded);
  const Divisor by_size0 = divisor_of(t.size[0]), by_inner = divisor_of(t.inner);
  for (uint i = threadIdx.x; i < period.positions.d + 2u * kPositions; i += kWorkgroup) {
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
__device__ __forceinline__ uint two_entries(uint first, uint along, uint scatter) {
  constexpr uint kBoth = 0x10001u;
  const uint one = staged[PERMUTE_TABLE_POSITION(first)],
             other = kPositions > 1u ? staged[PERMUTE_TABLE_POSITION(first + 1u)] : 0u;
  const uint at = __byte_perm(one, other, 0x5410) + along;
  const uint unit = __byte_perm(one, other, 0x7632) + (at / kPer16 & 0xffffu / kPer16 * kBoth);
  const uint place = PERMUTE_TABLE_SCATTER(unit, scatter);
  const uint turn = ELEMENT_BYTES < 8 ? PERMUTE_TABLE_TURN(unit, scatter) & 3u * kBoth : 0u;
  return (place * kPer16 | ((at + turn * (kPer16 / 4u)) & (kPer16 - 1u) * kBoth)) * kUnit;
}

// The accesses of the tile: the planner makes tiles that have no more than the workgroup has places for.
__device__ __forceinline__ void list_stores(const PermutePush& push, const Tile& t, const Kind& kind, offset_t to,
                                            const Table& table) {
  const uint own = part(push).x * t.inner, loaded = loaded_positions(push, t);
  const uint before_sector = own % kSector == 0u ? 0u : kSector - 1u;
  // Accesses that a run has at most.
  uint most = kind.last ? loaded : own + before_sector;
  if (kind.first) most = (kind.last ? loaded : own + kSector - 1u) + kPositions - 1u;
  most = (most + kPositions - 1u) / kPositions;
  const uint columns = t.columns[0] * t.columns[1] * t.columns[2];
  const RunOrder order = run_order(columns, most);
  const Divisor by_first = divisor_of(t.columns[0]), by_second = divisor_of(t.columns[1]);
  const Period period = period_of(push, t, loaded);
  const uint scatter = scatter_of(push) * 0x10001u;
#pragma unroll
  for (uint s = 0u; s < kStores; ++s) {
    const uint item = threadIdx.x + s * kWorkgroup;
    const RunAccess access = access_in(order, item);
    const uint number = access.column, column = min(number, columns - 1u), k = access.k;
    const uint upper = divide(column, by_first), c2 = divide(upper, by_second), c0 = column - upper * t.columns[0],
               c1 = upper - c2 * t.columns[1];
    const offset_t run =
        offset_t(c0) * t.column_dst[0] + offset_t(c1) * t.column_dst[1] + offset_t(c2) * t.column_dst[2];
    uint along = c0 * uint(t.column_src[0]) + c1 * uint(t.column_src[1]) + c2 * uint(t.column_src[2]);
    const uint start = uint(to) + uint(run), below = 0u - start;
    // Positions of the run: of the access's first, and the end of the tile's.
    const int position =
        (kind.first ? -int(start & (kPositions - 1u)) : int(below & (kSector - 1u))) + int(k * kPositions);
    const int end = int(kind.last ? loaded : min(own + ((below - own) & (kSector - 1u)), loaded));
    const uint stored = number < columns ? uint(clamped(end - position, 0, int(kPositions))) : 0u;
    const uint skipped = uint(position < 0 ? -position : 0);
    const bool end_of_row = (kind.first && position <= 0) || (kind.last && position + int(kPositions) >= end);
    const uint sector = end_of_row && has_gaps(push) ? kAsks : 0u;
    const uint range = skipped < stored ? skipped | sector | stored << 4u : 0u;
    const uint q = uint(clamped(position, 0, int(loaded) - 1)), index = divide(q, period.positions),
               first = kPositions + (position < 0 ? uint(position) : q - index * period.positions.d);
    along = (along + index * period.step) * 0x10001u;
#pragma unroll
    for (uint i = 0u; i < kEntryWords; ++i)
      table.entry[s * kEntryWords + i] = two_entries(first + 2u * i, along, scatter);
    table.store_at[s] = run + offset_t(position);
    table.range[s / 4u] = (s % 4u == 0u ? 0u : table.range[s / 4u]) | range << (8u * (s % 4u));
  }
}

__device__ __forceinline__ uint range_of(const Table& table, const uint s) {
  return (table.range[s / 4u] >> (8u * (s % 4u))) & (0xffu & ~kAsks);
}
__device__ __forceinline__ bool asks(const Table& table, const uint s) {
  return (table.range[s / 4u] & kAsks << (8u * (s % 4u))) != 0u;
}

__device__ __forceinline__ uint entry_of(const Table& table, const uint s, const uint j) {
  const uint two = table.entry[s * kEntryWords + j / 2u];
  return j % 2u == 0u ? two & 0xffffu : two >> 16u;
}

// The elements of access `s`.
__device__ __forceinline__ uvec4 access_of(const Table& table, const uint s) {
  uvec4 v = {};
#if ELEMENT_BYTES == 8
  const uint entry = 2u * entry_of(table, s, 0u);
  v[0] = staged[entry];
  v[1] = staged[entry + 1u];
#elif ELEMENT_BYTES == 4
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j) v[j] = staged[entry_of(table, s, j)];
#elif ELEMENT_BYTES == 2
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j)
    v[j / 2u] |= uint(SECTILE_SHARED_AT(unsigned short, staged, entry_of(table, s, j))) << (16u * (j % 2u));
#else
#pragma unroll
  for (uint j = 0u; j < kPositions; ++j)
    v[j / 4u] |= uint(SECTILE_SHARED_AT(unsigned char, staged, entry_of(table, s, j))) << (8u * (j % 4u));
#endif
  return v;
}

__device__ __forceinline__ void stage_word(uint place, const uvec4& value) {
  if (place == kNowhere) return;
  const bool one = (place & 1u) != 0u, two = (place & 2u) != 0u;
  const uvec4 v = {{one ? value[3] : value[0], one ? value[0] : value[1], one ? value[1] : value[2],
                    one ? value[2] : value[3]}};
  store_shared(&staged[place & ~3u], 4u,
               {{two ? v[2] : v[0], two ? v[3] : v[1], two ? v[0] : v[2], two ? v[1] : v[3]}});
}

// The tile's words, of which all are inside the source.
__device__ __forceinline__ void fetch(const Source& source, offset_t from, const Table& table, uvec4* value) {
#pragma unroll
  for (uint u = 0u; u < kLoads; ++u) value[u] = load_bytes(source.base, from + table.load_at[u], 16u);
}

// Loads and stages the words of a tile of which some are not wholly inside the source. A loop with a loop inside is not
// unrolled, so no array has its index.
__device__ __forceinline__ void stage_slowly(const Source& source, offset_t from, const Table& table) {
#pragma unroll 1
  for (uint u = 0u; u < kLoads; ++u) {
    offset_t at = 0;
    uint place = kNowhere;
#pragma unroll
    for (uint k = 0u; k < kLoads; ++k) {
      at = k == u ? table.load_at[k] : at;
      place = k == u ? table.load_place[k] : place;
    }
    stage_word(place, assemble_word(source, from + at));
  }
}

// Asks for the sectors at the ends of rows that have gaps behind them.
__device__ __forceinline__ void ask_for_sectors(SectileAddress base, offset_t to, const Table& table) {
#pragma unroll
  for (uint s = 0u; s < kStores; ++s)
    if (asks(table, s)) ask_for_sector(base, to + table.store_at[s] + offset_t(range_of(table, s) & 7u));
}

// Stores the tile's accesses. Some are read before the first of them is stored, so that reads overlap.
__device__ __forceinline__ void store_accesses(SectileAddress base, offset_t to, const Table& table) {
#pragma unroll
  for (uint first = 0u; first < kStores; first += kAtOnce) {
    uvec4 v[kAtOnce];
    bool parts = false;
#pragma unroll
    for (uint s = first; s < min(first + kAtOnce, kStores); ++s) v[s - first] = access_of(table, s);
#pragma unroll
    for (uint s = first; s < min(first + kAtOnce, kStores); ++s) {
      const uint range = range_of(table, s);
      if (range == kWhole) store_bytes(base, to + table.store_at[s], kAccess, v[s - first]);
      parts = parts || (range != kWhole && range != 0u);
    }
    if (parts) {
#pragma unroll
      for (uint i = 0u; i < kAtOnce; ++i) {
        if (first + i < kStores) {
          const uint range = range_of(table, first + i);
          if (range != kWhole && range != 0u)
            store_part(base, to + table.store_at[first + i], kAccess, v[i], int(range & 15u), int(range >> 4u));
        }
      }
    }
  }
}

// So many workgroups of a multiprocessor leave an invocation the registers that it needs: 102, or 128 where the table
// is larger, and for 64-bit offsets and architectures on which it was not timed.
#if defined(WIDE) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900)
constexpr uint kThreads = 512u;
#else
constexpr uint kThreads = PERMUTE_TABLE_FEW_REGISTERS(ELEMENT_BYTES, kInner, kStores) ? 640u : 512u;
#endif
constexpr uint kResident = kThreads / kWorkgroup;
SECTILE_KERNEL void __launch_bounds__(kWorkgroup, kResident) sectile_main(const __grid_constant__ PermutePush push) {
  const uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, PERMUTE_SECTOR);
  Walk w = locate(push, id, source, lead_of(push.dst, PERMUTE_SECTOR));
  offset_t load_at[kLoads], store_at[kStores];
  uint load_place[kLoads], range[kRangeWords], entry[kStores * kEntryWords];
  const Table table = {load_at, load_place, store_at, range, entry};
  uint listed = 0u;       // the kind that the table is for
  offset_t reach = 0;     // of its tiles
  uvec4 value[kLoads];
  bool fetched = false;   // the tile's words, while the one before it was stored
  const auto is_inside = [&](offset_t from) {
    const offset_t last_word = from + reach + offset_t((staging(push).x - 1u) * kPer16);   // at most
    return from >= source.first + offset_t(kPer16) && last_word <= source.last;
  };
  for (uint n = 0u; n < w.tiles; ++n) {
    const Kind kind = kind_of(push, w);
    if (key_of(kind) != listed) {
      listed = key_of(kind);
      const Tile t = tile_of(push, kind);
      reach = t.reach;
      list_loads(push, t, w.from, table);
      list_positions(push, t, w.from);
      __syncthreads();   // all positions are listed before entries are made of them by other invocations
      list_stores(push, t, kind, w.to, table);
      __syncthreads();   // all entries are made before a tile is staged in the same memory
    }
    if (fetched || is_inside(w.from)) {
      if (!fetched) fetch(source, w.from, table, value);
#pragma unroll
      for (uint u = 0u; u < kLoads; ++u) stage_word(table.load_place[u], value[u]);
    } else {
      stage_slowly(source, w.from, table);
    }
    __syncthreads();   // the whole tile is staged before loads by other invocations
    // A walk's tiles never grow, so the words that are listed are the next one's too.
    fetched = kAhead && n + 1u < w.tiles && is_inside(w.from + w.step_src);
    if (fetched) fetch(source, w.from + w.step_src, table, value);
    if (has_gaps(push)) ask_for_sectors(base, w.to, table);
    store_accesses(base, w.to, table);
    __syncthreads();   // all loads are done before the next tile is staged
    w.from += w.step_src;
    w.to += w.step_dst;
    w.part_index += w.step_part;
    w.column_index += w.step_column;
  }
}
