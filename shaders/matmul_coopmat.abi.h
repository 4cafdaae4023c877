// Interface of matmul_coopmat: matrix fragments of a subgroup (VK_KHR_cooperative_matrix), staged through workgroup memory.
#ifndef SECTILE_MATMUL_COOPMAT_ABI_H
#define SECTILE_MATMUL_COOPMAT_ABI_H

#include "lib/matmul.abi.h"

#define MATMUL_COOPMAT_SPEC_SUBGROUP 16   // invocations of a subgroup
#define MATMUL_COOPMAT_SPEC_SUB_M 17      // a subgroup's tile
#define MATMUL_COOPMAT_SPEC_SUB_N 18
#define MATMUL_COOPMAT_SPEC_FRAG_M 19     // a fragment: one of the profile's matrix shapes
#define MATMUL_COOPMAT_SPEC_FRAG_N 20
#define MATMUL_COOPMAT_SPEC_FRAG_K 21
#define MATMUL_COOPMAT_SPEC_PAD 22        // 16-byte chunks between rows of the staged tiles
#define MATMUL_COOPMAT_SPEC_SCHEDULE 23   // where a coming step's loads stand, a MATMUL_COOPMAT_LOADS
#define MATMUL_COOPMAT_SPEC_STORE_N 24    // columns of a subgroup's tile that go through workgroup memory at a time
#define MATMUL_COOPMAT_SPEC_STAGED 25     // 16-byte chunks of workgroup memory
#define MATMUL_COOPMAT_SPEC_AHEAD 26      // steps of K that are on their way in registers: 1 or 2
#define MATMUL_COOPMAT_SPEC_AGAIN 27      // 1: the loop has the last whole step too, whose loads come once more; AHEAD is 1

#define MATMUL_COOPMAT_LOADS_FIRST 0      // before the step's fragments
#define MATMUL_COOPMAT_LOADS_FENCED 1     // after the first product's fragments, and kept there
#define MATMUL_COOPMAT_LOADS_SPREAD 2     // a part before each row of fragments is multiplied
#define MATMUL_COOPMAT_LOADS_NOW 3        // none in flight: loaded and staged at once, in short loops (little code)

#endif
