#include "helpers.hpp"
#include "support/folder.hpp"

#include "lib/abi.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace sectile::test {
namespace {

constexpr std::uint32_t kWorkgroup = 128;
constexpr std::uint32_t kSpecAdd = 8;

// As the kernels have it.
struct WordsPush {
  SectileAddress src, dst;
  std::uint32_t words;
  std::uint32_t rest;
};

constexpr std::string_view kAddWords = R"(//! variant e4
//! variant e4.seven -DADD=7
//! variant e4.plain -DPLAIN
#include "lib/cuda.cuh"
#include "lib/abi.h"
#include "permute/permute_copy.abi.h"
struct WordsPush { SectileAddress src, dst; unsigned words, rest; };
constexpr unsigned kWorkgroup = sectile_constant(SECTILE_SPEC_WORKGROUP, 1u);
#ifdef ADD
constexpr unsigned kAdd = ADD;
#elif defined(PLAIN)
static_assert(PLAIN == 1, "a macro without a value is 1");
constexpr unsigned kAdd = 0u;
#else
constexpr unsigned kAdd = sectile_constant(8u, 1u);
#endif
__device__ unsigned* at(SectileAddress a) { return (unsigned*)((unsigned long long)a.hi << 32 | a.lo); }
extern "C" __global__ void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ WordsPush push) {
  unsigned group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned i = group * kWorkgroup + threadIdx.x;
  if (i < push.words) at(push.dst)[i] = at(push.src)[i] + kAdd;
}
)";

constexpr std::string_view kShareWords = R"(//! variant e4
#include "lib/cuda.cuh"
#include "lib/abi.h"
struct WordsPush { SectileAddress src, dst; unsigned words, rest; };
constexpr unsigned kWorkgroup = sectile_constant(SECTILE_SPEC_WORKGROUP, 1u);
constexpr unsigned kLast = 60u * 1024u / 4u - kWorkgroup;
extern __shared__ unsigned shared[];
__device__ unsigned* at(SectileAddress a) { return (unsigned*)((unsigned long long)a.hi << 32 | a.lo); }
extern "C" __global__ void __launch_bounds__(kWorkgroup) sectile_main(const __grid_constant__ WordsPush push) {
  unsigned i = blockIdx.x * kWorkgroup + threadIdx.x;
  shared[kLast + threadIdx.x] = i < push.words ? at(push.src)[i] : 0u;
  __syncthreads();
  if (i < push.words) at(push.dst)[i] = shared[kLast + threadIdx.x] + sectile_constant(8u, 1u);
}
)";

// 200 sums that all live to the end, in a kernel that may have 64 registers: 1024 threads leave no more.
constexpr std::string_view kSpillWords = R"(//! variant e4
#include "lib/cuda.cuh"
extern "C" __global__ void __launch_bounds__(1024) sectile_main(const __grid_constant__ uint4 push) {
  volatile float* x = (volatile float*)((unsigned long long)push.y << 32 | push.x);
  __shared__ float shared[256];
  float v[200];
#pragma unroll
  for (int i = 0; i < 200; ++i) v[i] = x[i * 1024 + threadIdx.x];
  shared[threadIdx.x % 256u] = v[0];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 200; ++i) x[i * 1024 + threadIdx.x] = v[199 - i] * v[(i * 7) % 200] + shared[i];
}
)";

constexpr std::string_view kBrokenWords = R"(//! variant e4
extern "C" __global__ void sectile_main() { this_is_no_statement }
)";

bool required(std::string_view what) {
  const char* value = std::getenv("SECTILE_REQUIRE");
  return value != nullptr && std::string_view(value).find(what) != std::string_view::npos;
}

Step add_step(std::uint32_t words, std::uint32_t add, std::uint32_t from, std::uint32_t to) {
  Step step = kernel_step("add_words");
  WordsPush push{};
  push.words = words;
  step.constants.push_back({kSpecAdd, add});
  step.grid = {(words + kWorkgroup - 1) / kWorkgroup, 1, 1};
  step.push.resize(sizeof(push));
  std::memcpy(step.push.data(), &push, sizeof(push));
  step.addresses = {{offsetof(WordsPush, src), from, 0}, {offsetof(WordsPush, dst), to, 0}};
  const std::uint64_t bytes = std::uint64_t{words} * 4;
  step.accesses = {{from, 0, bytes, false}, {to, 0, bytes, true}};
  return step;
}

}  // namespace

