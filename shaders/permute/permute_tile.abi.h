// Interface of permute_tile and permute_block.
// One of axes 0 and 1 is S, the source's innermost axis; the other is D, the destination's innermost axis. Their counts
// are of tiles. Consecutive ids are tiles along axis 0.
// A workgroup moves TILE_S x TILE_D elements. An invocation loads blocks of VECTOR_D rows (along D) by VECTOR_S
// elements (along S, one access a row) and transposes them in registers. permute_tile then stages them in workgroup
// memory as words of VECTOR_D elements; permute_block stores them directly. Stores are STORE_BYTES wide along D. Where
// permute_block's are narrower than VECTOR_D elements, all its accesses are of one element.
#ifndef SECTILE_PERMUTE_TILE_ABI_H
#define SECTILE_PERMUTE_TILE_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_TILE_SPEC_TILE_S 8
#define PERMUTE_TILE_SPEC_TILE_D 9
#define PERMUTE_TILE_SPEC_VECTOR_S 10
#define PERMUTE_TILE_SPEC_VECTOR_D 11
#define PERMUTE_TILE_SPEC_STORE_BYTES 12
#define PERMUTE_TILE_SPEC_SKEW 13      // padding words after every VECTOR_S rows of workgroup memory

// permute_block only (SKEW's id): 1: consecutive invocations take consecutive blocks along D
#define PERMUTE_BLOCK_SPEC_LANES_D 13

#define PERMUTE_TILE_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                        \
  WORD(u16x2, last_tile, shifts)   /* elements of the last tile along S and D */ \
  WORD(uint, d_first, last_tile)   /* 1: axis 0 is D, 0: it is S */

#endif
