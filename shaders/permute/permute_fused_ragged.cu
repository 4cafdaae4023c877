//! variant e1 -DELEMENT_BYTES=1 -DNARROW
//! variant e2 -DELEMENT_BYTES=2 -DNARROW
//! variant e4 -DELEMENT_BYTES=4 -DNARROW
//! variant e1.wide -DELEMENT_BYTES=1 -DNARROW -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DNARROW -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DNARROW -DWIDE -DLONG
// Transposes ragged matrices and computes with their elements. A tile comes into workgroup memory as permute_ragged's
// does. From there an invocation takes as many elements of a column as an aligned access of the destination has.
// Variants: bytes of an element of the source.
#include "lib/cuda.cuh"
#include "lib/divisor.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_fused_ragged.abi.h"
constexpr uint kPacked = sectile_constant(PERMUTE_FUSED_RAGGED_SPEC_PACKED, 0u);
constexpr uint kInner = sectile_constant(PERMUTE_FUSED_RAGGED_SPEC_INNER, 0u);
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "lib/fused.cuh"

constexpr uint kTileD = sectile_constant(PERMUTE_FUSED_RAGGED_SPEC_TILE_D, 128u);
constexpr uint kRunBytes = sectile_constant(PERMUTE_FUSED_RAGGED_SPEC_RUN_BYTES, 128u);
constexpr uint kLanesD = sectile_constant(PERMUTE_FUSED_RAGGED_SPEC_LANES_D, 8u);
constexpr uint kOutBytes = PERMUTE_FUSED_RAGGED_BYTES(kOut);
constexpr uint kPositions = PERMUTE_FUSED_RAGGED_ACCESS(ELEMENT_BYTES, kOutBytes);
#define OUT_BYTES kOutBytes
#include "permute/ragged.cuh"

constexpr uint kAccessWords = kPositions * ELEMENT_BYTES / 4u;   // of an access's elements in workgroup memory

constexpr bool kScaleD = (kStage & PERMUTE_FUSED_SCALE_D) != 0u, kBiasD = (kStage & PERMUTE_FUSED_BIAS_D) != 0u;

// The stage's terms of a column: where they are for its first position, and what all positions share.
struct Terms {
  uint scale_at, bias_at;
  float scale, bias;
  offset_t add;
};

// The terms of column `c`, of those of the tile's first column. What all positions share is loaded.
__device__ __forceinline__ Terms terms_of(const PermutePush& push, Terms t, uint c) {
  t.scale_at += c * scale_step(push, 1u);
  t.bias_at += c * bias_step(push, 1u);
  t.add += offset_t(c) * add_stride(push, 1u);
  if (kHasScale != 0u && !kScaleD) t.scale = vector_element(scale_address(push), t.scale_at);
  if (kHasBias != 0u && !kBiasD) t.bias = vector_element(bias_address(push), t.bias_at);
  return t;
}

// The elements of a column from `position` on that an access has.
__device__ __forceinline__ uvec4 access_at(uint position, uint c) {
  uvec4 v = {};
#if ELEMENT_BYTES < 4
  const uint place = place_of(c) + position / kBlock, bits = 8u * ELEMENT_BYTES * (position % kBlock);
  uint low = staged[place];
#pragma unroll
  for (uint w = 0u; w < kAccessWords; ++w) {
    const uint high = staged[place + w + 1u];
    v[w] = funnel(low, high, bits);
    low = high;
  }
#else
#pragma unroll
  for (uint w = 0u; w < kAccessWords; ++w) v[w] = staged[place_of(c) + position + w];
#endif
  return v;
}

// The element at `position` of a column.
__device__ __forceinline__ uvec4 element_at(uint position, uint c) {
  return words_of(staged[place_of(c) + position / kBlock] >> (8u * ELEMENT_BYTES % 32u * (position % kBlock)));
}

// The element at `position`, of the unpacked one `x`.
__device__ __forceinline__ uint result_of(const PermutePush& push, const Terms& t, uint x, uint position) {
  float factor = alpha(push), shift = 0.0f;
  if (kHasScale != 0u)
    factor *= kScaleD ? vector_element(scale_address(push), t.scale_at + position * scale_step(push, 0u)) : t.scale;
  if (kHasBias != 0u)
    shift = kBiasD ? vector_element(bias_address(push), t.bias_at + position * bias_step(push, 0u)) : t.bias;
  uint add[MAX_RUN];
  add[0] = 0u;
  if (kHasAdd != 0u)
    unpack_elements(kOut, 1u,
                    load_elements(kOut, add_address(push), t.add + offset_t(position) * add_stride(push, 0u), 1u), 0u,
                    add);
  return computed(push, x, factor, shift, add[0]);
}

// Computes `count` elements from `position` on, of the raw ones in `v`.
__device__ __forceinline__ uvec4 results_of(const PermutePush& push, const Terms& t, const uvec4& v, uint position,
                                            const uint count) {
  uint x[MAX_RUN];
  unpack_elements(kType, count, v, 0u, x);
#pragma unroll
  for (uint i = 0u; i < count; ++i) x[i] = result_of(push, t, x[i], position + i);
  return pack_elements(count, 0u, x);
}

