//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e8 -DELEMENT_BYTES=8
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
//! variant e8.wide -DELEMENT_BYTES=8 -DWIDE -DLONG
// Moves runs that begin at any address. An invocation fills aligned 16-byte words of the destination: it loads the two
// aligned words that hold the 16 bytes in the source and joins them by shifts. Where a run ends inside a word, the rest
// comes from the next run. Only a segment's first and last word are stored in parts.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_realign.abi.h"
#define OWN_WORDS PERMUTE_REALIGN_WORDS
#include "permute/permute.cuh"

constexpr uint kUnroll = sectile_constant(PERMUTE_REALIGN_SPEC_UNROLL, 1u);

// First element of a run, by its number in the destination's order.
struct Run {
  offset_t from, to;
};
__device__ __forceinline__ Run locate_run(const PermutePush& push, uint number) {
  Run run = {};
#pragma unroll
  for (uint a = 1u; a < kAxes; ++a) {
    const uint digit = take_digit(push, number, a);
    run.from += offset_t(digit) * src_stride(push, a);
    run.to += offset_t(digit) * dst_stride(push, a);
  }
  return run;
}

__device__ __forceinline__ uint divide_by_run(const PermutePush& push, uint n) {
  return (__umulhi(n, run_multiplier(push)) + n) >> run_shift(push);
}

// The first `count` elements of one, the others of the other.
__device__ __forceinline__ uvec4 split_at(const uvec4& first, const uvec4& second, uint count) {
  const uint bytes = count * ELEMENT_BYTES;
  uvec4 v;
#pragma unroll
  for (uint w = 0u; w < 4u; ++w) {
    const uint own = min(max(bytes, 4u * w) - 4u * w, 4u);   // bytes of this word
#if ELEMENT_BYTES < 4
    const uint mask = own == 4u ? 0xffffffffu : (1u << (8u * own)) - 1u;
    v[w] = (first[w] & mask) | (second[w] & ~mask);
#else
    v[w] = own != 0u ? first[w] : second[w];
#endif
  }
  return v;
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, 16u);
  const offset_t lead = lead_of(push.dst, 16u);
  const uint total = word_count(push), run_elements = run(push), segment = segment_runs(push) * run_elements;
  const uint first_id = group_id() * (kWorkgroup * kUnroll) + threadIdx.x;
  uvec4 low[kUnroll], high[kUnroll];
  offset_t from[kUnroll], to[kUnroll];   // where the word begins; the source's may lie before its first element
  int at[kUnroll];                       // the word's first element in the segment; the first word's may be below 0
  uint left[kUnroll], number[kUnroll];   // elements up to the run's end; the run
  bool stores[kUnroll];
#pragma unroll
  for (uint u = 0u; u < kUnroll; ++u) {
    uint id = first_id + u * kWorkgroup;
    stores[u] = id < total;
    id = min(id, total - 1u);
    const uint word = take_digit(push, id, 0u);
    const uint first_run = id * segment_runs(push);
    to[u] = locate_run(push, first_run).to + lead;
    const uint ahead = uint(to[u]) & (kPer16 - 1u);
    at[u] = int(word * kPer16) - int(ahead);
    stores[u] = stores[u] && at[u] < int(segment);
    const uint start = min(at[u] < 0 ? 0u : uint(at[u]), segment - 1u), before = uint(int(start) - at[u]);
    const uint q = divide_by_run(push, start), inside = start - q * run_elements;
    number[u] = first_run + q;
    left[u] = run_elements - inside + before;
    from[u] = source.begin + locate_run(push, number[u]).from + offset_t(inside) - offset_t(before);
    to[u] += offset_t(at[u]);
    const offset_t aligned = from[u] & ~offset_t(kPer16 - 1u);
    low[u] = load_word(source, aligned);
    high[u] = load_word(source, aligned + offset_t(kPer16));
  }
#pragma unroll
  for (uint u = 0u; u < kUnroll; ++u) {
    if (!stores[u]) continue;
    const offset_t aligned = from[u] & ~offset_t(kPer16 - 1u);
    uvec4 first = low[u], second = high[u];
    mend_word(source, aligned, first);
    mend_word(source, aligned + offset_t(kPer16), second);
    uvec4 v = join_words(first, second, uint(from[u] - aligned) * ELEMENT_BYTES);
    if (left[u] < kPer16 && at[u] + int(left[u]) < int(segment)) {
      const offset_t next = source.begin + locate_run(push, number[u] + 1u).from - offset_t(left[u]);
      const offset_t word = next & ~offset_t(kPer16 - 1u);
      uvec4 a = load_word(source, word), b = load_word(source, word + offset_t(kPer16));
      mend_word(source, word, a);
      mend_word(source, word + offset_t(kPer16), b);
      v = split_at(v, join_words(a, b, uint(next - word) * ELEMENT_BYTES), left[u]);
    }
    store_part(base, to[u], 16u, v, -at[u], int(segment) - at[u]);
  }
}
