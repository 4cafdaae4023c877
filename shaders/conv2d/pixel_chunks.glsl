// How conv2d_coopmat loads an image that is contiguous along pixels (variants ".p", conv2d_coopmat.abi.h). Include
// after gemm/coopmat_fetch.glsl and conv2d/gather.glsl.
// The kS columns of a row of the filter are consecutive along K, and each reads the same pixels, moved by at most two.
// So an invocation loads 16 bytes once, with the 4 bytes before and after them, and stages them kS times. To ask the
// neighbours for these 4 bytes by subgroup shuffles takes up to 1.3 times as long (H100, driver 580.159.04).
layout(constant_id = CONV2D_SPEC_PAD_LEFT) const uint kPadLeft = 1u;
layout(constant_id = CONV2D_SPEC_DILATION_W) const uint kDilationW = 1u;

const uint kGroups = kWorkgroup / kChunksB;        // invocations that load one chunk of a row each
const bool kNeedsBefore = kPadLeft > 0u, kNeedsAfter = (kS - 1u) * kDilationW > kPadLeft;

Place place;                    // of an invocation's chunk; a column's bit: all 8 pixels lie inside their row
// Bits of place.taps: there are pixels before the chunk, and after it.
const uint kHasBefore = 1u << kR, kHasAfter = 1u << (kR + kS - 1u);
uint before[kLoadsB], after[kLoadsB];          // the two pixels before a chunk and after it
uint inside_image;              // bit i: the row of the image that load i reads exists

// Loads kS * i to kS * i + kS - 1 are of one chunk.
uvec2 image_position(uint load) {
  uint lane = gl_LocalInvocationID.x;
  return uvec2((lane / kChunksB + load / kS * kGroups) * kS + load % kS, lane % kChunksB);
}

Source first_of_image(Tile t) {
  locate_image(t);
  uint first = min(t.n + image_position(0u).y * kChunkElements, columns() - kChunkElements);
  place = place_of_pixel(first, 0u);
  place.taps &= place_of_pixel(first + kChunkElements - 1u, 0u).taps;
  place.at += kPadLeft;
  inside_image = 0u;
  return Source(image_base, 0u, 0u);
}

// What is staged of a chunk, for a column of the filter that moves it by `moved` pixels to the left.
uvec4 moved_chunk(uvec4 words, uint before, uint after, const int moved) {
  if (moved == -2) return uvec4(before, words.xyz);
  if (moved == 2) return uvec4(words.yzw, after);
  uint all[6] = uint[6](before, words.x, words.y, words.z, words.w, after);
  if (moved == 0) return words;
  [[unroll]] for (uint i = 0u; i < 4u; ++i)
    words[i] = moved < 0 ? (all[i] >> 16) | (all[i + 1u] << 16) : (all[i + 1u] >> 16) | (all[i + 2u] << 16);
  return words;
}
uvec4 finished_chunk(uvec4 words, const uint load) {
  const uint chunk = load / kS * kS, column = load % kS;
  bool inside = ((inside_image >> chunk) & 1u) != 0u;
  uvec4 moved = moved_chunk(words, (place.taps & kHasBefore) != 0u ? before[chunk] : 0u,
                            (place.taps & kHasAfter) != 0u ? after[chunk] : 0u,
                            int(column * kDilationW) - int(kPadLeft));
  return mix(uvec4(0u), moved, bvec4(inside));
}

// Loads a chunk and the two pixels on either side. If the chunk's row is outside the image, or K has ended, it loads
// the image's first chunk; if there are no pixels on a side, the chunk's first two. These values are not staged.
uvec4 load_image(Source s, uint load, uint k, uint left, const bool last) {
  uint row = image_position(load).x;
  uint item = (k + row) / kS, c = item / kR, r = item - c * kR;
  bool inside = ((place.taps >> r) & 1u) != 0u && (!last || row < left);
  uint at = inside ? place.at + r * dilation().x * size_w() * pixel_pitch() + channel_at(c) : 0u;
  if (kNeedsBefore) {
    bool edge = inside && (place.taps & kHasBefore) != 0u;
    before[load] = load_raw(s.base, run_at(kImageType, edge ? at - 2u : at), 4u).x;
  }
  if (kNeedsAfter) {
    bool edge = inside && (place.taps & kHasAfter) != 0u;
    after[load] = load_raw(s.base, run_at(kImageType, edge ? at + kChunkElements : at), 4u).x;
  }
  inside_image = (inside_image & ~(1u << load)) | (inside ? 1u << load : 0u);
  return load_raw(s.base, run_at(kImageType, at), 16u);
}

// The load that loads what this one stages. The others load nothing.
uint fetched_with(uint load) { return load / kS * kS; }
uvec4 prefetch_image(Source s, const uint load, uint k, uint left, const bool last) {
  return load % kS == 0u ? load_image(s, load, k, left, last) : uvec4(0u);
}
// Chunks are moved before the barrier, and the image is loaded before the weights: f16 2x320x64x64, 3x3, then takes
// 64.4 us and not 68.3 by 160x128x48, 82.2 and not 84.2 by 128x256x48; 1x320x64x64 39.3 and not 40.2 by 80x128x96
// (H100, driver 580.159.04).
#define LOADS_B_FIRST
#define FINISH_B_EARLY
