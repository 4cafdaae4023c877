// Interface of permute_box: a tile whose sides are made of several axes, whole or cut.
// Axes 0 .. BOXED-1 are boxed, in the source's order (axis 0 walks the source fastest). The box's
// elements are numbered in that order; the load walks the numbers, so it reads runs; the store walks
// the same elements in the destination's order, so it writes runs.
// Own words: per boxed axis, size in the box (16 bits) and in the last box (16 bits);
//            per boxed axis, ceil(2^32 / size);
//            one word: padding shift (8 bits), padding in words (8 bits).
#ifndef SECTILE_PERMUTE_BOX_ABI_H
#define SECTILE_PERMUTE_BOX_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_BOX_MAX_BOXED 4
#define PERMUTE_BOX_SPEC_BOXED 8
#define PERMUTE_BOX_SPEC_ORDER 9       // 4 bits each: the boxed axis at place i of the destination's order
#define PERMUTE_BOX_SPEC_LOAD_VECTOR 10   // elements an access
#define PERMUTE_BOX_SPEC_STORE_VECTOR 11
#define PERMUTE_BOX_SPEC_SHARED_WORDS 12  // 32-bit words of workgroup memory
#define PERMUTE_BOX_SPEC_UNROLL 13        // loads in flight an invocation

#define PERMUTE_BOX_OWN_WORDS(boxed) (2 * (boxed) + 1)

#endif
