// Interface of matmul_simt: workgroup tile -> subgroup tile -> invocation tile, staged through workgroup memory.
#ifndef SECTILE_MATMUL_SIMT_ABI_H
#define SECTILE_MATMUL_SIMT_ABI_H

#include "lib/matmul.abi.h"

#define MATMUL_SIMT_SPEC_ROWS 16        // of an invocation
#define MATMUL_SIMT_SPEC_COLUMNS 17
#define MATMUL_SIMT_SPEC_LANES_M 18     // LANES_M x LANES_N invocations that run side by side share a tile of
#define MATMUL_SIMT_SPEC_LANES_N 19     // LANES_M * ROWS by LANES_N * COLUMNS
#define MATMUL_SIMT_SPEC_VECTOR 20      // elements of workgroup memory that one load has: 1 or 4
#define MATMUL_SIMT_SPEC_STRIDED 21     // 1: an invocation's vectors lie LANES_M (LANES_N) vectors apart; 0: side by side
#define MATMUL_SIMT_SPEC_STAGES 22      // copies of the staged tiles: 2 with a prefetch, else 1
#define MATMUL_SIMT_SPEC_PREFETCH 23    // 1: the next step's runs are loaded into registers before this one's products
#define MATMUL_SIMT_SPEC_FETCHERS 24    // invocations that fetch: the workgroup, or fewer
#define MATMUL_SIMT_SPEC_INTERLEAVED 25 // 1: neighbours fetch neighbouring runs; 0: each fetches runs that lie together
#define MATMUL_SIMT_SPEC_PAD_A 26       // elements between rows of the staged tiles; a multiple of 4
#define MATMUL_SIMT_SPEC_PAD_B 27
#define MATMUL_SIMT_SPEC_GROUP_A 28     // neighbours that share a row of an operand that is contiguous along K
#define MATMUL_SIMT_SPEC_GROUP_B 29
#define MATMUL_SIMT_SPEC_CHECKED 30     // 1: bounds are checked around every product as well, for comparison
#define MATMUL_SIMT_SPEC_PAIRED 31      // 1: with a prefetch, the loop holds a step of each, so that no address depends on which

#endif
