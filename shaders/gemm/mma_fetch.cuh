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
constexpr uint kLineB = (kLineAlongB ? kTileK : kTileN) * kElement;
constexpr uint kSideA = kLinesA * kLineA, kSideB = kLinesB * kLineB;
constexpr uint kStage = kSideA + kSideB;

// An item is what an invocation stages at a time: a run; of int8 as many runs as fill a word; where int8 is turned, 4 k
// of a run of rows.
constexpr uint kItemA = kTurnA || (kBytes && kWidthA < 4u) ? 4u : kWidthA * kElement;   // bytes in a line
constexpr uint kItemB = kTurnB || (kBytes && kWidthB < 4u) ? 4u : kWidthB * kElement;
constexpr uint kItemsA = kSideA / kItemA / (kTurnA ? kWidthA : 1u), kItemsB = kSideB / kItemB / (kTurnB ? kWidthB : 1u);
constexpr uint kLoadsA = (kItemsA + kWorkgroup - 1u) / kWorkgroup, kLoadsB = (kItemsB + kWorkgroup - 1u) / kWorkgroup;

// Items of a line, and lines from an invocation's item to its next one (not where int8 is turned).
constexpr uint kEachA = kLineA / kItemA, kEachB = kLineB / kItemB;
constexpr uint kNextA = kWorkgroup / kEachA, kNextB = kWorkgroup / kEachB;

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
  return (b ? kLineAlongB : kLineAlongA) ? item.byte / kElement : item.line;
}
// Its row (column) from the tile's first on; beyond the operand, the last run's.
template <bool b>
__device__ __forceinline__ uint item_across(Item item, uint left) {
  const uint across = (b ? kLineAlongB : kLineAlongA) ? item.line : item.byte / kElement;
  const uint span = (b ? kAlongKB : kAlongKA) ? 1u : b ? kWidthB : kWidthA;
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
// item whose rows (columns) are inside the operand. An offset for each item would take too many registers.
struct Places {
  uint first, inside;
};
template <bool b>
__device__ __forceinline__ Places places_of(const GemmPush& push, const Tile& t) {
  const uint ld = ld_of<b>(push), left = rows_left<b>(push, t);
  const Item item = item_of<b>(0u);
  Places places = {(b ? kAlongKB : kAlongKA) ? item.line * ld + item_k<b>(item)
                                             : item_k<b>(item) * ld + item.byte / kElement, 0u};
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i)
    if (((b ? kAlongKB : kAlongKA) ? item_of<b>(i).line : item.byte / kElement) < left)
      places.inside |= 1u << (i & 31u);
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
    start_copy(to + staged_place<b>(i),
               (b ? c.b : c.a) + run_at(b ? kBType : kAType, place_of<b>(push, t, places, i)), b ? kItemB : kItemA,
               is_inside<b>(places, i) && item_k<b>(item_of<b>(i)) < c.left);
  }
}

// ---- through registers

// Loads a step's items. What lies beyond K is zeros, or is made zeros when it is converted.
template <bool b>
__device__ __forceinline__ void load_items(const GemmPush& push, const Tile& t, const Cursor& c, const Places& places,
                                           uvec4* held) {
  const uint type = b ? kBType : kAType, width = b ? kWidthB : kWidthA;
  const uint64 base = b ? c.b : c.a;
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const uint k = item_k<b>(item_of<b>(i)), place = place_of<b>(push, t, places, i);
    const bool turn = b ? kTurnB : kTurnA, row_inside = turn || is_inside<b>(places, i);
    if (kBytes && (turn || width < 4u)) {   // four loads of a k each, or what fills a word
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) {
        held[i][j] = 0u;
        if (!turn && j >= 4u / width) continue;
        const uint ahead = turn ? j : j * width;
        const bool inside = row_inside && k + ahead < c.left;
        const uint word = load_raw(base, inside ? place + (turn ? j * ld_of<b>(push) : ahead) : 0u, width)[0];
        held[i][j] = inside ? word : 0u;
      }
      continue;
    }
    const bool inside = row_inside && k < c.left;
    held[i] = load_raw(base, inside ? run_at(type, place) : 0u, run_bytes(type, width));
    if (!(b ? kConvertB : kConvertA) && !inside) held[i] = {};
    // A 4-bit run's scale waits with it, as an f16: its words are not all taken.
    if (b && type == SECTILE_TYPE_Q4)
      held[i][3] = block_scale_bits(push, t.n + item_across<b>(item_of<b>(i), rows_left<b>(push, t)),
                                    inside ? c.k + k : c.k);
  }
}

