// Operands that matmul_wgmma's invocations load, in items. What can be copied as it lies goes to its place by cp.async,
// an access an item. What is converted or turned goes by cp.async to memory that only the same invocation uses, a slot
// for each step in flight, and from there through registers. So does what begins at no multiple of 4 bytes (SHIFTED_A,
// SHIFTED_B): of each line that is contiguous in global memory the aligned words of 4 bytes, which the warpgroup copies
// side by side. An item's bytes are shifted together afterwards. A line's first word may begin up to 3 bytes in front
// of it.
#include "lib/copy.cuh"

constexpr uint kAhead = sectile_constant(MATMUL_WGMMA_SPEC_AHEAD, 1u);
constexpr bool kShiftedA = sectile_constant(MATMUL_WGMMA_SPEC_SHIFTED_A, 0u) != 0u;
constexpr bool kShiftedB = sectile_constant(MATMUL_WGMMA_SPEC_SHIFTED_B, 0u) != 0u;

// How an operand is loaded.
struct Loaded {
  uint type, width, tile;
  bool along_k, converted, turned, shifted;
  uint run;             // elements of an item; of what is turned an item has four rows
  uint access, staged;  // bytes of an item in global memory, and in its place
  bool direct;
  uint line;
  uint items;           // of an invocation
  uint slot;            // bytes
  // Of what is not turned an invocation has the same run of every so many-th line.
  uint runs, lines;
  uint blocks;          // of kTileK lines
  uint block_items;
  // Of what is shifted: lines that are contiguous in global memory, their words of 4 bytes, and bytes from one to the
  // next where they are kept. A line that begins inside a word has another word.
  uint sources, words, pitch;
};
__device__ constexpr Loaded loaded(const bool b) {
  Loaded l{};
  l.type = b ? kBType : kAType;
  l.width = b ? kWidthB : kWidthA;
  l.tile = b ? kTileN : kTileM;
  l.along_k = b ? kAlongKB : kAlongKA;
  l.converted = l.type != kType || (!b && kHasAScale != 0u);
  l.turned = !l.along_k && kElementBytes == 1u;
  l.shifted = b ? kShiftedB : kShiftedA;
  l.run = l.turned ? 4u : l.width;
  l.access = MATMUL_WGMMA_ACCESS_BYTES(l.type, l.run);
  l.staged = l.run * kElementBytes;
  l.direct = !l.converted && !l.turned && !l.shifted;
  l.line = l.along_k ? kLine : MATMUL_WGMMA_ACROSS(l.tile) * kElementBytes;
  l.items = MATMUL_WGMMA_ITEMS(l.tile, l.run, kElementBytes, l.turned);
  l.runs = l.line / l.staged;
  l.lines = kWarpgroup / l.runs;
  l.blocks = l.along_k ? 1u : l.tile * kElementBytes / l.line;
  l.block_items = l.items / l.blocks;
  l.sources = MATMUL_WGMMA_SOURCES(l.tile, kTileK, l.along_k, l.turned);
  l.words = MATMUL_WGMMA_SOURCE_BYTES(l.type, l.tile, kTileK, l.along_k, l.turned) / 4u;
  l.pitch = 4u * l.words + 4u;
  l.slot = l.direct    ? 0u
           : l.shifted ? MATMUL_WGMMA_KEPT_BYTES(l.sources, 4u * l.words)
                       : l.items * l.access * kWarpgroup;
  return l;
}
// A step in flight needs no stage before it is finished: nothing is copied to its place at once.
constexpr bool kStagesLast = kStagedA && kStagedB && !loaded(false).direct && !loaded(true).direct;
constexpr uint kSlotA = kStagedA ? loaded(false).slot : 0u, kSlotB = kStagedB ? loaded(true).slot : 0u;

// The operand's memory in a slot.
template <bool b>
__device__ __forceinline__ uint slot_of(const Stages& stage, uint slot) {
  return stage.own + slot * (kSlotA + kSlotB) + (b ? kSlotA : 0u);
}
// This invocation's part of it: of each item the invocations' accesses follow each other.
template <bool b>
__device__ __forceinline__ uint own_place(const Stages& stage, uint slot, uint item) {
  constexpr Loaded l = loaded(b);
  return slot_of<b>(stage, slot) + (item * kWarpgroup + threadIdx.x) * l.access;
}
// An item's bytes, zeros where they are not inside the operand. `source`: its line, of what is shifted; `byte`: of the
// line, a multiple of 4; `from`: its address.
template <bool b>
__device__ __forceinline__ uvec4 kept_item(const Stages& stage, uint slot, uint item, uint source, uint byte,
                                           uint64 from) {
  constexpr Loaded l = loaded(b);
  SECTILE_IF_CONSTEXPR (!l.shifted) return load_place(own_place<b>(stage, slot, item), l.access);
  const uint place = slot_of<b>(stage, slot) + source * l.pitch + byte, bits = 8u * (uint(from) & 3u);
  uvec4 raw = {};
  uint word = load_place(place, 4u)[0];
#pragma unroll
  for (uint w = 0u; w < l.access / 4u; ++w) {
    const uint next = load_place(place + 4u * w + 4u, 4u)[0];
    raw[w] = __funnelshift_r(word, next, bits);
    word = next;
  }
  return raw;
}

