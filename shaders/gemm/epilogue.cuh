// Epilogue: v = alpha * scale * acc + beta * C + bias; v = activation(v); v += residual; rounded once.
// ACTIVATION_LAST: v += residual; v = activation(v). Include after gemm/gemm.cuh. INTEGER: accumulators are int; an
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

// Addresses for a tile's result and the operands of its epilogue; computed once a workgroup.
struct Target {
  uint64 d, c, residual;    // address of the tile's element (first row, first column)
  uint row, column;         // with flattened columns the column is the first image's first, as it is in the addresses
  uint batch;               // with flattened columns: the first column's image
};

__device__ __forceinline__ Target target_of(const GemmPush& push, const Tile& t) {
  Target g;
  g.row = t.m;
  g.batch = kFlattenedBatch != 0u ? batch_of_column(push, t.n) : t.batch;
  g.column = kFlattenedBatch != 0u ? g.batch * size_n(push) : t.n;
  const uint column = kFlattenedBatch != 0u ? 0u : t.n;
  uint64 d = batch_address(address_of(push.d), kOutType, g.batch, d_batch(push));
  // Partial sums: one M x ldd matrix per split, consecutive.
  if (kSplit != 0u) d += bytes_of(kOutType, uint64(t.split) * size_m(push) * ldd(push));
  g.d = element_address(d, kOutType, t.m, ldd(push), column);
  g.c = g.d;
  if (kHasC != 0u)
    g.c = element_address(batch_address(c_address(push), kOutType, g.batch, c_batch(push)), kOutType, t.m,
                          ldc(push), column);
  g.residual = g.d;
  if (kHasResidual != 0u)
    g.residual = element_address(batch_address(residual_address(push), kOutType, g.batch, r_batch(push)), kOutType,
                                 t.m, ldr(push), column);
  return g;
}

// The element of an epilogue's vector that belongs to row m and column n.
__device__ __forceinline__ uint vector_at(const GemmPush& push, const Target& g, const bool by_row, uint m, uint n) {
  const uint first = kVectorBatched != 0u ? g.batch * (by_row ? size_m(push) : size_n(push)) : 0u;
  return first + (by_row ? m : n);
}
__device__ __forceinline__ uint bias_at(const GemmPush& push, const Target& g, uint m, uint n) {
  return vector_at(push, g, (kEpilogue & GEMM_EPILOGUE_BIAS_ROW) != 0u, m, n);
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
    const uint at = bias_at(push, g, m, n);
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
  if (kHasScale != 0u)
    v *= load_float(scale_address(push),
                    vector_at(push, g, (kEpilogue & GEMM_EPILOGUE_SCALE_ROW) != 0u, m, n));
  if ((kHasC | kHasCIsD) != 0u) v += beta(push) * c;
  if (has_bias(push)) v += load_out(bias_address(push), bias_at(push, g, m, n));
  return kActivationLast != 0u ? activated(push, v + residual) : activated(push, v) + residual;
}

// Element offset of (m, n) in the tile of an operand. Offsets inside a tile are 32-bit, batch strides too where columns
// are flattened.
__device__ __forceinline__ uint offset_of(const GemmPush& push, const Target& g, uint m, uint n, uint ld,
                                          uint64 batch_stride) {
  if (kFlattenedBatch == 0u) return (m - g.row) * ld + n - g.column;
  const uint image = batch_of_column(push, n);
  return (m - g.row) * ld + n - image * size_n(push) + (image - g.batch) * uint(batch_stride);
}

// Applies the epilogue to kWidthD accumulators of row m from column n on, and stores them. The caller has checked that
// they are inside the result (kWidthD divides N).
__device__ __forceinline__ void store_run(const GemmPush& push, const Target& g, uint m, uint n,
                                          const acc_t (&acc)[MAX_RUN]) {
  const uint bytes = kWidthD * bytes_of_type(kOutType);
  const uint at = offset_of(push, g, m, n, ldd(push), d_batch(push)) * bytes_of_type(kOutType);
  uvec4 raw = {}, raw_c = {}, raw_residual = {};
  if (kHasResidual != 0u)
    raw_residual =
        load_written(g.residual, offset_of(push, g, m, n, ldr(push), r_batch(push)) * bytes_of_type(kOutType), bytes);
#ifdef INTEGER
  if (kOutType == SECTILE_TYPE_I32) {
#pragma unroll
    for (uint i = 0u; i < 4u; ++i)
      if (i < kWidthD) raw[i] = uint(finished_int(push, g, acc[i], m, n + i, int(raw_residual[i])));
    store_raw(g.d, at, bytes, raw);
    return;
  }
#endif
  if ((kHasC | kHasCIsD) != 0u)
    raw_c = load_written(
        g.c,
        offset_of(push, g, m, n, kHasC != 0u ? ldc(push) : ldd(push), kHasC != 0u ? c_batch(push) : d_batch(push)) *
            bytes_of_type(kOutType),
        bytes);
  float c[MAX_RUN], residual[MAX_RUN], v[MAX_RUN];
  unpack_run(kOutType, kWidthD, raw_c, c);
  unpack_run(kOutType, kWidthD, raw_residual, residual);
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i)
    v[i] = i < kWidthD ? finished(push, g, acc[i], m, n + i, c[i], residual[i]) : 0.0f;
#pragma unroll
  for (uint i = 0u; i < 4u; ++i)
    raw[i] = kOutType == SECTILE_TYPE_F32 ? __float_as_uint(v[i]) : pack_pair(kOutType, v[2u * i], v[2u * i + 1u]);
  store_raw(g.d, at, bytes, raw);
}
