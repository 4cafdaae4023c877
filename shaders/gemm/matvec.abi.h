// Interface of matvec: one operand (skinny) has few rows or columns; the other (thick) is loaded once.
#ifndef SECTILE_MATVEC_ABI_H
#define SECTILE_MATVEC_ABI_H

#include "gemm/gemm.abi.h"

#define MATVEC_SPEC_SIDE 16      // 0: A is skinny, with TILE_M rows; 1: B is skinny, with TILE_N columns
#define MATVEC_SPEC_ROWS 17      // rows of the thick operand per invocation, where that operand is contiguous along K
#define MATVEC_SPEC_LANES 18     // consecutive invocations along the contiguous side of the thick operand
#define MATVEC_SPEC_ROUNDS 19    // runs of each row that an invocation has in flight at a time
// CUDA only. 1: the four runs of a row that an invocation has in flight are a block of 32 4-bit weights, loaded by one
// access
#define MATVEC_SPEC_BLOCKS 20
// Of the staged operand a block's words, and four that keep lanes' blocks from the same banks.
#define MATVEC_BLOCK_WORDS 36u

#endif