// By which the number of a chunk in a line is changed.
__device__ __forceinline__ constexpr uint swizzle_of(const uint line, uint number) {
  return number / (128u / line) % (line / 16u);
}

// Where a step's elements lie, and how many rows and k there are from the step's first on.
struct Source {
  uint64 base;
  uint ld, rows, k;
};
template <bool b>
__device__ __forceinline__ Source source_at(const GemmPush& push, const Tile& t) {
  if (b) return {b_address(push, t, t.k, t.n), ldb(push), columns(push) - min(t.n, columns(push)), t.k_end - t.k};
  return {a_address(push, t, t.m, t.k), lda(push), size_m(push) - min(t.m, size_m(push)), t.k_end - t.k};
}

// An invocation's items in a block of lines.
struct Items {
  uint64 from, step;   // the first item's address, and the distance to the next one's
  uint row, k;         // of its first element, from the tile's and the step's first on
  uint inside;         // of the items so many are inside the operand: the others are zeros, as in a tensor map
  uint elements;       // that each of these has inside
  uint place;          // of the first item in the operand's tile
};
template <bool b>
__device__ __forceinline__ Items items_of(const Source& s, const uint block) {
  constexpr Loaded l = loaded(b);
  const uint line = threadIdx.x / l.runs, at = threadIdx.x % l.runs * l.run;
  Items i;
  i.row = l.along_k ? line : block * (l.line / kElementBytes) + at;
  i.k = l.along_k ? at : line;
  i.from = s.base + run_at(l.type, l.along_k ? i.row * s.ld + i.k : i.k * s.ld + i.row);
  i.step = run_at(l.type, l.lines * s.ld);
  const uint left = l.along_k ? s.rows : s.k;
  const bool run_inside = l.along_k ? i.k < s.k : i.row < s.rows;
  i.inside = run_inside && line < left ? (left - line + l.lines - 1u) / l.lines : 0u;
  i.elements = min(l.run, l.along_k ? s.k - min(i.k, s.k) : s.rows - min(i.row, s.rows));
  const uint byte = at * kElementBytes;
  i.place = block * kTileK * l.line + line * l.line + ((byte / 16u ^ swizzle_of(l.line, line)) << 4) + byte % 16u;
  return i;
}
// Where item number i's first element is, from the tile's and the step's first on, and whether the operand has it.
struct ItemPlace {
  uint row, k;
  bool inside;
};
template <bool b>
__device__ __forceinline__ ItemPlace item_place(const Items& items, const uint i) {
  constexpr Loaded l = loaded(b);
  return {items.row + (l.along_k ? i * l.lines : 0u), items.k + (l.along_k ? 0u : i * l.lines), i < items.inside};
}
// Where in the tile item number i lies, the tile being at `to`, a multiple of 1024. An invocation's first line is below
// l.lines, a power of two, so that the swizzles of both parts of a line's number are combined by their bits.
template <bool b>
__device__ __forceinline__ uint place_of(uint to, const Items& items, const uint i) {
  constexpr Loaded l = loaded(b);
  return ((to + items.place) ^ (swizzle_of(l.line, i * l.lines) << 4)) + i * l.lines * l.line;
}

// 16 k of four rows at a time are turned.
constexpr uint kTurnedK = 16u;
struct Turned {
  uint64 from;        // the address of the first k of the four rows
  uint row, k;        // from the tile's and the step's first on
  uint inside;        // of the 16 k so many are inside the operand
};
template <bool b>
__device__ __forceinline__ Turned turned_of(const Source& s, const uint number) {
  constexpr uint groups = loaded(b).tile / 4u;
  const uint unit = number * kWarpgroup + threadIdx.x;
  Turned u;
  u.row = unit % groups * 4u;
  u.k = unit / groups * kTurnedK;
  u.inside = u.row < s.rows ? s.k - min(u.k, s.k) : 0u;
  u.from = s.base + u.k * s.ld + u.row;
  return u;
}

