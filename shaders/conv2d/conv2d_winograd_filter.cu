//! variant f32
//! variant f32.narrow
// Winograd convolution, the weights: U = G w G^T for each filter of 3x3. conv2d_winograd.abi.h has the method.
#include "lib/cuda.cuh"
#include "conv2d/prologue.cuh"
#include "gemm/gemm.cuh"
#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/conv2d.cuh"
#include "conv2d/winograd.cuh"

__device__ __forceinline__ float weight(const GemmPush& push, uint at) {
  float v[MAX_RUN];
  unpack_run(kAType, 1u, load_raw(address_of(push.a), at * bytes_of_type(kAType), bytes_of_type(kAType)), v);
  return v[0];
}

// (a b c) G^T.
__device__ __forceinline__ void transform(float a, float b, float c, float (&v)[4]) {
  const float outer = 0.5f * (a + c), middle = 0.5f * b;
  v[0] = a;
  v[1] = outer + middle;
  v[2] = outer - middle;
  v[3] = c;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup, 1) sectile_main(const __grid_constant__ GemmPush push) {
  const uint item = item_of_invocation(), row = item / ldd(push), column = item - row * ldd(push);
  const uint rows = padded(size_m(push));
  if (row >= rows) return;
  const bool exists = row < size_m(push) && column < size_n(push);
  const uint first = exists ? row * lda(push) + column * ldb(push) : 0u;
  float g[9];
#pragma unroll
  for (uint i = 0u; i < 9u; ++i) {
    const float v = weight(push, first + i * size_k(push));
    g[i] = exists ? v : 0.0f;
  }
  float columns[3][4];
#pragma unroll
  for (uint s = 0u; s < 3u; ++s) transform(g[s], g[3u + s], g[6u + s], columns[s]);
#pragma unroll
  for (uint r = 0u; r < 4u; ++r) {
    float u[4];
    transform(columns[0][r], columns[1][r], columns[2][r], u);
#pragma unroll
    for (uint s = 0u; s < 4u; ++s) {
      const uvec4 raw = {__float_as_uint(u[s]), 0u, 0u, 0u};
      store_raw(address_of(push.d), (((r * 4u + s) * rows + row) * ldd(push) + column) * 4u, 4u, raw);
    }
  }
}
