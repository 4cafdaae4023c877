// Interface of permute_fused and permute_fused_block: a permute that computes with its elements on their way
//   v = alpha * scale * x + bias;  v += add;  rounded once to OUT.
//
// The stream of lib/permute.abi.h, with these words in front of it and behind the kernel's own, each only where STAGE
// has it:
//   in front   addresses of scale, bias and add (2 words each), alpha (f32 bits)
//   behind     per axis: the step of scale's index; of bias', but where both are one (ONE_AXIS); add's stride (S words)
// The planner refuses plans whose addresses would not be pushed.
//
// permute_fused: a run of VECTOR elements along axis 0 an invocation, numbered in the destination's order. Axis 0 counts
// runs, and all its steps and coefficients are those of a whole run.
// permute_fused_block: one of axes 0 and 1 is S, along which the source is walked, the other D, along which the
// destination is: S is axis 0, or axis 1 where SWAP is 1. Their counts are of tiles of TILE_S x TILE_D elements. An
// invocation turns blocks of VECTOR_S x VECTOR_D elements in registers. Own words: elements of the last tile along S,
// the same along D.
#ifndef SECTILE_PERMUTE_FUSED_ABI_H
#define SECTILE_PERMUTE_FUSED_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_FUSED_MAX_WORDS 210   // 16 axes, everything wide and two bounds take 208

#define PERMUTE_FUSED_SPEC_TYPE 8     // SECTILE_TYPE_*
#define PERMUTE_FUSED_SPEC_OUT 9
#define PERMUTE_FUSED_SPEC_STAGE 10   // bits, below
#define PERMUTE_FUSED_SPEC_LOAD 11    // elements an access of the source has: powers of two, at most 16 bytes
#define PERMUTE_FUSED_SPEC_STORE 12   // of the destination
#define PERMUTE_FUSED_SPEC_ADD 13     // of add
#define PERMUTE_FUSED_SPEC_VECTOR 14  // permute_fused: 1, 2, 4 or 8

#define PERMUTE_FUSED_SPEC_VECTOR_S 14   // permute_fused_block: 1 to 8; a multiple of LOAD
#define PERMUTE_FUSED_SPEC_VECTOR_D 15   // of STORE and ADD
#define PERMUTE_FUSED_SPEC_TILE_S 16     // multiples of VECTOR_S and VECTOR_D
#define PERMUTE_FUSED_SPEC_TILE_D 17
#define PERMUTE_FUSED_SPEC_SWAP 18       // 1: axis 0 is D
#define PERMUTE_FUSED_SPEC_LANES_D 19    // 1: neighbouring invocations take blocks along D
#define PERMUTE_FUSED_SPEC_JOINED_S 20   // 1: S is a record of VECTOR_S elements, D is whole blocks: a block of the
                                         // source is one run, and LOAD divides it instead of VECTOR_S
#define PERMUTE_FUSED_SPEC_JOINED_D 21   // 1: the same of D, the destination and STORE

#define PERMUTE_FUSED_ALPHA 1
#define PERMUTE_FUSED_SCALE 2
#define PERMUTE_FUSED_BIAS 4
#define PERMUTE_FUSED_ADD 8
#define PERMUTE_FUSED_ONE_AXIS 16     // scale and bias lie along one axis
#define PERMUTE_FUSED_SCALE_S 32      // scale's index changes along the run, or along S
#define PERMUTE_FUSED_SCALE_D 64      // along D
#define PERMUTE_FUSED_BIAS_S 128
#define PERMUTE_FUSED_BIAS_D 256

#define PERMUTE_FUSED_BLOCK_OWN_WORDS 2

#endif