// A line of what is shifted: its address, and how many bytes of it are inside the operand.
struct SourceLine {
  uint64 from;
  uint bytes;
};
template <bool b>
__device__ __forceinline__ SourceLine source_line(const Source& s, uint number) {
  constexpr Loaded l = loaded(b);
  const uint block = l.along_k || l.turned ? 0u : number / kTileK, row = block * (l.line / kElementBytes);
  const uint outer = number - block * kTileK;   // of the lines, row or k
  const uint across = l.turned ? l.tile : l.line / kElementBytes;
  const uint count = l.along_k ? min(s.k, kTileK) : min(s.rows - min(row, s.rows), across);
  return {s.base + run_at(l.type, outer * s.ld + row),
          outer < (l.along_k ? s.rows : s.k) ? run_bytes(l.type, count + (l.type == SECTILE_TYPE_Q4 ? 1u : 0u)) : 0u};
}
template <bool b>
__device__ __forceinline__ void begin_word(const Stages& stage, const Source& s, uint slot, uint number, uint word) {
  const SourceLine line = source_line<b>(s, number);
  const uint end = line.bytes != 0u ? (uint(line.from) & 3u) + line.bytes : 0u;
  copy_part(slot_of<b>(stage, slot) + number * loaded(b).pitch + 4u * word, (line.from & ~uint64(3u)) + 4u * word, 4u,
            min(end - min(end, 4u * word), 4u));
}
// All words but the lines' last ones of a step that is inside the operand. An invocation has the same word of every so
// many-th line.
template <bool b>
__device__ __forceinline__ void begin_lines_inside(const Stages& stage, const Source& s, uint slot) {
  constexpr Loaded l = loaded(b);
  constexpr uint lines = kWarpgroup / l.words, blocks = l.turned ? 1u : l.blocks, each = l.sources / blocks;
  const uint line = threadIdx.x / l.words, byte = threadIdx.x % l.words * 4u;
#pragma unroll
  for (uint block = 0u; block < blocks; ++block) {
    uint64 from = s.base + run_at(l.type, line * s.ld + block * (l.line / kElementBytes)) + byte;
    const uint to = slot_of<b>(stage, slot) + (block * each + line) * l.pitch + byte;
#pragma unroll
    for (uint i = 0u; i < each; i += lines, from += run_at(l.type, lines * s.ld))
      copy_part(to + i * l.pitch, from & ~uint64(3u), 4u, 4u);
  }
}
// Lanes have adjacent words of a line, but for the lines' last ones.
template <bool b>
__device__ __forceinline__ void begin_lines(const Stages& stage, const Source& s, uint slot) {
  constexpr Loaded l = loaded(b);
  static_assert(l.sources * l.words % kWarpgroup == 0u);
  if (kWarpgroup % l.words == 0u && s.rows >= l.tile && s.k >= kTileK) {
    begin_lines_inside<b>(stage, s, slot);
  } else {
#pragma unroll 4
    for (uint i = threadIdx.x; i < l.sources * l.words; i += kWarpgroup)
      begin_word<b>(stage, s, slot, i / l.words, i % l.words);
  }
#pragma unroll
  for (uint i = threadIdx.x; i < l.sources; i += kWarpgroup) begin_word<b>(stage, s, slot, i, l.words);
}

template <bool b>
__device__ __forceinline__ void begin_operand(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  constexpr Loaded l = loaded(b);
  const Source s = source_at<b>(push, t);
  SECTILE_IF_CONSTEXPR (l.shifted) {
    begin_lines<b>(stage, s, slot);
  } else SECTILE_IF_CONSTEXPR (l.turned) {
#pragma unroll
    for (uint i = 0u; i < l.items; i += kTurnedK) {
      Turned unit = turned_of<b>(s, i / kTurnedK);
#pragma unroll
      for (uint k = 0u; k < kTurnedK; ++k, unit.from += s.ld)
        if (unit.k < kTileK)
          copy_part(own_place<b>(stage, slot, i + k), unit.from, l.access, k < unit.inside ? l.access : 0u);
    }
  } else {
#pragma unroll
    for (uint block = 0u; block < l.blocks; ++block) {
      Items items = items_of<b>(s, block);
#pragma unroll
      for (uint i = 0u; i < l.block_items; ++i, items.from += items.step) {
        const uint to = l.direct ? place_of<b>(b ? b_of(stage) : a_of(stage), items, i)
                                 : own_place<b>(stage, slot, block * l.block_items + i);
        copy_part(to, items.from, l.access, i < items.inside ? l.access : 0u);
      }
    }
  }
}

