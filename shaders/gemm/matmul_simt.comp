//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT -DNARROW
// Each step of K of a workgroup's tile is staged in workgroup memory; an invocation keeps its rows, columns and
// accumulators in registers. Method: CUTLASS's efficient GEMM; each of its parts is a constant. Workgroup memory and
// accumulators are f32 for all operand types. With INTEGER, a word of workgroup memory holds four int8 along K, and
// accumulators are int.
// Bounds are checked where operands are loaded and results are stored, not in the products (but with CHECKED): rows and
// columns beyond the operands are clamped to the last ones, and the surplus of K is zeros (local padding: Zheng et al.,
// "DietCode", MLSys 2022).
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_integer_dot_product : require
#endif
#include "gemm/gemm.glsl"
#include "gemm/matmul_simt.abi.h"
#include "gemm/epilogue.glsl"
#include "gemm/simt_fetch.glsl"
#include "gemm/simt.glsl"
