// Reads a kernel's words by name, in GLSL and CUDA. src/plan/words.hpp packs the same lists.
//
// A list declares words in their order:
//
//   #define STEM_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)
//     WORD(uint, rows, sizes)                            a word after what is named `sizes`
//     WORD_IF(float, beta, rows, STEM_HAS_C, 1)          is there where the condition holds; otherwise it reads as 1
//     WORDS(int, pitch, beta, kAxes)                     kAxes of them
//     WORDS_IF(stride, step, pitch, STEM_HAS_C, kAxes)   kAxes of them, or none, which read as 0
//
// Each names the one before it: no preprocessor can count, and so a word's place is one addition. C++ refuses a list
// that names another than the one before. Conditions and counts are expressions of specialization constants by the
// names that the kernel has for them; the host has a struct with the same names.
//
// SECTILE_READ(STEM_WORDS) makes rows(), beta(), pitch(i), step(i). Before it, the constant sizes_end says where the
// list begins. SECTILE_READ_EACH(STEM_WORDS) is for a list that a stream has several times: rows(k), pitch(k, i); the
// macro SECTILE_EACH(k) says where the list's copy k begins, and the first word is at 0 in it (sizes_end is 0).
// SECTILE_SIZE(STEM_WORDS) is the number of 32-bit words. CUDA's accessors take a SECTILE_PUSH first.
//
// The includer has word(k), the 32-bit word k; for strides also stride_at(k) and SECTILE_STRIDE_WORDS, 1 or 2.
//
// Types: uint, int, float; u16x2: two halves, x the lower one; u8x2u16: x and y 8 bits, z 16; stride; uint64 and
// address: two words.
#ifndef SECTILE_LIB_WORDS_ABI_H
#define SECTILE_LIB_WORDS_ABI_H

#define SECTILE_SIZE_uint 1u
#define SECTILE_SIZE_int 1u
#define SECTILE_SIZE_float 1u
#define SECTILE_SIZE_u16x2 1u
#define SECTILE_SIZE_u8x2u16 1u
#define SECTILE_SIZE_stride SECTILE_STRIDE_WORDS
#define SECTILE_SIZE_uint64 2u
#define SECTILE_SIZE_address 2u

#define SECTILE_PLUS_WORD(type, name, after) +SECTILE_SIZE_##type
#define SECTILE_PLUS_WORD_IF(type, name, after, when, otherwise) +((when) ? SECTILE_SIZE_##type : 0u)
#define SECTILE_PLUS_WORDS(type, name, after, count) +(count)*SECTILE_SIZE_##type
#define SECTILE_PLUS_WORDS_IF(type, name, after, when, count) +((when) ? (count)*SECTILE_SIZE_##type : 0u)
#define SECTILE_SIZE(LIST) \
  (0u LIST(SECTILE_PLUS_WORD, SECTILE_PLUS_WORD_IF, SECTILE_PLUS_WORDS, SECTILE_PLUS_WORDS_IF))

#ifdef GL_core_profile

#define SECTILE_TYPE_uint uint
#define SECTILE_TYPE_int int
#define SECTILE_TYPE_float float
#define SECTILE_TYPE_u16x2 uvec2
#define SECTILE_TYPE_u8x2u16 uvec3
#define SECTILE_TYPE_stride offset_t
#define SECTILE_TYPE_uint64 uvec2
#define SECTILE_TYPE_address uvec2

#define SECTILE_WORD_uint(k) word(k)
#define SECTILE_WORD_int(k) int(word(k))
#define SECTILE_WORD_float(k) uintBitsToFloat(word(k))
#define SECTILE_WORD_u16x2(k) uvec2(word(k) & 0xffffu, word(k) >> 16)
#define SECTILE_WORD_u8x2u16(k) uvec3(word(k) & 255u, (word(k) >> 8) & 255u, word(k) >> 16)
#define SECTILE_WORD_stride(k) stride_at(k)
#define SECTILE_WORD_uint64(k) uvec2(word(k), word((k) + 1u))
#define SECTILE_WORD_address(k) SECTILE_WORD_uint64(k)

#define SECTILE_PLACE(name, after, words) \
  const uint name##_at = after##_end;     \
  const uint name##_end = name##_at + (words);
#define SECTILE_ACCESSOR(type, name) SECTILE_TYPE_##type name()
#define SECTILE_ACCESSOR_I(type, name) SECTILE_TYPE_##type name(const uint i)
#define SECTILE_ACCESSOR_K(type, name) SECTILE_TYPE_##type name(const uint k)
#define SECTILE_ACCESSOR_KI(type, name) SECTILE_TYPE_##type name(const uint k, const uint i)

