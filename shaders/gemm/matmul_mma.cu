//! variant f16
//! variant f16.f16 -DHALF_SUMS
//! variant i8 -DINTEGER
// Each step of K of a workgroup's tile is staged in workgroup memory by copies that run several steps ahead, and
// multiplied by the matrix units of its warps (mma.sync), whose fragments come by matrix loads one product ahead. f16
// also serves bf16 (TYPE). HALF_SUMS: f16 sums. INTEGER: int8 with int sums.
// Rows and columns beyond the operands are clamped to the last ones, and their results are not stored; the surplus of K
// is zeros in both operands, so that nothing that lies in memory beyond it reaches a sum.
#include "lib/cuda.cuh"
#include "gemm/gemm.cuh"
#include "gemm/epilogue.cuh"
#include "gemm/fragments.cuh"
#include "lib/mma.cuh"
#include "gemm/mma_fetch.cuh"
#include "gemm/mma_loop.cuh"

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  multiply_tile(push);
}
