// How matmul_mma stages its operands in workgroup memory. Include after gemm/epilogue.cuh and lib/mma.cuh.
//
// A staged tile is lines of 16-byte chunks: a line has a row's elements along K, or one k's along the rows where the
// operand lies so. int8 always has lines along K, because a matrix load transposes elements of 2 bytes alone. A chunk's
// place in its line is XORed with the line's number, so that 8 lines' chunks of one column lie in different banks.
#include "gemm/matmul_mma.abi.h"

constexpr uint kWarpM = sectile_constant(MATMUL_MMA_SPEC_WARP_M, 64u);
constexpr uint kWarpN = sectile_constant(MATMUL_MMA_SPEC_WARP_N, 32u);
constexpr uint kStages = sectile_constant(MATMUL_MMA_SPEC_STAGES, 3u);
constexpr uint kSliceK = sectile_constant(MATMUL_MMA_SPEC_SLICE_K, 1u);
constexpr bool kCopyA = sectile_constant(MATMUL_MMA_SPEC_COPY_A, 0u) != 0u;
constexpr bool kCopyB = sectile_constant(MATMUL_MMA_SPEC_COPY_B, 0u) != 0u;
constexpr bool kShiftedA = sectile_constant(MATMUL_MMA_SPEC_SHIFTED_A, 0u) != 0u;
constexpr bool kShiftedB = sectile_constant(MATMUL_MMA_SPEC_SHIFTED_B, 0u) != 0u;
// B's 4-bit weights are copied as they are, and become f16 in registers: gemm/mma_weights.cuh.
constexpr uint kPacking = sectile_constant(MATMUL_MMA_SPEC_PACKED_B, 0u);
constexpr bool kPackedB = kPacking != 0u, kPartialBlocks = kPacking == 2u;

#ifdef INTEGER
constexpr bool kBytes = true;
#else
constexpr bool kBytes = false;
#endif
constexpr uint kElement = kBytes ? 1u : 2u;   // bytes, staged
constexpr uint kChunk = 16u;

constexpr bool kAlongKA = kTransA == 0u, kAlongKB = kTransB == 1u;
// int8 that lies across K: blocks of 4 k are transposed in registers.
constexpr bool kTurnA = kBytes && !kAlongKA, kTurnB = kBytes && !kAlongKB;
constexpr bool kLineAlongA = kAlongKA || kTurnA, kLineAlongB = kAlongKB || kTurnB;
constexpr uint kLinesA = kLineAlongA ? kTileM : kTileK, kLinesB = kLineAlongB ? kTileN : kTileK;
constexpr uint kLineA = (kLineAlongA ? kTileK : kTileM) * kElement;   // bytes
constexpr uint kLineB = kPackedB ? kTileK / 2u : (kLineAlongB ? kTileK : kTileN) * kElement;
constexpr uint kSideA = kLinesA * kLineA, kSideB = kLinesB * kLineB;
// A step's scales of a line of packed weights, and the word in which they may begin too early.
constexpr uint kScaleWords = kTileK / 64u + 1u;
constexpr uint kStage = kSideA + kSideB + (kPackedB ? kLinesB * kScaleWords * 4u : 0u);

// An item is what an invocation stages at a time: a run; where int8 is turned, 4 k of 4 rows.
constexpr uint kItemA = kTurnA ? 4u : kWidthA * kElement;   // bytes
constexpr uint kItemB = kPackedB ? kChunk : kTurnB ? 4u : kWidthB * kElement;
constexpr uint kItemsA = kSideA / kItemA / (kTurnA ? kWidthA : 1u), kItemsB = kSideB / kItemB / (kTurnB ? kWidthB : 1u);
constexpr uint kLoadsA = (kItemsA + kWorkgroup - 1u) / kWorkgroup, kLoadsB = (kItemsB + kWorkgroup - 1u) / kWorkgroup;

// Items of a line, and lines from an invocation's item to its next one (not where int8 is turned).
constexpr uint kEachA = kLineA / kItemA, kEachB = kLineB / kItemB;
constexpr uint kNextA = kWorkgroup / kEachA, kNextB = kWorkgroup / kEachB;

// What begins at no multiple of 4 bytes is loaded in aligned words, one more than an item has. The first may begin up
// to 3 bytes in front of the item. They wait in two uvec4 each: the first four and the fifth; where int8 is turned, the
// first and the second of each k.
constexpr uint kHeldA = kShiftedA ? 2u : 1u, kHeldB = kShiftedB ? 2u : 1u;

