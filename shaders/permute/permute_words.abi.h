// Interface of permute_words: elements of 1 or 2 bytes on a device that stores only 32-bit words.
// Axis 0 is the destination's innermost axis, counted in words that a run of it may touch; an
// invocation writes one word, whole where the run covers it and by atomics where it does not.
// Own word: elements in the run along axis 0. The run is contiguous in the destination where axis 0's
// destination stride is 1; otherwise every element has a word to itself.
#ifndef SECTILE_PERMUTE_WORDS_ABI_H
#define SECTILE_PERMUTE_WORDS_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_WORDS_OWN_WORDS 1

#endif
