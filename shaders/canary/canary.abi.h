// Interface of the canary kernels: one matrix product, on operands that the kernel generates itself.
#ifndef SECTILE_LIB_CANARY_ABI_H
#define SECTILE_LIB_CANARY_ABI_H

#include "lib/abi.h"

#define CANARY_SPEC_M 8
#define CANARY_SPEC_N 9
#define CANARY_SPEC_K 10

// Each operand is stored twice: row-major and column-major. Each of the CANARY_PATHS ways to load and store writes a D
// of its own.
struct CanaryPush {
  SECTILE_ADDRESS a_rows, a_columns;
  SECTILE_ADDRESS b_rows, b_columns;
  SECTILE_ADDRESS c_rows, c_columns;
  SECTILE_ADDRESS d;            // CANARY_PATHS matrices, d_bytes apart
  SECTILE_UINT d_bytes;
  SECTILE_UINT seed;
};

#define CANARY_PATHS 4

// Index of a D: how its operands were loaded and how it was stored. The ROWS paths store D row-major, the COLUMNS paths
// column-major.
#define CANARY_BY_ROWS 0            // coopMatLoad by address
#define CANARY_BY_COLUMNS 1
#define CANARY_SHARED_ROWS 2        // coopMatLoad from workgroup memory
#define CANARY_SHARED_COLUMNS 3
// At workgroup scope, with tensor addressing:
#define CANARY_TENSOR 2             // tensor layouts; D row-major
// tensor dimensions reduced by CANARY_CUT in M, N and K: the rest reads as 0 and is not written
#define CANARY_CLAMPED 3
#define CANARY_CUT 3

// Operands are small integers: every product is at most 4 and K at most 64, so each sum is exact in every type.
#define CANARY_MOST_K 64
#define CANARY_A 1
#define CANARY_B 2
#define CANARY_C 3
// Initial value of D. No sum of a clamped product equals it, so it marks elements that were not written.
#define CANARY_POISON 77

#endif
