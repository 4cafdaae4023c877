//! variant word
//! variant word.long -DLONG
//! variant word.wide -DWIDE -DLONG
//! variant narrow -DNARROW
//! variant narrow.long -DNARROW -DLONG
//! variant narrow.wide -DNARROW -DWIDE -DLONG
//! variant split -DWORDS
//! variant split.long -DWORDS -DLONG
//! variant split.wide -DWORDS -DWIDE -DLONG
// Permute with an elementwise stage; each invocation computes a run along the destination. This is the fallback for any
// problem that has an elementwise stage: the source may be gathered element by element, and blocks may be padded.
// Variants: word: 32-bit accesses and wider; narrow: 1-byte and 2-byte accesses as well; split: narrow accesses made
// from words.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/fused.glsl"

layout(constant_id = PERMUTE_FUSED_SPEC_VECTOR) const uint kVector = 1u;

const uint kBounds = kReadBounds > kWriteBounds ? kReadBounds : kWriteBounds;

void main() {
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x;
  if (id >= id_count()) return;
  offset_t from = 0, to = 0, add_at = 0;
  uint scale_at = 0u, bias_at = 0u;
  int at[PERMUTE_MAX_BOUNDS];
  [[unroll]] for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) at[b] = 0;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(id, a);
    from += offset_t(digit) * src_stride(a);
    to += offset_t(digit) * dst_stride(a);
    add_at += offset_t(digit) * add_stride(a);
    scale_at += digit * scale_step(a);
    bias_at += digit * bias_step(a);
    [[unroll]] for (uint b = 0u; b < kBounds; ++b) at[b] += int(digit) * bound_coefficient(b, a);
  }

  // A bound's sum increases along a run: where the first element has no source, no later one has.
  bool reads[MAX_RUN], writes[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < kVector; ++i) {
    reads[i] = true;
    writes[i] = true;
    [[unroll]] for (uint b = 0u; b < kBounds; ++b) {
      int sum = at[b] + int(i) * (bound_coefficient(b, 0u) / int(kVector));
      if (b < kReadBounds) reads[i] = reads[i] && sum < read_limit(b);
      if (b < kWriteBounds) writes[i] = writes[i] && sum < write_limit(b);
    }
    reads[i] = reads[i] && writes[i];
  }

  uint x[MAX_RUN], add[MAX_RUN], v[MAX_RUN];
  [[unroll]] for (uint i = 0u; i < MAX_RUN; ++i) {
    x[i] = 0u;
    add[i] = 0u;
    v[i] = 0u;
  }
  [[unroll]] for (uint i = 0u; i < kVector; i += kLoad)
    if (reads[i])
      unpack_elements(kType, kLoad,
                      load_elements(kType, push.src, from + offset_t(i) * (src_stride(0u) / offset_t(kVector)), kLoad),
                      i, x);
  if (kHasAdd != 0u)
    [[unroll]] for (uint i = 0u; i < kVector; i += kAddLoad)
      if (reads[i])
        unpack_elements(
            kOut, kAddLoad,
            load_elements(kOut, add_address(), add_at + offset_t(i) * (add_stride(0u) / offset_t(kVector)), kAddLoad),
            i, add);

  const bool scale_varies = (kStage & PERMUTE_FUSED_SCALE_S) != 0u, bias_varies = (kStage & PERMUTE_FUSED_BIAS_S) != 0u;
  float factor = alpha(), bias = 0.0;
  if (kHasScale != 0u && !scale_varies && reads[0]) factor *= vector_element(scale_address(), scale_at);
  if (kHasBias != 0u && !bias_varies && reads[0]) bias = vector_element(bias_address(), bias_at);
  [[unroll]] for (uint i = 0u; i < kVector; ++i) {
    if (reads[i]) {
      float own_factor = factor, own_bias = bias;
      if (scale_varies) own_factor *= vector_element(scale_address(), scale_at + i * (scale_step(0u) / kVector));
      if (bias_varies) own_bias = vector_element(bias_address(), bias_at + i * (bias_step(0u) / kVector));
      v[i] = computed(x[i], own_factor, own_bias, add[i]);
    }
  }
  [[unroll]] for (uint i = 0u; i < kVector; i += kStore)
    if (writes[i])
      store_elements(to + offset_t(i) * (dst_stride(0u) / offset_t(kVector)), kStore, pack_elements(kStore, i, v));
}
