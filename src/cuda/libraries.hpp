// The driver and NVRTC, loaded when first asked for, and what they say of errors.
#pragma once

#include "api.hpp"

#include <sectile/error.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sectile::cuda {

namespace api {
#define SECTILE_MEMBER(name, result, arguments) result(*name) arguments = nullptr;
struct Driver {
  SECTILE_CUDA_DRIVER_FUNCTIONS(SECTILE_MEMBER)
};
struct Nvrtc {
  SECTILE_NVRTC_FUNCTIONS(SECTILE_MEMBER)
  int major = 0, minor = 0;
};
#undef SECTILE_MEMBER
}  // namespace api

// Where each library is looked for, in this order: names for the loader, or paths.
std::span<const char* const> driver_names() noexcept;
std::span<const char* const> nvrtc_names() noexcept;

// Loads a library anew (it stays loaded). Errors: missing, naming the library or the symbol that it lacks;
// unsupported: older than CUDA 12.0.
Result<api::Driver> load_driver(std::span<const char* const> names);
Result<api::Nvrtc> load_nvrtc(std::span<const char* const> names);

// The process's own, loaded by the first call. Loading the driver does not start it: see started_driver().
Result<const api::Driver*> driver();
Result<const api::Nvrtc*> nvrtc();

// The driver after cuInit, and how many devices it has; none is no error. Errors: as driver(); device.
struct StartedDriver {
  const api::Driver* driver = nullptr;
  int devices = 0;
};
Result<StartedDriver> started_driver();

// While one of these lives, the process's driver is this one: for tests without a GPU.
class DriverForTests {
 public:
  explicit DriverForTests(const api::Driver& driver) noexcept;
  ~DriverForTests();
  DriverForTests(const DriverForTests&) = delete;
  DriverForTests& operator=(const DriverForTests&) = delete;
};

// The one conversion of a CUresult: kind device; what is the call, value the driver's name and words.
Error driver_error(const api::Driver& driver, std::string_view call, api::Status status);

// The one conversion of an nvrtcResult: kind compile where the kernel or its options were refused, with the log as
// its value; device for what NVRTC itself could not do.
Error nvrtc_error(const api::Nvrtc& nvrtc, std::string_view call, api::NvrtcStatus status, std::string log = {});

// Runs what follows in a context, and leaves the thread's own as it was.
class ContextScope {
 public:
  ContextScope(const api::Driver& driver, api::Context context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  api::Status status() const noexcept { return status_; }  // of entering it; nothing may be done where it failed

 private:
  const api::Driver& driver_;
  api::Status status_;
};

// Calls a function of the driver and converts what it says: call(driver, &Driver::cuX, "cuX", arguments...).
template <class... A, class... B>
Result<void> call(const api::Driver& driver, api::Status (*function)(A...), std::string_view name, B... arguments) {
  const api::Status status = function(arguments...);
  if (status != api::kSuccess) return std::unexpected(driver_error(driver, name, status));
  return {};
}
#define SECTILE_CUDA_CALL(driver, name, ...) ::sectile::cuda::call((driver), (driver).name, #name, __VA_ARGS__)

}  // namespace sectile::cuda
