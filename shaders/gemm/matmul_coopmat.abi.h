// Interface of matmul_coopmat: subgroup-scope cooperative matrices (VK_KHR_cooperative_matrix); operands are staged in
// workgroup memory.
#ifndef SECTILE_MATMUL_COOPMAT_ABI_H
#define SECTILE_MATMUL_COOPMAT_ABI_H

#include "gemm/gemm.abi.h"

#define MATMUL_COOPMAT_SPEC_SUBGROUP 16   // subgroup size
#define MATMUL_COOPMAT_SPEC_SUB_M 17      // subgroup tile
#define MATMUL_COOPMAT_SPEC_SUB_N 18
#define MATMUL_COOPMAT_SPEC_FRAG_M 19     // fragment (one cooperative matrix): one of the profile's matrix shapes
#define MATMUL_COOPMAT_SPEC_FRAG_N 20
#define MATMUL_COOPMAT_SPEC_FRAG_K 21
#define MATMUL_COOPMAT_SPEC_PAD 22        // padding between rows of the staged tiles, in 16-byte chunks
// slice-K: slices of a step of K; each has its own subgroups, whose accumulators are added at the end
#define MATMUL_COOPMAT_SPEC_SLICE_K 23
#define MATMUL_COOPMAT_SPEC_STORE_M 24  // rows and columns of a subgroup's tile that are staged for the store at a time
#define MATMUL_COOPMAT_SPEC_STORE_N 25
#define MATMUL_COOPMAT_SPEC_STAGED 26     // size of workgroup memory in 16-byte chunks

#endif
