//! variant e1 -DELEMENT_BYTES=1 -DWORD_ACCESS
//! variant e2 -DELEMENT_BYTES=2 -DWORD_ACCESS
//! variant e1.long -DELEMENT_BYTES=1 -DWORD_ACCESS -DLONG
//! variant e2.long -DELEMENT_BYTES=2 -DWORD_ACCESS -DLONG
//! variant e1.wide -DELEMENT_BYTES=1 -DWORD_ACCESS -DWIDE -DLONG
//! variant e2.wide -DELEMENT_BYTES=2 -DWORD_ACCESS -DWIDE -DLONG
// Elements of 1 or 2 bytes on a device that has only 32-bit loads and stores. An invocation gathers the elements of one
// destination word. Where the word is shared with a neighbouring run, or with bytes outside the operand, the invocation
// clears and sets its own bits with atomics. Each bit is written by one invocation only, so neighbours may do this in
// any order.
#version 460
#extension GL_GOOGLE_include_directive : require
#include "lib/memory.glsl"
#include "permute/permute_words.abi.h"
#define OWN_WORDS PERMUTE_WORDS_WORDS
#include "permute/permute.glsl"

// The 32-bit word that contains a byte. Byte offsets are relative to the operand's address rounded down to a word.
#ifdef WIDE
#define WORD_AT(base, byte) Ref4((packUint2x32(base) & ~uint64_t(3)) + uint64_t((byte) & ~offset_t(3))).x[0]
#else
#define WORD_AT(base, byte) Ref4(uvec2((base).x & ~3u, (base).y)).x[(byte) >> 2]
#endif

uint read_element(offset_t element) {
  offset_t byte = element * ELEMENT_BYTES + offset_t(push.src.x & 3u);
  uint value = WORD_AT(push.src, byte);
  return (value >> (8u * (uint(byte) & 3u))) & (0xffffffffu >> (32u - 8u * ELEMENT_BYTES));
}

void main() {
  uint id = group_id() * kWorkgroup + gl_LocalInvocationID.x;
  if (id >= id_count()) return;
  uint word_index = take_digit(id, 0u);         // index of the word within its run
  offset_t from = 0, to = 0;
  int bound_at[PERMUTE_MAX_BOUNDS];
  [[unroll]] for (uint b = 0u; b < PERMUTE_MAX_BOUNDS; ++b) bound_at[b] = 0;
  [[unroll]] for (uint a = 1u; a < kAxes; ++a) {
    uint digit = take_digit(id, a);
    from += offset_t(digit) * src_stride(a);
    to += offset_t(digit) * dst_stride(a);
    [[unroll]] for (uint b = 0u; b < max(kReadBounds, kWriteBounds); ++b)
      bound_at[b] += int(digit) * bound_coefficient(b, a);
  }

  const int per_word = 4 / ELEMENT_BYTES;
  const int run = int(run_elements());
  const bool contiguous = dst_stride(0u) == offset_t(1);
  // `first`: index in the run of this word's first element; negative where the word starts before the run.
  offset_t run_byte = to * ELEMENT_BYTES + offset_t(push.dst.x & 3u);
  int lead = contiguous ? int(uint(run_byte) & 3u) / ELEMENT_BYTES : 0;
  int first = contiguous ? int(word_index) * per_word - lead : int(word_index);
  offset_t word_byte = contiguous ? (run_byte & ~offset_t(3)) + offset_t(word_index) * 4
                                  : run_byte + offset_t(word_index) * dst_stride(0u) * ELEMENT_BYTES;
  uint mask = 0u, value = 0u;
  [[unroll]] for (int i = 0; i < per_word; ++i) {
    int at = first + i;
    bool writes = at >= 0 && at < run && (contiguous || i == 0);
    bool reads = true;
    [[unroll]] for (uint b = 0u; b < max(kReadBounds, kWriteBounds); ++b) {
      int sum = bound_at[b] + at * bound_coefficient(b, 0u);
      if (b < kReadBounds) reads = reads && sum < read_limit(b);
      if (b < kWriteBounds) writes = writes && sum < write_limit(b);
    }
    uint shift = 8u * ELEMENT_BYTES * uint(i);
    if (!contiguous) shift = 8u * (uint(word_byte) & 3u);
    if (writes) {
      mask |= (0xffffffffu >> (32u - 8u * ELEMENT_BYTES)) << shift;
      if (reads) value |= read_element(from + offset_t(at) * src_stride(0u)) << shift;
    }
  }
  if (mask == 0u) return;
  if (mask == 0xffffffffu) {
    WORD_AT(push.dst, word_byte) = value;
  } else {
    atomicAnd(WORD_AT(push.dst, word_byte), ~mask);
    atomicOr(WORD_AT(push.dst, word_byte), value);
  }
}
