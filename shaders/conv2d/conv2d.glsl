// What all kernels of a convolution share: the filter, the prologue. Include after gemm/base.glsl.

const uint kHasXScale = (kPrologue & CONV2D_PROLOGUE_SCALE) != 0u ? 1u : 0u;
const uint kHasXBias = (kPrologue & CONV2D_PROLOGUE_BIAS) != 0u ? 1u : 0u;
layout(constant_id = CONV2D_SPEC_R) const uint kR = 3u;
layout(constant_id = CONV2D_SPEC_S) const uint kS = 3u;
layout(constant_id = CONV2D_SPEC_BLOCK) const uint kBlock = 0u;

const uint kAtImage = activation_end + SECTILE_SIZE(GEMM_WORDS);       // the words after a GEMM's

// The two numbers of a word.
uvec2 halves(uint v) { return uvec2(v & 0xffffu, v >> 16); }

// What the prologue has for channel c, counted as x.scale and x.bias are.
float prologue_scale(uint c) { return kHasXScale != 0u ? load_float(x_scale_address(), c) : 1.0; }
float prologue_bias(uint c) { return kHasXBias != 0u ? load_float(x_bias_address(), c) : 0.0; }

// An input element after the prologue.
float with_prologue(float v, float scale, float bias) {
  if (kHasXScale != 0u) v *= scale;
  if (kHasXBias != 0u) v += bias;
  if ((kPrologue & CONV2D_PROLOGUE_RELU) != 0u) v = relu(v);
  return operand_of(v);
}
float with_prologue(float v, uint c) { return with_prologue(v, prologue_scale(c), prologue_bias(c)); }
