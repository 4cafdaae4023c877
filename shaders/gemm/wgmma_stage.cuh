// Operands that matmul_wgmma's invocations load. An item is one access of global memory. What can be copied as it lies
// goes to its place by cp.async. What is converted or turned goes by cp.async to memory that only the same invocation
// uses, a slot for each step in flight, and from there through registers. Accesses of 1 and 2 bytes, which cp.async has
// not, are loaded when the step is finished.
#include "lib/copy.cuh"

constexpr uint kAhead = sectile_constant(MATMUL_WGMMA_SPEC_AHEAD, 1u);

template <bool b>
struct Loaded {
  static constexpr uint type = b ? kBType : kAType, width = b ? kWidthB : kWidthA, tile = b ? kTileN : kTileM;
  static constexpr bool along_k = b ? kAlongKB : kAlongKA;
  static constexpr bool converted = type != kType || (!b && kHasAScale != 0u);
  static constexpr bool turned = !along_k && kElementBytes == 1u;
  // Elements of an item. Of what is turned an item has four rows.
  static constexpr uint run = turned ? (width < 4u ? 1u : 4u) : width;
  static constexpr uint access = MATMUL_WGMMA_ACCESS_BYTES(type, run);
  static constexpr uint staged = run * kElementBytes;   // bytes of an item in its place
  static constexpr bool copied = access >= 4u;
  static constexpr bool direct = copied && !converted && !turned;
  static constexpr bool own_memory = copied && !direct;
  static constexpr uint line = along_k ? kLine : MATMUL_WGMMA_ACROSS(tile) * kElementBytes;
  static constexpr uint items = MATMUL_WGMMA_ITEMS(tile, run, kElementBytes, turned);   // of an invocation
  static constexpr uint slot = own_memory ? items * access * kWarpgroup : 0u;   // bytes
};
constexpr uint kSlotA = kStagedA ? Loaded<false>::slot : 0u, kSlotB = kStagedB ? Loaded<true>::slot : 0u;

