// What all permute kernels share: the push struct and the word stream in it.
//
// A problem's numbers (counts, division constants, strides) form one stream of 32-bit words. The first
// PERMUTE_PUSH_WORDS are pushed. Where there are more, the .long and .wide variants read word k from the push struct
// for k < PERMUTE_SPEC_PUSHED, and from specialization constant PERMUTE_SPEC_WORD0 + k otherwise.
//
// The stream, for N axes (N = PERMUTE_SPEC_AXES); a stride takes S words (1, or 2 in .wide variants):
//   per axis                 count, division multiplier, source stride (S), destination stride (S)
//   ceil(N/6) words          shifts of the divisions, 5 bits an axis, 6 axes a word
//   the kernel's own words   (see its .abi.h)
//   per bound                N coefficients, read limit, write limit
// Ids run from 0 to the product of the counts. An id is split into one digit per axis, axis 0 fastest: digit = id mod
// count, id /= count. The last axis' multiplier and shift are not read.
#ifndef SECTILE_LIB_PERMUTE_ABI_H
#define SECTILE_LIB_PERMUTE_ABI_H

#include "abi.h"

#define PERMUTE_PUSH_WORDS 28
#define PERMUTE_MAX_WORDS 160
#define PERMUTE_MAX_AXES 16
#define PERMUTE_MAX_BOUNDS 2
#define PERMUTE_SHIFTS_PER_WORD 6

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

#endif
