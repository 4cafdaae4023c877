// Epilogue: v = alpha * scale * acc + beta * C + bias; v = activation(v); v += residual; rounded once.
// ACTIVATION_LAST: v += residual; v = activation(v). Include after gemm/base.cuh. INTEGER: accumulators are int; an
// int result supports bias, relu, clamp and residual only.
#include "lib/activation.cuh"

__device__ __forceinline__ uint activation_word(const GemmPush& push, const uint i) {
  return i < kActivationWords ? activation_parameter(push, i) : 0u;
}

// Whether there is a bias, and whether relu is applied: the same for all threads.
__device__ __forceinline__ bool has_bias(const GemmPush& push) {
  return kHasBias != 0u && (kPushedEpilogue == 0u || bias_address(push) != 0u);
}
__device__ __forceinline__ bool has_relu(const GemmPush& push) {
  return kPushedEpilogue != 0u ? pushed_relu(push) != 0u : kActivation == SECTILE_ACTIVATION_RELU;
}

__device__ __forceinline__ float activated(const GemmPush& push, float v) {
  if (kPushedEpilogue != 0u) return has_relu(push) ? relu(v) : v;
  return activation_of(kActivation, v, __uint_as_float(activation_word(push, 0u)),
                       __uint_as_float(activation_word(push, 1u)));
}

// Element `at` of a vector of the output type.
__device__ __forceinline__ float load_out(uint64 address, uint at) {
  if (kOutType == SECTILE_TYPE_F32) return load_float(address, at);
  return unpack_low(kOutType, __ldg(global_pointer<const unsigned short>(address, uint64(at) * 2u)));
}

// Addresses of a part of the result and of the operands of its epilogue.
struct Target {
  uint64 d, c, residual;    // address of the tile's element (first row, first column)
  uint row, column;         // with flattened columns the column is the first image's first, as it is in the addresses
  uint batch;               // with flattened columns: the first column's image
  uint bias, scale;         // the batch's first element of each vector
};

// The element of an epilogue's vector that belongs to row m and column n.
__device__ __forceinline__ uint bias_at(const Target& g, uint m, uint n) {
  return g.bias + ((kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u ? m : n);
}
__device__ __forceinline__ uint scale_at(const Target& g, uint m, uint n) {
  return g.scale + ((kEpilogue & GEMM_EPILOGUE_SCALE_ROW) != 0u ? m : n);
}

#ifdef INTEGER
__device__ __forceinline__ int activated_int(const GemmPush& push, int v) {
  if (kActivation == SECTILE_ACTIVATION_CLAMP) {
    const int low = int(activation_word(push, 0u)), high = int(activation_word(push, 1u));
    return v < low ? low : v > high ? high : v;
  }
  return has_relu(push) && v < 0 ? 0 : v;
}

__device__ __forceinline__ int finished_int(const GemmPush& push, const Target& g, int acc, uint m, uint n,
                                            int residual) {
  if (has_bias(push)) {
    const uint at = bias_at(g, m, n);
    acc = saturated_sum(acc, int(__ldg(global_pointer<const uint>(bias_address(push), uint64(at) * 4u))));
  }
  if (kActivationLast != 0u) return activated_int(push, saturated_sum(acc, residual));
  return saturated_sum(activated_int(push, acc), residual);
}
#endif

#ifdef INTEGER
// A bf16 result that is the sum itself, or its relu, rounds as the exact sum does: a float that does so stands for it.
// What further terms are added to or multiplied with is the nearest float.
__device__ __forceinline__ float summed(const GemmPush& push, int acc) {
  const bool further = kOutType != SECTILE_TYPE_BF16 || has_bias(push) || alpha(push) != 1.0f ||
                       (kHasScale | kHasC | kHasCIsD | kHasResidual) != 0u || kActivation > SECTILE_ACTIVATION_RELU;
  return further ? float(acc) : float_for_bf16(acc);
}
#else
__device__ __forceinline__ float summed(const GemmPush&, float acc) { return acc; }
#endif

__device__ __forceinline__ float finished(const GemmPush& push, const Target& g, acc_t acc, uint m, uint n, float c,
                                          float residual) {
  float v = alpha(push) * summed(push, acc);
  if (kHasScale != 0u) v *= load_float(scale_address(push), scale_at(g, m, n));
  if ((kHasC | kHasCIsD) != 0u) v += beta(push) * c;
  if (has_bias(push)) v += load_out(bias_address(push), bias_at(g, m, n));
  return kActivationLast != 0u ? activated(push, v + residual) : activated(push, v) + residual;
}

// What the epilogue adds to a run of kWidthD accumulators from memory: C's and the residual's elements.
struct Addends {
  uvec4 c, residual;
};
// From element at_c of C and at_residual of the residual on, counted from the addresses in `g`.
__device__ __forceinline__ Addends load_addends(const Target& g, uint at_c, uint at_residual) {
  const uint bytes = kWidthD * bytes_of_type(kOutType);
  Addends a = {};
  if (kHasResidual != 0u) a.residual = load_written(g.residual, at_residual * bytes_of_type(kOutType), bytes);
  if ((kHasC | kHasCIsD) != 0u) a.c = load_written(g.c, at_c * bytes_of_type(kOutType), bytes);
  return a;
}

// Applies the epilogue to kWidthD accumulators of row m from column n on, which are inside the result: the words that
// are stored.
__device__ __forceinline__ uvec4 finished_run(const GemmPush& push, const Target& g, uint m, uint n,
                                              const acc_t (&acc)[MAX_RUN], const Addends& addends) {
  uvec4 raw = {};
  const uvec4 &raw_c = addends.c, &raw_residual = addends.residual;
#ifdef INTEGER
  if (kOutType == SECTILE_TYPE_I32) {
#pragma unroll
    for (uint i = 0u; i < 4u; ++i)
      if (i < kWidthD) raw[i] = uint(finished_int(push, g, acc[i], m, n + i, int(raw_residual[i])));
    return raw;
  }
#endif
  float c[MAX_RUN], residual[MAX_RUN], v[MAX_RUN];
  unpack_run(kOutType, kWidthD, raw_c, c);
  unpack_run(kOutType, kWidthD, raw_residual, residual);
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i)
    v[i] = i < kWidthD ? finished(push, g, acc[i], m, n + i, c[i], residual[i]) : 0.0f;
#pragma unroll
  for (uint i = 0u; i < 4u; ++i)
    raw[i] = kOutType == SECTILE_TYPE_F32 ? __float_as_uint(v[i]) : pack_pair(kOutType, v[2u * i], v[2u * i + 1u]);
  return raw;
}
// The same, stored from element `at` of D on.
__device__ __forceinline__ void store_run_with(const GemmPush& push, const Target& g, uint m, uint n,
                                               const acc_t (&acc)[MAX_RUN], uint at, const Addends& addends) {
  store_raw(g.d, at * bytes_of_type(kOutType), kWidthD * bytes_of_type(kOutType),
            finished_run(push, g, m, n, acc, addends));
}

// The same with the addends from at_c and at_residual on.
__device__ __forceinline__ void store_run_at(const GemmPush& push, const Target& g, uint m, uint n,
                                             const acc_t (&acc)[MAX_RUN], uint at, uint at_c, uint at_residual) {
  store_run_with(push, g, m, n, acc, at, load_addends(g, at_c, at_residual));
}
