// GLSL's accessors of the kernels' lists on the host. A file of its own in unity builds: words.abi.h has one language.
#define GL_core_profile 1
#include "kernel_words.hpp"
#include "lib/words.abi.h"
#undef GL_core_profile

#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/direct_words.abi.h"
#include "gemm/matmul_reduce.abi.h"

#include <bit>

namespace sectile::kernel_words {

namespace {

using uint = unsigned;
struct uvec2 {
  uint x, y;
  explicit uvec2(uint both) : x(both), y(both) {}
  uvec2(uint first, uint second) : x(first), y(second) {}
};
struct uvec3 {
  uint x, y, z;
  uvec3(uint first, uint second, uint third) : x(first), y(second), z(third) {}
};
float uintBitsToFloat(uint bits) { return std::bit_cast<float>(bits); }

std::uint64_t number(uint v) { return v; }
std::uint64_t number(float v) { return std::bit_cast<uint>(v); }
std::uint64_t number(uvec2 v) { return v.x | std::uint64_t{v.y} << 32; }
std::uint64_t number(uvec3 v) { return v.x | v.y << 8 | v.z << 16; }

struct Kernel : Constants {
  Kernel(const Constants& constants, const std::vector<std::uint32_t>& all) : Constants(constants), words(all) {}
  const std::vector<std::uint32_t>& words;
  uint word(uint k) const { return words.at(k); }
};

#define CALL(name) name()
#define CALL_AT(name, i) name(i)
#include "kernel_words_streams.hpp"

}  // namespace

Read read_as_glsl(Stream stream, const Constants& constants, const std::vector<std::uint32_t>& words) {
  return read_stream(stream, constants, words);
}

}  // namespace sectile::kernel_words