#else

#define SECTILE_TYPE_uint uint
#define SECTILE_TYPE_int int
#define SECTILE_TYPE_float float
#define SECTILE_TYPE_u16x2 uint2
#define SECTILE_TYPE_u8x2u16 uint3
#define SECTILE_TYPE_stride offset_t
#define SECTILE_TYPE_uint64 uint64
#define SECTILE_TYPE_address uint64

#define SECTILE_WORD_uint(k) word(push, k)
#define SECTILE_WORD_int(k) int(word(push, k))
#define SECTILE_WORD_float(k) __uint_as_float(word(push, k))
#define SECTILE_WORD_u16x2(k) uint2{word(push, k) & 0xffffu, word(push, k) >> 16}
#define SECTILE_WORD_u8x2u16(k) uint3{word(push, k) & 255u, (word(push, k) >> 8) & 255u, word(push, k) >> 16}
#define SECTILE_WORD_stride(k) stride_at(push, k)
#define SECTILE_WORD_uint64(k) (uint64(word(push, (k) + 1u)) << 32 | word(push, k))
#define SECTILE_WORD_address(k) SECTILE_WORD_uint64(k)

#define SECTILE_PLACE(name, after, words)  \
  constexpr uint name##_at = after##_end;  \
  constexpr uint name##_end = name##_at + (words);
#define SECTILE_ACCESSOR(type, name) __device__ __forceinline__ SECTILE_TYPE_##type name(const SECTILE_PUSH& push)
#define SECTILE_ACCESSOR_I(type, name) \
  __device__ __forceinline__ SECTILE_TYPE_##type name(const SECTILE_PUSH& push, const uint i)
#define SECTILE_ACCESSOR_K(type, name) \
  __device__ __forceinline__ SECTILE_TYPE_##type name(const SECTILE_PUSH& push, const uint k)
#define SECTILE_ACCESSOR_KI(type, name) \
  __device__ __forceinline__ SECTILE_TYPE_##type name(const SECTILE_PUSH& push, const uint k, const uint i)

#endif

#define SECTILE_READ_WORD(type, name, after)    \
  SECTILE_PLACE(name, after, SECTILE_SIZE_##type) \
  SECTILE_ACCESSOR(type, name) { return SECTILE_WORD_##type(name##_at); }
#define SECTILE_READ_WORD_IF(type, name, after, when, otherwise)     \
  SECTILE_PLACE(name, after, (when) ? SECTILE_SIZE_##type : 0u)      \
  SECTILE_ACCESSOR(type, name) {                                     \
    if (when) return SECTILE_WORD_##type(name##_at);                 \
    return SECTILE_TYPE_##type(otherwise);                           \
  }
#define SECTILE_READ_WORDS(type, name, after, count)        \
  SECTILE_PLACE(name, after, (count)*SECTILE_SIZE_##type)   \
  SECTILE_ACCESSOR_I(type, name) { return SECTILE_WORD_##type(name##_at + i * SECTILE_SIZE_##type); }
#define SECTILE_READ_WORDS_IF(type, name, after, when, count)                    \
  SECTILE_PLACE(name, after, (when) ? (count)*SECTILE_SIZE_##type : 0u)          \
  SECTILE_ACCESSOR_I(type, name) {                                               \
    if (when) return SECTILE_WORD_##type(name##_at + i * SECTILE_SIZE_##type);   \
    return SECTILE_TYPE_##type(0);                                               \
  }
#define SECTILE_READ(LIST) LIST(SECTILE_READ_WORD, SECTILE_READ_WORD_IF, SECTILE_READ_WORDS, SECTILE_READ_WORDS_IF)

#define SECTILE_READ_EACH_WORD(type, name, after) \
  SECTILE_PLACE(name, after, SECTILE_SIZE_##type) \
  SECTILE_ACCESSOR_K(type, name) { return SECTILE_WORD_##type(SECTILE_EACH(k) + name##_at); }
#define SECTILE_READ_EACH_WORDS(type, name, after, count)  \
  SECTILE_PLACE(name, after, (count)*SECTILE_SIZE_##type)  \
  SECTILE_ACCESSOR_KI(type, name) { return SECTILE_WORD_##type(SECTILE_EACH(k) + name##_at + i * SECTILE_SIZE_##type); }
// No such list has conditions yet.
#define SECTILE_READ_EACH(LIST) \
  LIST(SECTILE_READ_EACH_WORD, SECTILE_READ_EACH_NONE, SECTILE_READ_EACH_WORDS, SECTILE_READ_EACH_NONE)

#endif
