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
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/permute_interleave.abi.h"
#include "permute/permute.cuh"

constexpr uint kSteps = sectile_constant(PERMUTE_INTERLEAVE_SPEC_STEPS, 16u);
constexpr uint kSources = sectile_constant(PERMUTE_INTERLEAVE_SPEC_SOURCES, 1u);
constexpr uint kSrcRun = sectile_constant(PERMUTE_INTERLEAVE_SPEC_SRC_RUN, 3u);
constexpr uint kTargets = sectile_constant(PERMUTE_INTERLEAVE_SPEC_TARGETS, 3u);
constexpr uint kDstRun = sectile_constant(PERMUTE_INTERLEAVE_SPEC_DST_RUN, 1u);
constexpr uint kSwap = sectile_constant(PERMUTE_INTERLEAVE_SPEC_SWAP, 1u);
constexpr uint kLoad = sectile_constant(PERMUTE_INTERLEAVE_SPEC_LOAD_BYTES, 4u);
constexpr uint kStore = sectile_constant(PERMUTE_INTERLEAVE_SPEC_STORE_BYTES, 4u);

constexpr uint kLoads = kSteps * kSrcRun * ELEMENT_BYTES / kLoad;      // loads of one stream per invocation
constexpr uint kStores = kSteps * kDstRun * ELEMENT_BYTES / kStore;
constexpr uint kSourceWords = kLoads * (kLoad / 4u);

struct Held {
  uint word[PERMUTE_INTERLEAVE_MAX_WORDS];
};

// Element d of record `step` of target b, or 32-bit word `part` of a wider element. All arguments are constant after
// unrolling.
__device__ __forceinline__ uint element_of(const Held& held, const uint b, const uint step, const uint d,
                                           const uint part) {
  const uint source = kSwap != 0u ? d : b, at = kSwap != 0u ? b : d;
  if (source >= kSources || at >= kSrcRun) return 0u;
  const uint byte = (step * kSrcRun + at) * ELEMENT_BYTES + part * 4u;
  const uint value = held.word[source * kSourceWords + byte / 4u];
#if ELEMENT_BYTES < 4
  return (value >> (8u * (byte % 4u))) & (0xffffffffu >> (32u - 8u * ELEMENT_BYTES));
#else
  return value;
#endif
}

// 32-bit word w of the invocation's data for target b.
__device__ __forceinline__ uint word_of(const Held& held, const uint b, const uint w) {
#if ELEMENT_BYTES >= 4
  const uint at = w * 4u / ELEMENT_BYTES;
  return element_of(held, b, at / kDstRun, at % kDstRun, w % (ELEMENT_BYTES / 4u));
#else
  uint value = 0u;
#pragma unroll
  for (uint e = 0u; e < 4u / ELEMENT_BYTES; ++e) {
    const uint at = w * (4u / ELEMENT_BYTES) + e;
    value |= element_of(held, b, at / kDstRun, at % kDstRun, 0u) << (8u * ELEMENT_BYTES * e);
  }
  return value;
#endif
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id() * kWorkgroup + threadIdx.x;
  if (id >= id_count(push)) return;
  offset_t from = 0, to = 0;
#pragma unroll
  for (uint a = 0u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a);
    from += offset_t(digit) * src_stride(push, a);
    to += offset_t(digit) * dst_stride(push, a);
  }
  Held held;
#pragma unroll
  for (uint s = 0u; s < kSources; ++s) {
#pragma unroll
    for (uint k = 0u; k < kLoads; ++k) {
      const offset_t at = from + offset_t(s) * src_stride(push, 1u) + offset_t(k * (kLoad / ELEMENT_BYTES));
      const uvec4 value = load_bytes(push.src, at, kLoad);
#pragma unroll
      for (uint w = 0u; w < kLoad / 4u; ++w) held.word[s * kSourceWords + k * (kLoad / 4u) + w] = value[w];
    }
  }
  // Every value is there before the first store: the L1 merges stores of parts of a sector that follow each other.
  uvec4 value[kTargets * kStores];
#pragma unroll
  for (uint b = 0u; b < kTargets; ++b) {
#pragma unroll
    for (uint k = 0u; k < kStores; ++k) {
      uvec4& own = value[b * kStores + k];
      own = {};
#pragma unroll
      for (uint w = 0u; w < kStore / 4u; ++w) own[w] = word_of(held, b, k * (kStore / 4u) + w);
    }
  }
#pragma unroll
  for (uint b = 0u; b < kTargets; ++b) {
    // One address and constant offsets: addresses that are computed one by one would come between the stores.
    const SectileAddress stream = address_at(push.dst, to + offset_t(b) * dst_stride(push, 1u));
#pragma unroll
    for (uint k = 0u; k < kStores; ++k)
      store_bytes(stream, offset_t(k * (kStore / ELEMENT_BYTES)), kStore, value[b * kStores + k]);
  }
}
