// One operand of conv2d_simt, gathered or stored. Included twice by conv2d/simt_fetch.glsl: gemm/side.glsl says how.
// The image stays where it is from step to step, and its taps move on. So the loop hands fetch_item() the step's first
// k in place of the step's address. With both in the loop a kernel took 1.055 times as long, with k alone 0.97 (H200,
// driver 580.159.04, 2026-11-27: bench "conv2d f32 nchw 1x3x224x224 k=64 r=7x7 s=2 p=3 epi=bias+relu").

uvec2 start_of(Tile t) {
  if (SIDE(true, false)) locate_image(t);      // once, at A's start, which is called first
  return kIsGathered ? uvec2(t.k, 0u) : stored_start(t);
}
uvec2 step_of() {
  if (kIsGathered) return uvec2(kTileK, 0u);
  return stored_step();
}
Place place_of(Tile t, Item item) {
  if (kIsGathered) return place_of_pixel(across_of(t, item), item.k);
  return Place(stored_place(t, item), 0u);
}
uvec4 fetch_item(uvec2 base, Item item, Place place, uint k, uint left, const bool tail) {
  if (kIsGathered) return fetch_image(base.x, item, place, left, tail);
  return fetch_stored(base, place.at, item.k, left, tail);
}
#ifndef INTEGER
void convert_item(Tile t, Item item, Place place, uvec4 raw, uint k, bool inside, out float v[MAX_RUN]) {
  if (kIsGathered) convert_image_item(t, item, place, raw, k, inside, v);
  else SIDE(convert_a(raw, k + item.k, inside, v), convert_b(raw, k + item.k, across_of(t, item), inside, v));
}
#endif
