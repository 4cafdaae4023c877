// What a convolution's kernels share: the prologue. Include after lib/matmul.glsl (CONV2D).

// An input element after the prologue, rounded to TYPE. `c`: its channel, counted as x.scale and x.bias are.
float with_prologue(float v, uint c) {
  if (kHasXScale != 0u) v *= load_float(word2(kAtXScale), c);
  if (kHasXBias != 0u) v += load_float(word2(kAtXBias), c);
  if ((kPrologue & CONV2D_PROLOGUE_RELU) != 0u) v = v < 0.0 ? 0.0 : v;    // a NaN stays a NaN
  return rounded_to(kType, v);
}
