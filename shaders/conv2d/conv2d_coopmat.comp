//! variant f16.prefetch.a -DF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=0
//! variant f16.prefetch.b -DF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1
//! variant f16.pipelined.a -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=0
//! variant f16.pipelined.b -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=1
//! variant f16.serial.a -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=0
//! variant f16.serial.b -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=1
//! variant bf16.prefetch.a -DBF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=0
//! variant bf16.prefetch.b -DBF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1
//! variant i8.prefetch.a -DI8 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=0
//! variant i8.prefetch.b -DI8 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1
//! variant i8.serial.a -DI8 -DLOOP=SERIAL -DIMAGE_SIDE=0
//! variant i8.serial.b -DI8 -DLOOP=SERIAL -DIMAGE_SIDE=1
// Convolution as a product on the matrix unit: matmul_coopmat, one operand of which is gathered from an image
// (lib/conv2d.abi.h), along channels. Padding and the surplus of K become zeros where the image is loaded or staged;
// products and stores know nothing of it.
// A module optimized by spirv-opt has 80 to 105 KB compressed, the others 26. So f16 alone has a pipelined loop.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/matmul_coopmat_types.glsl"
#define CONV2D
#define GATHERED
#include "lib/matmul.glsl"
#include "conv2d_coopmat.abi.h"
#include "lib/matmul_epilogue.glsl"

const uint kImageSide = IMAGE_SIDE;
#include "lib/conv2d.glsl"
#include "lib/conv2d_gather.glsl"
#include "lib/matmul_coopmat_fetch.glsl"

const uint kImageLoads = kImageSide == 0u ? kLoadsA : kLoadsB, kImageChunks = kImageSide == 0u ? kChunksA : kChunksB;
const uint kImageRows = kImageSide == 0u ? kRowsA : kRowsB;
const bool kRawImage = kImageType == kType && kPrologue == 0u;
const uint kTapsOfChunk = kUniform != 0u ? 1u : kChunkElements / kImageWidth;
// Chunks of the type that is multiplied that lie in one tap get their prologue and their zeros when they are staged, not
// when they are loaded: a load whose value is looked at is waited for.
const uint kMostLate = kTapsOfChunk == 1u ? 32u : 0u;          // a bit each
#if BYTES == 2
const bool kLate = kImageType == kType && kImageLoads <= kMostLate;
#else
const bool kLate = kRawImage && kImageLoads <= kMostLate;
#endif
// All chunks of an invocation have the same channels.
const bool kOneColumn = kWorkgroup % kImageChunks == 0u;

Place places[kImageLoads];
uint inside_image;              // bit i: load i is inside the image
uint chunk_channel[kOneColumn ? 1u : kImageLoads];             // the first of load i, with a prologue
float chunk_scale[MAX_RUN], chunk_bias[MAX_RUN];               // of the chunk that is staged
uint first_channel;             // of the group, counted as x.scale and x.bias are

Source first_of_image(Tile t) {
  locate_image(t);
  first_channel = kImageSide == 0u ? t.batch * size_c() : 0u;
  inside_image = 0u;
  uint first = kImageSide == 0u ? t.m : t.n, last = (kImageSide == 0u ? size_m() : columns()) - 1u;
  [[unroll]] for (uint i = 0u; i < kImageLoads; ++i) {
    uvec2 p = chunk_position(i, kImageChunks);
    places[i] = place_of(min(first + min(p.x, kImageRows - 1u), last), p.y * kChunkElements);
  }
  return Source(image_base, 0u, 0u);
}

