// What the backend's tests share: the devices that are here, and small plans made by hand.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sectile::test {

// "vulkan:N" of every device that Sectile can use. None: the caller returns, and has passed, unless
// SECTILE_REQUIRE holds "vulkan".
std::vector<std::string> selectors();

// Opens the device under the validation layer where that is installed.
vulkan::Runtime open(const std::string& selector, vulkan::RuntimeOptions options = {});

// The runtime's device as an application would hand it over, made with all that is wanted.
vulkan::Adoption adoption_of(const vulkan::Runtime& runtime);

// Runs a test once on every device, and expects the validation layer to have said nothing.
void on_every_device(const std::function<void(vulkan::Runtime&)>& test);
void on_every_device(const vulkan::RuntimeOptions& options, const std::function<void(vulkan::Runtime&)>& test);

// For tests of what kernels write: every device, and under a sanitizer lavapipe alone where it is. What drivers compile
// is not instrumented, and SwiftShader compiles a product for seconds.
std::vector<std::string> compiling_selectors();
void on_every_compiler(const std::function<void(vulkan::Runtime&)>& test);

// Copies `bytes`, a multiple of 4, by the kernel permute_copy.e4. Different unrolls need different pipelines.
Plan copy_plan(std::uint64_t bytes, std::uint32_t unroll = 4);

// Copies by way of a scratch operand: two steps and a barrier.
Plan two_step_plan(std::uint64_t bytes);

// A plan of one step with no operand, for a kernel that the test brings along.
Plan bare_plan(const std::string& stem, const std::string& variant);

// Bytes that repeat nowhere soon.
std::vector<std::byte> pattern(std::uint64_t bytes, std::uint32_t seed = 1);

// A source and a destination on a device, the destination filled with 0xCD.
struct Pair {
  vulkan::Buffer src, dst;
  std::vector<vulkan::OperandAddress> operands() const;
};
Pair make_pair(vulkan::Runtime& runtime, const std::vector<std::byte>& src);

std::vector<std::byte> read_back(vulkan::Runtime& runtime, const vulkan::Buffer& buffer);

// Whether both hold the same bytes; where not, the test's log says where they part.
bool same(const std::vector<std::byte>& got, const std::vector<std::byte>& want);

// A folder of this process's own, gone with it.
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
