//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT
// Each step of K of a workgroup's tile is staged in workgroup memory; an invocation keeps its rows, columns and
// accumulators in registers. Method: CUTLASS's efficient GEMM; each of its parts is a constant. Workgroup memory and
// accumulators are f32 for all operand types. With INTEGER, a word of workgroup memory holds four int8 along K, and
// accumulators are int.
// Bounds are checked where operands are loaded and results are stored, not in the products (but with CHECKED): rows and
// columns beyond the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al.,
// "DietCode", MLSys 2022).
#include "lib/cuda.cuh"
#include "gemm/gemm.cuh"
#include "gemm/epilogue.cuh"
#include "gemm/simt_fetch.cuh"
#include "gemm/simt.cuh"

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  multiply_tile(push);
}
