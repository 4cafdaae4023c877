// Interface of permute_realign: runs of 16 bytes and more, contiguous in both operands, that begin at any address.
// Axis 0 counts the aligned 16-byte words of a segment: runs that follow each other without a gap in the destination.
// The other axes count runs, in the destination's order.
#ifndef SECTILE_PERMUTE_REALIGN_ABI_H
#define SECTILE_PERMUTE_REALIGN_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_REALIGN_SPEC_EARLY 8   // 1: what a word has of the next run is loaded with the rest of it

#define PERMUTE_REALIGN_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                             \
  WORD(uint, run, shifts)                     /* elements of a run */                                     \
  WORD(uint, run_multiplier, run)             /* of the division by the run */                            \
  WORD(uint, run_shift, run_multiplier)                                                                   \
  WORD(uint, segment_runs, run_shift)                                                                     \
  WORD(uint, word_count, segment_runs)        /* of all segments */                                       \
  WORD(stride, source_elements, word_count)   /* end of the source, from its first element on */

#endif
