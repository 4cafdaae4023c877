// A struct for each stream, which reads all of its words. No #pragma once: each language includes it once, after it has
// defined CALL(name) and CALL_AT(name, i), an accessor's call, and number(), a value as Read has it.

#define NAMED_WORD(type, name, after) read.words.emplace_back(#name, number(CALL(name)));
#define NAMED_WORD_IF(type, name, after, when, otherwise) NAMED_WORD(type, name, after)
#define NAMED_WORDS(type, name, after, count) \
  for (uint i = 0; i < (count); ++i) read.words.emplace_back(#name, number(CALL_AT(name, i)));
#define NAMED_WORDS_IF(type, name, after, when, count) \
  if (when) NAMED_WORDS(type, name, after, count)
#define NAMED(LIST) LIST(NAMED_WORD, NAMED_WORD_IF, NAMED_WORDS, NAMED_WORDS_IF)

// The lists in the order of gemm/base.glsl and gemm/base.cuh. A kernel's constants are members.
#define STREAM(Name, EXTRA, OWN, GATHERED)                                                                        \
  struct Name : Kernel {                                                                                          \
    using Kernel::Kernel;                                                                                         \
    const uint stream_end = 0;                                                                                    \
    SECTILE_READ(GEMM_ADDRESS_WORDS)                                                                              \
    SECTILE_READ(EXTRA)                                                                                           \
    const uint operands_end = stream_end + SECTILE_SIZE(GEMM_ADDRESS_WORDS) + SECTILE_SIZE(EXTRA);                \
    SECTILE_READ(GEMM_ACTIVATION_WORDS)                                                                           \
    const uint activation_end = operands_end + SECTILE_SIZE(GEMM_ACTIVATION_WORDS);                               \
    SECTILE_READ(OWN)                                                                                             \
    const uint own_end = activation_end + SECTILE_SIZE(OWN);                                                      \
    SECTILE_READ(GATHERED)                                                                                        \
    Read all() {                                                                                                  \
      Read read{.words = {}, .end = own_end + SECTILE_SIZE(GATHERED)};                                            \
      NAMED(GEMM_ADDRESS_WORDS) NAMED(EXTRA) NAMED(GEMM_ACTIVATION_WORDS) NAMED(OWN) NAMED(GATHERED) return read; \
    }                                                                                                             \
  };

STREAM(GemmStream, GEMM_NO_WORDS, GEMM_WORDS, GEMM_NO_WORDS)
STREAM(GatheredStream, CONV2D_PROLOGUE_WORDS, GEMM_WORDS, CONV2D_GATHER_WORDS)
STREAM(ReduceStream, GEMM_NO_WORDS, MATMUL_REDUCE_WORDS, GEMM_NO_WORDS)
STREAM(DirectStream, CONV2D_PROLOGUE_WORDS, CONV2D_DIRECT_WORDS, GEMM_NO_WORDS)
STREAM(FilterStream, GEMM_NO_WORDS, CONV2D_WINOGRAD_FILTER_WORDS, GEMM_NO_WORDS)
STREAM(InputStream, CONV2D_PROLOGUE_WORDS, CONV2D_WINOGRAD_INPUT_WORDS, GEMM_NO_WORDS)
STREAM(OutputStream, GEMM_NO_WORDS, CONV2D_WINOGRAD_OUTPUT_WORDS, GEMM_NO_WORDS)

Read read_stream(Stream stream, const Constants& constants, const std::vector<std::uint32_t>& words) {
  switch (stream) {
    case Stream::gemm:
      return GemmStream(constants, words).all();
    case Stream::gathered:
      return GatheredStream(constants, words).all();
    case Stream::reduce:
      return ReduceStream(constants, words).all();
    case Stream::direct:
      return DirectStream(constants, words).all();
    case Stream::winograd_filter:
      return FilterStream(constants, words).all();
    case Stream::winograd_input:
      return InputStream(constants, words).all();
    case Stream::winograd_output:
      return OutputStream(constants, words).all();
  }
  std::unreachable();
}
