// The fetch of an operand that is gathered from an image, in place of a stored one's: conv2d/conv2d.abi.h describes it.
// Include after gemm/simt_items.cuh and conv2d/conv2d.cuh.

constexpr uint kImageSide = sectile_constant(CONV2D_SPEC_IMAGE_SIDE, 0u);
constexpr uint kFilterOrder = sectile_constant(CONV2D_SPEC_ORDER, CONV2D_ORDER_RSC);
constexpr uint kUniform = sectile_constant(CONV2D_SPEC_UNIFORM, 0u);

// Offsets in the word stream; a divisor's multiplier stands behind it.
constexpr uint kAtHeight = kAtEnd, kAtWidth = kAtEnd + 1u;
constexpr uint kAtPads = kAtEnd + 2u;                     // top, left
constexpr uint kAtChannels = kAtEnd + 3u;
constexpr uint kAtOutWidth = kAtEnd + 5u;
constexpr uint kAtShifts = kAtEnd + 7u;
constexpr uint kAtPixels = kAtEnd + 8u;                   // of an output image; IMAGE_SIDE 0
constexpr uint kAtImagePitch = kAtEnd + 10u;              // IMAGE_SIDE 0
constexpr uint kAtStrides = kAtEnd + (kImageSide == 0u ? 12u : 8u);
constexpr uint kAtDilations = kAtStrides + 1u;
constexpr uint kAtFirstPixel = kAtStrides + 2u;           // of row 0; IMAGE_SIDE 0

__device__ __forceinline__ bool is_image(const Side& s) { return s.b == (kImageSide == 1u); }

// n / word(at), for n below 2^31; `shift`: position of the shift in its word.
__device__ __forceinline__ uint quotient(const GemmPush& push, uint n, const uint at, const uint shift) {
  return (__umulhi(n, word(push, at + 1u)) + n) >> ((word(push, kAtShifts) >> shift) & 31u);
}
__device__ __forceinline__ uint image_of(const GemmPush& push, uint pixel) {
  return quotient(push, pixel, kAtPixels, 16u);
}
// The image that has the tile's first row.
__device__ __forceinline__ uint first_image_of(const GemmPush& push, const Tile& t) {
  return image_of(push, word(push, kAtFirstPixel) + t.m);
}

// Where runs of a load begin. Offsets are elements from the first image that the tile reads, modulo 2^32: an image's
// padding has addresses before it, which are never used.
struct Place {
  uint at;        // offset of the pixel's corner, the first element of the filter
  uint outside;   // rows of the filter (bits 0 to R - 1) and columns (the S bits behind) that are outside the image
};
__device__ __forceinline__ Place place_of_pixel(const GemmPush& push, const Tile& t, const Side& s, Item item) {
  uint pixel = (s.b ? t.n : t.m) + inside_of(s, item);
  Place place = {0u, 0u};
  if (kImageSide == 0u) {
    pixel += word(push, kAtFirstPixel);
    const uint n = image_of(push, pixel);
    pixel -= n * word(push, kAtPixels);
    place.at = (n - first_image_of(push, t)) * word(push, kAtImagePitch);
  } else if (kFlattenedBatch != 0u) {
    const uint n = image_of_column(push, pixel);
    pixel -= n * size_n(push);
    place.at = (n - image_of_column(push, t.n)) * word(push, kAtBatchB);
  }
  const uint p = quotient(push, pixel, kAtOutWidth, 8u), q = pixel - p * word(push, kAtOutWidth);
  const uint y = p * low_half(word(push, kAtStrides)) - low_half(word(push, kAtPads));
  const uint x = q * high_half(word(push, kAtStrides)) - high_half(word(push, kAtPads));
  place.at += (y * word(push, kAtWidth) + x) * s.ld;
#pragma unroll
  for (uint r = 0u; r < kR; ++r)
    if (y + r * low_half(word(push, kAtDilations)) >= word(push, kAtHeight)) place.outside |= 1u << r;
#pragma unroll
  for (uint c = 0u; c < kS; ++c)
    if (x + c * high_half(word(push, kAtDilations)) >= word(push, kAtWidth)) place.outside |= 1u << (kR + c);
  return place;
}

// An index of K: an element of the filter and a channel of the group.
struct Tap {
  uint at;        // offset from a pixel's corner
  uint bits;      // the element's row and column, as in Place
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
    element = quotient(push, from, kAtChannels, 0u);
    tap.channel = step + k - element * word(push, kAtChannels);
  }
  const uint r = element / kS, c = element - r * kS;
  tap.bits = 1u << r | 1u << (kR + c);
  const uint y = r * low_half(word(push, kAtDilations)), x = c * high_half(word(push, kAtDilations));
  tap.at = (y * word(push, kAtWidth) + x) * s.ld;
  const uint block = kBlock != 0u ? tap.channel / max(kBlock, 1u) : 0u;
  tap.at += block * (word(push, kAtHeight) * word(push, kAtWidth) * s.ld) + tap.channel - block * kBlock;
  return tap;
}
__device__ __forceinline__ bool is_inside(Place place, const Tap& tap) { return (place.outside & tap.bits) == 0u; }

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
    const bool inside = there && is_inside(place, tap);
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
  const uint group = kImageSide == 0u ? t.batch * word(push, kAtChannels) : 0u;
  convert_x(push, s.type, s.width, raw, group + tap.channel, there && is_inside(place, tap), v);
}

// Sides and addresses, one of them the image's: it stays at its first image, and places move on.
__device__ __forceinline__ Operands operands_of(const GemmPush& push, const Tile& t) {
  Operands o = stored_operands(push, t);
  if (kImageSide == 0u) {
    o.a.group = kGroupA;
    o.at_a = batch_address(push, address_of(push.a), kAType, t.batch, kAtBatchA) +
             bytes_of(kAType, first_image_of(push, t) * word2(push, kAtImagePitch));
    o.step_a = 0u;
  } else {
    o.b.group = kGroupB;
    const uint image = kFlattenedBatch != 0u ? image_of_column(push, t.n) : t.batch;
    o.at_b = batch_address(push, address_of(push.b), kBType, image, kAtBatchB);
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
