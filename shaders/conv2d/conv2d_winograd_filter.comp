//! variant f32
//! variant f32.narrow -DNARROW -DNO_BYTES
// Winograd convolution, the weights: U = G w G^T for each filter of 3x3. conv2d_winograd.abi.h has the method.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "conv2d/prologue.glsl"
#include "gemm/gemm.glsl"
#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/conv2d.glsl"
#include "conv2d/winograd.glsl"

vec3 g[3];                            // rows of the filter

float weight(uint at) {
  float v[MAX_RUN];
  unpack_run(kAType, 1u, load_raw(push.a, at * bytes_of_type(kAType), bytes_of_type(kAType)), v);
  return v[0];
}

// v G^T.
vec4 transformed(vec3 v) {
  float outer = 0.5 * (v.x + v.z), middle = 0.5 * v.y;
  return vec4(v.x, outer + middle, outer - middle, v.z);
}

void main() {
  uint item = item_of_invocation(), row = item / ldd(), column = item - row * ldd();
  uint rows = padded(size_m());
  if (row >= rows) return;
  bool exists = row < size_m() && column < size_n();
  uint first = exists ? row * lda() + column * ldb() : 0u;
  [[unroll]] for (uint r = 0u; r < 3u; ++r) {
    [[unroll]] for (uint s = 0u; s < 3u; ++s) {
      float v = weight(first + (r * 3u + s) * size_k());
      g[r][s] = exists ? v : 0.0;
    }
  }
  vec4 columns[3] = vec4[3](transformed(vec3(g[0].x, g[1].x, g[2].x)), transformed(vec3(g[0].y, g[1].y, g[2].y)),
                            transformed(vec3(g[0].z, g[1].z, g[2].z)));
  [[unroll]] for (uint r = 0u; r < 4u; ++r) {
    vec4 u = transformed(vec3(columns[0][r], columns[1][r], columns[2][r]));
    [[unroll]] for (uint s = 0u; s < 4u; ++s)
      store_raw(push.d, (((r * 4u + s) * rows + row) * ldd() + column) * 4u, 4u,
                uvec4(floatBitsToUint(u[s]), 0u, 0u, 0u));
  }
}