// What is staged of a chunk.
uvec4 finished_chunk(uvec4 words, const uint load) {
  if (!kLate) return words;
  if (kPrologue != 0u) {
    if (load == 0u || !kOneColumn) {
      uint c = chunk_channel[kOneColumn ? 0u : load];
      [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) {
        chunk_scale[e] = prologue_scale(c + e);
        chunk_bias[e] = prologue_bias(c + e);
      }
    }
    float v[MAX_RUN];
    unpack_run(kType, kChunkElements, words, v);
    [[unroll]] for (uint e = 0u; e < MAX_RUN; ++e) v[e] = with_prologue(v[e], chunk_scale[e], chunk_bias[e]);
    words = packed(v);
  }
  return mix(uvec4(0u), words, bvec4(((inside_image >> load) & 1u) != 0u));
}

// Loads a chunk of the image. Outside the image, and behind K, the image's first element is loaded instead.
uvec4 load_image(Source s, uint load, uint k, uint left, const bool last) {
  uint column = chunk_position(load, kImageChunks).y * kChunkElements;
  Place place = places[load];
  uvec4 words = uvec4(0u);
  float v[MAX_RUN];
  float all[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kChunkElements / kImageWidth; ++i) {
    uint along = column + i * kImageWidth;
    Tap tap = tap_of_item(k, along);
    bool inside = has_tap(place, tap) && (!last || along < left);
    uint at = place.at + tap.at + (kUniform != 0u ? channel_at(i * kImageWidth) : 0u);
    uvec4 raw = load_raw(s.base, inside ? run_at(kImageType, at) : 0u, run_bytes(kImageType, kImageWidth));
    if (kLate) {
      if (i == 0u) inside_image = (inside_image & ~(1u << load)) | (inside ? 1u << load : 0u);
      if (i == 0u && kPrologue != 0u)
        chunk_channel[kOneColumn ? 0u : load] = first_channel + tap.c + (kUniform != 0u ? along : 0u);
      insert_run(words, raw, i * kImageWidth, kImageWidth);
    } else if (kRawImage) {
      insert_run(words, mix(uvec4(0u), raw, bvec4(inside)), i * kImageWidth, kImageWidth);
    } else {
      convert_image(raw, first_channel + tap.c + (kUniform != 0u ? along : 0u), inside, true, v);
      [[unroll]] for (uint e = 0u; e < min(kImageWidth, 8u); ++e) all[(i * kImageWidth + e) % MAX_RUN] = v[e];
    }
  }
  return kRawImage || kLate ? words : packed(all);
}
#if LOOP == SERIAL
uvec4 chunk_of_image(Source s, uint load, uint k, uint left, const bool last) {
  uvec4 words = load_image(s, load, k, left, last);
  return finished_chunk(words, load);
}
#else
#define chunk_of_image load_image
#endif

#if IMAGE_SIDE == 0
#define CHUNK_A(s, load, k, left, last) chunk_of_image(s, load, k, left, last)
#define CHUNK_B(s, load, k, n, left, last) chunk_b(s, load, k, n, left, last)
#define STAGED_A(load) finished_chunk(prefetched_a[load], load)
#define STAGED_B(load) prefetched_b[load]
#define FIRST_A(t) first_of_image(t)
#define FIRST_B(t) Source(b_address(t, t.k, t.n), size_n() - t.n, size_n() - t.n)
#define STEP_A uvec2(0u)
#define STEP_B bytes_of(kBType, kAlongKB ? uvec2(kTileK, 0u) : product64(kTileK, ldb()))
#else
#define CHUNK_A(s, load, k, left, last) chunk_a(s, load, k, left, last)
#define CHUNK_B(s, load, k, n, left, last) chunk_of_image(s, load, k, left, last)
#define STAGED_A(load) prefetched_a[load]
#define STAGED_B(load) finished_chunk(prefetched_b[load], load)
#define FIRST_A(t) Source(a_address(t, t.m, t.k), size_m() - t.m, size_m() - t.m)
#define FIRST_B(t) first_of_image(t)
#define STEP_A bytes_of(kAType, kAlongKA ? uvec2(kTileK, 0u) : product64(kTileK, lda()))
#define STEP_B uvec2(0u)
#endif
#include "lib/matmul_coopmat.glsl"
