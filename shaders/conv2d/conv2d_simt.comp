//! variant f32 -O
//! variant f32.narrow -O -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT -DNARROW
// Convolution as a product: matmul_simt, one operand of which is gathered from an image (conv2d/conv2d.abi.h). Padding and
// the surplus of K become zeros where the image is loaded; products and stores know nothing of it.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_integer_dot_product : require
#endif
#include "conv2d/gathered.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_simt.abi.h"
#include "gemm/epilogue.glsl"

#include "conv2d/conv2d.glsl"
#include "conv2d/gather.glsl"

// ---- how an operand is converted, and the matmul's loads

#ifndef INTEGER
// An image's run, whose first element is k of row (column) `across`. Outside the image the loaded run is zeros already;
// the prologue must not change them.
void convert_gathered(Tile t, uint across, uint k, uvec4 raw, bool inside, const bool along_k, out float v[MAX_RUN]) {
  uint c = 0u;
  if (kPrologue != 0u) {
    Tap tap = tap_of(k);
    inside = inside && has_tap(place_of(across, 0u), tap);
    c = tap.c + (kImageSide == 0u ? t.batch * group_inputs() : 0u);
  }
  convert_image(raw, c, inside, along_k, v);
}
void convert_of_a(Tile t, uvec2 item, uvec4 raw, uint k, bool inside, out float v[MAX_RUN]) {
  if (kImageSide == 0u) convert_gathered(t, min(t.m + item.x, size_m() - 1u), k, raw, inside, kTransA == 0u, v);
  else convert_a(raw, k, inside, v);
}
void convert_of_b(Tile t, uvec2 item, uvec4 raw, uint k, uint n, bool inside, out float v[MAX_RUN]) {
  if (kImageSide != 0u) convert_gathered(t, n, k, raw, inside, kTransB != 0u, v);
  else convert_b(raw, k, n, inside, v);
}
#endif
#define CONVERT_A(t, item, raw, k, inside, v) convert_of_a(t, item, raw, k, inside, v)
#define CONVERT_B(t, item, raw, k, n, inside, v) convert_of_b(t, item, raw, k, n, inside, v)
#include "gemm/simt_fetch.glsl"

// ---- items

// An item of an image along pixels: `group` consecutive invocations load consecutive pixels of one k.
bool in_groups(const uint tile, const uint group, const uint span_k, const uint items) {
  return items % kFetchers == 0u && kInterleaved != 0u && kFetchers % group == 0u && tile % group == 0u &&
         kTileK / span_k % max(kFetchers / group, 1u) == 0u;
}
uvec2 item_in_groups(uint load, const uint tile, const uint group, const uint span_k) {
  uint lane = gl_LocalInvocationID.x;
  const uint across = tile / group;
  return uvec2(lane % group + load % across * group, (lane / group + load / across * (kFetchers / group)) * span_k);
}
uvec2 item_of_a(uint load) {
  if (kImageSide == 0u && !kAlongKA && in_groups(kTileM, kGroupA, kSpanKA, kItemsA))
    return item_in_groups(load, kTileM, kGroupA, kSpanKA);
  return item_a(load);
}
uvec2 item_of_b(uint load) {
  if (kImageSide != 0u && !kAlongKB && in_groups(kTileN, kGroupB, kSpanKB, kItemsB))
    return item_in_groups(load, kTileN, kGroupB, kSpanKB);
  return item_b(load);
}

// ---- loads. Where a step's image is, is said by the step's first k (word 0), for an operand by its address.

uvec4 fetch_image(uint step_k, Place place, uint k, uint left, const bool tail) {
  uvec4 raw = uvec4(0u);
#ifdef INTEGER
  [[unroll]] for (uint i = 0u; i < 4u / kImageWidth; ++i) {
    uint from = k + i * kImageWidth;
    Tap tap = tap_of_item(step_k, from);
    bool inside = has_tap(place, tap) && (!tail || from < left);
    uint at = place.at + tap.at + (kUniform != 0u ? channel_at(i * kImageWidth) : 0u);
    uint word = load_raw(image_base, inside ? at : 0u, kImageWidth).x;
    raw[i] = inside ? word : 0u;
  }
  return raw;
#else
  Tap tap = tap_of_item(step_k, k);
  bool inside = has_tap(place, tap) && (!tail || k < left);
  raw = load_raw(image_base, inside ? run_at(kImageType, place.at + tap.at) : 0u, run_bytes(kImageType, kImageWidth));
  return mix(uvec4(0u), raw, bvec4(inside));
#endif
}

Place place_of_a(Tile t, uvec2 item) {
  if (kImageSide == 0u) return place_of(min(t.m + item.x, size_m() - 1u), item.y);
  return Place(offset_a(t, item), 0u);
}
Place place_of_b(Tile t, uvec2 item) {
  if (kImageSide != 0u) return place_of(min(t.n + item.x, columns() - 1u), item.y);
  return Place(offset_b(t, item), 0u);
}
uvec4 fetch_of_a(uvec2 base, Place place, uint k, uint left, const bool tail) {
  if (kImageSide == 0u) return fetch_image(base.x, place, k, left, tail);
  return fetch_item_a(base, place.at, k, left, tail);
}
uvec4 fetch_of_b(uvec2 base, Place place, uint k, uint left, const bool tail) {
  if (kImageSide != 0u) return fetch_image(base.x, place, k, left, tail);
  return fetch_item_b(base, place.at, k, left, tail);
}
uvec2 first_of_a(Tile t) {
  locate_image(t);
  return kImageSide == 0u ? uvec2(t.k, 0u) : a_address(t, t.m, t.k);
}

#define PLACE Place
#define PLACE_A(t, item) place_of_a(t, item)
#define PLACE_B(t, item) place_of_b(t, item)
#define ITEM_A(load) item_of_a(load)
#define ITEM_B(load) item_of_b(load)
#define FETCH_A(base, place, k, left, tail) fetch_of_a(base, place, k, left, tail)
#define FETCH_B(base, place, k, left, tail) fetch_of_b(base, place, k, left, tail)
#define FIRST_A(t) first_of_a(t)
#define FIRST_B(t) (kImageSide != 0u ? uvec2(t.k, 0u) : b_address(t, t.k, t.n))
#define STEP_A (kImageSide == 0u ? uvec2(kTileK, 0u) : bytes_of(kAType, product64(kTileK, kAlongKA ? 1u : lda())))
#define STEP_B (kImageSide != 0u ? uvec2(kTileK, 0u) : bytes_of(kBType, product64(kTileK, kAlongKB ? 1u : ldb())))
#include "gemm/simt.glsl"
