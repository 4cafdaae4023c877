// Interface of permute_elements: short runs, contiguous in both operands, that begin at any address and may have gaps
// behind them in the destination.
//
// Runs that are `pitch` elements apart in the destination are a segment. A workgroup takes so many elements of one, the
// gaps counted, from a 32-byte sector on: an invocation moves single elements, and those of a sector are stored by
// neighbouring invocations at once, so that no sector is written in more parts than it must be. Axis 0 counts the parts
// of a segment, the other axes count runs, in the destination's order.
#ifndef SECTILE_PERMUTE_ELEMENTS_ABI_H
#define SECTILE_PERMUTE_ELEMENTS_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_ELEMENTS_SPEC_UNROLL 8   // elements of an invocation, a multiple of PERMUTE_ELEMENTS_AT_ONCE
#define PERMUTE_ELEMENTS_SPEC_PITCH 9    // no pitch is less

#define PERMUTE_ELEMENTS_AT_ONCE 8u      // elements that are loaded before the first of them is stored

// Runs that `elements` of a segment have a part of, at most.
#define PERMUTE_ELEMENTS_RUNS(elements, pitch) ((elements) / (pitch) + 2u)

// The quotient of less than 2^16 by a pitch of less than 2^16 is the upper half of the product with this.
#define PERMUTE_ELEMENTS_INVERSE(pitch) (0xffffffffu / (pitch) + 1u)

#define PERMUTE_ELEMENTS_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                 \
  WORD(uint, run, shifts)                /* elements of a run */                               \
  WORD(uint, pitch, run)                 /* from a run's begin to the next one's */            \
  WORD(uint, pitch_multiplier, pitch)    /* of the division by the pitch */                    \
  WORD(uint, pitch_shift, pitch_multiplier)                                                    \
  WORD(uint, pitch_inverse, pitch_shift) /* PERMUTE_ELEMENTS_INVERSE */                        \
  WORD(uint, segment_runs, pitch_inverse)

#endif
