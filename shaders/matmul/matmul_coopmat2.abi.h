// Interface of matmul_coopmat2: matrices of a whole workgroup (VK_NV_cooperative_matrix2), loaded and stored by tensor
// addressing. Its subgroups' shares, workgroup memory and fragments are the driver's.
#ifndef SECTILE_MATMUL_COOPMAT2_ABI_H
#define SECTILE_MATMUL_COOPMAT2_ABI_H

#include "lib/matmul.abi.h"

#define MATMUL_COOPMAT2_SPEC_RAGGED 16    // 1: M, N or K is no multiple of the tile: loads fill with zeros, stores clip
#define MATMUL_COOPMAT2_SPEC_UNROLL 17    // steps of K that are written out: 1 or 2; 2 only where K is a multiple of both

#endif
