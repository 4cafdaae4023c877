// CUDA's accessors of the kernels' lists on the host. A file of its own in unity builds: words.abi.h has one language.
#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/direct_words.abi.h"
#include "gemm/matmul_reduce.abi.h"
#include "kernel_words.hpp"
#include "lib/words.abi.h"

#include <bit>

namespace sectile::kernel_words {

namespace {

using uint = unsigned;
using uint64 = std::uint64_t;
struct uint2 {
  uint x, y;
};
struct uint3 {
  uint x, y, z;
};
float __uint_as_float(uint bits) { return std::bit_cast<float>(bits); }  // NOLINT(bugprone-reserved-identifier)

uint64 number(uint v) { return v; }
uint64 number(uint64 v) { return v; }
uint64 number(float v) { return std::bit_cast<uint>(v); }
uint64 number(uint2 v) { return v.x | uint64{v.y} << 32; }
uint64 number(uint3 v) { return v.x | v.y << 8 | v.z << 16; }

using Push = std::vector<std::uint32_t>;
struct Kernel : Constants {
  Kernel(const Constants& constants, const Push& all) : Constants(constants), words(all) {}
  const Push& words;
  static uint word(const Push& push, uint k) { return push.at(k); }
};

#define SECTILE_PUSH Push
#define __device__
#define __forceinline__
#define constexpr const
#define CALL(name) name(words)
#define CALL_AT(name, i) name(words, i)
#include "kernel_words_streams.hpp"
#undef constexpr

}  // namespace

Read read_as_cuda(Stream stream, const Constants& constants, const std::vector<std::uint32_t>& words) {
  return read_stream(stream, constants, words);
}

}  // namespace sectile::kernel_words
