// Reads the word stream that lib/permute.abi.h describes.
#include "permute.abi.h"

#ifndef FIRST_WORD
#define FIRST_WORD 0u     // first word of the axes; a kernel may put words of its own before them
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
#define STRIDE_WORDS 2u
offset_t stride_at(const uint k) { return offset_t(uint64_t(word(k)) | (uint64_t(word(k + 1u)) << 32)); }
#else
#define STRIDE_WORDS 1u
offset_t stride_at(const uint k) { return offset_t(word(k)); }
#endif

const uint kAxisWords = 2u + 2u * STRIDE_WORDS;
const uint kShiftWord = FIRST_WORD + kAxes * kAxisWords;
const uint kOwnWord = kShiftWord + (kAxes + PERMUTE_SHIFTS_PER_WORD - 1u) / PERMUTE_SHIFTS_PER_WORD;

uint axis_word(const uint a) { return FIRST_WORD + a * kAxisWords; }
uint axis_count(const uint a) { return word(axis_word(a)); }
offset_t src_stride(const uint a) { return stride_at(axis_word(a) + 2u); }
offset_t dst_stride(const uint a) { return stride_at(axis_word(a) + 2u + STRIDE_WORDS); }

uint id_count() {
  uint ids = axis_count(0u);
  [[unroll]] for (uint a = 1u; a < kAxes; ++a) ids *= axis_count(a);
  return ids;
}

// n / count of axis a, for n below 2^31 (Granlund and Montgomery 1994, figure 4.1, 32-bit).
uint divide_by_count(uint n, const uint a) {
  uint high, low;
  umulExtended(n, word(axis_word(a) + 1u), high, low);
  uint shifts = word(kShiftWord + a / PERMUTE_SHIFTS_PER_WORD);
  return (high + n) >> ((shifts >> (5u * (a % PERMUTE_SHIFTS_PER_WORD))) & 31u);
}

// Returns the digit of axis a and removes it from the id.
uint take_digit(inout uint id, const uint a) {
  if (a + 1u >= kAxes) return id;
  uint quotient = divide_by_count(id, a);
  uint digit = id - quotient * axis_count(a);
  id = quotient;
  return digit;
}

// First word of bound b. The bounds follow the kernel's own words, of which there are `own_words`.
uint bound_word(const uint own_words, const uint b) { return kOwnWord + own_words + b * (kAxes + 2u); }
int bound_coefficient(const uint own_words, const uint b, const uint a) {
  return int(word(bound_word(own_words, b) + a));
}
int read_limit(const uint own_words, const uint b) { return int(word(bound_word(own_words, b) + kAxes)); }
int write_limit(const uint own_words, const uint b) { return int(word(bound_word(own_words, b) + kAxes + 1u)); }

// Linear workgroup index of a grid that is folded over x, y and z.
uint group_id() {
  return gl_WorkGroupID.x + gl_NumWorkGroups.x * (gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z);
}
