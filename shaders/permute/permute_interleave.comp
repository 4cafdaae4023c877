//! variant e1 -DELEMENT_BYTES=1 -DWORD_ACCESS
//! variant e2 -DELEMENT_BYTES=2 -DWORD_ACCESS
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWORD_ACCESS -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWORD_ACCESS -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// Small axes trade places around a long one: e.g. pixels of three channels to planes and back, optionally with a
// channel of zeros added. An invocation loads whole records, interleaves them in registers and stores whole records.
// Every register index is constant after unrolling.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/permute_interleave.abi.h"
#include "permute/permute.glsl"

layout(constant_id = PERMUTE_INTERLEAVE_SPEC_STEPS) const uint kSteps = 16u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_SOURCES) const uint kSources = 1u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_SRC_RUN) const uint kSrcRun = 3u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_TARGETS) const uint kTargets = 3u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_DST_RUN) const uint kDstRun = 1u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_SWAP) const uint kSwap = 1u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_LOAD_BYTES) const uint kLoad = 4u;
layout(constant_id = PERMUTE_INTERLEAVE_SPEC_STORE_BYTES) const uint kStore = 4u;

const uint kLoads = kSteps * kSrcRun * ELEMENT_BYTES / kLoad;      // loads of one stream per invocation
const uint kStores = kSteps * kDstRun * ELEMENT_BYTES / kStore;
const uint kSourceWords = kLoads * (kLoad / 4u);

uint held[PERMUTE_INTERLEAVE_MAX_WORDS];

// Element d of record `step` of target b, or 32-bit word `part` of a wider element. All arguments are constant after
// unrolling.
uint element_of(const uint b, const uint step, const uint d, const uint part) {
  const uint source = kSwap != 0u ? d : b, at = kSwap != 0u ? b : d;
  if (source >= kSources || at >= kSrcRun) return 0u;
  const uint byte = (step * kSrcRun + at) * ELEMENT_BYTES + part * 4u;
  const uint value = held[source * kSourceWords + byte / 4u];
#if ELEMENT_BYTES < 4
  return (value >> (8u * (byte % 4u))) & (0xffffffffu >> (32u - 8u * ELEMENT_BYTES));
#else
  return value;
#endif
}

// 32-bit word w of the invocation's data for target b.
uint word_of(const uint b, const uint w) {
#if ELEMENT_BYTES >= 4
  const uint at = w * 4u / ELEMENT_BYTES;
  return element_of(b, at / kDstRun, at % kDstRun, w % (ELEMENT_BYTES / 4u));
#else
  uint value = 0u;
  [[unroll]] for (uint e = 0u; e < 4u / ELEMENT_BYTES; ++e) {
    const uint at = w * (4u / ELEMENT_BYTES) + e;
    value |= element_of(b, at / kDstRun, at % kDstRun, 0u) << (8u * ELEMENT_BYTES * e);
  }
  return value;
#endif
}

void main() {
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x;
  if (id >= id_count()) return;
  offset_t from = 0, to = 0;
  [[unroll]] for (uint a = 0u; a < kAxes; ++a) {
    uint digit = take_digit(id, a);
    from += offset_t(digit) * src_stride(a);
    to += offset_t(digit) * dst_stride(a);
  }
  [[unroll]] for (uint s = 0u; s < kSources; ++s) {
    [[unroll]] for (uint k = 0u; k < kLoads; ++k) {
      const uvec4 value =
          load_bytes(push.src, from + offset_t(s) * src_stride(1u) + offset_t(k * (kLoad / ELEMENT_BYTES)), kLoad);
      [[unroll]] for (uint w = 0u; w < kLoad / 4u; ++w) held[s * kSourceWords + k * (kLoad / 4u) + w] = value[w];
    }
  }
  [[unroll]] for (uint b = 0u; b < kTargets; ++b) {
    [[unroll]] for (uint k = 0u; k < kStores; ++k) {
      uvec4 value = uvec4(0u);
      [[unroll]] for (uint w = 0u; w < kStore / 4u; ++w) value[w] = word_of(b, k * (kStore / 4u) + w);
      store_bytes(push.dst, to + offset_t(b) * dst_stride(1u) + offset_t(k * (kStore / ELEMENT_BYTES)), kStore, value);
    }
  }
}
