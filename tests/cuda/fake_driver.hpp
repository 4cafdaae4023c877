// A driver without a GPU: it keeps the rules that src/cuda has to keep (contexts are pushed and popped, nothing is done
// without one, what is made is given back) and remembers what was launched. It runs no kernel.
#pragma once

#include "cuda/libraries.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sectile::test {

struct FakeLaunch {
  std::array<std::uint32_t, 3> grid{}, cluster{}, workgroup{};  // cluster: zeros from cuLaunchKernel
  std::uint32_t dynamic_shared = 0;
  cuda::api::Stream stream = nullptr;
  std::vector<std::uint8_t> push;
  std::vector<cuda::api::TensorMap> maps;
  cuda::api::Function function = nullptr;
};

// What cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col was given, as far as an encoded map of the fake holds it.
struct FakeMap {
  std::uint64_t address = 0;
  std::uint32_t element = 0, rank = 0, interleave = 0, swizzle = 0, promotion = 0, fill = 0;
  std::vector<std::uint64_t> dims, strides;
  std::vector<std::uint32_t> box, element_strides;
  bool im2col = false;
  std::vector<std::int32_t> lower, upper;
  std::uint32_t channels = 0, pixels = 0;
};
FakeMap decoded(const cuda::api::TensorMap& map);

// The last call that moved bytes: cuMemcpyHtoDAsync_v2 and the like.
struct FakeCopy {
  std::string name;
  std::uint64_t dst = 0, src = 0, bytes = 0;  // bytes: words of a fill
  std::uint32_t word = 0;
  cuda::api::Stream stream = nullptr;
};

// One at a time. While it lives, the process's driver is this one. Sixteen launches are remembered, so that
// remembering one allocates nothing.
class FakeDriver {
 public:
  explicit FakeDriver(int devices = 1);
  ~FakeDriver();
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;

  static cuda::api::Context context();        // what an app would hand in
  static cuda::api::Context other_context();  // and one that has nothing to do with Sectile
  cuda::api::Context current() const;         // this thread's
  std::size_t context_depth() const;
  void make_current(cuda::api::Context context);  // as an app's own

  std::size_t launches() const;
  const FakeLaunch& launch(std::size_t i) const;
  void clear_launches();
  void expect_arguments(std::size_t push_bytes, std::size_t maps);  // 24 and none, as the tests' kernels have
  // What cuFuncGetAttribute says of every kernel: 0 and 1024.
  void set_function(std::uint32_t static_shared, std::uint32_t most_threads);
  // What cuDeviceGetAttribute says of every device: an H200's answers, but for those that are set.
  void set_attribute(cuda::api::Attribute which, int value);
  std::uint32_t dynamic_shared_allowed() const;  // what cuFuncSetAttribute was told last
  bool large_clusters_allowed() const;           // whether it was told so of any kernel
  const FakeCopy& last_copy() const;
  std::size_t calls(const std::string& name) const;  // of the functions that make, destroy or wait
  std::size_t modules_alive() const;
  // The next call of this function gives this status.
  void fail_next(const std::string& name, cuda::api::Status status);
  std::vector<std::string> complaints() const;  // rules that were broken. Empty is good

 private:
  cuda::DriverForTests replaced_;
};

}  // namespace sectile::test
