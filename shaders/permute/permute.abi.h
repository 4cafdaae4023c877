// What all permute kernels share: the push struct and the word stream in it.
//
// A problem's numbers (counts, division constants, strides) form one stream of 32-bit words. The first
// PERMUTE_PUSH_WORDS are pushed. Where there are more, the .long and .wide variants read word k from the push struct
// for k < PERMUTE_SPEC_PUSHED, and from specialization constant PERMUTE_SPEC_WORD0 + k otherwise. Most kernels have
// .wide variants alone.
//
// The stream, for kAxes axes (PERMUTE_SPEC_AXES); strides have 64 bits in .wide variants. Lists are declared as
// lib/words.abi.h says:
//   the elementwise stage's  PERMUTE_FUSED_FIRST_WORDS, only in kernels that have such a stage
//   per axis                 PERMUTE_AXIS_WORDS
//   once                     PERMUTE_SHIFT_WORDS
//   the kernel's own words   the list in its .abi.h
//   the elementwise stage's  PERMUTE_FUSED_LAST_WORDS
//   per bound                PERMUTE_BOUND_WORDS
// Ids run from 0 to the product of the counts. An id is split into one digit per axis, axis 0 fastest: digit = id mod
// count, id /= count. The last axis' multiplier and shift are not read.
#ifndef SECTILE_PERMUTE_ABI_H
#define SECTILE_PERMUTE_ABI_H

#include "lib/abi.h"

#define PERMUTE_PUSH_WORDS 28
#define PERMUTE_MAX_WORDS 160
#define PERMUTE_MAX_AXES 16
#define PERMUTE_MAX_BOUNDS 2
#define PERMUTE_SHIFTS_PER_WORD 6
#define PERMUTE_SECTOR 32   // bytes that memory is written by; a tile that fills some of them alone is slow

struct PermutePush {
  SECTILE_ADDRESS src;
  SECTILE_ADDRESS dst;
  SECTILE_UINT words[PERMUTE_PUSH_WORDS];
};

#define PERMUTE_SPEC_AXES 1
#define PERMUTE_SPEC_PUSHED 2         // .long and .wide only
#define PERMUTE_SPEC_READ_BOUNDS 3    // number of bounds checked before reading
#define PERMUTE_SPEC_WRITE_BOUNDS 4   // number checked before writing; both start at bound 0
#define PERMUTE_SPEC_STEM 8           // a kernel's own constants start here
#define PERMUTE_SPEC_WORD0 32         // word k of the stream, where it is not pushed

#define PERMUTE_AXIS_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                      \
  WORD(uint, axis_count, axis)                                                  \
  WORD(uint, axis_multiplier, axis_count)   /* of the division by the count */  \
  WORD(stride, src_stride, axis_multiplier)                                     \
  WORD(stride, dst_stride, src_stride)

// Shifts of the divisions, 5 bits an axis. The first word has a flag beside them, and a bit that is never set.
#define PERMUTE_GAPS 0x80000000u   // rows of the destination are short and have gaps: has_gaps()
#define PERMUTE_NEVER 30   // the bit that is never set
#define PERMUTE_SHIFT_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORDS(uint, shifts, axes, (kAxes + PERMUTE_SHIFTS_PER_WORD - 1u) / PERMUTE_SHIFTS_PER_WORD)

#define PERMUTE_BOUND_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORDS(int, bound_coefficient, bound, kAxes)               \
  WORD(int, read_limit, bound_coefficient)                  \
  WORD(int, write_limit, read_limit)

#define PERMUTE_NO_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)

#endif