// Whether elements change on their way.
constexpr bool kConvertA = !kBytes && (kAType != kType || kHasAScale != 0u), kConvertB = !kBytes && kBType != kType;

// ---- sums

constexpr uint kFragmentsM = kWarpM / 16u, kFragmentsN = kWarpN / 8u;   // of a warp: 16 rows, 8 columns
#ifdef HALF_SUMS
using sum_t = uint;                       // two f16
constexpr uint kSumsOfFragment = 2u;      // of a lane
#else
using sum_t = acc_t;
constexpr uint kSumsOfFragment = 4u;
#endif
constexpr uint kSums = kFragmentsM * kFragmentsN * kSumsOfFragment;
// Where slices of K are added up: words of all slices but the first.
constexpr uint kSumsBytes = (kSliceK - 1u) * (kWorkgroup / kSliceK) * kSums * 4u;

// ---- places in workgroup memory

// What a chunk's place is XORed with. As many chunks as a power of two divides a line into swap places, at most 8, with
// each line, or with each of the groups of lines that fill all banks. Turned int8 is stored 4 lines apart.
template <bool b>
__device__ __forceinline__ uint swizzle(uint line) {
  const uint chunks = (b ? kLineB : kLineA) / kChunk, turn = chunks % 8u == 0u ? 8u : chunks % 4u == 0u ? 4u
                                                           : chunks % 2u == 0u ? 2u : 1u;
  const uint group = line / (8u / turn);
  return ((b ? kTurnB : kTurnA) ? group ^ (line / 8u & 3u) : group) & (turn - 1u);
}
// The byte of an operand's tile at `byte` of a line.
template <bool b>
__device__ __forceinline__ uint place_in_tile(uint line, uint byte) {
  return line * (b ? kLineB : kLineA) + ((byte / kChunk ^ swizzle<b>(line)) * kChunk | byte % kChunk);
}

// ---- items

// `byte`: of the line.
struct Item {
  uint line, byte;
};
template <bool b>
__device__ __forceinline__ bool has_item(uint load) {
  const uint items = b ? kItemsB : kItemsA;
  return items % kWorkgroup == 0u || threadIdx.x + load * kWorkgroup < items;
}
template <bool b>
__device__ __forceinline__ Item item_of(uint load) {
  const uint q = threadIdx.x + load * kWorkgroup, each = b ? kEachB : kEachA;
  if (b ? kTurnB : kTurnA) {   // four invocations have 16 k of a run of rows; neighbours have the next rows
    const uint runs = (b ? kLinesB : kLinesA) / (b ? kWidthB : kWidthA);
    return {q / 4u % runs * (b ? kWidthB : kWidthA), q / (4u * runs) * 16u + q % 4u * 4u};
  }
  return {threadIdx.x / each + load * (b ? kNextB : kNextA), threadIdx.x % each * (b ? kItemB : kItemA)};
}
// The item's first element along K, from the step's on.
template <bool b>
__device__ __forceinline__ uint item_k(Item item) {
  if (b && kPackedB) return item.byte * 2u;
  return (b ? kLineAlongB : kLineAlongA) ? item.byte / kElement : item.line;
}
// Its row (column) from the tile's first on; beyond the operand, the last run's, or the last one.
template <bool b>
__device__ __forceinline__ uint item_across(Item item, uint left) {
  const uint across = (b ? kLineAlongB : kLineAlongA) ? item.line : item.byte / kElement;
  const uint span = (b ? kAlongKB || kShiftedB : kAlongKA || kShiftedA) ? 1u : b ? kWidthB : kWidthA;
  return min(across, left - span);
}

// A step of K: its operands' addresses, its first k, and what is left of K from there on.
struct Cursor {
  uint64 a, b;
  uint k, left;
};
__device__ __forceinline__ Cursor first_step(const GemmPush& push, const Tile& t) {
  return {a_address(push, t, t.m, t.k), b_address(push, t, t.k, t.n), t.k, t.k_end - t.k};
}
__device__ __forceinline__ void advance(const GemmPush& push, Cursor& c) {
  c.a += bytes_of(kAType, uint64(kTileK) * (kAlongKA ? 1u : lda(push)));
  c.b += bytes_of(kBType, uint64(kTileK) * (kAlongKB ? 1u : ldb(push)));
  c.k += kTileK;
  c.left -= min(c.left, kTileK);
}
template <bool b>
__device__ __forceinline__ uint ld_of(const GemmPush& push) { return b ? ldb(push) : lda(push); }
// The operand's rows (columns) from the tile's first on.
template <bool b>
__device__ __forceinline__ uint rows_left(const GemmPush& push, const Tile& t) {
  return b ? size_n(push) - t.n : size_m(push) - t.m;
}

