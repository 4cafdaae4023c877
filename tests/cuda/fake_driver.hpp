// A driver without a GPU: it keeps the rules that src/cuda has to keep (contexts are pushed and popped, nothing is done
// without one, what is made is given back) and remembers what was launched. It runs no kernel.
#pragma once

#include "cuda/libraries.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sectile::test {

struct FakeLaunch {
  std::array<std::uint32_t, 3> grid{}, workgroup{};
  std::uint32_t dynamic_shared = 0;
  cuda::api::Stream stream = nullptr;
  std::vector<std::uint8_t> push;
  std::vector<cuda::api::TensorMap> maps;
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
  std::size_t calls(const std::string& name) const;                 // of the functions that make, destroy or wait
  std::size_t modules_alive() const;
  // The next call of this function gives this status.
  void fail_next(const std::string& name, cuda::api::Status status);
  std::vector<std::string> complaints() const;  // rules that were broken. Empty is good

 private:
  cuda::DriverForTests replaced_;
};

}  // namespace sectile::test
