// What all kernels of a convolution share: the filter, the order of elements in an image, and the prologue.
// Include after gemm/base.cuh.

constexpr uint kHasXScale = (kPrologue & CONV2D_PROLOGUE_SCALE) != 0u ? 1u : 0u;
constexpr uint kHasXBias = (kPrologue & CONV2D_PROLOGUE_BIAS) != 0u ? 1u : 0u;
constexpr uint kAtEnd = activation_end + SECTILE_SIZE(GEMM_WORDS);   // the words after a GEMM's
constexpr uint kR = sectile_constant(CONV2D_SPEC_R, 1u);
constexpr uint kS = sectile_constant(CONV2D_SPEC_S, 1u);
constexpr uint kBlock = sectile_constant(CONV2D_SPEC_BLOCK, 0u);

// The halves of a word that has two numbers.
__device__ __forceinline__ uint low_half(uint word) { return word & 0xffffu; }
__device__ __forceinline__ uint high_half(uint word) { return word >> 16; }

// Converts a raw run of elements of X, of adjacent channels from `channel` on: the prologue, then rounding. Yields
// zeros where `inside` is false: what is outside the image is 0 after the prologue.
__device__ __forceinline__ void convert_x(const GemmPush& push, const uint type, const uint width, const uvec4& raw,
                                          uint channel, bool inside, float (&v)[MAX_RUN]) {
  unpack_run(type, width, raw, v);
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i) {
    if (i >= width) continue;
    if (kHasXScale != 0u) v[i] *= load_float(x_scale_address(push), channel + i);
    if (kHasXBias != 0u) v[i] += load_float(x_bias_address(push), channel + i);
    if ((kPrologue & CONV2D_PROLOGUE_RELU) != 0u) v[i] = relu(v[i]);
    if (kPrologue != 0u || type != kType) v[i] = rounded_to(kType, v[i]);
    if (!inside) v[i] = 0.0f;
  }
}