// Where an invocation's items lie: the element offset of the first from the step's first element, and a bit for each
// item whose rows (columns) are inside the operand. An offset for each item would take too many registers. `lead`: the
// first item begins so many bytes behind a multiple of 4, and so do the others, which are whole words apart.
struct Places {
  uint first, inside, lead;
};
template <bool b>
__device__ __forceinline__ Places places_of(const GemmPush& push, const Tile& t) {
  const uint ld = ld_of<b>(push), left = rows_left<b>(push, t);
  const Item item = item_of<b>(0u);
  Places places = {(b ? kAlongKB : kAlongKA) ? item.line * ld + item_k<b>(item)
                                             : item_k<b>(item) * ld + item.byte / kElement, 0u, 0u};
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i)
    if (((b ? kAlongKB : kAlongKA) ? item_of<b>(i).line : item.byte / kElement) < left)
      places.inside |= 1u << (i & 31u);
  static_assert(!kShiftedA || kTurnA || kNextA % 4u == 0u);
  static_assert(!kShiftedB || kTurnB || kNextB % 4u == 0u);
  if (b ? kShiftedB : kShiftedA) {
    const uint base = uint(b ? b_address(push, t, t.k, t.n) : a_address(push, t, t.m, t.k));
    places.lead = (base + ((b ? kTurnB : kTurnA) ? 0u : run_at(b ? kBType : kAType, places.first))) & 3u;
  }
  return places;
}
template <bool b>
__device__ __forceinline__ bool is_inside(const Places& places, uint load) {
  return (places.inside >> ((b ? kAlongKB : kAlongKA) ? load : 0u) & 1u) != 0u;
}
// The element offset of an item.
template <bool b>
__device__ __forceinline__ uint place_of(const GemmPush& push, const Tile& t, const Places& places, uint load) {
  if (!(b ? kTurnB : kTurnA)) return places.first + load * (b ? kNextB : kNextA) * ld_of<b>(push);
  const Item item = item_of<b>(load);
  return item_k<b>(item) * ld_of<b>(push) + item_across<b>(item, rows_left<b>(push, t));
}

// The byte of an item in the operand's staged tile. Where chunks swap places alike, items differ by constants.
template <bool b>
__device__ __forceinline__ uint staged_place(uint load) {
  const uint next = b ? kNextB : kNextA;
  const bool alike = !(b ? kTurnB : kTurnA) && next % 8u == 0u;
  const Item item = item_of<b>(alike ? 0u : load);
  return place_in_tile<b>(item.line, item.byte) + (alike ? load * next * (b ? kLineB : kLineA) : 0u);
}

// ---- by asynchronous copies

template <bool b>
__device__ __forceinline__ void copy_items(const GemmPush& push, const Tile& t, const Cursor& c, const Places& places,
                                           WorkgroupAddress to) {
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const uint k = item_k<b>(item_of<b>(i)), bytes = b ? kItemB : kItemA;
    const bool inside = is_inside<b>(places, i) && k < c.left;
    start_copy(to + staged_place<b>(i),
               (b ? c.b : c.a) + run_at(b ? kBType : kAType, place_of<b>(push, t, places, i)), bytes,
               !inside ? 0u : b && kPackedB ? min(bytes, (c.left - k + 1u) / 2u) : bytes);
  }
}

// ---- in words that are shifted together

// How many elements of an item are inside the operand; those that follow it count too.
template <bool b>
__device__ __forceinline__ uint elements_inside(const GemmPush& push, const Tile& t, const Cursor& c, Item item) {
  const bool along = b ? kAlongKB : kAlongKA;
  const uint at = along ? item_k<b>(item) : (b ? kTurnB : kTurnA) ? item.line : item.byte / kElement;
  const uint left = along ? c.left : rows_left<b>(push, t);
  return min(left - min(at, left), 32u);
}
// The third byte of a word that ends behind it: load_word_part() has read the first two. It is waited for at once, so
// only what has such a word asks.
__device__ __forceinline__ uint third_byte(uint64 from, int end) {
  return end == 3 ? load_raw(from, 2u, 1u)[0] << 16 : 0u;
}

