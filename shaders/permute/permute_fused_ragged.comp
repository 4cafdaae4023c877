//! variant e1 -DELEMENT_BYTES=1 -DNARROW
//! variant e2 -DELEMENT_BYTES=2 -DNARROW
//! variant e4 -DELEMENT_BYTES=4 -DNARROW
//! variant e1.wide -DELEMENT_BYTES=1 -DNARROW -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DNARROW -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DNARROW -DWIDE -DLONG
// Transposes ragged matrices and computes with their elements. A tile comes into workgroup memory as permute_ragged's
// does. From there an invocation takes as many elements of a column as an aligned access of the destination has.
// Variants: bytes of an element of the source.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/divisor.glsl"
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_fused_ragged.abi.h"
layout(constant_id = PERMUTE_FUSED_RAGGED_SPEC_PACKED) const uint kPacked = 0u;
layout(constant_id = PERMUTE_FUSED_RAGGED_SPEC_INNER) const uint kInner = 0u;
#define OWN_WORDS PERMUTE_RAGGED_WORDS
#include "lib/fused.glsl"

layout(constant_id = PERMUTE_FUSED_RAGGED_SPEC_TILE_D) const uint kTileD = 128u;
layout(constant_id = PERMUTE_FUSED_RAGGED_SPEC_RUN_BYTES) const uint kRunBytes = 128u;
layout(constant_id = PERMUTE_FUSED_RAGGED_SPEC_LANES_D) const uint kLanesD = 8u;
const uint kOutBytes = PERMUTE_FUSED_RAGGED_BYTES(kOut);
const uint kPositions = PERMUTE_FUSED_RAGGED_ACCESS(ELEMENT_BYTES, kOutBytes);
#define OUT_BYTES kOutBytes
#include "permute/ragged.glsl"

const uint kAccessWords = kPositions * ELEMENT_BYTES / 4u;   // of an access's elements in workgroup memory

const bool kScaleD = (kStage & PERMUTE_FUSED_SCALE_D) != 0u, kBiasD = (kStage & PERMUTE_FUSED_BIAS_D) != 0u;

// The stage's terms of a column: where they are for its first position, and what all positions share.
struct Terms {
  uint scale_at, bias_at;
  float scale, bias;
  offset_t add;
};

// The terms of column `c`, of those of the tile's first column. What all positions share is loaded.
Terms terms_of(Terms t, uint c) {
  t.scale_at += c * scale_step(1u);
  t.bias_at += c * bias_step(1u);
  t.add += offset_t(c) * add_stride(1u);
  if (kHasScale != 0u && !kScaleD) t.scale = vector_element(scale_address(), t.scale_at);
  if (kHasBias != 0u && !kBiasD) t.bias = vector_element(bias_address(), t.bias_at);
  return t;
}

// The elements of a column from `position` on that an access has.
uvec4 access_at(uint position, uint c) {
  uvec4 v = uvec4(0u);
#if ELEMENT_BYTES < 4
  const uint place = place_of(c) + position / kBlock, bits = 8u * ELEMENT_BYTES * (position % kBlock);
  uint low = staged[place];
  [[unroll]] for (uint w = 0u; w < kAccessWords; ++w) {
    const uint high = staged[place + w + 1u];
    v[w] = funnel(low, high, bits);
    low = high;
  }
#else
  [[unroll]] for (uint w = 0u; w < kAccessWords; ++w) v[w] = staged[place_of(c) + position + w];
#endif
  return v;
}

// The element at `position` of a column.
uvec4 element_at(uint position, uint c) {
  return uvec4(staged[place_of(c) + position / kBlock] >> (8u * ELEMENT_BYTES % 32u * (position % kBlock)), 0u, 0u, 0u);
}

// The element at `position`, of the unpacked one `x`.
uint result_of(Terms t, uint x, uint position) {
  float factor = alpha(), shift = 0.0;
  if (kHasScale != 0u)
    factor *= kScaleD ? vector_element(scale_address(), t.scale_at + position * scale_step(0u)) : t.scale;
  if (kHasBias != 0u) shift = kBiasD ? vector_element(bias_address(), t.bias_at + position * bias_step(0u)) : t.bias;
  uint add[MAX_RUN];
  add[0] = 0u;
  if (kHasAdd != 0u)
    unpack_elements(
        kOut, 1u, load_elements(kOut, add_address(), t.add + offset_t(position) * add_stride(0u), 1u), 0u, add);
  return computed(x, factor, shift, add[0]);
}

// Computes `count` elements from `position` on, of the raw ones in `v`.
uvec4 results_of(Terms t, uvec4 v, uint position, const uint count) {
  uint x[MAX_RUN];
  unpack_elements(kType, count, v, 0u, x);
  [[unroll]] for (uint i = 0u; i < count; ++i) x[i] = result_of(t, x[i], position + i);
  return pack_elements(count, 0u, x);
}

// Stores `count` elements from element `at` on. The destination's base is rounded down to a sector.
void store_results(uvec2 base, offset_t at, const uint count, uvec4 v) {
  store_raw(BASE(base, at, kOutBytes), BYTE(at, kOutBytes), count * kOutBytes, v);
}

