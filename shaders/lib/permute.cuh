// Reads the word stream that lib/permute.abi.h describes.
#include "permute.abi.h"

#ifndef FIRST_WORD
#define FIRST_WORD 0u     // first word of the axes; a kernel may put words of its own before them
#endif
#ifndef MAX_WORDS
#define MAX_WORDS PERMUTE_MAX_WORDS
#endif

constexpr uint kWorkgroup = sectile_constant(SECTILE_SPEC_WORKGROUP, 64u);
constexpr uint kAxes = sectile_constant(PERMUTE_SPEC_AXES, 2u);
constexpr uint kReadBounds = sectile_constant(PERMUTE_SPEC_READ_BOUNDS, 0u);
constexpr uint kWriteBounds = sectile_constant(PERMUTE_SPEC_WRITE_BOUNDS, 0u);
constexpr uint kBounds = kReadBounds > kWriteBounds ? kReadBounds : kWriteBounds;

#ifdef LONG
// The words that are not pushed, as a constant table: loads with a constant index fold away.
struct SpecializedWords {
  uint word[MAX_WORDS];
};
__device__ constexpr SpecializedWords specialize_words() {
  SpecializedWords words{};
  for (uint k = 0u; k < MAX_WORDS; ++k) words.word[k] = sectile_constant(PERMUTE_SPEC_WORD0 + k, 0u);
  return words;
}
__device__ constexpr SpecializedWords specialized_words = specialize_words();
constexpr uint kPushed = sectile_constant(PERMUTE_SPEC_PUSHED, PERMUTE_PUSH_WORDS);
__device__ __forceinline__ uint word(const PermutePush& push, const uint k) {
  return k < kPushed ? push.words[min(k, PERMUTE_PUSH_WORDS - 1u)] : specialized_words.word[k];
}
#else
__device__ __forceinline__ uint word(const PermutePush& push, const uint k) { return push.words[k]; }
#endif

#ifdef WIDE
constexpr uint kStrideWords = 2u;
__device__ __forceinline__ offset_t stride_at(const PermutePush& push, const uint k) {
  return offset_t(uint64(word(push, k)) | uint64(word(push, k + 1u)) << 32);
}
#else
constexpr uint kStrideWords = 1u;
__device__ __forceinline__ offset_t stride_at(const PermutePush& push, const uint k) { return offset_t(word(push, k)); }
#endif

constexpr uint kAxisWords = 2u + 2u * kStrideWords;
constexpr uint kShiftWord = FIRST_WORD + kAxes * kAxisWords;
constexpr uint kOwnWord = kShiftWord + (kAxes + PERMUTE_SHIFTS_PER_WORD - 1u) / PERMUTE_SHIFTS_PER_WORD;

__device__ __forceinline__ uint axis_word(const uint a) { return FIRST_WORD + a * kAxisWords; }
__device__ __forceinline__ uint axis_count(const PermutePush& push, const uint a) { return word(push, axis_word(a)); }
__device__ __forceinline__ offset_t src_stride(const PermutePush& push, const uint a) {
  return stride_at(push, axis_word(a) + 2u);
}
__device__ __forceinline__ offset_t dst_stride(const PermutePush& push, const uint a) {
  return stride_at(push, axis_word(a) + 2u + kStrideWords);
}

__device__ __forceinline__ uint id_count(const PermutePush& push) {
  uint ids = axis_count(push, 0u);
#pragma unroll
  for (uint a = 1u; a < kAxes; ++a) ids *= axis_count(push, a);
  return ids;
}

// n / count of axis a, for n below 2^31 (Granlund and Montgomery 1994, figure 4.1, 32-bit).
__device__ __forceinline__ uint divide_by_count(const PermutePush& push, uint n, const uint a) {
  const uint high = __umulhi(n, word(push, axis_word(a) + 1u));
  const uint shifts = word(push, kShiftWord + a / PERMUTE_SHIFTS_PER_WORD);
  return (high + n) >> ((shifts >> (5u * (a % PERMUTE_SHIFTS_PER_WORD))) & 31u);
}

// Returns the digit of axis a and removes it from the id.
__device__ __forceinline__ uint take_digit(const PermutePush& push, uint& id, const uint a) {
  if (a + 1u >= kAxes) return id;
  const uint quotient = divide_by_count(push, id, a);
  const uint digit = id - quotient * axis_count(push, a);
  id = quotient;
  return digit;
}

// First word of bound b. The bounds follow the kernel's own words, of which there are `own_words`.
__device__ __forceinline__ uint bound_word(const uint own_words, const uint b) {
  return kOwnWord + own_words + b * (kAxes + 2u);
}
__device__ __forceinline__ int bound_coefficient(const PermutePush& push, const uint own_words, const uint b,
                                                 const uint a) {
  return int(word(push, bound_word(own_words, b) + a));
}
__device__ __forceinline__ int read_limit(const PermutePush& push, const uint own_words, const uint b) {
  return int(word(push, bound_word(own_words, b) + kAxes));
}
__device__ __forceinline__ int write_limit(const PermutePush& push, const uint own_words, const uint b) {
  return int(word(push, bound_word(own_words, b) + kAxes + 1u));
}
