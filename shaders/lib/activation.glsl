// Activations, each right at its ends: of -inf and +inf they are their limits, and a NaN stays a NaN. No exponential
// and no quotient overflows on the way to a value that is used: Vulkan leaves open what becomes of one that does.
// Below a bound silu, gelu, gelu_tanh and sigmoid are 0, where they are within 1e-35 of it.
#include "lib/abi.h"

// erf to 1.5e-7: Abramowitz and Stegun 7.1.26. Beyond +-6 it is 1 or -1.
float erf_of(float x) {
  float a = min(abs(x), 8.9);
  float t = 1.0 / (1.0 + 0.3275911 * a);
  float poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
  float y = 1.0 - poly * exp(-(a * a));
  return x < 0.0 ? -y : y;
}

// Near 0 a series: the quotient's error is relative to 1.
float tanh_of(float v) {
  float a = min(abs(v), 10.0), s = a * a;
  float series = a * (1.0 + s * (-0.33333333 + s * (0.13333333 + s * (-0.053968254 + s * 0.021869489))));
  float y = a < 0.25 ? series : 1.0 - 2.0 / (1.0 + exp(2.0 * a));
  return v < 0.0 ? -y : y;
}

// y, or v where v is a NaN: where y is not made of v by sums, products and quotients alone. Compilers make minima and
// maxima of selections, which lose a NaN (seen with NVIDIA's driver).
float unless_nan(float v, float y) { return (floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u ? v : y; }

// `which`: a SECTILE_ACTIVATION, constant after specialization. `p` and `q`: its parameters.
float activation_of(const uint which, float v, float p, float q) {
  if (which == SECTILE_ACTIVATION_RELU) return relu(v);
  if (which == SECTILE_ACTIVATION_GELU)
    return v < -13.0 ? 0.0 : 0.5 * v * (1.0 + erf_of(v * 0.70710678118654752));
  if (which == SECTILE_ACTIVATION_GELU_TANH) {
    // 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2u)). Above 10 the quotient no longer changes.
    float x = min(v, 10.0);
    float u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
    return v < -10.0 ? 0.0 : v / (1.0 + exp(-2.0 * u));
  }
  if (which == SECTILE_ACTIVATION_SILU) return v < -87.0 ? 0.0 : v / (1.0 + exp(-min(v, 87.0)));
  if (which == SECTILE_ACTIVATION_LEAKY_RELU) return v < 0.0 ? p * v : v;
  if (which == SECTILE_ACTIVATION_CLAMP) return unless_nan(v, v < p ? p : v > q ? q : v);
  if (which == SECTILE_ACTIVATION_SIGMOID)
    return unless_nan(v, v < -87.0 ? 0.0 : 1.0 / (1.0 + exp(-min(v, 87.0))));
  if (which == SECTILE_ACTIVATION_HARD_SWISH)
    return v < -3.0 ? 0.0 : v > 3.0 ? v : v * (v + 3.0) * 0.16666667;
  if (which == SECTILE_ACTIVATION_HARD_SIGMOID)
    return unless_nan(v, v < -3.0 ? 0.0 : v > 3.0 ? 1.0 : (v + 3.0) * 0.16666667);
  if (which == SECTILE_ACTIVATION_TANH) return unless_nan(v, tanh_of(v));
  return v;
}
