// Interface of permute_words: elements of 1 or 2 bytes on a device that has only 32-bit stores.
// Axis 0 is the destination's innermost axis, counted in 32-bit words that one run along it may overlap. An invocation
// writes one word: with a plain store where the run covers the whole word, otherwise with atomics.
// Runs are contiguous in the destination where axis 0's destination stride is
// 1; otherwise each element has its own word.
#ifndef SECTILE_PERMUTE_WORDS_ABI_H
#define SECTILE_PERMUTE_WORDS_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_WORDS_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORD(uint, run_elements, shifts)   /* in a run along axis 0 */

#endif
