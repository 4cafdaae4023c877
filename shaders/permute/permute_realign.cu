//! variant e1 -DELEMENT_BYTES=1
//! variant e2 -DELEMENT_BYTES=2
//! variant e4 -DELEMENT_BYTES=4
//! variant e1.wide -DELEMENT_BYTES=1 -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWIDE -DLONG
//! variant e4.wide -DELEMENT_BYTES=4 -DWIDE -DLONG
// Moves runs that begin at any address. An invocation fills aligned 16-byte words of the destination: it loads the two
// aligned words that hold the 16 bytes in the source and joins them by shifts. Where a run ends inside a word, the rest
// comes from the next run. Only a segment's first and last word are stored in parts. Few words need bytes that are not
// all inside the source: those are moved element by element. A run may end in elements without a source, as the last
// block of an axis that blocks do not divide: what was loaded for them is replaced by zeros.
#include "lib/cuda.cuh"
#include "lib/memory.cuh"
#include "lib/unaligned.cuh"
#include "permute/permute_realign.abi.h"
#define OWN_WORDS PERMUTE_REALIGN_WORDS
#include "permute/permute.cuh"
#include "permute/gaps.cuh"
#include "permute/run.cuh"

constexpr bool kEarly = sectile_constant(PERMUTE_REALIGN_SPEC_EARLY, 0u) != 0u;

// Elements of a run that have a source.
__device__ __forceinline__ uint data_of(const PermutePush& push, int sum) {
  if (kReadBounds == 0u) return run(push);
  const int data = read_limit(push, 0u) - sum, most = int(run(push));
  return uint(data < 0 ? 0 : data < most ? data : most);
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
#if ELEMENT_BYTES < 4
    const uint bits = 8u * (max(bytes, 4u * w) - 4u * w), mask = bits < 32u ? 0xffffffffu << bits : 0u;
    v[w] = (first[w] & ~mask) | (second[w] & mask);
#else
    v[w] = bytes > 4u * w ? first[w] : second[w];
#endif
  }
  return v;
}

// 16 bytes from element `at` on.
__device__ __forceinline__ uvec4 joined(const Source& source, offset_t at) {
  return join_words(load_word_at(source, at), load_word_after(source, at), uint(at) % kPer16 * ELEMENT_BYTES);
}

// Elements `begin` to `end` of a segment, which begins at `to`.
__device__ __forceinline__ void move_elements(const PermutePush& push, const Source& source, SectileAddress base,
                                              uint first_run, offset_t to, uint begin, uint end) {
#pragma unroll 1
  for (uint e = begin; e < end; ++e) {
    const uint q = divide_by_run(push, e);
    const Run own = locate_run(push, first_run + q);
    const uint k = e - q * run(push);
    uvec4 v = {};
    if (kReadBounds == 0u || k < data_of(push, own.sum))
      v = load_bytes(source.base, source.begin + own.from + offset_t(k), ELEMENT_BYTES);
    store_bytes(base, to + offset_t(e), ELEMENT_BYTES, v);
  }
}

SECTILE_KERNEL void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ PermutePush push) {
  const Source source = source_of(push.src, source_elements(push));
  const SectileAddress base = rounded_down(push.dst, 16u);
  const uint total = word_count(push), run_elements = run(push), segment = segment_runs(push) * run_elements;
  uint id = group_id() * kWorkgroup + threadIdx.x;
  if (id >= total) return;
  const uint word = take_digit(push, id, 0u), first_run = id * segment_runs(push);
  Run own = {};
  if (total > axis_count(push, 0u)) own = locate_run(push, first_run);
  const offset_t to = own.to + lead_of(push.dst, 16u);
  // The word's first element in the segment; the first word's may be below 0.
  const int at = int(word * kPer16) - int(uint(to) & (kPer16 - 1u));
  if (at >= int(segment)) return;
  const uint start = at < 0 ? 0u : uint(at);
  if (has_gaps(push)) {
    if (at <= 0) ask_for_sector(base, to);
    else if (at + int(kPer16) >= int(segment)) ask_for_sector(base, to + offset_t(segment - 1u));
  }
  uint inside = start, number = first_run;
  if (segment_runs(push) != 1u) {
    const uint q = divide_by_run(push, start);
    inside -= q * run_elements;
    number += q;
    own = locate_run(push, number);
  }
  // The word's first element is `from`, before the run if `at` is below 0; `left` are before the run's end.
  const uint before = uint(int(start) - at), left = run_elements - inside + before;
  offset_t from = source.begin + own.from + offset_t(inside) - offset_t(before);
  const bool joins = left < kPer16 && at + int(left) < int(segment);
  offset_t other = from;
  uint other_data = 0u;
  if (joins) {
    offset_t next = own.from + src_stride(push, 1u);
    int sum = own.sum;
    if (kReadBounds != 0u) sum += bound_coefficient(push, 0u, 1u);
    if (!own.follows) {
      const Run after = locate_run(push, number + 1u);
      next = after.from;
      sum = after.sum;
    }
    other = source.begin + next - offset_t(left);
    other_data = data_of(push, sum);
  }
  // Elements of the run that have a source, from the word's first on.
  const int data = int(data_of(push, own.sum) + before) - int(inside);
  const bool none = kReadBounds != 0u && data <= int(before), other_none = kReadBounds != 0u && other_data == 0u;
  uvec4 v = {};
  if (!none || (joins && !other_none)) {
    // What has no source may lie outside of it: some word is loaded instead.
    if (none) from = source.first;
    if (other_none || !joins) other = joins ? source.first : from;
    const offset_t low = from < other ? from : other, high = from < other ? other : from;
    if (low < source.first || high >= source.last) {
      const uint end = uint(at + int(kPer16));
      move_elements(push, source, base, first_run, to, start, end < segment ? end : segment);
      return;
    }
    const uvec4 first = load_word_at(source, from), second = load_word_after(source, from);
    uvec4 rest = {};
    if (kEarly && joins) rest = joined(source, other);
    v = join_words(first, second, uint(from) % kPer16 * ELEMENT_BYTES);
    if (!kEarly && joins) rest = joined(source, other);
    if (kReadBounds != 0u) {
      v = split_at(v, uvec4{}, data < 0 ? 0u : uint(data));
      rest = split_at(rest, uvec4{}, left + other_data);
    }
    if (joins) v = split_at(v, rest, left);
  }
  store_part(base, to + offset_t(at), 16u, v, -at, int(segment) - at);
}
