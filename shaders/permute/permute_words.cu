//! variant e1 -DELEMENT_BYTES=1 -DWORD_ACCESS
//! variant e2 -DELEMENT_BYTES=2 -DWORD_ACCESS
//! variant e1.long -DELEMENT_BYTES=1 -DWORD_ACCESS -DLONG
//! variant e2.long -DELEMENT_BYTES=2 -DWORD_ACCESS -DLONG
//! variant e1.wide -DELEMENT_BYTES=1 -DWORD_ACCESS -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWORD_ACCESS -DWIDE -DLONG
// Elements of 1 or 2 bytes with 32-bit loads and stores only. No CUDA device needs this kernel; it is here to run plans
// made for another device, and forced candidates. An invocation gathers the elements of one destination word. Where the
// word is shared with a neighbouring run, or with bytes outside the operand, the invocation clears and sets its own
// bits with atomics. Each bit is written by one invocation only, so neighbours may do this in any order.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "permute/permute_words.abi.h"
#define OWN_WORDS PERMUTE_WORDS_WORDS
#include "permute/permute.cuh"

constexpr uint kElementMask = 0xffffffffu >> (32u - 8u * ELEMENT_BYTES);

// The 32-bit word that contains a byte. Byte offsets are relative to the operand's address rounded down to a word.
template <class T>
__device__ __forceinline__ T* word_at(SectileAddress base, offset_t byte) {
  return global_pointer<T>((uint64(base.hi) << 32 | base.lo) & ~uint64(3), uint64(byte & ~offset_t(3)));
}

__device__ __forceinline__ uint read_element(SectileAddress base, offset_t element) {
  const offset_t byte = element * ELEMENT_BYTES + offset_t(base.lo & 3u);
  return (__ldg(word_at<const uint>(base, byte)) >> (8u * (uint(byte) & 3u))) & kElementMask;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  uint id = group_id() * kWorkgroup + threadIdx.x;
  if (id >= id_count(push)) return;
  const uint word_index = take_digit(push, id, 0u);         // index of the word within its run
  offset_t from = 0, to = 0;
  int bound_at[PERMUTE_MAX_BOUNDS] = {};
#pragma unroll
  for (uint a = 1u; a < kAxes; ++a) {
    const uint digit = take_digit(push, id, a);
    from += offset_t(digit) * src_stride(push, a);
    to += offset_t(digit) * dst_stride(push, a);
#pragma unroll
    for (uint b = 0u; b < kBounds; ++b) bound_at[b] += int(digit) * bound_coefficient(push, b, a);
  }

  constexpr int per_word = 4 / ELEMENT_BYTES;
  const int run = int(run_elements(push));
  const bool contiguous = dst_stride(push, 0u) == offset_t(1);
  // `first`: index in the run of this word's first element; negative where the word starts before the run.
  const offset_t run_byte = to * ELEMENT_BYTES + offset_t(push.dst.lo & 3u);
  const int lead = contiguous ? int(uint(run_byte) & 3u) / ELEMENT_BYTES : 0;
  const int first = contiguous ? int(word_index) * per_word - lead : int(word_index);
  const offset_t word_byte = contiguous ? (run_byte & ~offset_t(3)) + offset_t(word_index) * 4
                                        : run_byte + offset_t(word_index) * dst_stride(push, 0u) * ELEMENT_BYTES;
  uint mask = 0u, value = 0u;
#pragma unroll
  for (int i = 0; i < per_word; ++i) {
    const int at = first + i;
    bool writes = at >= 0 && at < run && (contiguous || i == 0);
    bool reads = true;
#pragma unroll
    for (uint b = 0u; b < kBounds; ++b) {
      const int sum = bound_at[b] + at * bound_coefficient(push, b, 0u);
      if (b < kReadBounds) reads = reads && sum < read_limit(push, b);
      if (b < kWriteBounds) writes = writes && sum < write_limit(push, b);
    }
    const uint shift = 8u * (contiguous ? ELEMENT_BYTES * uint(i) : uint(word_byte) & 3u);
    if (writes) {
      mask |= kElementMask << shift;
      if (reads) value |= read_element(push.src, from + offset_t(at) * src_stride(push, 0u)) << shift;
    }
  }
  if (mask == 0u) return;
  uint* const target = word_at<uint>(push.dst, word_byte);
  if (mask == 0xffffffffu) {
    store_global(target, value);
  } else {
    atomicAnd(target, ~mask);
    atomicOr(target, value);
  }
}
