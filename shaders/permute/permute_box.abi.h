// Interface of permute_box: a tile of up to three axes, each taken whole or in part ("box").
// Axes 0 .. PERMUTE_BOX_AXES-1 are the boxed axes, in the source's order: axis 0 is innermost in the source. Where two
// axes are enough, the last has size 1.
// Elements of the box are numbered in the source's order. Loads follow that order and so read runs; stores follow the
// destination's order and so write runs.
// Own words: per boxed axis, its size in the box (16 bits) and in the last box (16 bits);
//            per boxed axis, ceil(2^32 / size), not read for an axis that is outermost in both orders;
//            one word: padding shift (8 bits), padding in words (8 bits), and 4 bits each for the boxed axis that is
//            1st, 2nd and 3rd in the destination's order. It is pushed, since a pipeline per order would be too many.
#ifndef SECTILE_PERMUTE_BOX_ABI_H
#define SECTILE_PERMUTE_BOX_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_BOX_AXES 3
#define PERMUTE_BOX_SPEC_LOAD_VECTOR 8   // elements per load
#define PERMUTE_BOX_SPEC_STORE_VECTOR 9
#define PERMUTE_BOX_SPEC_SHARED_WORDS 10  // 32-bit words of workgroup memory
#define PERMUTE_BOX_SPEC_UNROLL 11        // loads in flight per invocation

#define PERMUTE_BOX_OWN_WORDS (2 * PERMUTE_BOX_AXES + 1)

#endif
