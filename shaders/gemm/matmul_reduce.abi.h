// Interface of matmul_reduce: adds the partial sums of a GEMM whose K is split, and applies its epilogue. `a` is the
// partial sums: [batch][split][M][sums_ld], 4 bytes each.
// Variants: f32, f32.narrow, i8, i8.narrow.
#ifndef SECTILE_MATMUL_REDUCE_ABI_H
#define SECTILE_MATMUL_REDUCE_ABI_H

#include "gemm/gemm.abi.h"

// Reserved words are not read. A GEMM has words in their places; they stay until the next change of choices, so that
// plans stay as they are.
#define MATMUL_REDUCE_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                                     \
  WORD(uint, size_m, activation)                                                                                \
  WORD(uint, size_n, size_m)                                                                                    \
  WORD(uint, reserved, size_n)                                                                                  \
  WORD(float, alpha, reserved)                                                                                  \
  WORD(uint, sums_ld, alpha)                                                                                    \
  WORD(uint, reserved_2, sums_ld)                                                                               \
  WORD(uint, ldd, reserved_2)                                                                                   \
  WORD_IF(uint, ldc, ldd, GEMM_HAS(GEMM_EPILOGUE_C), 0)                                                         \
  WORD_IF(float, beta, ldc, GEMM_HAS(GEMM_EPILOGUE_C | GEMM_EPILOGUE_C_IS_D), 0)                                \
  WORD_IF(uint, ldr, beta, GEMM_HAS(GEMM_EPILOGUE_RESIDUAL), 0)                                                 \
  WORD(uint, splits, ldr)   /* 0: no partial sums, a product of K = 0 */                                        \
  WORD_IF(uint, batches, splits, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 1)                                            \
  WORD_IF(uint64, sums_batch, batches, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 0)                                      \
  WORD_IF(uint64, reserved_3, sums_batch, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 0)                                   \
  WORD_IF(uint64, d_batch, reserved_3, GEMM_HAS(GEMM_EPILOGUE_BATCHED), 0)                                      \
  WORD_IF(uint64, c_batch, d_batch, GEMM_HAS_ALL(GEMM_EPILOGUE_BATCHED | GEMM_EPILOGUE_C), 0)            \
  WORD_IF(uint64, r_batch, c_batch, GEMM_HAS_ALL(GEMM_EPILOGUE_BATCHED | GEMM_EPILOGUE_RESIDUAL), 0)     \
  WORD_IF(uint, pushed_relu, r_batch, GEMM_HAS(GEMM_EPILOGUE_PUSHED), 0)

#endif
