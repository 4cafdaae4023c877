// Interface of conv2d_depthwise: groups of one input channel. An invocation computes STRIP adjacent outputs of a row,
// for CHANNELS adjacent output channels; it keeps a row of the filter in registers.
// Variants: f32, f32.narrow, i8.narrow.
//
// Interface and words are conv2d_direct's, with group_inputs = 1; X and Y have the same layout, NHWC (BLOCK 0) or NCHW
// (1).
// Work is divided in whole images: group / groups_of_image is the image, where
//   items           = P * ceil(Q / STRIP) * (K / CHANNELS)
//   groups_of_image = ceil(items / WORKGROUP)
// BLOCK 0: consecutive invocations have consecutive channels; BLOCK 1 (CHANNELS 1): consecutive strips of a row.
// Offsets inside an image and inside W are below 2^31 bytes; an image is addressed in 64 bits.
// WIDTH_A: channels per access of X; BLOCK 1: 1. group_outputs > 1: 1. WIDTH_D: the same for Y, C and the residual.
// WIDTH_B: channels per access of W, with WEIGHTS_RSCK; otherwise 1.
#ifndef SECTILE_CONV2D_DEPTHWISE_ABI_H
#define SECTILE_CONV2D_DEPTHWISE_ABI_H

#include "conv2d/direct_words.abi.h"

// Kernel constants besides these: CONV2D_SPEC_R, _S, _BLOCK, _PROLOGUE.
#define CONV2D_DEPTHWISE_SPEC_STRIP 16      // outputs of a row per invocation
#define CONV2D_DEPTHWISE_SPEC_WEIGHTS 17    // CONV2D_WEIGHTS_KCRS (KRSC is the same) or _RSCK
#define CONV2D_DEPTHWISE_SPEC_CHANNELS 18   // output channels per invocation: 1, 2, 4 or 8; divides K

#endif
