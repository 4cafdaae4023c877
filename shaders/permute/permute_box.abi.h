// Interface of permute_box: a tile of up to three axes, each taken whole or in part ("box").
// Axes 0 .. PERMUTE_BOX_AXES-1 are the boxed axes, in the source's order: axis 0 is innermost in the source. Where two
// axes are enough, the last has size 1.
// Elements of the box are numbered in the source's order. Loads follow that order and so read runs; stores follow the
// destination's order and so write runs.
#ifndef SECTILE_PERMUTE_BOX_ABI_H
#define SECTILE_PERMUTE_BOX_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_BOX_AXES 3
#define PERMUTE_BOX_SPEC_LOAD_VECTOR 8   // elements per load
#define PERMUTE_BOX_SPEC_STORE_VECTOR 9
#define PERMUTE_BOX_SPEC_SHARED_WORDS 10  // 32-bit words of workgroup memory
#define PERMUTE_BOX_SPEC_UNROLL 11        // loads in flight per invocation

// Of each boxed axis: x is its size in the box, y in the last box; the multiplier is ceil(2^32 / size), not read for an
// axis that is outermost in both orders. Of workgroup memory: after every 2^x words come y words of padding; z is the
// axes' order in the destination. It is pushed, since a pipeline per order would be too many.
#define PERMUTE_BOX_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)   \
  WORDS(u16x2, box_sizes, shifts, PERMUTE_BOX_AXES)         \
  WORDS(uint, box_multiplier, box_sizes, PERMUTE_BOX_AXES)  \
  WORD(u8x2u16, box_staging, box_multiplier)
// The boxed axis at a place of the destination's order, 0 the innermost: 4 bits each.
#define PERMUTE_BOX_ORDER(first, second, third) ((first) | (second) << 4 | (third) << 8)
#define PERMUTE_BOX_AXIS_AT(order, place) (((order) >> (4u * (place))) & 15u)

#endif
