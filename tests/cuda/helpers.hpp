// What the backend's tests share: a kernel of their own, plans for it, and the devices that are here.
#pragma once

#include "cuda/libraries.hpp"

#include <sectile/cuda_runtime.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::test {

// Kernels that no release has, so that the backend's tests stand on their own:
//   add_words    dst[i] = src[i] + ADD, ADD from a constant or from its variant's macro
//   spill_words  keeps more values at a time than there are registers
//   share_words  as add_words by way of dynamic workgroup memory
//   broken_words does not compile
std::span<const EmbeddedSource> test_sources();

// Adds a constant to each of `words` 32-bit words. Different constants are different kernels.
Plan add_plan(std::uint32_t words, std::uint32_t add);
// The same twice, by way of a scratch operand.
Plan two_step_plan(std::uint32_t words, std::uint32_t add);
Step kernel_step(const std::string& stem, const std::string& variant = "e4");

// NVRTC, or none where there is none: then the test says so and has passed, unless SECTILE_REQUIRE holds "nvrtc".
const cuda::api::Nvrtc* nvrtc_or_skip(const char* test);

// Runs a test once on every CUDA device. Where there is none it says so by name, and has passed unless
// SECTILE_REQUIRE holds "cuda".
void on_every_device(const char* test, const std::function<void(cuda::Runtime&)>& body,
                     const cuda::RuntimeOptions& options = {});

// Words that repeat nowhere soon.
std::vector<std::uint32_t> pattern(std::size_t words, std::uint32_t seed = 1);
std::vector<std::uint32_t> plus(std::vector<std::uint32_t> words, std::uint32_t add);

// A source and a destination on a device, the destination poisoned.
struct Pair {
  cuda::Buffer src, dst;
  std::vector<OperandAddress> operands() const;
};
Pair poisoned_pair(cuda::Runtime& runtime, const std::vector<std::uint32_t>& src);
std::vector<std::uint32_t> read_back(cuda::Runtime& runtime, const cuda::Buffer& buffer);

// A new folder in one of this process's own, which is gone with it.
std::string temporary_folder();

// The value, or a test failure that shows the error.
template <class T>
T must(Result<T> result) {
  if (!result) FAIL(result.error().message());
  return std::move(*result);
}
inline void must(const Result<void>& result) {
  if (!result) FAIL(result.error().message());
}

}  // namespace sectile::test
