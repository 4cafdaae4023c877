// Interface of conv2d_lanes: an invocation computes STRIP adjacent outputs of a row, for CHANNELS adjacent output
// channels of a group. For CPU devices: no workgroup memory, and all invocations of a workgroup have the same channels,
// so that the addresses of weights are uniform.
// Variants: f32, f32.narrow.
//
// Interface and words are conv2d_direct's. Work is divided in images, tiles of WORKGROUP strips and blocks of channels:
//   items  = P * ceil(Q / STRIP)
//   tiles  = ceil(items / WORKGROUP)
//   blocks = output_channels / group_outputs * ceil(group_outputs / CHANNELS)
//   group  = (image * tiles + tile) * blocks + block
// A group's last block may have fewer channels. The last block of all also stores the zeros of Y's surplus channels.
// group_inputs is at least 1, and an image has pixels. Offsets inside an image and inside W are below 2^31 bytes; an
// image is addressed in 64 bits.
#ifndef SECTILE_CONV2D_LANES_ABI_H
#define SECTILE_CONV2D_LANES_ABI_H

#include "conv2d/direct_words.abi.h"

// Kernel constants besides these: CONV2D_SPEC_R, _S, _BLOCK (of X), _PROLOGUE.
#define CONV2D_LANES_SPEC_OUT_BLOCK 16   // BLOCK of Y, C and the residual
#define CONV2D_LANES_SPEC_WEIGHTS 17     // CONV2D_WEIGHTS_KCRS, _KRSC or _RSCK
#define CONV2D_LANES_SPEC_STRIP 18       // outputs of a row per invocation
#define CONV2D_LANES_SPEC_CHANNELS 19    // output channels per invocation
// 0: one column of the filter at a time, for which each output loads its own input. Otherwise the horizontal stride,
// where the horizontal dilation is 1: a row of the filter at a time, whose inputs are loaded once for all outputs.
#define CONV2D_LANES_SPEC_STEP 20

#endif
