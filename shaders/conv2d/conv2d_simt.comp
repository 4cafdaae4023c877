//! variant f32 -O
//! variant f32.narrow -O -DNARROW -DNO_BYTES
//! variant i8 -DINTEGER
//! variant i8.narrow -DINTEGER -DNARROW
//! variant i8.dot -DINTEGER -DDOT
//! variant i8.dot.narrow -DINTEGER -DDOT -DNARROW
// Convolution as a GEMM: matmul_simt, one operand of which is gathered from an image (conv2d/conv2d.abi.h). Padding and
// the surplus of K become zeros where the image is loaded; products and stores know nothing of it.
#version 460
#extension GL_GOOGLE_include_directive : require
#ifdef DOT
#extension GL_EXT_integer_dot_product : require
#endif
#include "conv2d/gathered.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_simt.abi.h"
#include "gemm/epilogue.glsl"

#include "conv2d/conv2d.glsl"
#include "conv2d/gather.glsl"
#include "gemm/simt_fetch.glsl"
#include "conv2d/simt_fetch.glsl"
#include "gemm/simt.glsl"
