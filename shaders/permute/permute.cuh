// Reads the word stream that permute/permute.abi.h describes. A kernel that has words of its own defines OWN_WORDS, their
// list; FIRST_WORDS and LAST_WORDS are the elementwise stage's (fused.cuh).
#include "permute/permute.abi.h"
#include "lib/words.abi.h"

#define SECTILE_PUSH PermutePush
#ifndef OWN_WORDS
#define OWN_WORDS PERMUTE_NO_WORDS
#endif
#ifndef FIRST_WORDS
#define FIRST_WORDS PERMUTE_NO_WORDS
#define LAST_WORDS PERMUTE_NO_WORDS
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

#undef SECTILE_STRIDE_WORDS
#ifdef WIDE
#define SECTILE_STRIDE_WORDS 2u
__device__ __forceinline__ offset_t stride_at(const PermutePush& push, const uint k) {
  return offset_t(uint64(word(push, k)) | uint64(word(push, k + 1u)) << 32);
}
#else
#define SECTILE_STRIDE_WORDS 1u
__device__ __forceinline__ offset_t stride_at(const PermutePush& push, const uint k) { return offset_t(word(push, k)); }
#endif

// Where each list begins is where the one before it ends.
constexpr uint stream_end = 0u, axis_end = 0u, bound_end = 0u;
SECTILE_READ(FIRST_WORDS)
constexpr uint first_end = stream_end + SECTILE_SIZE(FIRST_WORDS);
constexpr uint kAxisWords = SECTILE_SIZE(PERMUTE_AXIS_WORDS);
#define SECTILE_EACH(a) (first_end + (a) * kAxisWords)
SECTILE_READ_EACH(PERMUTE_AXIS_WORDS)
constexpr uint axes_end = SECTILE_EACH(kAxes);
#undef SECTILE_EACH
SECTILE_READ(PERMUTE_SHIFT_WORDS)
SECTILE_READ(OWN_WORDS)
constexpr uint own_end = shifts_end + SECTILE_SIZE(OWN_WORDS);
SECTILE_READ(LAST_WORDS)
constexpr uint last_end = own_end + SECTILE_SIZE(LAST_WORDS);
constexpr uint kBoundWords = SECTILE_SIZE(PERMUTE_BOUND_WORDS);
#define SECTILE_EACH(b) (last_end + (b) * kBoundWords)
SECTILE_READ_EACH(PERMUTE_BOUND_WORDS)
#undef SECTILE_EACH

__device__ __forceinline__ uint id_count(const PermutePush& push) {
  uint ids = axis_count(push, 0u);
#pragma unroll
  for (uint a = 1u; a < kAxes; ++a) ids *= axis_count(push, a);
  return ids;
}

// n / count of axis a, for n below 2^31 (Granlund and Montgomery 1994, figure 4.1, 32-bit).
__device__ __forceinline__ uint divide_by_count(const PermutePush& push, uint n, const uint a) {
  const uint high = __umulhi(n, axis_multiplier(push, a));
  const uint packed = shifts(push, a / PERMUTE_SHIFTS_PER_WORD);
  return (high + n) >> ((packed >> (5u * (a % PERMUTE_SHIFTS_PER_WORD))) & 31u);
}

// Returns the digit of axis a and removes it from the id.
__device__ __forceinline__ uint take_digit(const PermutePush& push, uint& id, const uint a) {
  if (a + 1u >= kAxes) return id;
  const uint quotient = divide_by_count(push, id, a);
  const uint digit = id - quotient * axis_count(push, a);
  id = quotient;
  return digit;
}
