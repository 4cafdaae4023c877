// The driver and NVRTC, loaded on first use, and their errors.
#pragma once

#include "api.hpp"

#include <sectile/error.hpp>

#include <span>
#include <string>
#include <string_view>

namespace sectile::cuda {

namespace api {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a type and its parameters, which take none
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

// Where each library is searched, in this order: names for the loader, or paths.
std::span<const char* const> driver_names() noexcept;
std::span<const char* const> nvrtc_names() noexcept;

// Loads a library again (it stays loaded). Errors: missing, which names the library or the missing symbol; unsupported
// (older than CUDA 12.0).
Result<api::Driver> load_driver(std::span<const char* const> names);
Result<api::Nvrtc> load_nvrtc(std::span<const char* const> names);

// The process's instance, loaded by the first call. Loading the driver does not initialize it: see started_driver().
Result<const api::Driver*> driver();
Result<const api::Nvrtc*> nvrtc();

// The driver after cuInit, and its number of devices; 0 is no error. Errors: as driver(); device.
struct StartedDriver {
  const api::Driver* driver = nullptr;
  int devices = 0;
};
Result<StartedDriver> started_driver();

// Replaces the process's driver during its lifetime; for tests without a GPU.
class DriverForTests {
 public:
  explicit DriverForTests(const api::Driver& driver) noexcept;
  ~DriverForTests();
  DriverForTests(const DriverForTests&) = delete;
  DriverForTests& operator=(const DriverForTests&) = delete;
};

// Converts a CUresult to an error of kind device: `what` is the call, `value` the driver's name and text for it.
Error driver_error(const api::Driver& driver, std::string_view call, api::Status status);

// Converts an nvrtcResult to an error: kind compile where the kernel or its options were refused, with the log as
// `value`; device for failures of NVRTC itself.
Error nvrtc_error(const api::Nvrtc& nvrtc, std::string_view call, api::NvrtcStatus status, const std::string& log = {});

// Makes a context current during its lifetime, and restores the thread's own afterwards.
class ContextScope {
 public:
  ContextScope(const api::Driver& driver, api::Context context) noexcept;
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  api::Status status() const noexcept { return status_; }  // of entering the context

 private:
  const api::Driver& driver_;
  api::Status status_;
};

// Calls a function of the driver and converts its result: call(driver, &Driver::cuX, "cuX", arguments...).
template <class... A, class... B>
Result<void> call(const api::Driver& driver, api::Status (*function)(A...), std::string_view name, B... arguments) {
  const api::Status status = function(arguments...);
  if (status != api::kSuccess) return std::unexpected(driver_error(driver, name, status));
  return {};
}
#define SECTILE_CUDA_CALL(driver, name, ...) ::sectile::cuda::call((driver), (driver).name, #name, __VA_ARGS__)

}  // namespace sectile::cuda
