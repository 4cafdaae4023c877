// Interface of matmul_simt: workgroup tile -> subgroup tile -> invocation tile; operands are staged in workgroup
// memory.
#ifndef SECTILE_MATMUL_SIMT_ABI_H
#define SECTILE_MATMUL_SIMT_ABI_H

#include "gemm/gemm.abi.h"

#define MATMUL_SIMT_SPEC_ROWS 16        // invocation tile
#define MATMUL_SIMT_SPEC_COLUMNS 17
#define MATMUL_SIMT_SPEC_LANES_M 18     // LANES_M x LANES_N consecutive invocations compute a tile of
#define MATMUL_SIMT_SPEC_LANES_N 19     // LANES_M * ROWS by LANES_N * COLUMNS
#define MATMUL_SIMT_SPEC_VECTOR 20      // elements per load from workgroup memory: 1 or 4
#define MATMUL_SIMT_SPEC_STRIDED 21     // 1: an invocation's vectors are LANES_M (LANES_N) vectors apart; 0: adjacent
#define MATMUL_SIMT_SPEC_STAGES 22      // buffers for the staged tiles: 2 (with a prefetch only) or 1
// 1: the next step's runs are loaded into registers before this step is multiplied
#define MATMUL_SIMT_SPEC_PREFETCH 23
#define MATMUL_SIMT_SPEC_FETCHERS 24    // invocations that load operands: the workgroup, or fewer
#define MATMUL_SIMT_SPEC_INTERLEAVED 25 // 1: consecutive invocations load consecutive runs; 0: each loads adjacent runs
#define MATMUL_SIMT_SPEC_PAD_A 26       // padding elements between rows of the staged tiles; a multiple of 4
#define MATMUL_SIMT_SPEC_PAD_B 27
// consecutive invocations that load one row of an operand that is contiguous along K
#define MATMUL_SIMT_SPEC_GROUP_A 28
#define MATMUL_SIMT_SPEC_GROUP_B 29
#define MATMUL_SIMT_SPEC_CHECKED 30     // 1: bounds are checked at every product as well, for comparison
// 1: with two buffers, the loop body has one step per buffer, so that no address depends on the buffer
#define MATMUL_SIMT_SPEC_PAIRED 31

#endif
