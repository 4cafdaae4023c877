// Interface of matmul_direct: each invocation loads rows and columns directly from global memory.
#ifndef SECTILE_MATMUL_DIRECT_ABI_H
#define SECTILE_MATMUL_DIRECT_ABI_H

#include "gemm/gemm.abi.h"

#define MATMUL_DIRECT_SPEC_ROWS 16     // rows per invocation, adjacent
#define MATMUL_DIRECT_SPEC_COLUMNS 17  // columns per invocation, TILE_N / COLUMNS apart
// 1: each invocation has its own 64-bit base addresses, so 32-bit offsets need to span only its own tile
#define MATMUL_DIRECT_SPEC_OFFSET64 18

#endif
