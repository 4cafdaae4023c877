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
#define MATMUL_COOPMAT_SPEC_SLICE_K 23     // of a step of K: each has subgroups of its own, whose sums are added at the end
#define MATMUL_COOPMAT_SPEC_STORE_M 24    // rows and columns of a subgroup's tile that go through workgroup memory at a time
#define MATMUL_COOPMAT_SPEC_STORE_N 25
#define MATMUL_COOPMAT_SPEC_STAGED 26     // 16-byte chunks of workgroup memory

#endif
