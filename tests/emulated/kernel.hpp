// What a kernel sees of CUDA on the host. CMake puts each shaders/*/*.cu, a variant at a time, into a class derived
// from Emulated, where `constexpr` reads `const`: namespace-scope constants become members that are worked out from the
// step when the object is made, functions become member functions, and one compilation serves all constants.
#pragma once

#include "emulated.hpp"

#include "conv2d/conv2d.abi.h"
#include "conv2d/conv2d_depthwise.abi.h"
#include "conv2d/conv2d_direct.abi.h"
#include "conv2d/conv2d_simt.abi.h"
#include "conv2d/conv2d_winograd.abi.h"
#include "gemm/gemm.abi.h"
#include "gemm/matmul_direct.abi.h"
#include "gemm/matmul_mma.abi.h"
#include "gemm/matmul_simt.abi.h"
#include "gemm/matmul_wgmma.abi.h"
#include "gemm/matvec.abi.h"
#include "permute/permute.abi.h"
#include "permute/permute_box.abi.h"
#include "permute/permute_copy.abi.h"
#include "permute/permute_fused.abi.h"
#include "permute/permute_interleave.abi.h"
#include "permute/permute_ragged.abi.h"
#include "permute/permute_realign.abi.h"
#include "permute/permute_rows.abi.h"
#include "permute/permute_runs.abi.h"
#include "permute/permute_table.abi.h"
#include "permute/permute_tile.abi.h"
#include "permute/permute_words.abi.h"

#include "reference/numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

// NOLINTBEGIN(bugprone-reserved-identifier): CUDA's own names
#define SECTILE_EMULATED 1
#define SECTILE_KERNEL
// NOLINTBEGIN(bugprone-macro-parentheses): a type, which takes none
#define SECTILE_SHARED(type, name, count) \
  Shared<type> name { *this, count }
#define SECTILE_SHARED_AT(type, name, byte) \
  (*reinterpret_cast<const type*>(reinterpret_cast<const char*>(&name[(byte) / 4u]) + (byte) % 4u))
// NOLINTEND(bugprone-macro-parentheses)
#define SECTILE_IF_CONSTEXPR if
#define SECTILE_WITH(function, ...) function##_with(__VA_ARGS__)
#define SECTILE_SIZE_UP_TO(size, most) (most)
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__

namespace sectile::emulated {

struct alignas(8) uint2 {
  unsigned x, y;
};
struct uint3 {
  unsigned x, y, z;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

// One invocation runs at a time.
inline uint3 threadIdx{}, blockIdx{}, gridDim{};

// Which iteration of which loops the invocation is in, as one number. Lanes whose accesses have the same number, and
// the same position in the source, carry them out together on a GPU.
inline std::uint64_t iterations = 0;
class Loop {
 public:
  explicit Loop(unsigned number) : outer_(iterations), number_(number) {}
  ~Loop() { iterations = outer_; }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;
  bool begins() { return !std::exchange(begun_, true); }
  void next() { iterations = ((outer_ ^ number_) * 0x9e3779b97f4a7c15ull + ++iteration_) * 0xd1342543de82ef95ull; }

