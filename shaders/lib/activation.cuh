// Activations, each right at its ends: of -inf and +inf they are their limits, and a NaN stays a NaN. Below a bound
// silu, gelu, gelu_tanh and sigmoid are 0, where they are within 1e-35 of it; there a divisor would pass 2^126, whose
// reciprocal is subnormal. Include after lib/cuda.cuh.
// Exponentials and quotients are the fast ones, accurate to a few units in the last place as GLSL's are. The precise
// ones inline a page of code each, and an unrolled tile has a hundred of them.
#include "lib/abi.h"

// erf to 1.5e-7: Abramowitz and Stegun 7.1.26. Beyond +-6 it is 1 or -1.
__device__ __forceinline__ float erf_of(float x) {
  const float a = fminf(fabsf(x), 8.9f);
  const float t = reciprocal_of(1.0f + 0.3275911f * a);
  const float poly =
      t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  const float y = 1.0f - poly * exp_of(-(a * a));
  return x < 0.0f ? -y : y;
}

// Near 0 a series: the quotient's error is relative to 1.
__device__ __forceinline__ float tanh_of(float v) {
  const float a = fminf(fabsf(v), 10.0f), s = a * a;
  const float series = a * (1.0f + s * (-0.33333333f + s * (0.13333333f + s * (-0.053968254f + s * 0.021869489f))));
  const float y = a < 0.25f ? series : 1.0f - 2.0f * reciprocal_of(1.0f + exp_of(2.0f * a));
  return v < 0.0f ? -y : y;
}

// y, or v where v is a NaN: where y is not made of v by sums, products and quotients alone.
__device__ __forceinline__ float unless_nan(float v, float y) {
  return (__float_as_uint(v) & 0x7fffffffu) > 0x7f800000u ? v : y;
}

// `which`: a SECTILE_ACTIVATION, a constant. `p` and `q`: its parameters.
__device__ __forceinline__ float activation_of(const uint which, float v, float p, float q) {
  if (which == SECTILE_ACTIVATION_RELU) return relu(v);
  if (which == SECTILE_ACTIVATION_GELU)
    return v < -13.0f ? 0.0f : 0.5f * v * (1.0f + erf_of(v * 0.70710678118654752f));
  if (which == SECTILE_ACTIVATION_GELU_TANH) {
    // 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2u)). Above 10 the quotient no longer changes.
    const float x = fminf(v, 10.0f);
    const float u = 0.7978845608028654f * (x + 0.044715f * x * x * x);
    return v < -10.0f ? 0.0f : v * reciprocal_of(1.0f + exp_of(-2.0f * u));
  }
  if (which == SECTILE_ACTIVATION_SILU) return v < -87.0f ? 0.0f : v * reciprocal_of(1.0f + exp_of(-v));
  if (which == SECTILE_ACTIVATION_LEAKY_RELU) return v < 0.0f ? p * v : v;
  if (which == SECTILE_ACTIVATION_CLAMP) return v < p ? p : v > q ? q : v;
  if (which == SECTILE_ACTIVATION_SIGMOID)
    return unless_nan(v, v < -87.0f ? 0.0f : reciprocal_of(1.0f + exp_of(-v)));
  if (which == SECTILE_ACTIVATION_HARD_SWISH)
    return v < -3.0f ? 0.0f : v > 3.0f ? v : v * (v + 3.0f) * 0.16666667f;
  if (which == SECTILE_ACTIVATION_HARD_SIGMOID)
    return v < -3.0f ? 0.0f : v > 3.0f ? 1.0f : (v + 3.0f) * 0.16666667f;
  if (which == SECTILE_ACTIVATION_TANH) return unless_nan(v, tanh_of(v));
  return v;
}