// An item's first element: its row in the tile and its k in the step.
struct Item {
  uint row, k;
};
// The memory of this invocation in a slot: of each item the invocations' accesses follow each other.
template <bool b>
__device__ __forceinline__ uint own_place(const Stages& stage, uint slot, uint item) {
  using L = Loaded<b>;
  return stage.own + slot * (kSlotA + kSlotB) + (b ? kSlotA : 0u) + (item * kWarpgroup + threadIdx.x) * L::access;
}
// 16 k of four rows at a time are turned: their items follow each other.
constexpr uint kTurnedK = 16u;
template <bool b>
__device__ __forceinline__ Item item_at(uint item) {
  using L = Loaded<b>;
  if (L::turned) {
    constexpr uint rows = L::tile / 4u, per_row = 4u / L::run;   // groups of rows; items of four rows
    const uint unit = item / (kTurnedK * per_row) * kWarpgroup + threadIdx.x, part = item % (kTurnedK * per_row);
    return {unit % rows * 4u + part % per_row * L::run, unit / rows * kTurnedK + part / per_row};
  }
  const uint q = item * kWarpgroup + threadIdx.x;
  constexpr uint runs = L::line / L::staged;   // of a line
  if (L::along_k) return {q / runs, q % runs * L::run};
  const uint line = q / runs;
  return {line / kTileK * (L::line / kElementBytes) + q % runs * L::run, line % kTileK};
}
// Where the bytes of an element lie in the operand's tile.
template <bool b>
__device__ __forceinline__ uint place_in_tile(uint row, uint k) {
  using L = Loaded<b>;
  if (L::along_k || L::turned) {
    const uint at = k * kElementBytes;
    return row * kLine + ((at / 16u ^ row & 7u) << 4) + at % 16u;
  }
  constexpr uint across = L::line / kElementBytes;
  const uint at = row % across * kElementBytes, lines = 128u / L::line;
  return (row / across * kTileK + k) * L::line + ((at / 16u ^ k / lines % (L::line / 16u)) << 4) + at % 16u;
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
// The byte offset of an item, and whether it is inside. Rows beyond the operand are zeros, as in a tensor map.
template <bool b>
__device__ __forceinline__ uint offset_of_item(const Source& s, const Item& item, bool& inside) {
  using L = Loaded<b>;
  inside = item.row < s.rows && item.k < s.k;
  return inside ? run_at(L::type, L::along_k ? item.row * s.ld + item.k : item.k * s.ld + item.row) : 0u;
}

template <bool b>
__device__ __forceinline__ void begin_operand(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  using L = Loaded<b>;
  if constexpr (L::copied) {
    const Source s = source_at<b>(push, t);
#pragma unroll
    for (uint i = 0u; i < L::items; ++i) {
      const Item item = item_at<b>(i);
      if (L::turned && item.k >= kTileK) continue;   // a small tile has fewer than the invocations take
      bool inside;
      const uint at = offset_of_item<b>(s, item, inside);
      const uint to = L::direct ? (b ? stage.b() : stage.a()) + place_in_tile<b>(item.row, item.k)
                                : own_place<b>(stage, slot, i);
      copy_or_clear(to, s.base + at, L::access, inside);
    }
  }
}

// The item's elements as words, zeros where it is not inside.
template <bool b>
__device__ __forceinline__ uvec4 raw_item(const Stages& stage, const Source& s, const Item& item, uint number, uint slot,
                                          bool& inside) {
  using L = Loaded<b>;
  const uint at = offset_of_item<b>(s, item, inside);
  if (L::copied) return load_place(own_place<b>(stage, slot, number), L::access);
  uvec4 raw = load_raw(s.base, at, L::access);
  if (!inside) raw = {};
  return raw;
}

// As many items at a time as registers may be in flight for.
template <bool b>
__device__ __forceinline__ void finish_converted(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  using L = Loaded<b>;
  constexpr uint together = L::items < 8u ? L::items : 8u;
  const Source s = source_at<b>(push, t);
  const uint to = b ? stage.b() : stage.a();
#pragma unroll 1
  for (uint first = 0u; first < L::items; first += together) {
    uvec4 raw[together];
    bool inside[together];
#pragma unroll
    for (uint i = 0u; i < together; ++i)
      raw[i] = raw_item<b>(stage, s, item_at<b>(first + i), first + i, slot, inside[i]);
#pragma unroll
    for (uint i = 0u; i < together; ++i) {
      const Item item = item_at<b>(first + i);
#ifndef INTEGER
      if (L::converted) {
        float v[MAX_RUN];
        if (b) convert_b(push, raw[i], t.k + item.k, t.n + item.row, inside[i], v);
        else convert_a(push, raw[i], t.k + item.k, inside[i], v);
#pragma unroll
        for (uint w = 0u; w < 4u; ++w) raw[i][w] = pack_pair(kType, v[2u * w], v[2u * w + 1u]);
      }
#endif
      store_place(to + place_in_tile<b>(item.row, item.k), L::staged, raw[i]);
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
  using L = Loaded<b>;
  constexpr uint per_row = 4u / L::run, each = kTurnedK * per_row;   // items of 16 k of four rows
  const Source s = source_at<b>(push, t);
  const uint to = b ? stage.b() : stage.a();
#pragma unroll 1
  for (uint first = 0u; first < L::items; first += each) {
    const Item unit = item_at<b>(first);
    if (unit.k >= kTileK) continue;
    uvec4 rows[4] = {};   // of each row its 16 k
#pragma unroll
    for (uint g = 0u; g < 4u; ++g) {
      uint w[4];
#pragma unroll
      for (uint k = 0u; k < 4u; ++k) {
        w[k] = 0u;
#pragma unroll
        for (uint j = 0u; j < per_row; ++j) {
          const uint number = first + (4u * g + k) * per_row + j;
          bool inside;
          w[k] |= raw_item<b>(stage, s, item_at<b>(number), number, slot, inside)[0] << (8u * L::run * j % 32u);
        }
      }
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
    for (uint r = 0u; r < 4u; ++r) store_place(to + place_in_tile<b>(unit.row + (r ^ order), unit.k), 16u, rows[r]);
  }
}

template <bool b>
__device__ __forceinline__ void finish_operand(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  using L = Loaded<b>;
  if constexpr (L::turned) finish_turned<b>(push, stage, t, slot);
  else if constexpr (!L::direct) finish_converted<b>(push, stage, t, slot);
}

__device__ __forceinline__ void begin_loads(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  if constexpr (kStagedA) begin_operand<false>(push, stage, t, slot);
  if constexpr (kStagedB) begin_operand<true>(push, stage, t, slot);
}
__device__ __forceinline__ void finish_loads(const GemmPush& push, const Stages& stage, const Tile& t, uint slot) {
  if constexpr (kStagedA) finish_operand<false>(push, stage, t, slot);
  if constexpr (kStagedB) finish_operand<true>(push, stage, t, slot);
}
