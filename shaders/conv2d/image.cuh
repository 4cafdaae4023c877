// The fetch of an operand that is gathered from an image, in place of a stored one's: conv2d/conv2d.abi.h describes it.
// Include after gemm/simt_items.cuh and conv2d/conv2d.cuh.

constexpr uint kFilterOrder = sectile_constant(CONV2D_SPEC_ORDER, CONV2D_ORDER_RSC);
constexpr uint kUniform = sectile_constant(CONV2D_SPEC_UNIFORM, 0u);

__device__ __forceinline__ bool is_image(const Side& s) { return s.b == (kImageSide == 1u); }

// The image that has a pixel, counted over all, on side 0.
__device__ __forceinline__ uint image_of_pixel(const GemmPush& push, uint pixel) {
  return fast_quotient(pixel, size_pq_multiplier(push), division_shifts(push).z);
}
// The image that has the tile's first row.
__device__ __forceinline__ uint first_image_of(const GemmPush& push, const Tile& t) {
  return image_of_pixel(push, first_pixel(push) + t.m);
}

// Where runs of a load begin. Offsets are elements from the first image that the tile reads, modulo 2^32: an image's
// padding has addresses before it, which are never used.
struct Place {
  uint at;        // offset of the pixel's corner, the first element of the filter
  uint taps;      // bit r: row r of the filter is inside the image; bit R + s: column s
};
__device__ __forceinline__ Place place_of_pixel(const GemmPush& push, const Tile& t, const Side& s, Item item) {
  uint pixel = (s.b ? t.n : t.m) + inside_of(s, item);
  Place place = {0u, 0u};
  if (kImageSide == 0u) {
    pixel += first_pixel(push);
    const uint n = image_of_pixel(push, pixel);
    pixel -= n * size_pq(push);
    place.at = (n - first_image_of(push, t)) * uint(image_pitch(push));
  } else if (kFlattenedBatch != 0u) {
    const uint n = batch_of_column(push, pixel);
    pixel -= n * size_n(push);
    place.at = (n - batch_of_column(push, t.n)) * uint(b_batch(push));
  }
  const uint p = fast_quotient(pixel, size_q_multiplier(push), division_shifts(push).y), q = pixel - p * size_q(push);
  const uint y = p * filter_stride(push).x - padding(push).x;
  const uint x = q * filter_stride(push).y - padding(push).y;
  place.at += (y * size_w(push) + x) * s.ld;
#pragma unroll
  for (uint r = 0u; r < kR; ++r)
    if (y + r * dilation(push).x < size_h(push)) place.taps |= 1u << r;
#pragma unroll
  for (uint c = 0u; c < kS; ++c)
    if (x + c * dilation(push).y < size_w(push)) place.taps |= 1u << (kR + c);
  return place;
}

// An index of K: an element of the filter and a channel of the group.
struct Tap {
  uint at;        // offset from a pixel's corner
  uint bits;      // those of Place.taps that it needs
  uint channel;
};
__device__ __forceinline__ Tap tap_of(const GemmPush& push, const Side& s, uint step, uint k) {
  uint element;
  Tap tap;
  if (kFilterOrder == CONV2D_ORDER_CRS) {
    tap.channel = (step + k) / (kR * kS);
    element = step + k - tap.channel * (kR * kS);
  } else {
    // The same for the whole step, where it lies in one element of the filter.
    const uint from = kUniform != 0u ? step : step + k;
    element = fast_quotient(from, group_inputs_multiplier(push), division_shifts(push).x);
    tap.channel = step + k - element * group_inputs(push);
  }
  const uint r = element / kS, c = element - r * kS;
  tap.bits = 1u << r | 1u << (kR + c);
  const uint y = r * dilation(push).x, x = c * dilation(push).y;
  tap.at = (y * size_w(push) + x) * s.ld;
  const uint block = kBlock != 0u ? tap.channel / max(kBlock, 1u) : 0u;
  tap.at += block * (size_h(push) * size_w(push) * s.ld) + tap.channel - block * kBlock;
  return tap;
}
__device__ __forceinline__ bool has_tap(Place place, const Tap& tap) { return (place.taps & tap.bits) == tap.bits; }

