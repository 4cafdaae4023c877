// Interface of the canaries: one matrix product, on numbers that the kernel makes itself.
#ifndef SECTILE_LIB_CANARY_ABI_H
#define SECTILE_LIB_CANARY_ABI_H

#include "abi.h"

#define CANARY_SPEC_M 8
#define CANARY_SPEC_N 9
#define CANARY_SPEC_K 10

// Each matrix lies in memory twice, row by row and column by column, and each way of the product has a D of its own.
struct CanaryPush {
  SECTILE_ADDRESS a_rows, a_columns;
  SECTILE_ADDRESS b_rows, b_columns;
  SECTILE_ADDRESS c_rows, c_columns;
  SECTILE_ADDRESS d;            // CANARY_WAYS of them, d_bytes apart
  SECTILE_UINT d_bytes;
  SECTILE_UINT seed;
};

#define CANARY_WAYS 4

// Which way of loading and storing a D comes from. Rows lie row by row in D's memory as well, columns column by column.
#define CANARY_BY_ROWS 0            // coopMatLoad by address
#define CANARY_BY_COLUMNS 1
#define CANARY_SHARED_ROWS 2        // coopMatLoad from workgroup memory
#define CANARY_SHARED_COLUMNS 3
// At workgroup scope with tensor addressing:
#define CANARY_TENSOR 2             // tensor layouts; D row by row
#define CANARY_CLAMPED 3            // the same, the last CANARY_CUT of M, N and K outside the tensors: read as 0, not written
#define CANARY_CUT 3

// Whole numbers that are exact in every type, and so is each of their sums: at most 4 a product, K at most 64.
#define CANARY_MOST_K 64
#define CANARY_A 1
#define CANARY_B 2
#define CANARY_C 3
// What a D holds where nothing was written: no sum of a clamped product.
#define CANARY_POISON 77

#endif
