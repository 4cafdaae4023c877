//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
// Copies contiguous bytes: WIDTH per access, UNROLL accesses per invocation. Offsets inside a workgroup's part are
// 32-bit; the part's start is computed in 64 bits, so large operands need no variant.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "lib/words.abi.h"
#include "permute/permute_copy.abi.h"

constexpr uint kWorkgroup = sectile_constant(SECTILE_SPEC_WORKGROUP, 64u);
constexpr uint kWidth = sectile_constant(PERMUTE_COPY_SPEC_WIDTH, 16u);
constexpr uint kUnroll = sectile_constant(PERMUTE_COPY_SPEC_UNROLL, 4u);

#define SECTILE_PUSH PermuteCopyPush
__device__ __forceinline__ uint word(const PermuteCopyPush& push, const uint k) { return push.words[k]; }
constexpr uint stream_end = 0u;
SECTILE_READ(PERMUTE_COPY_WORDS)

__device__ __forceinline__ SectileAddress advance(SectileAddress address, uint64 bytes) {
  const uint64 sum = (uint64(address.hi) << 32 | address.lo) + bytes;
  return {uint(sum), uint(sum >> 32)};
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermuteCopyPush push) {
  const uint group = group_id();
  if (group >= groups(push)) return;
  constexpr uint part = kWorkgroup * kUnroll * kWidth;
  const uint64 start = uint64(group) * part;
  const uint64 bytes = copied_bytes(push);
  const uint left = bytes - start < part ? uint(bytes - start) : part;
  const SectileAddress src = advance(push.src, start);
  const SectileAddress dst = advance(push.dst, start);

  uint at[kUnroll];
  uvec4 value[kUnroll];
#pragma unroll
  for (uint u = 0u; u < kUnroll; ++u) {
    at[u] = (u * kWorkgroup + threadIdx.x) * kWidth;
    if (at[u] + kWidth <= left) value[u] = load_bytes(src, offset_t(at[u] / ELEMENT_BYTES), kWidth);
  }
#pragma unroll
  for (uint u = 0u; u < kUnroll; ++u) {
    if (at[u] + kWidth <= left) store_bytes(dst, offset_t(at[u] / ELEMENT_BYTES), kWidth, value[u]);
  }
  // Tail: the last workgroup copies the bytes after its last whole access one element per invocation.
  const uint tail_bytes = left % kWidth;
  if (threadIdx.x * ELEMENT_BYTES < tail_bytes) {
    const offset_t e = offset_t((left - tail_bytes) / ELEMENT_BYTES + threadIdx.x);
    store_bytes(dst, e, ELEMENT_BYTES, load_bytes(src, e, ELEMENT_BYTES));
  }
}
