// The image as an operand of a GEMM (conv2d/conv2d.abi.h): where an invocation's pixels lie, and what an element of
// the filter (a tap) adds. Include after conv2d/conv2d.glsl; the kernel defines kGatheredSide.
// What belongs to a pixel is computed before the loop over K, what belongs to K once a step or once an item. Whether a
// tap of a pixel is inside the image is one bit for each row and each column of the filter.
layout(constant_id = CONV2D_SPEC_ORDER) const uint kFilterOrder = CONV2D_ORDER_RSC;
layout(constant_id = CONV2D_SPEC_UNIFORM) const uint kUniform = 0u;

const uint kImageType = kGatheredSide == 0u ? kAType : kBType, kImageWidth = kGatheredSide == 0u ? kWidthA : kWidthB;
const bool kImageAlongK = kGatheredSide == 0u ? kTransA == 0u : kTransB != 0u;      // runs lie along channels

uint pixel_pitch() { return kGatheredSide == 0u ? lda() : ldb(); }

// The image that has a pixel, counted over all, on side 0.
uint image_of_pixel(uint pixel) { return fast_quotient(pixel, size_pq_multiplier(), division_shifts().z); }

// ---- pixels

struct Place {
  uint at;         // element offset of tap (0, 0) from image_base, modulo 2^32: it may lie outside the image
  uint taps;       // bit r: row r of the filter is inside the image; bit R + s: column s
};

uvec2 image_base;          // of the image that has the tile's first pixel; its first element is always there
uint first_image;          // that image, counted from the batch's address; with flattened columns, from the operand's

// Channel c's distance from channel 0.
uint channel_at(uint c) {
  if (kBlock == 0u) return c;
  uint plane = size_h() * size_w() * pixel_pitch();
  return kBlock == 1u ? c * plane : c / kBlock * plane + c % kBlock;
}

void locate_image(Tile t) {
  first_image = kFlattenedBatch != 0u ? batch_of_column(t.n) : 0u;
  image_base = kGatheredSide == 0u ? batch_address(push.a, kAType, t.batch, a_batch())
                                : batch_address(push.b, kBType, kFlattenedBatch != 0u ? first_image : t.batch,
                                                b_batch());
  if (kGatheredSide != 0u) return;
  first_image = image_of_pixel(first_pixel() + t.m);
  uvec2 elements = product64(first_image, image_pitch().x);
  elements.y += first_image * image_pitch().y;
  image_base = add64(image_base, bytes_of(kAType, elements));
}

// The place of a row (column) of the GEMM, for an item that is k elements after a step's start along K.
Place place_of_pixel(uint pixel, uint k) {
  Place place;
  place.at = kUniform != 0u ? channel_at(k) : 0u;
  if (kGatheredSide == 0u) {
    pixel += first_pixel();
    uint image = image_of_pixel(pixel);
    pixel -= image * size_pq();
    place.at += (image - first_image) * image_pitch().x;
  } else if (kFlattenedBatch != 0u) {
    uint image = batch_of_column(pixel);
    pixel -= image * size_n();
    place.at += (image - first_image) * b_batch().x;
  }
  uint p = fast_quotient(pixel, size_q_multiplier(), division_shifts().y), q = pixel - p * size_q();
  uvec2 pad = padding(), stride = filter_stride(), step = dilation();
  uint y = p * stride.x - pad.x, x = q * stride.y - pad.y;
  place.at += (y * size_w() + x) * pixel_pitch();
  place.taps = 0u;
  // y and x are modulo 2^32: above the image and left of it they are large.
  [[unroll]] for (uint r = 0u; r < kR; ++r) place.taps |= y + r * step.x < size_h() ? 1u << r : 0u;
  [[unroll]] for (uint s = 0u; s < kS; ++s) place.taps |= x + s * step.y < size_w() ? 1u << (kR + s) : 0u;
  return place;
}

// ---- taps

struct Tap {
  uint at;         // distance from a pixel's tap (0, 0) and channel 0
  uint bits;       // those of Place.taps that it needs
  uint c;          // channel of the group
};

Tap tap_of(uint k) {
  uint r, s;
  Tap tap;
  if (kFilterOrder == CONV2D_ORDER_RSC) {
    uint rs = kR * kS == 1u ? 0u : fast_quotient(k, group_inputs_multiplier(), division_shifts().x);
    tap.c = k - rs * group_inputs();
    r = rs / kS;
    s = rs - r * kS;
  } else {
    uint rest = k / kS;
    s = k - rest * kS;
    tap.c = rest / kR;
    r = rest - tap.c * kR;
  }
  uvec2 step = dilation();
  tap.at = (r * step.x * size_w() + s * step.y) * pixel_pitch() + channel_at(tap.c);
  tap.bits = (1u << r) | (1u << (kR + s));
  return tap;
}

// The tap of an item that is `after` elements after a step's start k along K. If all of a step lies in one tap, it is
// the step's, and the place has what the item adds.
Tap tap_of_item(uint k, uint after) { return tap_of(kUniform != 0u ? k : k + after); }
// Channel of the group that the item's first element has.
uint channel_of_item(Tap tap, uint after) { return tap.c + (kUniform != 0u ? after : 0u); }

bool has_tap(Place place, Tap tap) { return (place.taps & tap.bits) == tap.bits; }

// Converts a raw run of the image, whose first element is channel c of the group; zeros where `inside` is false.
void convert_image(uvec4 raw, uint c, bool inside, const bool along_k, out float v[MAX_RUN]) {
  unpack_run(kImageType, kImageWidth, raw, v);
  [[unroll]] for (uint i = 0u; i < kImageWidth; ++i) {
    if (kPrologue != 0u) v[i] = with_prologue(v[i], inside ? c + (along_k ? i : 0u) : 0u);
    else if (kImageType != kType) v[i] = operand_of(v[i]);
    if (!inside) v[i] = 0.0;
  }
}
