// Interface of matmul_mma: workgroup tile -> warp tile -> fragments of a warp's matrix unit; operands are staged in
// workgroup memory, several steps of K ahead.
#ifndef SECTILE_MATMUL_MMA_ABI_H
#define SECTILE_MATMUL_MMA_ABI_H

#include "gemm/gemm.abi.h"

#define MATMUL_MMA_SPEC_WARP_M 16   // a warp's tile: multiples of 16 and 32
#define MATMUL_MMA_SPEC_WARP_N 17
#define MATMUL_MMA_SPEC_STAGES 18   // buffers for the staged tiles, 2 to 6
#define MATMUL_MMA_SPEC_SLICE_K 19  // slices of a step of K, each multiplied by its own warps
// 1: A is staged by asynchronous copies; 0: through registers, where it may also be converted
#define MATMUL_MMA_SPEC_COPY_A 20
#define MATMUL_MMA_SPEC_COPY_B 21
#define MATMUL_MMA_SPEC_SHAPES_75 22  // 1: the matrix shapes of sm_75
// 1: rows (or k) of the operand begin at no multiple of 4 bytes. WIDTH_A, WIDTH_B: the elements of an item
#define MATMUL_MMA_SPEC_SHIFTED_A 23
#define MATMUL_MMA_SPEC_SHIFTED_B 24
// 1: 4-bit weights are copied as they are, and converted when a warp loads its fragments; COPY_B is 1 too. 2: K may end
// inside a block of 32
#define MATMUL_MMA_SPEC_PACKED_B 25

#endif