// Every kLanesD-th of a column's positions. `row`: the destination's row, in elements from `base` on.
__device__ __forceinline__ void store_each(const PermutePush& push, const Terms& t, uint64 base, offset_t row, uint c,
                                           uint begin, uint end) {
#pragma unroll 1
  for (uint position = begin; position < end; position += kLanesD)
    store_raw(base + uint64(row + offset_t(position)) * kOutBytes, 0u, kOutBytes,
              results_of(push, t, element_at(position, c), position, 1u));
}

// Stores a packed tile: `columns` rows of the destination of `d` elements, one after the other from `to` on. An
// access's elements come from one column after the other.
__device__ __forceinline__ void store_packed(const PermutePush& push, Terms first, uint64 base, offset_t to,
                                             uint columns, uint d) {
  const Divisor by_d = divisor_of(d);
  const uint end = columns * d, before = uint(to) % kPositions;   // elements of an access before the tile's first
#pragma unroll 1
  for (uint next = threadIdx.x * kPositions; next < end + before; next += kWorkgroup * kPositions) {
    const int begin = int(next) - int(before);
    uint c = divide(uint(begin > 0 ? begin : 0), by_d), position = uint(begin > 0 ? begin : 0) - c * d;
    uint x[MAX_RUN];
#pragma unroll
    for (uint i = 0u; i < kPositions; ++i) {
      uint one[MAX_RUN];
      unpack_elements(kType, 1u, element_at(position, c), 0u, one);
      x[i] = result_of(push, terms_of(push, first, c), one[0], position);
      // Elements before the first and after the last are not stored.
      if (begin + int(i) >= 0) ++position;
      if (position == d) {
        position = 0u;
        c = min(c + 1u, columns - 1u);
      }
    }
    if (begin >= 0 && uint(begin) + kPositions <= end) {
      store_raw(base + uint64(to + offset_t(begin)) * kOutBytes, 0u, kPositions * kOutBytes,
                pack_elements(kPositions, 0u, x));
    } else {
#pragma unroll
      for (uint i = 0u; i < kPositions; ++i)
        if (begin + int(i) >= 0 && begin + int(i) < int(end))
          store_raw(base + uint64(to + offset_t(begin + int(i))) * kOutBytes, 0u, kOutBytes, pack_elements(1u, i, x));
    }
  }
}

// With one workgroup a multiprocessor stated, ptxas spills nothing to fit more of them.
SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count(push)) return;
  const Source source = source_of(push.src, source_elements(push));
  const uint64 base = address_of(rounded_down(push.dst, PERMUTE_SECTOR));
  const Start tile = take_tile(push, id);
  const uint size_d = extent_d(push) - tile.d;   // indices from the tile's first to the last
  const uint columns = min(extent_s(push) - tile.s, kPacked != 0u ? tile_s(push) : kColumns);
  const bool first = tile.d == 0u;   // part of the destination's rows
  const Digits begin_d = digits_of(push, tile.d, true), begin_s = digits_of(push, tile.s, false);
  // Of the tile's first element of S, with all digits of D 0; and the other way round.
  offset_t from = source.begin + offset_t(tile.s);
  offset_t to = offset_t((push.dst.lo & (PERMUTE_SECTOR - 1u)) / kOutBytes) + offset_t(tile.d);
  Terms terms = {};   // of the tile's first column
  terms.add = offset_t(tile.d) * add_stride(push, 0u) + offset_t(tile.s) * add_stride(push, 1u);
  terms.scale_at = tile.d * scale_step(push, 0u) + tile.s * scale_step(push, 1u);
  terms.bias_at = tile.d * bias_step(push, 0u) + tile.s * bias_step(push, 1u);
#pragma unroll
  for (uint a = 2u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a);
    from += offset_t(digit) * src_stride(push, a);
    to += offset_t(digit) * dst_stride(push, a);
    terms.add += offset_t(digit) * add_stride(push, a);
    terms.scale_at += digit * scale_step(push, a);
    terms.bias_at += digit * bias_step(push, a);
  }
  stage_tile(push, source, from, begin_d, size_d, columns);
  __syncthreads();   // the whole tile is staged before loads by other invocations

  if (kPacked != 0u) {
    store_packed(push, terms, base, to + after(push, begin_s, 0u, false), columns, size_d);
    return;
  }
  const uint lane = threadIdx.x % kLanesD;
#pragma unroll 1
  for (uint c = threadIdx.x / kLanesD; c < columns; c += kLanesS) {
    const offset_t row = to + after(push, begin_s, c, false);
    const uint skip = skip_of(row);
    const Terms t = terms_of(push, terms, c);
    uvec4 v[kAccesses];
#pragma unroll
    for (uint u = 0u; u < kAccesses; ++u) v[u] = access_at(uint(position_of(skip, u)), c);
#pragma unroll
    for (uint u = 0u; u < kAccesses; ++u) {
      const uint position = uint(position_of(skip, u));
      if (position + kPositions <= size_d)
        store_raw(base + uint64(row + offset_t(position)) * kOutBytes, 0u, kPositions * kOutBytes,
                  results_of(push, t, v[u], position, kPositions));
    }
    // What has no whole access: the positions before the first sector, and the row's last ones.
    if (first) store_each(push, t, base, row, c, lane, min(skip, size_d));
    const uint tail = skip + ((max(size_d, skip) - skip) & ~(kPositions - 1u));
    if (tail < skip + kTileD) store_each(push, t, base, row, c, tail + lane, size_d);
  }
}
