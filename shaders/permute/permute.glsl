// Reads the word stream that permute/permute.abi.h describes. A kernel that has words of its own defines OWN_WORDS, their
// list; FIRST_WORDS and LAST_WORDS are the elementwise stage's (fused.glsl).
#include "permute/permute.abi.h"
#include "lib/words.abi.h"

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

layout(local_size_x_id = SECTILE_SPEC_WORKGROUP, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = SECTILE_SPEC_WORKGROUP) const uint kWorkgroup = 64u;
layout(constant_id = PERMUTE_SPEC_AXES) const uint kAxes = 2u;
layout(constant_id = PERMUTE_SPEC_READ_BOUNDS) const uint kReadBounds = 0u;
layout(constant_id = PERMUTE_SPEC_WRITE_BOUNDS) const uint kWriteBounds = 0u;

layout(push_constant, std430) uniform Push { PermutePush push; };

#ifdef LONG
// The words that are not pushed. glslang does not accept a constant array of specialization constants, so they fill a
// private array, which drivers fold away. Macro pasting joins a name and one digit at a time, hence W10.
#define W1(name, k) layout(constant_id = PERMUTE_SPEC_WORD0 + k) const uint name = 0u;
#define W10(name, k) W1(name##0, k) W1(name##1, k + 1) W1(name##2, k + 2) W1(name##3, k + 3) \
                     W1(name##4, k + 4) W1(name##5, k + 5) W1(name##6, k + 6) W1(name##7, k + 7) \
                     W1(name##8, k + 8) W1(name##9, k + 9)
W10(kWord, 0) W10(kWord1, 10) W10(kWord2, 20) W10(kWord3, 30) W10(kWord4, 40) W10(kWord5, 50)
W10(kWord6, 60) W10(kWord7, 70) W10(kWord8, 80) W10(kWord9, 90) W10(kWord10, 100) W10(kWord11, 110)
W10(kWord12, 120) W10(kWord13, 130) W10(kWord14, 140) W10(kWord15, 150)
#if MAX_WORDS > 160
W10(kWord16, 160) W10(kWord17, 170) W10(kWord18, 180) W10(kWord19, 190) W10(kWord20, 200)
#endif
#undef W1
#undef W10
#define L10(name) name##0, name##1, name##2, name##3, name##4, name##5, name##6, name##7, name##8, name##9
uint specialized_words[MAX_WORDS] = uint[MAX_WORDS](
    L10(kWord), L10(kWord1), L10(kWord2), L10(kWord3), L10(kWord4), L10(kWord5), L10(kWord6), L10(kWord7),
    L10(kWord8), L10(kWord9), L10(kWord10), L10(kWord11), L10(kWord12), L10(kWord13), L10(kWord14), L10(kWord15)
#if MAX_WORDS > 160
    , L10(kWord16), L10(kWord17), L10(kWord18), L10(kWord19), L10(kWord20)
#endif
    );
#undef L10
layout(constant_id = PERMUTE_SPEC_PUSHED) const uint kPushed = PERMUTE_PUSH_WORDS;
uint word(const uint k) { return k < kPushed ? push.words[min(k, PERMUTE_PUSH_WORDS - 1)] : specialized_words[k]; }
#else
uint word(const uint k) { return push.words[k]; }
#endif

#ifdef WIDE
#define SECTILE_STRIDE_WORDS 2u
offset_t stride_at(const uint k) { return offset_t(uint64_t(word(k)) | (uint64_t(word(k + 1u)) << 32)); }
#else
#define SECTILE_STRIDE_WORDS 1u
offset_t stride_at(const uint k) { return offset_t(word(k)); }
#endif

// Where each list begins is where the one before it ends.
const uint stream_end = 0u, axis_end = 0u, bound_end = 0u;
SECTILE_READ(FIRST_WORDS)
const uint first_end = stream_end + SECTILE_SIZE(FIRST_WORDS);
const uint kAxisWords = SECTILE_SIZE(PERMUTE_AXIS_WORDS);
#define SECTILE_EACH(a) (first_end + (a) * kAxisWords)
SECTILE_READ_EACH(PERMUTE_AXIS_WORDS)
const uint axes_end = SECTILE_EACH(kAxes);
#undef SECTILE_EACH
SECTILE_READ(PERMUTE_SHIFT_WORDS)
SECTILE_READ(OWN_WORDS)
const uint own_end = shifts_end + SECTILE_SIZE(OWN_WORDS);
SECTILE_READ(LAST_WORDS)
const uint last_end = own_end + SECTILE_SIZE(LAST_WORDS);
const uint kBoundWords = SECTILE_SIZE(PERMUTE_BOUND_WORDS);
#define SECTILE_EACH(b) (last_end + (b) * kBoundWords)
SECTILE_READ_EACH(PERMUTE_BOUND_WORDS)
#undef SECTILE_EACH

uint id_count() {
  uint ids = axis_count(0u);
  [[unroll]] for (uint a = 1u; a < kAxes; ++a) ids *= axis_count(a);
  return ids;
}

// n / count of axis a, for n below 2^31 (Granlund and Montgomery 1994, figure 4.1, 32-bit).
uint divide_by_count(uint n, const uint a) {
  uint high, low;
  umulExtended(n, axis_multiplier(a), high, low);
  uint packed = shifts(a / PERMUTE_SHIFTS_PER_WORD);
  return (high + n) >> ((packed >> (5u * (a % PERMUTE_SHIFTS_PER_WORD))) & 31u);
}

// Returns the digit of axis a and removes it from the id.
uint take_digit(inout uint id, const uint a) {
  if (a + 1u >= kAxes) return id;
  uint quotient = divide_by_count(id, a);
  uint digit = id - quotient * axis_count(a);
  id = quotient;
  return digit;
}

// Linear workgroup index of a grid that is folded over x, y and z.
uint group_id() {
  return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
}
