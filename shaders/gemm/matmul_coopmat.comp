//! variant f16.prefetch -DF16 -DLOOP=PREFETCH
//! variant f16.pipelined -O -DF16 -DLOOP=PIPELINED
//! variant f16.pipelined-l2 -O -DF16 -DLOOP=PIPELINED_L2
//! variant f16.serial -DF16 -DLOOP=SERIAL
//! variant f16.f16.prefetch -DF16 -DHALF_ACCUMULATORS -DLOOP=PREFETCH
//! variant f16.f16.peeled -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PEELED
//! variant f16.f16.pipelined -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PIPELINED
//! variant f16.f16.pipelined-l2 -O -DF16 -DHALF_ACCUMULATORS -DLOOP=PIPELINED_L2
//! variant f16.f16.serial -DF16 -DHALF_ACCUMULATORS -DLOOP=SERIAL
//! variant bf16.prefetch -DBF16 -DLOOP=PREFETCH
//! variant bf16.pipelined -O -DBF16 -DLOOP=PIPELINED
//! variant bf16.pipelined-l2 -O -DBF16 -DLOOP=PIPELINED_L2
//! variant bf16.serial -DBF16 -DLOOP=SERIAL
//! variant i8.prefetch -DI8 -DLOOP=PREFETCH
//! variant i8.pipelined -O -DI8 -DLOOP=PIPELINED
//! variant i8.pipelined-l2 -O -DI8 -DLOOP=PIPELINED_L2
//! variant i8.serial -DI8 -DLOOP=SERIAL
// Each step of K of a workgroup's tile is staged in workgroup memory and multiplied fragment by fragment on the matrix
// unit. Meanwhile the next step's operands are prefetched into registers. The accumulators reach the result through the
// same workgroup memory, so that stores are whole runs and no epilogue needs scratch in global memory.
// Bounds are checked where operands are loaded and results are stored, never in the products: rows and columns beyond
// the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al., "DietCode",
// MLSys 2022).
// LOOP (the loop over the steps of K, and where its loads are) is a variant and not a specialization constant:
// with all of them in one module, used or not, NVIDIA's compiler (580.159.04) kept some prefetched operands in memory
// instead of registers (n = 1024: 86 us instead of 16).
#version 460
#extension GL_GOOGLE_include_directive : require
#include "gemm/coopmat_types.glsl"
#include "gemm/gemm.glsl"
#include "gemm/matmul_coopmat.abi.h"
#include "gemm/epilogue.glsl"
#include "gemm/coopmat_fetch.glsl"
#include "gemm/coopmat.glsl"
