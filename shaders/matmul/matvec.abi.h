// Interface of matvec: one of the operands has few rows (columns), the other is read once.
#ifndef SECTILE_MATVEC_ABI_H
#define SECTILE_MATVEC_ABI_H

#include "lib/matmul.abi.h"

#define MATVEC_SPEC_SIDE 16      // 0: A is the thin operand, TILE_M of its rows; 1: B, TILE_N of its columns
#define MATVEC_SPEC_ROWS 17      // of the thick operand an invocation, where that is contiguous along K
#define MATVEC_SPEC_LANES 18     // invocations side by side along the contiguous side of the thick operand
#define MATVEC_SPEC_ROUNDS 19    // runs (of each row) that an invocation has on their way at a time

#endif
