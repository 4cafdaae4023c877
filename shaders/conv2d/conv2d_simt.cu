//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT
// Implicit GEMM: matmul_simt with one operand gathered from an image as it is loaded. Bounds of the image, padding and
// the prologue are decided there alone; products, store and epilogue are matmul's.
#include "lib/cuda.cuh"
#include "conv2d/gathered.cuh"
#include "gemm/gemm.cuh"
#include "conv2d/conv2d_simt.abi.h"
#include "gemm/epilogue.cuh"
#include "conv2d/conv2d.cuh"
#include "conv2d/gather.cuh"
#include "gemm/simt_fetch.cuh"
#include "conv2d/simt_fetch.cuh"
#include "gemm/simt.cuh"

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  multiply_tile(push);
}
