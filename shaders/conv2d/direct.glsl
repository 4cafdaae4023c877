// What the kernels share that compute a convolution by its definition: their words, products, and the conversion of
// weights.
#include "conv2d/direct_words.abi.h"
#define OWN_WORDS CONV2D_DIRECT_WORDS
#include "conv2d/prologue.glsl"
#include "gemm/base.glsl"
#include "gemm/finish.glsl"
#include "conv2d/conv2d.glsl"

int plus_product(int a, int b, int acc) { return acc + a * b; }
float plus_product(float a, float b, float acc) { return fma(a, b, acc); }

// Converts a raw run of kWidthB weights, of adjacent output channels from k on.
void convert_w(uvec4 raw, uint k, out float v[MAX_RUN]) {
  unpack_run(kBType, kWidthB, raw, v);
  if (kBType == SECTILE_TYPE_Q8) {
    [[unroll]] for (uint i = 0u; i < kWidthB; ++i) v[i] *= load_float(b_scale_address(), k + i);
  }
  // Two at once: the instructions take two.
  [[unroll]] for (uint i = 0u; i < kWidthB; i += 2u) {
    if (kBType == kType) continue;
    vec2 pair = operands_of(vec2(v[i], v[i + 1u]));
    v[i] = pair.x;
    v[i + 1u] = pair.y;
  }
}
