// Interface of matmul_coopmat2: workgroup-scope cooperative matrices (VK_NV_cooperative_matrix2) with tensor
// addressing. The driver chooses fragments, workgroup memory and the division among subgroups.
#ifndef SECTILE_MATMUL_COOPMAT2_ABI_H
#define SECTILE_MATMUL_COOPMAT2_ABI_H

#include "gemm/gemm.abi.h"

// 1: M, N or K is not a multiple of the tile: loads fill with zeros, stores clip
#define MATMUL_COOPMAT2_SPEC_RAGGED 16
// steps of K per loop iteration: 1 or 2; 2 only where K is a multiple of 2 * TILE_K
#define MATMUL_COOPMAT2_SPEC_UNROLL 17

#endif