// The address of an item's first word. Of rows beyond the operand the invocation's first one is read again.
template <bool b>
__device__ __forceinline__ uint64 shifted_address(const GemmPush& push, const Tile& t, const Cursor& c,
                                                  const Places& places, uint load) {
  const uint place = is_inside<b>(places, load) ? place_of<b>(push, t, places, load) : places.first;
  return (b ? c.b : c.a) + run_at(b ? kBType : kAType, place) - places.lead;
}
// Nothing is read behind a row's end; where the operand lies across K, behind a k's.
template <bool b>
__device__ __forceinline__ void load_shifted_items(const GemmPush& push, const Tile& t, const Cursor& c,
                                                   const Places& places, uvec4* held) {
  const uint type = b ? kBType : kAType, words = run_bytes(type, b ? kWidthB : kWidthA) / 4u + 1u;
  const uint unit = bytes_of_type(type) == 2u ? 2u : 1u;
  const uint elements = elements_inside<b>(push, t, c, item_of<b>(0u));
  const uint bytes = run_bytes(type, elements + (type == SECTILE_TYPE_Q4 ? 1u : 0u));
  // From the first word on; the same for all items but those beyond K.
  const uint end = is_inside<b>(places, 0u) && bytes != 0u ? places.lead + bytes : 0u;
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const uint k = item_k<b>(item_of<b>(i)), own_end = k < c.left ? end : 0u;
    const uint64 from = shifted_address<b>(push, t, c, places, i);
#pragma unroll
    for (uint w = 0u; w < words; ++w)
      held[2u * i + w / 4u][w % 4u] = load_word_part(from + 4u * w, int(own_end) - int(4u * w), unit);
    if (b) hold_scale(push, held[2u * i], t.n + item_across<b>(item_of<b>(i), rows_left<b>(push, t)),
                      k < c.left ? c.k + k : c.k);
  }
  if (unit == 2u || (end & 3u) != 3u || end > 4u * words) return;
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const uint own_end = item_k<b>(item_of<b>(i)) < c.left ? end : 0u;
    const uint64 from = shifted_address<b>(push, t, c, places, i);
#pragma unroll
    for (uint w = 0u; w < words; ++w)
      held[2u * i + w / 4u][w % 4u] |= third_byte(from + 4u * w, int(own_end) - int(4u * w));
  }
}

// Of turned int8 each k of an item's four begins elsewhere in its first word.
template <bool b>
__device__ __forceinline__ uint turned_lead(const GemmPush& push, const Places& places, const uint j) {
  return (places.lead + j * ld_of<b>(push)) & 3u;
}
template <bool b>
__device__ __forceinline__ void load_turned_items(const GemmPush& push, const Tile& t, const Cursor& c,
                                                  const Places& places, uvec4* held) {
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const Item item = item_of<b>(i);
    const uint rows = elements_inside<b>(push, t, c, item), k = item_k<b>(item);
    const uint64 first = (b ? c.b : c.a) + place_of<b>(push, t, places, i);
    const auto load_all = [&](const bool third) {
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) {
        const uint lead = turned_lead<b>(push, places, j);
        const int end = rows != 0u && k + j < c.left ? int(lead + rows) : 0;
        const uint64 from = first + j * ld_of<b>(push) - lead;
        if (third) {
          held[2u * i][j] |= third_byte(from, end);
          held[2u * i + 1u][j] |= third_byte(from + 4u, end - 4);
        } else {
          held[2u * i][j] = load_word_part(from, end, 1u);
          held[2u * i + 1u][j] = load_word_part(from + 4u, end - 4, 1u);
        }
      }
    };
    load_all(false);
    if (rows < 8u) load_all(true);
  }
}

// An item's bytes, with what else waits in its first words; of a turned item four k's.
template <bool b>
__device__ __forceinline__ uvec4 shifted_item(const GemmPush& push, const Places& places, const uvec4* held, uint i) {
  const uint words = run_bytes(b ? kBType : kAType, b ? kWidthB : kWidthA) / 4u;
  uvec4 raw = held[2u * i];
#pragma unroll
  for (uint w = 0u; w < 4u; ++w) {
    if (b ? kTurnB : kTurnA)
      raw[w] = __funnelshift_r(raw[w], held[2u * i + 1u][w], 8u * turned_lead<b>(push, places, w));
    else if (w < words)
      raw[w] = __funnelshift_r(raw[w], held[2u * i + (w + 1u) / 4u][(w + 1u) % 4u], 8u * places.lead);
  }
  return raw;
}

// ---- through registers