// Every kLanesD-th of a column's positions. `row`: the destination's row, in elements from `base` on.
void store_each(Terms t, uvec2 base, offset_t row, uint c, uint begin, uint end) {
  [[dont_unroll]] for (uint position = begin; position < end; position += kLanesD)
    store_results(base, row + offset_t(position), 1u, results_of(t, element_at(position, c), position, 1u));
}

// Stores a packed tile: `columns` rows of the destination of `d` elements, one after the other from `to` on. An
// access's elements come from one column after the other.
void store_packed(Terms first, uvec2 base, offset_t to, uint columns, uint d) {
  const Divisor by_d = divisor_of(d);
  const uint end = columns * d, before = uint(to) % kPositions;   // elements of an access before the tile's first
  [[dont_unroll]] for (uint next = gl_LocalInvocationID.x * kPositions; next < end + before;
                       next += kWorkgroup * kPositions) {
    const int begin = int(next) - int(before);
    uint c = divide(uint(max(begin, 0)), by_d), position = uint(max(begin, 0)) - c * d;
    uint x[MAX_RUN];
    [[unroll]] for (uint i = 0u; i < kPositions; ++i) {
      uint one[MAX_RUN];
      unpack_elements(kType, 1u, element_at(position, c), 0u, one);
      x[i] = result_of(terms_of(first, c), one[0], position);
      // Elements before the first and after the last are not stored.
      if (begin + int(i) >= 0) ++position;
      if (position == d) {
        position = 0u;
        c = min(c + 1u, columns - 1u);
      }
    }
    if (begin >= 0 && uint(begin) + kPositions <= end) {
      store_results(base, to + offset_t(begin), kPositions, pack_elements(kPositions, 0u, x));
    } else {
      [[unroll]] for (uint i = 0u; i < kPositions; ++i)
        if (begin + int(i) >= 0 && begin + int(i) < int(end))
          store_results(base, to + offset_t(begin + int(i)), 1u, pack_elements(1u, i, x));
    }
  }
}

void main() {
  uint id = group_id();
  // surplus of a folded grid; whole workgroups return, so every barrier is reached by all
  if (id >= id_count()) return;
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, PERMUTE_SECTOR);
  const Start tile = take_tile(id);
  const uint size_d = extent_d() - tile.d;   // indices from the tile's first to the last
  const uint columns = min(extent_s() - tile.s, kPacked != 0u ? tile_s() : kColumns);
  const bool first = tile.d == 0u;   // part of the destination's rows
  const Digits begin_d = digits_of(tile.d, true), begin_s = digits_of(tile.s, false);
  // Of the tile's first element of S, with all digits of D 0; and the other way round.
  offset_t from = source.begin + offset_t(tile.s);
  offset_t to = offset_t((push.dst.x & (PERMUTE_SECTOR - 1u)) / kOutBytes) + offset_t(tile.d);
  Terms terms;   // of the tile's first column
  terms.scale = 1.0;
  terms.bias = 0.0;
  terms.add = offset_t(tile.d) * add_stride(0u) + offset_t(tile.s) * add_stride(1u);
  terms.scale_at = tile.d * scale_step(0u) + tile.s * scale_step(1u);
  terms.bias_at = tile.d * bias_step(0u) + tile.s * bias_step(1u);
  [[unroll]] for (uint a = 2u; a < kAxes; ++a) {
    const uint digit = take_digit(id, a);
    from += offset_t(digit) * src_stride(a);
    to += offset_t(digit) * dst_stride(a);
    terms.add += offset_t(digit) * add_stride(a);
    terms.scale_at += digit * scale_step(a);
    terms.bias_at += digit * bias_step(a);
  }
  stage_tile(source, from, begin_d, size_d, columns);
  barrier();   // the whole tile is staged before loads by other invocations

  if (kPacked != 0u) {
    store_packed(terms, base, to + after(begin_s, 0u, false), columns, size_d);
    return;
  }
  const uint lane = gl_LocalInvocationID.x % kLanesD;
  [[dont_unroll]] for (uint c = gl_LocalInvocationID.x / kLanesD; c < columns; c += kLanesS) {
    const offset_t row = to + after(begin_s, c, false);
    const uint skip = skip_of(row);
    const Terms t = terms_of(terms, c);
    uvec4 v[kAccesses];
    [[unroll]] for (uint u = 0u; u < kAccesses; ++u) v[u] = access_at(uint(position_of(skip, u)), c);
    [[unroll]] for (uint u = 0u; u < kAccesses; ++u) {
      const uint position = uint(position_of(skip, u));
      if (position + kPositions <= size_d)
        store_results(base, row + offset_t(position), kPositions, results_of(t, v[u], position, kPositions));
    }
    // What has no whole access: the positions before the first sector, and the row's last ones.
    if (first) store_each(t, base, row, c, lane, min(skip, size_d));
    const uint tail = skip + ((max(size_d, skip) - skip) & ~(kPositions - 1u));
    if (tail < skip + kTileD) store_each(t, base, row, c, tail + lane, size_d);
  }
}
