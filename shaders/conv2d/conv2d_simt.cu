//! variant f32
//! variant f32.narrow
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT
// Implicit GEMM: matmul_simt with one operand gathered from an image as it is loaded. Bounds of the image, padding and
// the prologue are decided there alone; products, store and epilogue are matmul's.
#define CONV2D
#define GATHERED
#include "lib/cuda.cuh"
#include "lib/matmul.cuh"
#include "conv2d_simt.abi.h"
#include "lib/matmul_epilogue.cuh"
#include "lib/matmul_items.cuh"
#include "lib/conv2d.cuh"
#include "lib/conv2d_image.cuh"
#include "lib/matmul_simt.cuh"

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ MatmulPush push) {
  multiply_tile(push);
}
