// Interface of permute_fused_ragged: permute_ragged's tiles (permute_ragged.abi.h) with an elementwise stage
// (permute_fused.abi.h). The stage is computed after an element is read from workgroup memory, before it is stored.
//
// The stage's steps and strides along axes 0 and 1 are those of an index of D and of S: a term that moves along one of
// them does so evenly.
#ifndef SECTILE_PERMUTE_FUSED_RAGGED_ABI_H
#define SECTILE_PERMUTE_FUSED_RAGGED_ABI_H

#include "permute/permute_fused.abi.h"
#include "permute/permute_ragged.abi.h"

#define PERMUTE_FUSED_RAGGED_SPEC_TILE_D 14      // indices of D: a multiple of an access and of a sector
#define PERMUTE_FUSED_RAGGED_SPEC_RUN_BYTES 15   // of the source, a multiple of 16
#define PERMUTE_FUSED_RAGGED_SPEC_LANES_D 16     // invocations side by side along D
#define PERMUTE_FUSED_RAGGED_SPEC_INNER 17       // inner axes of D, and of S
#define PERMUTE_FUSED_RAGGED_SPEC_PACKED 18      // 1: the tile is packed, and S has one axis

// Elements of an access of the destination: 16 bytes of it where its elements are wider than the source's, 8 where they
// are not, and no more than 16 bytes of the source. No ||: glslang makes branches of it.
#define PERMUTE_FUSED_RAGGED_BYTES(type)                                            \
  ((type) == SECTILE_TYPE_F32    ? 4u                                              \
   : (type) == SECTILE_TYPE_I32  ? 4u                                              \
   : (type) == SECTILE_TYPE_F16  ? 2u                                              \
   : (type) == SECTILE_TYPE_BF16 ? 2u                                              \
                                 : 1u)
#define PERMUTE_FUSED_RAGGED_ACCESS(from, to) \
  ((to) > (from) ? 16u / (to) : (from) == 4u ? 8u / (to) < 4u ? 8u / (to) : 4u : 8u / (to))

#endif
