// Interface of conv2d_direct: each invocation computes one element of the result. It serves every problem.
// Variants: f32, f32.narrow, i8.narrow (all products of int8 need accesses of 1 byte).
//
// Push struct, types and epilogue are a GEMM's (gemm/gemm.abi.h). a is X, b is W, d is Y, b.scale is w.scale. Output
// channels are columns: of the epilogue's bits only BIAS_COLUMN and SCALE_COLUMN are used. BATCHED is always set. Its
// own words are CONV2D_DIRECT_WORDS (direct_words.abi.h).
//
// Element (n, c, y, x) of an image lies at
//   n * image pitch + c / BLOCK * (H * W * pitch) + c % BLOCK + (y * W + x) * pitch
// with H and W of the image or P and Q of the result; BLOCK 0: the channels are one block (NHWC), 1: NCHW.
//
// An invocation's element is number group * WORKGROUP + lane of the result in the order of its memory: images, blocks
// of channels, pixels, channels of a block. Surplus channels of the last block have elements too, which become zero
// bits. group_inputs is 0: so is the sum. The same serves an image without pixels: its X is never loaded.
#ifndef SECTILE_CONV2D_DIRECT_ABI_H
#define SECTILE_CONV2D_DIRECT_ABI_H

#include "conv2d/direct_words.abi.h"

// Kernel constants besides these: CONV2D_SPEC_R, _S, _BLOCK (of X), _PROLOGUE.
#define CONV2D_DIRECT_SPEC_OUT_BLOCK 16   // BLOCK of Y, C and the residual
#define CONV2D_DIRECT_SPEC_WEIGHTS 17     // CONV2D_WEIGHTS_KCRS, _KRSC or _RSCK
// 1: offsets have 64 bits. 0: no operand reaches 2^31 bytes beyond its address, and Y has fewer than 2^31 elements
// (surplus included)
#define CONV2D_DIRECT_SPEC_OFFSET64 18

#endif
