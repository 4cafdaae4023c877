// Interface of permute_tma (CUDA only): one tensor copy loads a tile into workgroup memory, the workgroup transposes it
// into a second buffer there, and tensor copies store it. Axis 0 is D, the destination's innermost axis; axis 1 is S,
// the source's innermost axis; both are counted in tiles. The remaining axes are batches, one tensor dimension each.
// Tensor map 0 is the source (S, D, batches), map 1 the destination (D, S, batches), both with rows of 128 bytes and
// 128-byte swizzle. A tile is 128 bytes along S by PERMUTE_TMA_TILE_D elements along D.
#ifndef SECTILE_PERMUTE_TMA_ABI_H
#define SECTILE_PERMUTE_TMA_ABI_H

#include "permute/permute.abi.h"

#define PERMUTE_TMA_ROW_BYTES 128
// Elements of a tile along S, of a tile along D, and along D of one copy to the destination.
#define PERMUTE_TMA_TILE_S(element_bytes) (PERMUTE_TMA_ROW_BYTES / (element_bytes))
#define PERMUTE_TMA_TILE_D(element_bytes) ((element_bytes) == 1 ? 128 : 64)
#define PERMUTE_TMA_BOX_D(element_bytes) (PERMUTE_TMA_ROW_BYTES / (element_bytes))

#define PERMUTE_TMA_SPEC_RANK 8       // of the tensor maps, 2 to 5
#define PERMUTE_TMA_SPEC_RESERVE 9    // unused bytes of workgroup memory, to limit how many workgroups run at once

#endif
