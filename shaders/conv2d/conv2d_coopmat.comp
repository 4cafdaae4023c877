//! variant f16.prefetch.a -DF16 -DLOOP=PREFETCH -DIMAGE_SIDE=0
//! variant f16.prefetch.b -DF16 -DLOOP=PREFETCH -DIMAGE_SIDE=1
//! variant f16.pipelined.a -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=0
//! variant f16.pipelined.b -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=1
//! variant f16.prefetch.p -DF16 -DLOOP=PREFETCH -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant f16.pipelined.p -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant bf16.prefetch.p -DBF16 -DLOOP=PREFETCH -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant f16.serial.a -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=0
//! variant f16.serial.b -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=1
//! variant bf16.prefetch.a -DBF16 -DLOOP=PREFETCH -DIMAGE_SIDE=0
//! variant bf16.prefetch.b -DBF16 -DLOOP=PREFETCH -DIMAGE_SIDE=1
//! variant i8.prefetch.a -DI8 -DLOOP=PREFETCH -DIMAGE_SIDE=0
//! variant i8.prefetch.b -DI8 -DLOOP=PREFETCH -DIMAGE_SIDE=1
//! variant i8.serial.a -DI8 -DLOOP=SERIAL -DIMAGE_SIDE=0
//! variant i8.serial.b -DI8 -DLOOP=SERIAL -DIMAGE_SIDE=1
// Convolution as a GEMM on the matrix unit: matmul_coopmat, one operand of which is gathered from an image
// (conv2d/conv2d.abi.h), along channels. Padding and the surplus of K become zeros where the image is loaded or staged;
// products and stores know nothing of it.
// A module optimized by spirv-opt has 80 to 105 KB compressed, the others 26. So f16 alone has a pipelined loop.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gemm/coopmat_types.glsl"
#include "conv2d/gathered.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_coopmat.abi.h"
#include "gemm/epilogue.glsl"

#include "conv2d/conv2d.glsl"
#include "conv2d/gather.glsl"
#include "gemm/coopmat_fetch.glsl"

#ifdef ALONG_PIXELS
#include "conv2d/pixel_chunks.glsl"
#else
#include "conv2d/channel_chunks.glsl"
#endif
#if LOOP == SERIAL
uvec4 chunk_of_image(Source s, uint load, uint k, uint left, const bool last) {
  uvec4 words = load_image(s, fetched_with(load), k, left, last);
  return finished_chunk(words, load);
}
#else
#define chunk_of_image prefetch_image
#endif

#define POSITION_A(load) chunk_position(load, kChunksA)
#if IMAGE_SIDE == 0
#define CHUNK_A(s, load, k, left, last) chunk_of_image(s, load, k, left, last)
#define CHUNK_B(s, load, k, n, left, last) chunk_b(s, load, k, n, left, last)
#define STAGED_A(load) finished_chunk(prefetched_a[load], load)
#define STAGED_B(load) prefetched_b[load]
#define POSITION_B(load) chunk_position(load, kChunksB)
#define FIRST_A(t) first_of_image(t)
#define FIRST_B(t) Source(b_address(t, t.k, t.n), size_n() - t.n, size_n() - t.n)
#define STEP_A uvec2(0u)
#define STEP_B bytes_of(kBType, kAlongKB ? uvec2(kTileK, 0u) : product64(kTileK, ldb()))
#else
#define CHUNK_A(s, load, k, left, last) chunk_a(s, load, k, left, last)
#define CHUNK_B(s, load, k, n, left, last) chunk_of_image(s, load, k, left, last)
#define STAGED_A(load) prefetched_a[load]
#define STAGED_B(load) finished_chunk(prefetched_b[fetched_with(load)], load)
#define POSITION_B(load) image_position(load)
#define FIRST_A(t) Source(a_address(t, t.m, t.k), size_m() - t.m, size_m() - t.m)
#define FIRST_B(t) first_of_image(t)
#define STEP_A bytes_of(kAType, kAlongKA ? uvec2(kTileK, 0u) : product64(kTileK, lda()))
#define STEP_B uvec2(0u)
#endif
#include "gemm/coopmat.glsl"
