// Words as a product's are, for tests of lib/words.abi.h: some are there on conditions, some have two words, and a
// second list follows the first.
#ifndef SECTILE_TESTS_WORDS_TRIAL_ABI_H
#define SECTILE_TESTS_WORDS_TRIAL_ABI_H

#define TRIAL_C 1
#define TRIAL_C_IS_D 2
#define TRIAL_BATCHED 4
#define TRIAL_SPLIT 8
#define TRIAL_PADDED 16
#define TRIAL_HAS(bit) ((kEpilogue & (bit)) != 0u)

#define TRIAL_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)                                  \
  WORD_IF(address, c_address, stream, TRIAL_HAS(TRIAL_C), 0)                         \
  WORDS(float, parameter, c_address, kParameters)                                    \
  WORD(uint, size_m, parameter)                                                      \
  WORD(float, alpha, size_m)                                                         \
  WORD_IF(uint, ldc, alpha, TRIAL_HAS(TRIAL_C), 0)                                   \
  WORD_IF(float, beta, ldc, TRIAL_HAS(TRIAL_C | TRIAL_C_IS_D), 0)                    \
  WORD_IF(uint, splits, beta, TRIAL_HAS(TRIAL_SPLIT), 1)                             \
  WORD_IF(uint64, a_batch, splits, TRIAL_HAS(TRIAL_BATCHED), 0)                      \
  WORD_IF(uint64, c_batch, a_batch, TRIAL_HAS(TRIAL_BATCHED) && TRIAL_HAS(TRIAL_C), 0)

// What an image adds.
#define TRIAL_IMAGE_WORDS(WORD, WORD_IF, WORDS, WORDS_IF)        \
  WORD(u16x2, padding, product)                                  \
  WORD_IF(int, first_pixel, padding, TRIAL_HAS(TRIAL_PADDED), 0) \
  WORD(u8x2u16, shifts, first_pixel)                             \
  WORDS_IF(stride, pitch, shifts, TRIAL_HAS(TRIAL_BATCHED), 2u)  \
  WORD(uint, guard, pitch)

#endif