// Loads a step's items. What lies beyond K is zeros, or is made zeros when it is converted.
template <bool b>
__device__ __forceinline__ void load_items(const GemmPush& push, const Tile& t, const Cursor& c, const Places& places,
                                           uvec4* held) {
  const uint type = b ? kBType : kAType, width = b ? kWidthB : kWidthA;
  const uint64 base = b ? c.b : c.a;
  if (b ? kShiftedB : kShiftedA) {
    if (b ? kTurnB : kTurnA) load_turned_items<b>(push, t, c, places, held);
    else load_shifted_items<b>(push, t, c, places, held);
    return;
  }
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const uint k = item_k<b>(item_of<b>(i)), place = place_of<b>(push, t, places, i);
    if (b ? kTurnB : kTurnA) {   // a load of each k
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) {
        const bool inside = k + j < c.left;
        const uint word = load_raw(base, inside ? place + j * ld_of<b>(push) : 0u, width)[0];
        held[i][j] = inside ? word : 0u;
      }
      continue;
    }
    const bool inside = is_inside<b>(places, i) && k < c.left;
    held[i] = load_raw(base, inside ? run_at(type, place) : 0u, run_bytes(type, width));
    if (!(b ? kConvertB : kConvertA) && !inside) held[i] = {};
    if (b) hold_scale(push, held[i], t.n + item_across<b>(item_of<b>(i), rows_left<b>(push, t)),
                      inside ? c.k + k : c.k);
  }
}

// Stores a run of `bytes` bytes, at least 2, in workgroup memory.
__device__ __forceinline__ void store_bytes(unsigned char& to, const uint bytes, const uvec4& v) {
  unsigned char* const at = &to;
  if (bytes == 16u) store_workgroup(reinterpret_cast<uint4*>(at), make_uint4(v[0], v[1], v[2], v[3]));
  else if (bytes == 8u) store_workgroup(reinterpret_cast<uint2*>(at), make_uint2(v[0], v[1]));
  else if (bytes == 4u) store_workgroup(reinterpret_cast<uint*>(at), v[0]);
  else store_workgroup(reinterpret_cast<unsigned short*>(at), static_cast<unsigned short>(v[0]));
}

// Byte i of four words, as a word.
__device__ __forceinline__ uint turned(const uvec4& rows, const uint i) {
  const uint select = i | (4u + i) << 4;
  return __byte_perm(__byte_perm(rows[0], rows[1], select), __byte_perm(rows[2], rows[3], select), 0x5410u);
}

SECTILE_SHARED_BYTES(staged, kStages * kStage > kSumsBytes ? kStages * kStage : kSumsBytes);

// Converts a step's items and stores them, from byte `stage` on. `tail`: the step may have less than TILE_K.
template <bool b>
__device__ __forceinline__ void stage_items(const GemmPush& push, const Tile& t, const Cursor& c, const Places& places,
                                            const uvec4* held, uint stage, const bool tail) {
  const bool shifted = b ? kShiftedB : kShiftedA;
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const Item item = item_of<b>(i);
    const uvec4 raw = shifted ? shifted_item<b>(push, places, held, i) : held[i];
    uvec4 words = raw;
    if (b ? kTurnB : kTurnA) {
#pragma unroll
      for (uint row = 0u; row < 4u; ++row)
        store_bytes(staged(stage + place_in_tile<b>(item.line + row, item.byte)), 4u, {{turned(raw, row), 0u, 0u, 0u}});
      continue;
    }
#ifndef INTEGER
    if (b ? kConvertB : kConvertA) {
      const uint k = item_k<b>(item);
      // Those beyond K, and where a run lies across K the scales of those beyond the operand.
      const bool part = shifted && (tail || !(b ? kAlongKB : kAlongKA));
      words = converted_words<b>(push, raw, c.k + k, (b ? t.n : t.m) + item_across<b>(item, rows_left<b>(push, t)),
                                 !tail || k < c.left, part ? elements_inside<b>(push, t, c, item) : MAX_RUN, !tail);
    }
#endif
    store_bytes(staged(stage + staged_place<b>(i)), b ? kItemB : kItemA, words);
  }
}
template <bool b>
__device__ __forceinline__ void stage_items(const GemmPush& push, const Tile& t, const Cursor& c, const Places& places,
                                            const uvec4* held, uint stage) {
  if (!(b ? kConvertB : kConvertA) || c.left >= kTileK) stage_items<b>(push, t, c, places, held, stage, false);
  else stage_items<b>(push, t, c, places, held, stage, true);
}