// So many items at a time as registers may hold loads of.
template <bool b>
__device__ __forceinline__ void finish_converted(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  constexpr Loaded l = loaded(b);
  constexpr uint most = l.block_items < 8u ? l.block_items : 8u;
  constexpr uint together = l.block_items % most == 0u ? most
                            : l.block_items % 7u == 0u ? 7u
                            : l.block_items % 6u == 0u ? 6u
                                                       : 5u;
  static_assert(l.block_items % together == 0u);
  const Source s = source_at<b>(push, t);
#pragma unroll
  for (uint block = 0u; block < l.blocks; ++block) {
    Items items = items_of<b>(s, block);
#pragma unroll
    for (uint first = 0u; first < l.block_items; first += together) {
      uvec4 raw[together];
#pragma unroll
      for (uint i = 0u; i < together; ++i, items.from += items.step) {
        raw[i] = kept_item<b>(stage, slot, block * l.block_items + first + i,
                              block * kTileK + threadIdx.x / l.runs + (first + i) * l.lines,
                              run_bytes(l.type, threadIdx.x % l.runs * l.run), items.from);
        const ItemPlace at = item_place<b>(items, first + i);
        if (b) hold_scale(push, raw[i], t.n + (at.inside ? at.row : 0u), t.k + (at.inside ? at.k : 0u));
      }
#pragma unroll
      for (uint i = 0u; i < together; ++i) {
#ifndef INTEGER
        if (l.converted) {
          const ItemPlace at = item_place<b>(items, first + i);
          raw[i] = converted_words<b>(push, raw[i], t.k + at.k, (b ? t.n : t.m) + at.row, at.inside,
                                      l.shifted ? items.elements : MAX_RUN, false);
        }
#endif
        store_place(place_of<b>(b ? b_of(stage) : a_of(stage), items, first + i), l.staged, raw[i]);
      }
    }
  }
}

// Turns 4 x 4 bytes: word i of w has byte j of what was word j.
__device__ __forceinline__ void turn_bytes(uint (&w)[4]) {
  const uint low0 = __byte_perm(w[0], w[1], 0x5140u), low1 = __byte_perm(w[2], w[3], 0x5140u);
  const uint high0 = __byte_perm(w[0], w[1], 0x7362u), high1 = __byte_perm(w[2], w[3], 0x7362u);
  w[0] = __byte_perm(low0, low1, 0x5410u);
  w[1] = __byte_perm(low0, low1, 0x7632u);
  w[2] = __byte_perm(high0, high1, 0x5410u);
  w[3] = __byte_perm(high0, high1, 0x7632u);
}

template <bool b>
__device__ __forceinline__ void finish_turned(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  constexpr Loaded l = loaded(b);
  constexpr uint units = l.items / kTurnedK;
  const Source s = source_at<b>(push, t);
#pragma unroll 1
  for (uint number = 0u; number < units; ++number) {
    Turned unit = turned_of<b>(s, number);
    if (unit.k >= kTileK) continue;   // a small tile has fewer units than invocations
    uvec4 rows[4] = {};               // of each row its 16 k
#pragma unroll
    for (uint g = 0u; g < 4u; ++g) {
      uint w[4];
#pragma unroll
      for (uint k = 0u; k < 4u; ++k, unit.from += s.ld)
        w[k] = kept_item<b>(stage, slot, number * kTurnedK + 4u * g + k, unit.k + 4u * g + k, unit.row, unit.from)[0];
      turn_bytes(w);
#pragma unroll
      for (uint r = 0u; r < 4u; ++r) rows[r][g] = w[r];
    }
    // Adjacent invocations have rows that are 4 apart, and of 8 of them each is to store to another chunk of its line:
    // they take their four rows in different orders.
    const uint order = threadIdx.x / 2u % 4u;
#pragma unroll
    for (uint bit = 1u; bit <= 2u; bit *= 2u)
#pragma unroll
      for (uint r = 0u; r < 4u; ++r) {
        if ((r & bit) != 0u) continue;
        const bool swap = (order & bit) != 0u;
#pragma unroll
        for (uint g = 0u; g < 4u; ++g) {
          const uint low = rows[r][g], high = rows[r ^ bit][g];
          rows[r][g] = swap ? high : low;
          rows[r ^ bit][g] = swap ? low : high;
        }
      }
#pragma unroll
    for (uint r = 0u; r < 4u; ++r) {
      const uint row = unit.row + (r ^ order);
      store_place((b ? b_of(stage) : a_of(stage)) + row * kLine + ((unit.k / 16u ^ (row & 7u)) << 4), 16u, rows[r]);
    }
  }
}

template <bool b>
__device__ __forceinline__ void finish_operand(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  constexpr Loaded l = loaded(b);
  SECTILE_IF_CONSTEXPR (l.turned) finish_turned<b>(push, stage, t, slot);
  else SECTILE_IF_CONSTEXPR (!l.direct) finish_converted<b>(push, stage, t, slot);
}

__device__ __forceinline__ void begin_loads(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  SECTILE_IF_CONSTEXPR (kStagedA) begin_operand<false>(push, stage, t, slot);
  SECTILE_IF_CONSTEXPR (kStagedB) begin_operand<true>(push, stage, t, slot);
}
__device__ __forceinline__ void finish_loads(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  SECTILE_IF_CONSTEXPR (kStagedA) finish_operand<false>(push, stage, t, slot);
  SECTILE_IF_CONSTEXPR (kStagedB) finish_operand<true>(push, stage, t, slot);
}
