// The image as an operand of a product (conv2d/conv2d.abi.h): where an invocation's pixels lie, and what an element of
// the filter (a tap) adds. Include after conv2d/conv2d.cuh; the kernel defines kImageSide.
// What belongs to a pixel is computed before the loop over K, what belongs to K once a step or once an item. Whether a
// tap of a pixel is inside the image is one bit for each row and each column of the filter.

constexpr uint kFilterOrder = sectile_constant(CONV2D_SPEC_ORDER, CONV2D_ORDER_RSC);
constexpr uint kUniform = sectile_constant(CONV2D_SPEC_UNIFORM, 0u);

constexpr uint kImageType = kImageSide == 0u ? kAType : kBType, kImageWidth = kImageSide == 0u ? kWidthA : kWidthB;
constexpr bool kImageAlongK = kImageSide == 0u ? kTransA == 0u : kTransB != 0u;      // runs lie along channels

// Offsets in the word stream; a divisor's multiplier stands after it.
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

__device__ __forceinline__ uint pixel_pitch(const GemmPush& push) { return kImageSide == 0u ? lda(push) : ldb(push); }

// n / word(at), for n below 2^31; `shift`: position of the shift in its word.
__device__ __forceinline__ uint divided(const GemmPush& push, uint n, const uint at, const uint shift) {
  return (__umulhi(n, word(push, at + 1u)) + n) >> ((word(push, kAtShifts) >> shift) & 31u);
}
__device__ __forceinline__ uint image_of(const GemmPush& push, uint pixel) {
  return divided(push, pixel, kAtPixels, 16u);
}
// The image that has the tile's first pixel, counted from the batch's address; with flattened columns, from the
// operand's. Its first element is always there.
__device__ __forceinline__ uint first_image(const GemmPush& push, const Tile& t) {
  if (kImageSide == 0u) return image_of(push, word(push, kAtFirstPixel) + t.m);
  return kFlattenedBatch != 0u ? image_of_column(push, t.n) : 0u;
}
__device__ __forceinline__ uint64 image_base(const GemmPush& push, const Tile& t) {
  if (kImageSide == 0u)
    return batch_address(push, address_of(push.a), kAType, t.batch, kAtBatchA) +
           bytes_of(kAType, first_image(push, t) * word2(push, kAtImagePitch));
  return batch_address(push, address_of(push.b), kBType, kFlattenedBatch != 0u ? first_image(push, t) : t.batch,
                       kAtBatchB);
}

// Channel c's distance from channel 0.
__device__ __forceinline__ uint channel_at(const GemmPush& push, uint c) {
  if (kBlock == 0u) return c;
  const uint plane = word(push, kAtHeight) * word(push, kAtWidth) * pixel_pitch(push);
  const uint block = max(kBlock, 1u);     // NVRTC warns of a division by 0, even where nothing reaches it
  return c / block * plane + c % block;
}

// ---- pixels

struct Place {
  uint at;         // element offset of tap (0, 0) from image_base, modulo 2^32: it may lie outside the image
  uint taps;       // bit r: row r of the filter is inside the image; bit R + s: column s
};

// The place of a row (column) of the product, for an item that is k elements after a step's start along K.
__device__ __forceinline__ Place place_of_pixel(const GemmPush& push, const Tile& t, uint pixel, uint k) {
  Place place = {kUniform != 0u ? channel_at(push, k) : 0u, 0u};
  if (kImageSide == 0u) {
    pixel += word(push, kAtFirstPixel);
    const uint image = image_of(push, pixel);
    pixel -= image * word(push, kAtPixels);
    place.at += (image - first_image(push, t)) * word(push, kAtImagePitch);
  } else if (kFlattenedBatch != 0u) {
    const uint image = image_of_column(push, pixel);
    pixel -= image * size_n(push);
    place.at += (image - first_image(push, t)) * word(push, kAtBatchB);
  }
  const uint p = divided(push, pixel, kAtOutWidth, 8u), q = pixel - p * word(push, kAtOutWidth);
  const uint y = p * low_half(word(push, kAtStrides)) - low_half(word(push, kAtPads));
  const uint x = q * high_half(word(push, kAtStrides)) - high_half(word(push, kAtPads));
  place.at += (y * word(push, kAtWidth) + x) * pixel_pitch(push);
  // What lies before the image wraps to large numbers.
#pragma unroll
  for (uint r = 0u; r < kR; ++r)
    place.taps |= y + r * low_half(word(push, kAtDilations)) < word(push, kAtHeight) ? 1u << r : 0u;
#pragma unroll
  for (uint s = 0u; s < kS; ++s)
    place.taps |= x + s * high_half(word(push, kAtDilations)) < word(push, kAtWidth) ? 1u << (kR + s) : 0u;
  return place;
}

// ---- taps

struct Tap {
  uint at;         // distance from a pixel's tap (0, 0) and channel 0
  uint bits;       // those of Place.taps that it needs
  uint c;          // channel of the group
};

__device__ __forceinline__ Tap tap_of(const GemmPush& push, uint k) {
  uint r, s;
  Tap tap;
  if (kFilterOrder == CONV2D_ORDER_RSC) {
    const uint rs = kR * kS == 1u ? 0u : divided(push, k, kAtChannels, 0u);
    tap.c = k - rs * word(push, kAtChannels);
    r = rs / kS;
    s = rs - r * kS;
  } else {
    const uint rest = k / kS;
    s = k - rest * kS;
    tap.c = rest / kR;
    r = rest - tap.c * kR;
  }
  const uint y = r * low_half(word(push, kAtDilations)), x = s * high_half(word(push, kAtDilations));
  tap.at = (y * word(push, kAtWidth) + x) * pixel_pitch(push) + channel_at(push, tap.c);
  tap.bits = 1u << r | 1u << (kR + s);
  return tap;
}

// The tap of an item that is `after` elements after a step's start k along K. If all of a step lies in one tap, it is
// the step's, and the place has what the item adds.
__device__ __forceinline__ Tap tap_of_item(const GemmPush& push, uint k, uint after) {
  return tap_of(push, kUniform != 0u ? k : k + after);
}
// Channel of the group that the item's first element has.
__device__ __forceinline__ uint channel_of_item(const Tap& tap, uint after) {
  return tap.c + (kUniform != 0u ? after : 0u);
}

__device__ __forceinline__ bool has_tap(Place place, const Tap& tap) { return (place.taps & tap.bits) == tap.bits; }
