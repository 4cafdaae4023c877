// Interface of permute_box: a tile whose sides are made of several axes, whole or cut.
// Axes 0 .. PERMUTE_BOX_AXES-1 are boxed (the last of size 1 where two are enough), in the source's order (axis 0 walks the source fastest). The box's
// elements are numbered in that order; the load walks the numbers, so it reads runs; the store walks
// the same elements in the destination's order, so it writes runs.
// Own words: per boxed axis, size in the box (16 bits) and in the last box (16 bits);
//            per boxed axis, ceil(2^32 / size), not read for an axis that is last in both orders;
//            one word: padding shift (8 bits), padding in words (8 bits), and 4 bits each the boxed
//            axis at place 0, 1, 2 of the destination's order (pushed, since a pipeline for every order
//            would be too many).
#ifndef SECTILE_PERMUTE_BOX_ABI_H
#define SECTILE_PERMUTE_BOX_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_BOX_AXES 3
#define PERMUTE_BOX_SPEC_LOAD_VECTOR 8   // elements an access
#define PERMUTE_BOX_SPEC_STORE_VECTOR 9
#define PERMUTE_BOX_SPEC_SHARED_WORDS 10  // 32-bit words of workgroup memory
#define PERMUTE_BOX_SPEC_UNROLL 11        // loads in flight an invocation

#define PERMUTE_BOX_OWN_WORDS (2 * PERMUTE_BOX_AXES + 1)

#endif
