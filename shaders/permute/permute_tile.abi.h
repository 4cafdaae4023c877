// Interface of permute_tile and permute_block.
// One of axes 0 and 1 is S, along which the source is walked, the other D, along which the
// destination is: S is axis 0, or axis 1 where SWAP is 1. Their counts are of tiles.
// A workgroup moves TILE_S x TILE_D elements. An invocation loads blocks of VECTOR_D rows (along D) by
// VECTOR_S elements (along S, one access a row), turns them in registers, and, in permute_tile, sends
// them through workgroup memory as words of VECTOR_D elements; stores are STORE_BYTES wide along D.
// Own words: elements of the last tile along S, the same along D.
#ifndef SECTILE_PERMUTE_TILE_ABI_H
#define SECTILE_PERMUTE_TILE_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_TILE_SPEC_TILE_S 8
#define PERMUTE_TILE_SPEC_TILE_D 9
#define PERMUTE_TILE_SPEC_VECTOR_S 10
#define PERMUTE_TILE_SPEC_VECTOR_D 11
#define PERMUTE_TILE_SPEC_STORE_BYTES 12
#define PERMUTE_TILE_SPEC_SKEW 13      // words of padding after every VECTOR_S rows of workgroup memory
#define PERMUTE_TILE_SPEC_SWAP 14      // 1: axis 0 is D, so that ids walk the tiles along D first

#define PERMUTE_BLOCK_SPEC_LANES_D 13  // permute_block, in SKEW's place: 1: neighbouring invocations take blocks along D

#define PERMUTE_TILE_OWN_WORDS 2

#endif
