// What the kernels of a GEMM share: the push struct, the words in it, and the constants that describe the problem.
// Kernels whose results have a GEMM's epilogue share the first two lists of words.
//
// The addresses of a, b and d come first. A split-K step that writes partial sums has the scratch buffer's address in
// d. The stream of words follows, in lists that lib/words.abi.h makes accessors of:
//   GEMM_ADDRESS_WORDS
//   EXTRA_ADDRESS_WORDS         addresses of operands that a GEMM has not; only where the kernel has such
//   GEMM_ACTIVATION_WORDS
//   OWN_WORDS                   the kernel's: GEMM_WORDS, unless it is no GEMM
//   GATHERED_WORDS              of an operand that is gathered; only where the kernel has one
// A word is there only where the constants say that the problem has it. The first GEMM_PUSH_WORDS words are pushed;
// word k after them is specialization constant GEMM_SPEC_WORD0 + k - 26. Addresses and the activation's parameters are
// always pushed. Row offsets are computed in 64 bits; offsets inside a workgroup's tile in 32.
//
// Workgroup order, fastest to slowest: tiles along N, tiles along M, splits, batches. With GROUP_M > 1, GROUP_M tiles
// along M form a group: the tiles of a group at one N come before those at the next N, so that neighbouring workgroups
// share operands in L2. GROUP_M 1 is plain row order.
#ifndef SECTILE_GEMM_ABI_H
#define SECTILE_GEMM_ABI_H

#include "lib/abi.h"

#define GEMM_PUSH_WORDS 26
#define GEMM_MAX_WORDS 43
#define GEMM_MOST_WORDS 62            // of a kernel with further operands, or with one that is gathered

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
// BIAS_ROW or BIAS_COLUMN is set, but there is no bias where its address is 0. The activation is none, or relu where
// the word says so: one pipeline serves a GEMM alone, with a bias, with relu, and with both
#define GEMM_EPILOGUE_PUSHED 2048
#define GEMM_EPILOGUE_ACTIVATION_SHIFT 12   // 4 bits: a SECTILE_ACTIVATION, or 0
#define GEMM_EPILOGUE_ACTIVATION_LAST 65536 // the activation follows the residual

// Conditions of words, from the constants by the names that kernels and the planner have for them.
#define GEMM_HAS(bits) ((kEpilogue & (bits)) != 0u)
// Not with &&, which glslang 16.6 makes a branch of inside a sum of conditional numbers: the module is invalid.
#define GEMM_HAS_ALL(bits) ((kEpilogue & (bits)) == (bits))
#define GEMM_ACTIVATION ((kEpilogue >> GEMM_EPILOGUE_ACTIVATION_SHIFT) & 15u)
#define GEMM_ACTIVATION_PARAMETERS SECTILE_ACTIVATION_PARAMETERS(GEMM_ACTIVATION)

// b.scale is a quantized B's: Q8 is int8 times b.scale[n], f32; Q4 is (4 bits - 8) times b.scale[n][k / 32], f16,
// stored as N x K.
#define GEMM_ADDRESS_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                          \
  WORD_IF(address, c_address, stream, GEMM_HAS(GEMM_EPILOGUE_C), 0)                                                 \
  WORD_IF(address, bias_address, c_address, GEMM_HAS(GEMM_EPILOGUE_BIAS_ROW | GEMM_EPILOGUE_BIAS_COLUMN), 0)        \
  WORD_IF(address, scale_address, bias_address, GEMM_HAS(GEMM_EPILOGUE_SCALE_ROW | GEMM_EPILOGUE_SCALE_COLUMN), 0)  \
  WORD_IF(address, residual_address, scale_address, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                            \
  WORD_IF(address, b_scale_address, residual_address, kBType >= SECTILE_TYPE_Q8, 0)                                 \
  WORD_IF(address, a_scale_address, b_scale_address, GEMM_HAS(GEMM_EPILOGUE_A_SCALE), 0)

#define GEMM_NO_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)

// After the addresses, `operands`. Bits of f32 or i32, as the activation needs them.
#define GEMM_ACTIVATION_WORDS(WORD, WORD_IF, WORDS, WORDS_IF) \
  WORDS(uint, activation_parameter, operands, GEMM_ACTIVATION_PARAMETERS)

// ld*: elements from row to row. *_batch: elements from batch to batch. K of a split is a multiple of the kernel's K
// step; split s starts at k = s * split_k.
#define GEMM_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                              \
  WORD(uint, size_m, activation)                                                                                \
  WORD(uint, size_n, size_m)                                                                                    \
  WORD(uint, size_k, size_n)                                                                                    \
  WORD(float, alpha, size_k)                                                                                    \
  WORD(uint, lda, alpha)                                                                                        \
  WORD(uint, ldb, lda)                                                                                          \
  WORD(uint, ldd, ldb)                                                                                          \
  WORD_IF(uint, ldc, ldd, GEMM_HAS(GEMM_EPILOGUE_C), 0)                                                         \
  WORD_IF(float, beta, ldc, GEMM_HAS(GEMM_EPILOGUE_C | GEMM_EPILOGUE_C_IS_D), 0)                                \
  WORD_IF(uint, ldr, beta, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                                                 \
  WORD_IF(uint, split_k, ldr, GEMM_HAS(GEMM_EPILOGUE_SPLIT), 0)                                                 \
  WORD_IF(uint, splits, split_k, GEMM_HAS(GEMM_EPILOGUE_SPLIT), 1)                                              \
  WORD_IF(uint, batches, splits, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 1)                                            \
  WORD_IF(uint64, a_batch, batches, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 0)                                         \
  WORD_IF(uint64, b_batch, a_batch, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 0)                                         \
  WORD_IF(uint64, d_batch, b_batch, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 0)                                         \
  WORD_IF(uint64, c_batch, d_batch, GEMM_HAS_ALL(GEMM_EPILOGUE_BATCHED | GEMM_EPILOGUE_C), 0)            \
  WORD_IF(uint64, r_batch, c_batch, GEMM_HAS_ALL(GEMM_EPILOGUE_BATCHED | GEMM_EPILOGUE_RESIDUAL), 0)     \
  WORD_IF(uint, pushed_relu, r_batch, GEMM_HAS(GEMM_EPILOGUE_PUSHED), 0)   /* 0 or 1 */

#endif
