//! variant f16.prefetch.a -DF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=0
//! variant f16.prefetch.b -DF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1
//! variant f16.pipelined.a -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=0
//! variant f16.pipelined.b -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=1
//! variant f16.prefetch.p -DF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant f16.pipelined.p -O -DF16 -DLOOP=PIPELINED -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant f16.serial.p -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant bf16.prefetch.p -DBF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1 -DALONG_PIXELS
//! variant f16.serial.a -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=0
//! variant f16.serial.b -DF16 -DLOOP=SERIAL -DIMAGE_SIDE=1
//! variant bf16.prefetch.a -DBF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=0
//! variant bf16.prefetch.b -DBF16 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1
//! variant i8.prefetch.a -DI8 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=0
//! variant i8.prefetch.b -DI8 -DLOOP=PREFETCH -DLOADS=UPFRONT -DIMAGE_SIDE=1
//! variant i8.serial.a -DI8 -DLOOP=SERIAL -DIMAGE_SIDE=0
//! variant i8.serial.b -DI8 -DLOOP=SERIAL -DIMAGE_SIDE=1
// Convolution as a product on the matrix unit: matmul_coopmat, one operand of which is gathered from an image
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
#define SIDE(a, b) a
#include "conv2d/coopmat_side.glsl"
#undef SIDE
#define SIDE(a, b) b
#include "conv2d/coopmat_side.glsl"
#undef SIDE
#include "gemm/coopmat.glsl"
