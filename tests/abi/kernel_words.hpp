// The streams of words that kernels with a GEMM's push struct read, in each language: kernel_words_cuda.cpp and
// kernel_words_glsl.cpp compile the accessors of the kernels' own lists for the host.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sectile::kernel_words {

enum class Stream : std::uint8_t { gemm, gathered, reduce, direct, winograd_filter, winograd_input, winograd_output };

// The specialization constants that conditions name.
struct Constants {
  std::uint32_t kEpilogue = 0, kBType = 0, kPrologue = 0, kGatheredSide = 0, kFlattenedBatch = 0;
};

// What each accessor returns, in the stream's order, and where the stream ends. Pairs: x, and y from bit 32 on.
struct Read {
  std::vector<std::pair<std::string, std::uint64_t>> words;
  std::uint32_t end = 0;
  bool operator==(const Read&) const = default;
};

Read read_as_cuda(Stream stream, const Constants& constants, const std::vector<std::uint32_t>& words);
Read read_as_glsl(Stream stream, const Constants& constants, const std::vector<std::uint32_t>& words);

}  // namespace sectile::kernel_words
