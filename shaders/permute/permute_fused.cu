//! variant word
//! variant word.long -DLONG
//! variant word.wide -DWIDE -DLONG
//! variant narrow -DNARROW
//! variant narrow.long -DNARROW -DLONG
//! variant narrow.wide -DNARROW -DWIDE -DLONG
// Permute with an elementwise stage; each invocation computes a run along the destination. This is the fallback for any
// problem that has an elementwise stage: the source may be gathered element by element, and blocks may be padded.
// Variants: word: 32-bit accesses and wider; narrow: 1-byte and 2-byte accesses as well. Plans for CUDA use no others.
#include "lib/cuda.cuh"
#include "lib/fused.cuh"

constexpr uint kVector = sectile_constant(PERMUTE_FUSED_SPEC_VECTOR, 1u);

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id() * kWorkgroup + threadIdx.x;
  if (id >= id_count(push)) return;
  offset_t from = 0, to = 0, add_at = 0;
  uint scale_at = 0u, bias_at = 0u;
  int at[PERMUTE_MAX_BOUNDS];
#pragma unroll
  for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) at[b] = 0;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(push, id, a);
    from += offset_t(digit) * src_stride(push, a);
    to += offset_t(digit) * dst_stride(push, a);
    add_at += offset_t(digit) * add_stride(push, a);
    scale_at += digit * scale_step(push, a);
    bias_at += digit * bias_step(push, a);
#pragma unroll
    for (uint b = 0u; b < kBounds; ++b) at[b] += int(digit) * bound_coefficient(push, b, a);
  }

  // A bound's sum increases along a run: where the first element has no source, no later one has.
  bool reads[MAX_RUN], writes[MAX_RUN];
#pragma unroll
  for (uint i = 0u; i < kVector; ++i) {
    reads[i] = true;
    writes[i] = true;
#pragma unroll
    for (uint b = 0u; b < kBounds; ++b) {
      int sum = at[b] + int(i) * (bound_coefficient(push, b, 0u) / int(kVector));
      if (b < kReadBounds) reads[i] = reads[i] && sum < read_limit(push, b);
      if (b < kWriteBounds) writes[i] = writes[i] && sum < write_limit(push, b);
    }
    reads[i] = reads[i] && writes[i];
  }

  uint x[MAX_RUN], add[MAX_RUN], v[MAX_RUN];
#pragma unroll
  for (uint i = 0u; i < MAX_RUN; ++i) {
    x[i] = 0u;
    add[i] = 0u;
    v[i] = 0u;
  }
#pragma unroll
  for (uint i = 0u; i < kVector; i += kLoad)
    if (reads[i])
      unpack_elements(kType, kLoad,
                      load_elements(kType, address_of(push.src),
                                    from + offset_t(i) * (src_stride(push, 0u) / offset_t(kVector)), kLoad),
                      i, x);
  if (kHasAdd != 0u)
#pragma unroll
    for (uint i = 0u; i < kVector; i += kAddLoad)
      if (reads[i])
        unpack_elements(kOut, kAddLoad,
                        load_elements(kOut, add_address(push),
                                      add_at + offset_t(i) * (add_stride(push, 0u) / offset_t(kVector)), kAddLoad),
                        i, add);

  const bool scale_varies = (kStage & PERMUTE_FUSED_SCALE_S) != 0u, bias_varies = (kStage & PERMUTE_FUSED_BIAS_S) != 0u;
  float factor = alpha(push), bias = 0.0;
  if (kHasScale != 0u && !scale_varies && reads[0]) factor *= vector_element(scale_address(push), scale_at);
  if (kHasBias != 0u && !bias_varies && reads[0]) bias = vector_element(bias_address(push), bias_at);
#pragma unroll
  for (uint i = 0u; i < kVector; ++i) {
    if (reads[i]) {
      float own_factor = factor, own_bias = bias;
      if (scale_varies)
        own_factor *= vector_element(scale_address(push), scale_at + i * (scale_step(push, 0u) / kVector));
      if (bias_varies) own_bias = vector_element(bias_address(push), bias_at + i * (bias_step(push, 0u) / kVector));
      v[i] = computed(push, x[i], own_factor, own_bias, add[i]);
    }
  }
#pragma unroll
  for (uint i = 0u; i < kVector; i += kStore)
    if (writes[i])
      store_elements(push, to + offset_t(i) * (dst_stride(push, 0u) / offset_t(kVector)), kStore,
                     pack_elements(kStore, i, v));
}
