// Interface of matmul_direct: each invocation multiplies rows and columns straight from global memory.
#ifndef SECTILE_MATMUL_DIRECT_ABI_H
#define SECTILE_MATMUL_DIRECT_ABI_H

#include "lib/matmul.abi.h"

#define MATMUL_DIRECT_SPEC_ROWS 16     // of an invocation, neighbours
#define MATMUL_DIRECT_SPEC_COLUMNS 17  // of an invocation, TILE_N / COLUMNS apart
#define MATMUL_DIRECT_SPEC_FAR 18      // 1: every invocation has 64-bit addresses of its own, and its tile alone counts

#endif
