// What the kernels share that compute a convolution by its definition: their words, and the conversion of weights.
// Include after lib/cuda.cuh.
#include "conv2d/direct_words.abi.h"
#define OWN_WORDS CONV2D_DIRECT_WORDS
#include "conv2d/prologue.cuh"
#include "gemm/base.cuh"
#include "gemm/finish.cuh"
#include "conv2d/conv2d.cuh"

// Converts a raw run of kWidthB weights, of adjacent output channels from k on.
__device__ __forceinline__ void convert_w(const GemmPush& push, const uvec4& raw, uint k, float (&v)[MAX_RUN]) {
  unpack_run(kBType, kWidthB, raw, v);
#pragma unroll
  for (uint i = 0u; i < kWidthB; ++i) {
    if (kBType == SECTILE_TYPE_Q8) v[i] *= load_float(b_scale_address(push), k + i);
    if (kBType != kType) v[i] = rounded_to(kType, v[i]);
  }
}
