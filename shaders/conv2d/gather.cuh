// The image as an operand of a GEMM (conv2d/conv2d.abi.h): where an invocation's pixels lie, and what an element of
// the filter (a tap) adds. Include after conv2d/conv2d.cuh.
// What belongs to a pixel is computed before the loop over K, what belongs to K once a step or once an item. Whether a
// tap of a pixel is outside the image is one bit for each row and each column of the filter. `pitch`: elements from a
// pixel to the next, the operand's leading dimension.
// The arithmetic of tap_of() and the sense of the bits differ from gather.glsl: NVRTC's order of loads and products
// depends on both, and this one is as fast as it was (Side in gemm/simt_fetch.cuh).

constexpr uint kFilterOrder = sectile_constant(CONV2D_SPEC_ORDER, CONV2D_ORDER_RSC);
constexpr uint kUniform = sectile_constant(CONV2D_SPEC_UNIFORM, 0u);

constexpr uint kImageType = kGatheredSide == 0u ? kAType : kBType;
constexpr uint kImageWidth = kGatheredSide == 0u ? kWidthA : kWidthB;
constexpr bool kImageAlongK = kGatheredSide == 0u ? kTransA == 0u : kTransB != 0u;      // runs lie along channels

// The image that has a pixel, counted over all, on side 0.
__device__ __forceinline__ uint image_of_pixel(const GemmPush& push, uint pixel) {
  return fast_quotient(pixel, size_pq_multiplier(push), division_shifts(push).z);
}
// The image that has the tile's first pixel, counted from the batch's address; with flattened columns, from the
// operand's. Its first element is always there.
__device__ __forceinline__ uint first_image(const GemmPush& push, const Tile& t) {
  if (kGatheredSide == 0u) return image_of_pixel(push, first_pixel(push) + t.m);
  return kFlattenedBatch != 0u ? batch_of_column(push, t.n) : 0u;
}
__device__ __forceinline__ uint64 image_base(const GemmPush& push, const Tile& t) {
  if (kGatheredSide == 0u)
    return batch_address(address_of(push.a), kAType, t.batch, a_batch(push)) +
           bytes_of(kAType, first_image(push, t) * image_pitch(push));
  return batch_address(address_of(push.b), kBType, kFlattenedBatch != 0u ? first_image(push, t) : t.batch,
                       b_batch(push));
}

// Channel c's distance from channel 0.
__device__ __forceinline__ uint channel_at(const GemmPush& push, uint pitch, uint c) {
  if (kBlock == 0u) return c;
  const uint plane = size_h(push) * size_w(push) * pitch;
  const uint block = max(kBlock, 1u);     // NVRTC warns of a division by 0, even where nothing reaches it
  return c / block * plane + c % block;
}

// ---- pixels

struct Place {
  uint at;         // element offset of tap (0, 0) from image_base, modulo 2^32: it may lie outside the image
  uint outside;    // bit r: row r of the filter is outside the image; bit R + s: column s
};

// The place of a row (column) of the GEMM, for an item that is k elements after a step's start along K.
__device__ __forceinline__ Place place_of_pixel(const GemmPush& push, const Tile& t, uint pitch, uint pixel, uint k) {
  Place place = {kUniform != 0u ? channel_at(push, pitch, k) : 0u, 0u};
  if (kGatheredSide == 0u) {
    pixel += first_pixel(push);
    const uint image = image_of_pixel(push, pixel);
    pixel -= image * size_pq(push);
    place.at += (image - first_image(push, t)) * uint(image_pitch(push));
  } else if (kFlattenedBatch != 0u) {
    const uint image = batch_of_column(push, pixel);
    pixel -= image * size_n(push);
    place.at += (image - first_image(push, t)) * uint(b_batch(push));
  }
  const uint p = fast_quotient(pixel, size_q_multiplier(push), division_shifts(push).y), q = pixel - p * size_q(push);
  const uint y = p * filter_stride(push).x - padding(push).x;
  const uint x = q * filter_stride(push).y - padding(push).y;
  place.at += (y * size_w(push) + x) * pitch;
  // y and x are modulo 2^32: above the image and left of it they are large.
#pragma unroll
  for (uint r = 0u; r < kR; ++r)
    if (y + r * dilation(push).x >= size_h(push)) place.outside |= 1u << r;
#pragma unroll
  for (uint s = 0u; s < kS; ++s)
    if (x + s * dilation(push).y >= size_w(push)) place.outside |= 1u << (kR + s);
  return place;
}

// ---- taps

struct Tap {
  uint at;         // distance from a pixel's tap (0, 0) and channel 0
  uint bits;       // its row and column, as in Place.outside
  uint c;          // channel of the group
};

__device__ __forceinline__ Tap tap_of(const GemmPush& push, uint pitch, uint k) {
  uint r, s;
  Tap tap;
  if (kFilterOrder == CONV2D_ORDER_RSC) {
    const uint rs = kR * kS == 1u ? 0u : fast_quotient(k, group_inputs_multiplier(push), division_shifts(push).x);
    tap.c = k - rs * group_inputs(push);
    r = rs / kS;
    s = rs - r * kS;
  } else {
    tap.c = k / (kR * kS);
    const uint rs = k - tap.c * (kR * kS);
    r = rs / kS;
    s = rs - r * kS;
  }
  tap.bits = 1u << r | 1u << (kR + s);
  const uint y = r * dilation(push).x, x = s * dilation(push).y;
  tap.at = (y * size_w(push) + x) * pitch + channel_at(push, pitch, tap.c);
  return tap;
}

// The tap of an item that is `after` elements after a step's start k along K. If all of a step lies in one tap, it is
// the step's, and the place has what the item adds.
__device__ __forceinline__ Tap tap_of_item(const GemmPush& push, uint pitch, uint k, uint after) {
  return tap_of(push, pitch, kUniform != 0u ? k : k + after);
}
// Channel of the group that the item's first element has.
__device__ __forceinline__ uint channel_of_item(const Tap& tap, uint after) {
  return tap.c + (kUniform != 0u ? after : 0u);
}

__device__ __forceinline__ bool has_tap(Place place, const Tap& tap) { return (place.outside & tap.bits) == 0u; }
