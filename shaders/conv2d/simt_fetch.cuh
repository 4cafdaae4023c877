// How conv2d_simt loads its operands: one is gathered from an image, the other is stored as a matrix. Include after
// gemm/simt_fetch.cuh and conv2d/gather.cuh.

// Loads an item of the image in the step that begins at k. What is outside the image or beyond K is zero bits; in its
// place the image's first element is loaded. `left`: how much of K remains from k on; less than TILE_K only where
// `tail` is set.
__device__ __forceinline__ uvec4 fetch_image(const GemmPush& push, const Side& s, uint64 base, Item item, Place place,
                                             uint k, uint left, const bool tail) {
  uvec4 raw = {};
  // With INTEGER an item has four elements along K, in one run or in several.
  const uint runs = kPacked == 1u ? 1u : kPacked / (kImageAlongK ? kImageWidth : 1u);
#pragma unroll
  for (uint i = 0u; i < runs; ++i) {
    const uint after = item.k + i * kImageWidth;
    const bool there = !tail || after < left;
    // Beyond K there is no tap. C++ does not define shifts by more than 31 bits, so the first one stands in.
    const Tap tap = tap_of_item(push, s.ld, there ? k : 0u, there ? after : 0u);
    const bool inside = has_tap(place, tap) && there;
    const uint at = place.at + tap.at + (kUniform != 0u ? channel_at(push, s.ld, i * kImageWidth) : 0u);
    const uvec4 run = load_raw(base, inside ? run_at(kImageType, at) : 0u, run_bytes(kImageType, kImageWidth));
#pragma unroll
    for (uint w = 0u; w < 4u; ++w)
      if (kPacked == 1u) raw[w] = inside ? run[w] : 0u;
    if (kPacked != 1u) raw[i] = inside ? run[0] : 0u;
  }
  return raw;
}

#ifndef INTEGER
// Converts an item of the image; `inside`: it is not beyond K. Outside the image and beyond K the loaded run is zeros
// already; the prologue must not change them.
__device__ __forceinline__ void convert_image_item(const GemmPush& push, const Tile& t, const Side& s, Item item,
                                                   Place place, const uvec4& raw, uint k, bool inside,
                                                   float (&v)[MAX_RUN]) {
  if (kPrologue == 0u) return convert_x(push, kImageType, kImageWidth, raw, 0u, true, v);
  const uint after = inside ? item.k : 0u;
  const Tap tap = tap_of_item(push, s.ld, k, after);
  const uint c = channel_of_item(tap, after) + (kGatheredSide == 0u ? t.batch * group_inputs(push) : 0u);
  convert_x(push, kImageType, kImageWidth, raw, c, inside && has_tap(place, tap), v);
}
#endif

// ---- what gemm/simt.cuh knows of operands. The image stays where it is from step to step: its taps move on.

__device__ __forceinline__ Fetch first_fetch(const GemmPush& push, const Tile& t) {
  Fetch fetch = stored_fetch(push, t);
  (kIsGatheredA ? fetch.a : fetch.b) = image_base(push, t);
  return fetch;
}
__device__ __forceinline__ Place place_of(const GemmPush& push, const Tile& t, const Side& s, Item item) {
  if (s.gathered) return place_of_pixel(push, t, s.ld, across_of(t, s, item), item.k);
  return {stored_place(s, item), 0u};
}
__device__ __forceinline__ uvec4 fetch_item(const GemmPush& push, const Side& s, uint64 base, Item item, Place place,
                                            uint k, uint left, const bool tail) {
  if (s.gathered) return fetch_image(push, s, base, item, place, k, left, tail);
  return fetch_stored(s, base, place.at, item.k, left, tail);
}
#ifndef INTEGER
__device__ __forceinline__ void convert_item(const GemmPush& push, const Tile& t, const Side& s, Item item, Place place,
                                             const uvec4& raw, uint k, bool inside, float (&v)[MAX_RUN]) {
  if (s.gathered) convert_image_item(push, t, s, item, place, raw, k, inside, v);
  else convert_stored(push, t, s, item, raw, k + item.k, inside, v);
}
#endif
