// What all matmul kernels share: the push struct, the word stream in it, and the constants that describe the problem.
//
// The addresses of a, b and d come first. A split-K step that writes partial sums has the scratch buffer's address in
// d. The word stream follows in this order; a part is present only where the constants say that the problem has it:
//   addresses, 2 words each     c (EPILOGUE_C), bias, scale, residual, b.scale (B_FORMAT), a.scale (EPILOGUE_A_SCALE)
//   activation's parameters     those of its SECTILE_ACTIVATION
//   M, N, K, alpha (f32 bits)
//   lda, ldb, ldd               elements
//   ldc, beta (f32 bits)        EPILOGUE_C or EPILOGUE_C_IS_D; ldc only for EPILOGUE_C
//   ldr                         EPILOGUE_RESIDUAL
//   K of a split                EPILOGUE_SPLIT: a multiple of the kernel's K step; split s starts at k = s * this
//   splits                      EPILOGUE_SPLIT, and in matmul_reduce
//   batches                     EPILOGUE_BATCHED
//   a_batch, b_batch, d_batch   EPILOGUE_BATCHED, 2 words each: low, high; elements
//   c_batch, r_batch            EPILOGUE_BATCHED and the operand, 2 words each
//   relu                        EPILOGUE_PUSHED: 0 or 1
// The first GEMM_PUSH_WORDS words are pushed; word k after them is specialization constant
// GEMM_SPEC_WORD0 + k - 26. Addresses and the activation's parameters are always pushed. Row offsets are computed in
// 64 bits; offsets inside a workgroup's tile in 32.
//
// Workgroup order, fastest to slowest: tiles along N, tiles along M, splits, batches. With GROUP_M > 1 the tiles along M
// are grouped in groups of GROUP_M: the GROUP_M tiles of a group at one N come before the next N, so that neighbouring
// workgroups share operands in L2. GROUP_M 1 is plain row order.
#ifndef SECTILE_GEMM_ABI_H
#define SECTILE_GEMM_ABI_H

#include "lib/abi.h"

#define GEMM_PUSH_WORDS 26
#define GEMM_MAX_WORDS 43

struct GemmPush {
  SECTILE_ADDRESS a;
  SECTILE_ADDRESS b;
  SECTILE_ADDRESS d;
  SECTILE_UINT words[GEMM_PUSH_WORDS];
};

#define GEMM_SPEC_TYPE 1            // type that A and B are rounded to: a SECTILE_TYPE
#define GEMM_SPEC_A_TYPE 2          // storage type
#define GEMM_SPEC_B_TYPE 3
#define GEMM_SPEC_OUT_TYPE 4
#define GEMM_SPEC_TRANS_A 5         // 1: stored as K x M
#define GEMM_SPEC_TRANS_B 6         // 1: stored as N x K
#define GEMM_SPEC_EPILOGUE 7        // bit mask, below
#define GEMM_SPEC_WIDTH_A 8         // elements per access of A: 1, 2, 4 or 8, at most 16 bytes; the address and row
#define GEMM_SPEC_WIDTH_B 9         // pitch are aligned to it, and the contiguous side is a multiple of it
#define GEMM_SPEC_WIDTH_D 10        // the same for D, C and the residual
#define GEMM_SPEC_GROUP_M 11          // tiles along M of a group (see above)
#define GEMM_SPEC_TILE_M 12         // workgroup tile
#define GEMM_SPEC_TILE_N 13
#define GEMM_SPEC_TILE_K 14         // K per step
#define GEMM_SPEC_STEM 16           // a kernel's own constants start here
#define GEMM_SPEC_WORD0 48          // word GEMM_PUSH_WORDS and the following ones

#define GEMM_EPILOGUE_C 1
#define GEMM_EPILOGUE_C_IS_D 2
#define GEMM_EPILOGUE_BIAS_ROW 4
#define GEMM_EPILOGUE_BIAS_COLUMN 8
#define GEMM_EPILOGUE_SCALE_ROW 16
#define GEMM_EPILOGUE_SCALE_COLUMN 32
#define GEMM_EPILOGUE_RESIDUAL 64
#define GEMM_EPILOGUE_A_SCALE 128
#define GEMM_EPILOGUE_BATCHED 256
#define GEMM_EPILOGUE_SPLIT 512     // partial sums go to scratch; matmul_reduce adds them and applies the epilogue
#define GEMM_EPILOGUE_VECTOR_BATCHED 1024  // each batch has its own bias and scale, M (by row) or N elements apart
// BIAS_ROW or BIAS_COLUMN is set, but there is no bias where its address is 0. The activation is none, or relu where the
// word says so: one pipeline serves a product alone, with a bias, with relu, and with both
#define GEMM_EPILOGUE_PUSHED 2048
#define GEMM_EPILOGUE_ACTIVATION_SHIFT 12   // 4 bits: a SECTILE_ACTIVATION, or 0
#define GEMM_EPILOGUE_ACTIVATION_LAST 65536 // the activation follows the residual

#endif
