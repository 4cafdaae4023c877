// Interface of conv2d_direct: each invocation computes one element of the result. It serves every problem.
// Variants: f32, f32.narrow, i8.narrow (all products of int8 need accesses of 1 byte).
//
// A step is described as a matmul's is (gemm/gemm.abi.h): push struct, types, epilogue, order of the words. a is X, b
// is W, d is Y. Output channels are columns: of the epilogue's bits only BIAS_COLUMN and SCALE_COLUMN are used, and
// BATCHED is always set, for batches are images. b.scale is w.scale. The numbers that a matmul has and a convolution has
// not are used for others:
//   addresses                   as a matmul's; behind them x.scale and x.bias (PROLOGUE), 2 words each
//   P, K, C, alpha              in place of M, N, K: height of the output, output channels, input channels of a group
//   x pitch, Kg, y pitch        in place of lda, ldb, ldd: pixel pitches, elements; Kg: output channels of a group
//   c pitch, beta, r pitch      as ldc, beta, ldr: pixel pitches; c's where EPILOGUE_C is set
//   N                           batches
//   x, 0, y, c, r               image pitches in place of the batch strides, 2 words each
//   H, W, Q
//   pad_top | pad_left << 16    each at most 65535, as are strides and dilations
//   stride_h | stride_w << 16
//   dilation_h | dilation_w << 16
// Words that are not pushed are constants GEMM_SPEC_WORD0 and up.
//
// Element (n, c, y, x) of an image lies at
//   n * image pitch + c / BLOCK * (H * W * pixel pitch) + c % BLOCK + (y * W + x) * pixel pitch
// with H and W of the image or P and Q of the result; BLOCK 0: the channels are one block (NHWC), 1: NCHW.
//
// An invocation's element is number group * WORKGROUP + lane of the result in the order of its memory: images, blocks of
// channels, pixels, channels of a block. Surplus channels of the last block have elements too, which become zero bits.
// C = 0: acc is 0. The same serves an image without pixels: its X is never loaded.
#ifndef SECTILE_CONV2D_DIRECT_ABI_H
#define SECTILE_CONV2D_DIRECT_ABI_H

#include "conv2d/conv2d.abi.h"
#include "gemm/gemm.abi.h"

// Kernel constants besides these: CONV2D_SPEC_R, _S, _BLOCK (of X), _PROLOGUE.
#define CONV2D_DIRECT_SPEC_OUT_BLOCK 16   // BLOCK of Y, C and the residual
#define CONV2D_DIRECT_SPEC_WEIGHTS 17     // CONV2D_WEIGHTS_KCRS, _KRSC or _RSCK
// 1: offsets have 64 bits. 0: no operand reaches 2^31 bytes beyond its address, and Y has fewer than 2^31 elements
// (surplus included)
#define CONV2D_DIRECT_SPEC_OFFSET64 18

#endif