std::span<const EmbeddedSource> test_sources() {
  static constexpr std::array<EmbeddedSource, 4> kSources = {{{"add_words", kAddWords},
                                                              {"spill_words", kSpillWords},
                                                              {"share_words", kShareWords},
                                                              {"broken_words", kBrokenWords}}};
  return kSources;
}

Step kernel_step(const std::string& stem, const std::string& variant) {
  Step step;
  step.kernel = {stem, variant};
  step.constants = {{SECTILE_SPEC_WORKGROUP, kWorkgroup}};
  step.workgroup = {kWorkgroup, 1, 1};
  return step;
}

Plan add_plan(std::uint32_t words, std::uint32_t add) {
  const std::uint64_t bytes = std::uint64_t{words} * 4;
  Plan plan;
  plan.id = "add" + std::to_string(words);
  plan.operands = {{"src", OperandRole::source, bytes, 16}, {"dst", OperandRole::destination, bytes, 16}};
  plan.steps = {add_step(words, add, 0, 1)};
  return plan;
}

Plan two_step_plan(std::uint32_t words, std::uint32_t add) {
  Plan plan = add_plan(words, add);
  plan.operands.push_back({"scratch", OperandRole::scratch, std::uint64_t{words} * 4, 16});
  plan.steps = {add_step(words, add, 0, 2), add_step(words, add, 2, 1)};
  plan.steps[1].barrier_before = true;
  return plan;
}

const cuda::api::Nvrtc* nvrtc_or_skip(const char* test) {
  const auto loaded = cuda::nvrtc();
  if (loaded) return *loaded;
  if (required("nvrtc")) FAIL("SECTILE_REQUIRE=nvrtc: " << loaded.error().message());
  MESSAGE("skipped: " << std::string(test) << ": " << loaded.error().message());
  return nullptr;
}

void on_every_device(const char* test, const std::function<void(cuda::Runtime&)>& body,
                     const cuda::RuntimeOptions& options) {
  const auto devices = cuda::list_devices();
  if (!devices || devices->empty()) {
    const std::string why = devices ? "the driver sees no device" : devices.error().message();
    if (required("cuda")) FAIL("SECTILE_REQUIRE=cuda: " << why);
    MESSAGE("skipped: " << std::string(test) << ": " << why);
    return;
  }
  cuda::RuntimeOptions with_sources = options;
  with_sources.sources = test_sources();
  for (const cuda::DeviceEntry& entry : *devices) {
    CAPTURE(entry.name);
    auto runtime = must(cuda::Runtime::open("cuda:" + std::to_string(entry.index), with_sources));
    body(runtime);
  }
}

std::vector<std::uint32_t> pattern(std::size_t words, std::uint32_t seed) {
  std::vector<std::uint32_t> out(words);
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::uint32_t& word : out) word = state = state * 1664525u + 1013904223u;
  return out;
}

std::vector<std::uint32_t> plus(std::vector<std::uint32_t> words, std::uint32_t add) {
  for (std::uint32_t& word : words) word += add;
  return words;
}

std::vector<OperandAddress> Pair::operands() const {
  return {{src.address(), src.size()}, {dst.address(), dst.size()}};
}

Pair poisoned_pair(cuda::Runtime& runtime, const std::vector<std::uint32_t>& src) {
  const std::uint64_t bytes = src.size() * 4;
  Pair out{must(runtime.make_buffer(bytes)), must(runtime.make_buffer(bytes))};
  must(runtime.upload(out.src, 0, std::as_bytes(std::span(src))));
  must(runtime.fill(out.dst, 0, bytes, 0xCDCDCDCD));
  return out;
}

std::vector<std::uint32_t> read_back(cuda::Runtime& runtime, const cuda::Buffer& buffer) {
  std::vector<std::uint32_t> out(buffer.size() / 4);
  must(runtime.download(buffer, 0, std::as_writable_bytes(std::span(out))));
  return out;
}

std::string temporary_folder() {
  static std::atomic<unsigned> next{0};
  return process_folder() + "/" + std::to_string(next++);
}

}  // namespace sectile::test
