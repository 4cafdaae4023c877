// Interface of permute_copy: a contiguous copy.
#ifndef SECTILE_PERMUTE_COPY_ABI_H
#define SECTILE_PERMUTE_COPY_ABI_H

#include "lib/abi.h"

#define PERMUTE_COPY_PUSH_WORDS 3

struct PermuteCopyPush {
  SECTILE_ADDRESS src;
  SECTILE_ADDRESS dst;
  SECTILE_UINT words[PERMUTE_COPY_PUSH_WORDS];
};

#define PERMUTE_COPY_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                        \
  WORD(uint64, copied_bytes, stream)   /* a multiple of the variant's element */  \
  WORD(uint, groups, copied_bytes)     /* with work; a folded grid may have more */

#define PERMUTE_COPY_SPEC_WIDTH 8     // bytes per access: 1, 2, 4, 8 or 16
#define PERMUTE_COPY_SPEC_UNROLL 9    // accesses per invocation

#endif