 private:
  std::uint64_t outer_;
  unsigned number_, iteration_ = 0;
  bool begun_ = false;
};
// What CMake makes of a kernel's `for`. A loop stands in front, so that `#pragma unroll` still precedes one.
#define SECTILE_FOR(...)                                       \
  for (Loop sectile_loop(__COUNTER__); sectile_loop.begins();) \
    for (__VA_ARGS__)                                          \
      if (sectile_loop.next(); false) {                        \
      } else

using Where = std::source_location;

void refuse(const char* what);  // what the kernel did wrong
// What a static_assert() of a kernel becomes.
inline void require(bool holds) {
  if (!holds) refuse("a static_assert of the kernel does not hold");
}
// A kernel's argument.
struct TensorMap {
  const sectile::TensorMap* map = nullptr;
  std::byte* first = nullptr;  // the tensor's first element
};

void __syncthreads();  // lets the others come here
// Notes what may not be, and records what is traced.
bool may_access(const void* address, std::uint64_t bytes, bool write, const Where& where);
// The same of workgroup memory, while `tracing` says so: first the word, then how many bytes from it on.
inline bool tracing = false;
void trace_word(const void* address, std::uint64_t bytes, const Where& where);
void widen_word(const void* address, std::uint64_t bytes);
// What each lane of this invocation's warp hands in, once all have.
constexpr unsigned kWarp = 32;
const unsigned* exchange(unsigned value);

inline unsigned min(unsigned a, unsigned b) { return std::min(a, b); }
inline int min(int a, int b) { return std::min(a, b); }
inline unsigned max(unsigned a, unsigned b) { return std::max(a, b); }
// A device's own roundings are not looked for here: the tolerances of the reference hold for these too.
inline float fmaf(float a, float b, float c) { return a * b + c; }
inline float fabsf(float v) { return std::fabs(v); }
inline float fminf(float a, float b) { return std::fmin(a, b); }
inline float fmaxf(float a, float b) { return std::fmax(a, b); }
inline float exp_of(float v) { return std::exp(v); }
// As the device's: that of a number beyond 2^126, which is subnormal, is 0.
inline float reciprocal_of(float v) { return std::fabs(v) > 0x1p126f ? std::copysign(0.0f, v) : 1.0f / v; }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float v) { return std::bit_cast<unsigned>(v); }
inline unsigned float_to_half(float v) {
  std::uint16_t bits = 0;
  reference::encode(DType::f16, static_cast<double>(v), reinterpret_cast<std::byte*>(&bits));
  return bits;
}
inline float half_to_float(unsigned bits) {
  const auto half = static_cast<std::uint16_t>(bits);
  return static_cast<float>(reference::decode(DType::f16, reinterpret_cast<const std::byte*>(&half)));
}
inline unsigned f16_sums(unsigned a, unsigned b) {
  return float_to_half(half_to_float(a & 0xffffu) + half_to_float(b & 0xffffu)) |
         float_to_half(half_to_float(a >> 16) + half_to_float(b >> 16)) << 16;
}
inline unsigned f16_products(unsigned a, unsigned b) {
  return float_to_half(half_to_float(a & 0xffffu) * half_to_float(b & 0xffffu)) |
         float_to_half(half_to_float(a >> 16) * half_to_float(b >> 16)) << 16;
}
inline unsigned f16_twice(unsigned word, bool upper) {
  return upper ? word >> 16 | (word & 0xffff0000u) : (word & 0xffffu) | word << 16;
}
inline unsigned masked(unsigned a, unsigned mask, unsigned bits) { return (a & mask) | bits; }
inline int nearest_int(float v) {
  if (v >= 2147483648.0f) return 0x7fffffff;
  return v < -2147483648.0f ? -0x7fffffff - 1 : static_cast<int>(std::nearbyint(v));
}
inline int saturated_sum(int a, int b) {
  const long long sum = static_cast<long long>(a) + b;
  return sum > 0x7fffffff ? 0x7fffffff : sum < -0x7fffffffLL - 1 ? -0x7fffffff - 1 : static_cast<int>(sum);
}
inline int __dp4a(int a, int b, int sum) {
  for (unsigned i = 0; i < 4; ++i) {
    const int product = std::int8_t(unsigned(a) >> (8 * i)) * std::int8_t(unsigned(b) >> (8 * i));
    sum = static_cast<int>(static_cast<unsigned>(sum) + static_cast<unsigned>(product));
  }
  return sum;
}

// In the order of a butterfly of shuffles.
template <class T>
T subgroup_add(T v) {
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2)
    v += std::bit_cast<T>(exchange(std::bit_cast<unsigned>(v))[(threadIdx.x % kWarp) ^ distance]);
  return v;
}

template <class T>
T subgroup_xor(T v, unsigned bits) {
  return std::bit_cast<T>(exchange(std::bit_cast<unsigned>(v))[(threadIdx.x % kWarp) ^ bits]);
}

inline unsigned subgroup_down(unsigned v) { return exchange(v)[std::min(threadIdx.x % kWarp + 1, kWarp - 1)]; }

inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned bits) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (bits & 31));
}

inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(std::uint64_t{a} * b >> 32); }

// PTX prmt, default mode, without the sign-replicating selectors.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned select) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned byte = select >> (4 * i) & 7u;
    result |= static_cast<unsigned>(bytes >> (8 * byte) & 0xffu) << (8 * i);
  }
  return result;
}

template <class T>
T __ldg(const T* pointer, Where where = Where::current()) {
  T value;
  std::memset(&value, 0xEE, sizeof value);
  if (may_access(pointer, sizeof value, false, where)) std::memcpy(&value, pointer, sizeof value);
  return value;
}

template <class T>
T load_global(const T* pointer, Where where = Where::current()) {
  return __ldg(pointer, where);
}

template <class T>
void store_global(T* pointer, T value, Where where = Where::current()) {
  if (may_access(pointer, sizeof value, true, where)) std::memcpy(pointer, &value, sizeof value);
}