// Loads an item; see gemm/simt.cuh. What is outside the image or beyond K is zero bits; in its place the first
// element of the tile's first image is loaded.
__device__ __forceinline__ uvec4 fetch_image(const GemmPush& push, const Side& s, uint64 base, Item item, Place place,
                                             uint step, uint left, const bool tail) {
  uvec4 words = {};
  // With INTEGER an item has four elements along K, in one run or in several.
  const uint distance = s.along_k ? s.width : 1u;
#pragma unroll
  for (uint i = 0u; i < kPacked; ++i) {
    if (i * distance >= kPacked) continue;
    const uint k = item.k + i * distance;
    const bool there = !tail || k < left;
    const Tap tap = tap_of(push, s, there ? step : 0u, there ? k : 0u);
    const bool inside = there && has_tap(place, tap);
    const uvec4 raw = load_raw(base, inside ? run_at(s.type, place.at + tap.at) : 0u, run_bytes(s.type, s.width));
#pragma unroll
    for (uint w = 0u; w < 4u; ++w)
      if (kPacked == 1u) words[w] = inside ? raw[w] : 0u;
    if (kPacked != 1u) words[i] = inside ? raw[0] : 0u;
  }
  return words;
}

// Converts an item of floats. `there`: it is not beyond K.
__device__ __forceinline__ void convert_image(const GemmPush& push, const Tile& t, const Side& s, Item item,
                                              Place place, const uvec4& raw, uint step, bool there,
                                              float (&v)[MAX_RUN]) {
  if (kPrologue == 0u) return convert_x(push, s.type, s.width, raw, 0u, true, v);
  const Tap tap = tap_of(push, s, there ? step : 0u, there ? item.k : 0u);
  const uint group = kImageSide == 0u ? t.batch * group_inputs(push) : 0u;
  convert_x(push, s.type, s.width, raw, group + tap.channel, there && has_tap(place, tap), v);
}

// Sides and addresses, one of them the image's: it stays at its first image, and places move on.
__device__ __forceinline__ Operands operands_of(const GemmPush& push, const Tile& t) {
  Operands o = stored_operands(push, t);
  if (kImageSide == 0u) {
    o.a.group = kGroupA;
    o.at_a = batch_address(address_of(push.a), kAType, t.batch, a_batch(push)) +
             bytes_of(kAType, first_image_of(push, t) * image_pitch(push));
    o.step_a = 0u;
  } else {
    o.b.group = kGroupB;
    const uint image = kFlattenedBatch != 0u ? batch_of_column(push, t.n) : t.batch;
    o.at_b = batch_address(address_of(push.b), kBType, image, b_batch(push));
    o.step_b = 0u;
  }
  return o;
}
__device__ __forceinline__ Place place_of(const GemmPush& push, const Tile& t, const Side& s, Item item) {
  return is_image(s) ? place_of_pixel(push, t, s, item) : Place{offset_of(s, item), 0u};
}
__device__ __forceinline__ uvec4 fetch_item(const GemmPush& push, const Side& s, uint64 base, Item item, Place place,
                                            uint step, uint left, const bool tail) {
  return is_image(s) ? fetch_image(push, s, base, item, place, step, left, tail)
                     : fetch_stored(s, base, place.at, item.k, left, tail);
}
#ifndef INTEGER
__device__ __forceinline__ void convert_item(const GemmPush& push, const Tile& t, const Side& s, Item item,
                                             Place place, const uvec4& raw, uint step, bool inside,
                                             float (&v)[MAX_RUN]) {
  if (is_image(s)) convert_image(push, t, s, item, place, raw, step, inside, v);
  else convert_stored(push, t, s, item, raw, step + item.k, inside, v);
}
#endif