#ifndef INTEGER
// A run of 4-bit elements times its scale, as f16. Each element less 8 is exact in f16, and so is the product before it
// is rounded: what block_scale() and floats yield, with half the instructions. Two at a time, 4 elements apart: as the
// lower bits of an f16 of 1024 and more they are 1024 + q.
__device__ __forceinline__ uvec4 scaled_nibbles(uint raw, uint scale, uint inside) {
  uint pairs[4];   // elements i and i + 4
#pragma unroll
  for (uint i = 0u; i < 4u; ++i)
    pairs[i] = f16_products(f16_sums((raw >> (4u * i) & 0x000f000fu) | 0x64006400u, 0xe408e408u), scale | scale << 16);
  uvec4 words = {{__byte_perm(pairs[0], pairs[1], 0x5410u), __byte_perm(pairs[2], pairs[3], 0x5410u),
                  __byte_perm(pairs[0], pairs[1], 0x7632u), __byte_perm(pairs[2], pairs[3], 0x7632u)}};
  if (inside < 8u) {
#pragma unroll
    for (uint i = 0u; i < 4u; ++i)
      words[i] = inside <= 2u * i ? 0u : inside == 2u * i + 1u ? words[i] & 0xffffu : words[i];
  }
  return words;
}

// convert_a() or convert_b() of an item. `k`: its first in all of K.
template <bool b>
__device__ __forceinline__ void convert_item(const GemmPush& push, const uvec4& raw, uint k, uint across, bool inside,
                                             float (&v)[MAX_RUN]) {
  if (!b) {
    convert_a(push, raw, k, inside, v);
  } else if (kBType == SECTILE_TYPE_Q4) {
    unpack_run(kBType, kWidthB, raw, v);
#pragma unroll
    for (uint i = 0u; i < kWidthB; ++i)
      v[i] = inside && k + i < size_k(push) ? rounded_to(kType, v[i] * half_to_float(raw[3])) : 0.0f;
  } else {
    convert_b(push, raw, k, across, inside, v);
  }
}
#endif

// Stores a run of `bytes` bytes in workgroup memory.
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
__device__ __forceinline__ void stage_items(const GemmPush& push, const Tile& t, const Cursor& c, const uvec4* held,
                                            uint stage, const bool tail) {
  const uint width = b ? kWidthB : kWidthA;
#pragma unroll
  for (uint i = 0u; i < (b ? kLoadsB : kLoadsA); ++i) {
    if (!has_item<b>(i)) continue;
    const Item item = item_of<b>(i);
    uvec4 words = held[i];
    if (b ? kTurnB : kTurnA) {
#pragma unroll
      for (uint row = 0u; row < 4u; ++row)
        if (row < width)
          store_bytes(staged(stage + place_in_tile<b>(item.line + row, item.byte)), 4u,
                      {{turned(words, row), 0u, 0u, 0u}});
      continue;
    }
    if (kBytes && width == 2u) words[0] |= words[1] << 16;
    if (kBytes && width == 1u) words[0] |= words[1] << 8 | words[2] << 16 | words[3] << 24;
#ifndef INTEGER
    const uint k = item_k<b>(item), first = c.k + k;
    const bool inside = !tail || k < c.left;
    if (b && kBType == SECTILE_TYPE_Q4 && kType == SECTILE_TYPE_F16 && kWidthB == 8u) {
      words = scaled_nibbles(held[i][0], held[i][3], !tail ? 8u : inside ? size_k(push) - first : 0u);
    } else if (b ? kConvertB : kConvertA) {
      float v[MAX_RUN];
      convert_item<b>(push, held[i], first, (b ? t.n : t.m) + item_across<b>(item, rows_left<b>(push, t)), inside, v);
#pragma unroll
      for (uint j = 0u; j < 4u; ++j) words[j] = pack_pair(kType, v[2u * j], v[2u * j + 1u]);
    }
#endif
    store_bytes(staged(stage + staged_place<b>(i)), b ? kItemB : kItemA, words);
  }
}
template <bool b>
__device__ __forceinline__ void stage_items(const GemmPush& push, const Tile& t, const Cursor& c, const uvec4* held,
                                            uint stage) {
  if (!(b ? kConvertB : kConvertA) || c.left >= kTileK) stage_items<b>(push, t, c, held, stage, false);
  else stage_items<b>(push, t, c, held, stage, true);
}