// Of a byte that the kernel writes.
inline void prefetch_global(const void* pointer, Where where = Where::current()) {
  may_access(pointer, 1, true, where);
}

inline void atomicAnd(unsigned* pointer, unsigned value, Where where = Where::current()) {
  if (may_access(pointer, sizeof value, true, where)) *pointer &= value;
}
inline void atomicOr(unsigned* pointer, unsigned value, Where where = Where::current()) {
  if (may_access(pointer, sizeof value, true, where)) *pointer |= value;
}

template <class T>
T load_workgroup(const T* pointer) {
  if (tracing) widen_word(pointer, sizeof(T));
  return *pointer;
}
template <class T>
void store_workgroup(T* pointer, T value) {
  if (tracing) widen_word(pointer, sizeof(T));
  *pointer = value;
}

inline void copy_async(unsigned* to, const uint4* from, Where where = Where::current()) {
  if (tracing) widen_word(to, sizeof(uint4));  // before the load is traced
  *reinterpret_cast<uint4*>(to) = __ldg(from, where);
}
inline void await_copies() {}

template <class T>
T* global_pointer(unsigned long long base, unsigned long long bytes) {
  return reinterpret_cast<T*>(base + bytes);
}

template <class T>
class Shared;

// What the members of a kernel's class are made from.
class Emulated {
 public:
  explicit Emulated(const Step& step) : step_(step) {}
  std::vector<SharedArray*> shared_arrays;
  std::uint64_t shared_bytes = 0;

 protected:
  unsigned sectile_constant(unsigned id, unsigned fallback) const {
    for (const Constant& constant : step_.constants)
      if (constant.id == id) return constant.value;
    return fallback;
  }

 private:
  const Step& step_;
};

template <class T>
class Shared final : public SharedArray {
 public:
  Shared(Emulated& kernel, unsigned count) : count_(count), memory_((count * sizeof(T) + 15) / 16 + 2 * kGuard) {
    kernel.shared_arrays.push_back(this);
    kernel.shared_bytes += count * sizeof(T);
  }
  T& operator[](unsigned i, Where where = Where::current()) { return at(i, where); }
  T& at(unsigned i, const Where& where) {
    T& element = data()[std::min(i, count_)];  // overruns hit the guard
    if (tracing) trace_word(&element, sizeof(T), where);
    return element;
  }
  void poison() override { std::memset(memory_.data(), kPoison, memory_.size() * sizeof(uint4)); }
  bool guards_stand() const override {
    const auto* bytes = reinterpret_cast<const unsigned char*>(memory_.data());
    const std::size_t begin = kGuard * sizeof(uint4), end = begin + count_ * sizeof(T);
    for (std::size_t i = 0; i < memory_.size() * sizeof(uint4); ++i)
      if ((i < begin || i >= end) && bytes[i] != kPoison) return false;
    return true;
  }

 private:
  static constexpr unsigned char kPoison = 0xDB;
  static constexpr std::size_t kGuard = 1;  // of 16 bytes
  T* data() { return reinterpret_cast<T*>(memory_.data() + kGuard); }
  unsigned count_;
  std::vector<uint4> memory_;
};

// A kernel's class behind the interface of Kernel.
template <class K>
class Adapter final : public Kernel {
 public:
  explicit Adapter(const Step& step) : kernel_(step) {}
  void invoke(const std::uint8_t* push, std::span<const TensorMap> maps) override {
    call(&K::sectile_main, push, maps);
  }
  const std::vector<SharedArray*>& shared() const override { return kernel_.shared_arrays; }
  std::uint64_t shared_bytes() const override { return kernel_.shared_bytes; }

 private:
  template <class Push, class... Maps>
  void call(void (K::*entry)(Push, Maps...), const std::uint8_t* bytes, std::span<const TensorMap> maps) {
    std::remove_const_t<Push> push;
    std::memcpy(&push, bytes, sizeof push);
    const auto called = [&]<std::size_t... i>(std::index_sequence<i...>) { (kernel_.*entry)(push, maps[i]...); };
    if (maps.size() == sizeof...(Maps))
      called(std::index_sequence_for<Maps...>());
    else
      refuse("the kernel has another number of tensor maps than its step");
  }
  K kernel_;
};

// Adds a row to the table of kernels.
template <class K>
bool register_kernel(std::string_view stem, std::string_view variant) {
  kernels().push_back(
      {stem, variant, [](const Step& step) -> std::unique_ptr<Kernel> { return std::make_unique<Adapter<K>>(step); }});
  return true;
}

}  // namespace sectile::emulated
// NOLINTEND(bugprone-reserved-identifier)
