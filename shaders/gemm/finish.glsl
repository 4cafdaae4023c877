// Epilogue: v = alpha * scale * acc + beta * C + bias; v = activation(v); v += residual; rounded once.
// ACTIVATION_LAST: v += residual; v = activation(v). Include after gemm/base.glsl. INTEGER: accumulators are int; an
// int result supports bias, relu, clamp and residual only.
#include "lib/activation.glsl"

#ifdef INTEGER
#define acc_t int
#else
#define acc_t float
#endif

uint activation_word(const uint i) { return i < kActivationWords ? activation_parameter(i) : 0u; }

// Whether there is a bias, and whether relu is applied: the same for all invocations.
bool has_bias() {
  return kHasBias != 0u && (kPushedEpilogue == 0u || any(notEqual(bias_address(), uvec2(0u))));
}
bool has_relu() { return kPushedEpilogue != 0u ? pushed_relu() != 0u : kActivation == SECTILE_ACTIVATION_RELU; }

float activated(float v) {
  if (kPushedEpilogue != 0u) return has_relu() ? relu(v) : v;
  return activation_of(kActivation, v, uintBitsToFloat(activation_word(0u)), uintBitsToFloat(activation_word(1u)));
}

// Element `at` of a vector of the output type.
float load_out(uvec2 address, uint at) {
  if (kOutType == SECTILE_TYPE_F32) return load_float(address, at);
#ifdef NARROW
  uint bits = uint(Ref2(address).x[at]);
#else
  uint bits = (Ref4(address).x[at / 2u] >> (16u * (at % 2u))) & 0xffffu;
#endif
  return kOutType == SECTILE_TYPE_F16 ? unpackHalf2x16(bits).x : bf16_to_float(bits);
}

// Addresses of a part of the result and of the operands of its epilogue.
struct Target {
  uvec2 d, c, residual;    // address of the tile's element (first row, first column)
  uvec2 bias, scale;       // of the batch, from the result's first row (column) on
  uint row, column;        // with flattened columns the column is the first image's first, as it is in the addresses
  uint batch;              // with flattened columns: the first column's
};

#ifdef INTEGER
int activated_int(int v) {
  if (kActivation == SECTILE_ACTIVATION_CLAMP) return clamp(v, int(activation_word(0u)), int(activation_word(1u)));
  return has_relu() ? max(v, 0) : v;
}

int finished_int(Target g, int acc, uint m, uint n, int residual) {
  if (has_bias())
    acc = saturated_sum(acc, int(Ref4(g.bias).x[(kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u ? m : n]));
  acc = activated_int(kActivationLast != 0u ? saturated_sum(acc, residual) : acc);
  return kActivationLast != 0u ? acc : saturated_sum(acc, residual);
}
#endif

float finished_float(Target g, float acc, uint m, uint n, float c, float residual) {
  float v = alpha() * acc;
  if (kHasScale != 0u) v *= load_float(g.scale, (kEpilogue & GEMM_EPILOGUE_SCALE_ROW) != 0u ? m : n);
  if ((kHasC | kHasCIsD) != 0u) v += beta() * c;
  if (has_bias()) v += load_out(g.bias, (kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u ? m : n);
  // One place calls it: an optimizer copies it to each call.
  v = activated(kActivationLast != 0u ? v + residual : v);
  return kActivationLast != 0u ? v : v + residual;
}

#ifdef INTEGER
// A bf16 result that is the sum itself, or its relu, rounds as the exact sum does: a float that does so stands for it.
// What further terms are added to or multiplied with is the nearest float. No branch and no named condition: spirv-opt
// (2026.4) makes invalid modules of either here.
float summed(int acc) {
  uint terms = kHasScale | kHasC | kHasCIsD | kHasResidual | (kActivation & ~uint(SECTILE_ACTIVATION_RELU));
  bool further = any(bvec4(kOutType != SECTILE_TYPE_BF16, terms != 0u, has_bias(), alpha() != 1.0));
  return mix(float_for_bf16(acc), float(acc), further);
}
#else
float summed(float acc) { return acc; }
#endif

float finished(Target g, acc_t acc, uint m, uint n, float c, float residual) {
  return finished_float(g, summed(acc), m, n, c, residual);
}

// Applies the epilogue to kWidthD accumulators of row m from column n on, and stores them from element `at` of D on; C
// and the residual have theirs from at_c and at_residual on, counted from the addresses in `g`. The caller has checked
// that they are inside the result.
void store_run_at(Target g, uint m, uint n, acc_t acc[MAX_RUN], uint at, uint at_c, uint at_residual) {
  const uint bytes = kWidthD * bytes_of_type(kOutType);
  at *= bytes_of_type(kOutType);
  uvec4 raw = uvec4(0u);
#ifdef INTEGER
  if (kOutType == SECTILE_TYPE_I32) {
    uvec4 residual = uvec4(0u);
    if (kHasResidual != 0u) residual = load_raw(g.residual, at_residual * 4u, bytes);
    [[unroll]] for (uint i = 0u; i < min(kWidthD, 4u); ++i)
      raw[i] = uint(finished_int(g, acc[i], m, n + i, int(residual[i])));
    store_raw(g.d, at, bytes, raw);
    return;
  }
#endif
  float c[MAX_RUN], residual[MAX_RUN];
  unpack_run(kOutType, kWidthD, uvec4(0u), c);
  unpack_run(kOutType, kWidthD, uvec4(0u), residual);
  if ((kHasC | kHasCIsD) != 0u)
    unpack_run(kOutType, kWidthD, load_raw(g.c, at_c * bytes_of_type(kOutType), bytes), c);
  if (kHasResidual != 0u)
    unpack_run(kOutType, kWidthD, load_raw(g.residual, at_residual * bytes_of_type(kOutType), bytes), residual);
  // The epilogue once, and the packing once: an optimizer copies both to each call.
  float v[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) v[i] = 0.0;
  [[unroll]] for (uint i = 0u; i < kWidthD; ++i) v[i] = finished(g, acc[i], m, n + i, c[i], residual[i]);
  [[unroll]] for (uint i = 0u; i < 4u; ++i) {
    if (kOutType == SECTILE_TYPE_F32) raw[i] = floatBitsToUint(v[i]);
    else if (2u * i < kWidthD) raw[i] = pack_sums(kOutType, v[2u * i], v[2u * i + 1u]);
  }
  store_raw(g.d, at, bytes, raw);
}
