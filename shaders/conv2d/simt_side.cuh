// One operand of conv2d_simt, gathered or stored. Included twice by conv2d/simt_fetch.cuh: gemm/side.abi.h says how.
// The image stays where it is from step to step: its taps move on.

__device__ __forceinline__ uint64 start_of(const GemmPush& push, const Tile& t) {
  return kIsGathered ? image_base(push, t) : stored_start(push, t);
}
__device__ __forceinline__ uint64 step_of(const GemmPush& push) { return kIsGathered ? 0u : stored_step(push); }
__device__ __forceinline__ Place place_of(const GemmPush& push, const Tile& t, Item item) {
  if (kIsGathered) return place_of_pixel(push, t, across_of(push, t, item), item.k);
  return {stored_place(push, t, item), 0u};
}
__device__ __forceinline__ uvec4 fetch_item(const GemmPush& push, uint64 base, Item item, Place place, uint k,
                                            uint left, const bool tail) {
  if (kIsGathered) return fetch_image(push, base, item, place, k, left, tail);
  return fetch_stored(push, base, place.at, item.k, left, tail);
}
#ifndef INTEGER
__device__ __forceinline__ void convert_item(const GemmPush& push, const Tile& t, Item item, Place place,
                                             const uvec4& raw, uint k, bool inside, float (&v)[MAX_RUN]) {
  if (kIsGathered) convert_image_item(push, t, item, place, raw, k, inside, v);
  else convert_stored(push, t, item, raw, k + item.k, inside, v);
}
#endif
