// How conv2d_simt loads its operands: one is gathered from an image, the other is stored as a matrix. Include after
// gemm/simt_fetch.glsl and conv2d/gather.glsl.

// Loads an item of the image in the step that begins at k. What is outside the image or beyond K is zero bits; in its
// place the image's first element is loaded. `left`: how much of K remains from k on; less than TILE_K only where
// `tail` is set.
uvec4 fetch_image(uint k, Item item, Place place, uint left, const bool tail) {
  uvec4 raw = uvec4(0u);
  // With INTEGER an item has four elements along K, in one run or in several.
  const uint runs = kPacked == 1u ? 1u : kPacked / (kImageAlongK ? kImageWidth : 1u);
  [[unroll]] for (uint i = 0u; i < runs; ++i) {
    uint after = item.k + i * kImageWidth;
    Tap tap = tap_of_item(k, after);
    bool inside = has_tap(place, tap) && (!tail || after < left);
    uint at = kUniform != 0u && i != 0u ? channel_at(i * kImageWidth) : 0u;
    uvec4 run = load_raw(image_base, inside ? run_at(kImageType, place.at + tap.at + at) : 0u,
                         run_bytes(kImageType, kImageWidth));
    if (kPacked == 1u) raw = mix(uvec4(0u), run, bvec4(inside));
    else raw[i] = inside ? run.x : 0u;
  }
  return raw;
}

#ifndef INTEGER
// Converts an item of the image; `inside`: it is not beyond K. Outside the image the loaded run is zeros already; the
// prologue must not change them.
void convert_image_item(Tile t, Item item, Place place, uvec4 raw, uint k, bool inside, out float v[MAX_RUN]) {
  uint c = 0u;
  if (kPrologue != 0u) {
    Tap tap = tap_of_item(k, item.k);
    inside = inside && has_tap(place, tap);
    c = channel_of_item(tap, item.k) + (kGatheredSide == 0u ? t.batch * group_inputs() : 0u);
  }
  convert_image(raw, c, inside, kImageAlongK, v);
}
#endif

#define SIDE(a, b) a
#include "conv2d/simt_side.glsl"
#undef SIDE
#define SIDE(a, b) b
#include "conv2d/simt_side.glsl"
#undef SIDE
