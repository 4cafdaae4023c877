// Interface of permute_fused and permute_fused_block: a permute with an elementwise stage
//   v = alpha * scale * x + bias;  v = activation(v);  v += add;  rounded once to OUT.
// ACTIVATION_LAST: v += add;  v = activation(v). ZERO: alpha is 0, and so is its term.
//
// The word stream of permute/permute.abi.h has the stage's words before the axes, and after the kernel's own words; a term
// that STAGE lacks takes no words. The planner refuses plans whose addresses would not be pushed. The words before the
// axes always are.
//
// permute_fused: an invocation computes a run of VECTOR elements along axis 0; ids follow the destination's order. Axis
// 0 counts runs: its strides, steps and coefficients are those of a whole run.
// permute_fused_block: one of axes 0 and 1 is S, the source's innermost axis; the other is D, the destination's
// innermost axis. S is axis 0, or axis 1 where SWAP is 1. Their counts are of tiles of TILE_S x TILE_D elements. An
// invocation transposes blocks of VECTOR_S x VECTOR_D elements in registers.
#ifndef SECTILE_PERMUTE_FUSED_ABI_H
#define SECTILE_PERMUTE_FUSED_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_FUSED_MAX_WORDS 210   // 16 axes, 64-bit strides, all terms and two bounds take 210

#define PERMUTE_FUSED_SPEC_TYPE 8     // SECTILE_TYPE_*
#define PERMUTE_FUSED_SPEC_OUT 9
#define PERMUTE_FUSED_SPEC_STAGE 10   // bits, below
#define PERMUTE_FUSED_SPEC_LOAD 11    // elements per access of the source: powers of two, at most 16 bytes
#define PERMUTE_FUSED_SPEC_STORE 12   // per access of the destination
#define PERMUTE_FUSED_SPEC_ADD 13     // per access of add
#define PERMUTE_FUSED_SPEC_VECTOR 14  // permute_fused: elements per invocation: 1, 2, 4 or 8

#define PERMUTE_FUSED_SPEC_VECTOR_S 14   // permute_fused_block: 1 to 8, a multiple of LOAD
#define PERMUTE_FUSED_SPEC_VECTOR_D 15   // 1 to 8, a multiple of STORE and ADD
#define PERMUTE_FUSED_SPEC_TILE_S 16     // multiples of VECTOR_S and VECTOR_D
#define PERMUTE_FUSED_SPEC_TILE_D 17
#define PERMUTE_FUSED_SPEC_SWAP 18       // 1: axis 0 is D
#define PERMUTE_FUSED_SPEC_LANES_D 19    // 1: consecutive invocations take consecutive blocks along D
#define PERMUTE_FUSED_SPEC_JOINED_S 20   // 1: S has VECTOR_S elements, and D is a multiple of VECTOR_D: a block of the
                                         // source is contiguous, and LOAD divides the block instead of VECTOR_S
#define PERMUTE_FUSED_SPEC_JOINED_D 21   // 1: the same for D, the destination and STORE

#define PERMUTE_FUSED_ALPHA 1
#define PERMUTE_FUSED_SCALE 2
#define PERMUTE_FUSED_BIAS 4
#define PERMUTE_FUSED_ADD 8
#define PERMUTE_FUSED_ONE_AXIS 16     // scale and bias lie along one axis
#define PERMUTE_FUSED_SCALE_S 32      // scale's index varies along the run, or along S
#define PERMUTE_FUSED_SCALE_D 64      // scale's index varies along D
#define PERMUTE_FUSED_BIAS_S 128
#define PERMUTE_FUSED_BIAS_D 256
#define PERMUTE_FUSED_ACTIVATION_SHIFT 9       // 4 bits: a SECTILE_ACTIVATION, or 0
#define PERMUTE_FUSED_ACTIVATION_LAST 8192
#define PERMUTE_FUSED_ZERO 16384               // with ALPHA

#define PERMUTE_FUSED_HAS_ALPHA ((kStage & PERMUTE_FUSED_ALPHA) != 0u)
#define PERMUTE_FUSED_HAS_SCALE ((kStage & PERMUTE_FUSED_SCALE) != 0u)
#define PERMUTE_FUSED_HAS_BIAS ((kStage & PERMUTE_FUSED_BIAS) != 0u)
#define PERMUTE_FUSED_HAS_ADD ((kStage & PERMUTE_FUSED_ADD) != 0u)
// Bias has index steps of its own: it does not lie along scale's axis.
#define PERMUTE_FUSED_HAS_BIAS_STEPS ((kStage & (PERMUTE_FUSED_BIAS | PERMUTE_FUSED_ONE_AXIS)) == PERMUTE_FUSED_BIAS)
#define PERMUTE_FUSED_ACTIVATION_OF(stage) (((stage) >> PERMUTE_FUSED_ACTIVATION_SHIFT) & 15u)

#define PERMUTE_FUSED_FIRST_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)           \
  WORD_IF(address, scale_address, stream, PERMUTE_FUSED_HAS_SCALE, 0)       \
  WORD_IF(address, bias_address, scale_address, PERMUTE_FUSED_HAS_BIAS, 0)  \
  WORD_IF(address, add_address, bias_address, PERMUTE_FUSED_HAS_ADD, 0)     \
  WORD_IF(float, alpha, add_address, PERMUTE_FUSED_HAS_ALPHA, 1)            \
  WORDS(float, activation_parameter, alpha, SECTILE_ACTIVATION_PARAMETERS(PERMUTE_FUSED_ACTIVATION_OF(kStage)))

#define PERMUTE_FUSED_LAST_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                   \
  WORDS_IF(uint, scale_step, own, PERMUTE_FUSED_HAS_SCALE, kAxes)                  \
  WORDS_IF(uint, own_bias_step, scale_step, PERMUTE_FUSED_HAS_BIAS_STEPS, kAxes)   \
  WORDS_IF(stride, add_stride, own_bias_step, PERMUTE_FUSED_HAS_ADD, kAxes)

// Elements of the last tile along S, and along D.
#define PERMUTE_FUSED_BLOCK_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORD(uint, last_s, shifts)                                      \
  WORD(uint, last_d, last_s)

#endif
