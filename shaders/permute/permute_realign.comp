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
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "lib/unaligned.glsl"
#include "permute/permute_realign.abi.h"
#define OWN_WORDS PERMUTE_REALIGN_WORDS
#include "permute/permute.glsl"
#include "permute/gaps.glsl"
#include "permute/run.glsl"

layout(constant_id = PERMUTE_REALIGN_SPEC_EARLY) const uint kEarly = 0u;

// Elements of a run that have a source.
uint data_of(int sum) {
  return kReadBounds == 0u ? run() : uint(clamp(read_limit(0u) - sum, 0, int(run())));
}

uint divide_by_run(uint n) {
  uint high, low;
  umulExtended(n, run_multiplier(), high, low);
  return (high + n) >> run_shift();
}

// The first `count` elements of one, the others of the other.
uvec4 split_at(uvec4 first, uvec4 second, uint count) {
  const uint bytes = count * ELEMENT_BYTES;
  uvec4 v;
  [[unroll]] for (uint w = 0u; w < 4u; ++w) {
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
uvec4 joined(Source source, offset_t at) {
  return join_words(load_word_at(source, at), load_word_after(source, at), uint(at) % kPer16 * ELEMENT_BYTES);
}

// Elements `begin` to `end` of a segment, which begins at `to`.
void move_elements(Source source, uvec2 base, uint first_run, offset_t to, uint begin, uint end) {
  [[dont_unroll]] for (uint e = begin; e < end; ++e) {
    const uint q = divide_by_run(e);
    const Run own = locate_run(first_run + q);
    const uint k = e - q * run();
    uvec4 v = uvec4(0u);
    if (kReadBounds == 0u || k < data_of(own.sum))
      v = load_bytes(source.base, source.begin + own.from + offset_t(k), ELEMENT_BYTES);
    store_bytes(base, to + offset_t(e), ELEMENT_BYTES, v);
  }
}

void main() {
  const Source source = source_of(push.src, source_elements());
  const uvec2 base = rounded_down(push.dst, 16u);
  const uint total = word_count(), segment = segment_runs() * run();
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x;
  if (id >= total) return;
  const uint word = take_digit(id, 0u), first_run = id * segment_runs();
  Run own = Run(0, 0, false, 0);
  if (total > axis_count(0u)) own = locate_run(first_run);
  const offset_t to = own.to + lead_of(push.dst, 16u);
  // The word's first element in the segment; the first word's may be below 0.
  const int at = int(word * kPer16) - int(uint(to) & (kPer16 - 1u));
  if (at >= int(segment)) return;
  const uint start = uint(max(at, 0));
  uint nothing = 0u;
  if (has_gaps() && (at <= 0 || at + int(kPer16) >= int(segment)))
    nothing = ask_for_sector(base, to + offset_t(at <= 0 ? 0u : segment - 1u));
  uint inside = start, number = first_run;
  if (segment_runs() != 1u) {
    const uint q = divide_by_run(start);
    inside -= q * run();
    number += q;
    own = locate_run(number);
  }
  // The word's first element is `from`, before the run if `at` is below 0; `left` are before the run's end.
  const uint before = uint(int(start) - at), left = run() - inside + before;
  offset_t from = source.begin + own.from + offset_t(inside) - offset_t(before);
  const bool joins = left < kPer16 && at + int(left) < int(segment);
  offset_t other = from;
  uint other_data = 0u;
  if (joins) {
    offset_t next = own.from + src_stride(1u);
    int sum = own.sum;
    if (kReadBounds != 0u) sum += bound_coefficient(0u, 1u);
    if (!own.follows) {
      const Run after = locate_run(number + 1u);
      next = after.from;
      sum = after.sum;
    }
    other = source.begin + next - offset_t(left);
    other_data = data_of(sum);
  }
  // Elements of the run that have a source, from the word's first on.
  const int data = int(data_of(own.sum) + before) - int(inside);
  const bool none = kReadBounds != 0u && data <= int(before), other_none = kReadBounds != 0u && other_data == 0u;
  uvec4 v = uvec4(0u);
  if (!none || (joins && !other_none)) {
    // What has no source may lie outside of it: some word is loaded instead.
    if (none) from = source.first;
    if (other_none || !joins) other = joins ? source.first : from;
    const offset_t low = min(from, other), high = max(from, other);
    if (low < source.first || high >= source.last) {
      move_elements(source, base, first_run, to, start, min(uint(at + int(kPer16)), segment));
      return;
    }
    const uvec4 first = load_word_at(source, from), second = load_word_after(source, from);
    uvec4 rest = uvec4(0u);
    if (kEarly != 0u && joins) rest = joined(source, other);
    v = join_words(first, second, uint(from) % kPer16 * ELEMENT_BYTES);
    if (kEarly == 0u && joins) rest = joined(source, other);
    if (kReadBounds != 0u) {
      v = split_at(v, uvec4(0u), uint(max(data, 0)));
      rest = split_at(rest, uvec4(0u), left + other_data);
    }
    if (joins) v = split_at(v, rest, left);
  }
  v.x |= nothing;
  store_part(base, to + offset_t(at), 16u, v, -at, int(segment) - at);
}
