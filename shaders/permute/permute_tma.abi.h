// Interface of permute_tma (CUDA alone): a tile comes in by one tensor copy, is turned from one piece of workgroup
// memory into another, and goes out by tensor copies. Axis 0 is D, the destination's innermost axis, axis 1 is S, the
// source's; both are counted in tiles. The rest are batches, one tensor dimension each.
// Tensor map 0 is the source (S, D, batches), map 1 the destination (D, S, batches), both in rows of 128 bytes with
// 128-byte swizzle: a tile is S = 128 bytes by D = PERMUTE_TMA_TILE_D.
#ifndef SECTILE_PERMUTE_TMA_ABI_H
#define SECTILE_PERMUTE_TMA_ABI_H

#include "lib/permute.abi.h"

#define PERMUTE_TMA_ROW_BYTES 128
// Elements along S and D, and along D in one copy of the destination.
#define PERMUTE_TMA_TILE_S(element_bytes) (PERMUTE_TMA_ROW_BYTES / (element_bytes))
#define PERMUTE_TMA_TILE_D(element_bytes) ((element_bytes) == 1 ? 128 : 64)
#define PERMUTE_TMA_BOX_D(element_bytes) (PERMUTE_TMA_ROW_BYTES / (element_bytes))

#define PERMUTE_TMA_SPEC_RANK 8       // of the tensor maps, 2 to 5
#define PERMUTE_TMA_SPEC_RESERVE 9    // bytes of workgroup memory left unused, so that fewer workgroups run at once

#define PERMUTE_TMA_OWN_WORDS 0

#endif
