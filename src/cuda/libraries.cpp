#include "libraries.hpp"

#include <fmt/format.h>

#include <dlfcn.h>
#include <array>
#include <atomic>

namespace sectile::cuda {
namespace {

constexpr int kOldestDriver = 12000;  // cuDriverGetVersion: 1000 * major + 10 * minor
constexpr int kOldestNvrtc = 12;

// Loads the first library that the loader finds. It stays loaded, because its code may run at exit.
void* open_library(std::span<const char* const> names) {
  for (const char* name : names)
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

// Loads one function. Errors: missing, which names it.
template <class F>
Result<void> fill(F& function, void* library, std::string_view library_name, const char* name) {
  function = reinterpret_cast<F>(::dlsym(library, name));
  if (function == nullptr)
    return fail(ErrorKind::missing, std::string(library_name), name, "a library that has this function");
  return {};
}

// NVRTC loads a second library by name when it compiles. If NVRTC was loaded by path, the loader does not search its
// folder. So the second library is loaded from there first, and then found by name.
void load_builtins(const api::Nvrtc& nvrtc) {
  ::Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(nvrtc.nvrtcVersion), &info) == 0 || info.dli_fname == nullptr) return;
  const std::string_view path = info.dli_fname;
  const auto slash = path.rfind('/');
  if (slash == std::string_view::npos) return;
  const std::string builtins =
      fmt::format("{}/libnvrtc-builtins.so.{}.{}", path.substr(0, slash), nvrtc.major, nvrtc.minor);
  ::dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded; NVRTC reports it if it is missing
}

std::atomic<const api::Driver*> g_driver_for_tests{nullptr};

}  // namespace

std::span<const char* const> driver_names() noexcept {
  static constexpr std::array<const char*, 1> kNames = {"libcuda.so.1"};
  return kNames;
}

std::span<const char* const> nvrtc_names() noexcept {
  static constexpr std::array<const char*, 6> kNames = {"libnvrtc.so.13",
                                                        "libnvrtc.so.12",
                                                        "libnvrtc.so",
                                                        "/usr/local/cuda/lib64/libnvrtc.so.13",
                                                        "/usr/local/cuda/lib64/libnvrtc.so.12",
                                                        "/usr/local/cuda/lib64/libnvrtc.so"};
  return kNames;
}

Result<api::Driver> load_driver(std::span<const char* const> names) {
  void* const library = open_library(names);
  if (library == nullptr)
    return fail(ErrorKind::missing, "libcuda.so.1", "not found by the loader", "NVIDIA's driver installed");
  api::Driver out;
#define SECTILE_FILL(name, result, arguments) \
  if (auto filled = fill(out.name, library, "libcuda.so.1", #name); !filled) return std::unexpected(filled.error());
  SECTILE_CUDA_DRIVER_FUNCTIONS(SECTILE_FILL)
#undef SECTILE_FILL
  int version = 0;
  if (const auto status = out.cuDriverGetVersion(&version); status != api::kSuccess)
    return std::unexpected(driver_error(out, "cuDriverGetVersion", status));
  if (version < kOldestDriver)
    return fail(ErrorKind::unsupported, "CUDA driver", fmt::format("{}.{}", version / 1000, version % 1000 / 10),
                "12.0 or later");
  return out;
}

Result<api::Nvrtc> load_nvrtc(std::span<const char* const> names) {
  void* const library = open_library(names);
  if (library == nullptr)
    return fail(ErrorKind::missing, "libnvrtc.so", "not found by the loader, nor in /usr/local/cuda/lib64",
                "NVRTC of CUDA 12 or 13 installed");
  api::Nvrtc out;
#define SECTILE_FILL(name, result, arguments) \
  if (auto filled = fill(out.name, library, "libnvrtc.so", #name); !filled) return std::unexpected(filled.error());
  SECTILE_NVRTC_FUNCTIONS(SECTILE_FILL)
#undef SECTILE_FILL
  if (const auto status = out.nvrtcVersion(&out.major, &out.minor); status != api::kNvrtcSuccess)
    return std::unexpected(nvrtc_error(out, "nvrtcVersion", status));
  if (out.major < kOldestNvrtc)
    return fail(ErrorKind::unsupported, "NVRTC", fmt::format("{}.{}", out.major, out.minor), "12.0 or later");
  load_builtins(out);
  return out;
}

Result<const api::Driver*> driver() {
  if (const api::Driver* test = g_driver_for_tests.load()) return test;
  static const Result<api::Driver> loaded = load_driver(driver_names());
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

Result<const api::Nvrtc*> nvrtc() {
  static const Result<api::Nvrtc> loaded = load_nvrtc(nvrtc_names());
  if (!loaded) return std::unexpected(loaded.error());
  return &*loaded;
}

Result<StartedDriver> started_driver() {
  const auto loaded = driver();
  if (!loaded) return std::unexpected(loaded.error());
  StartedDriver out{*loaded, 0};
  api::Status status = out.driver->cuInit(0);
  if (status == api::kNoDevice) return out;
  if (status != api::kSuccess) return std::unexpected(driver_error(*out.driver, "cuInit", status));
  status = out.driver->cuDeviceGetCount(&out.devices);
  if (status != api::kSuccess) return std::unexpected(driver_error(*out.driver, "cuDeviceGetCount", status));
  return out;
}

DriverForTests::DriverForTests(const api::Driver& driver) noexcept { g_driver_for_tests = &driver; }
DriverForTests::~DriverForTests() { g_driver_for_tests = nullptr; }

Error driver_error(const api::Driver& driver, std::string_view call, api::Status status) {
  const char* name = nullptr;
  const char* words = nullptr;
  // Both return null for a number that this driver does not know.
  driver.cuGetErrorName(status, &name);
  driver.cuGetErrorString(status, &words);
  std::string value = name != nullptr ? name : fmt::format("CUresult {}", static_cast<int>(status));
  if (words != nullptr) value += fmt::format(": {}", words);
  return {ErrorKind::device, std::string(call), std::move(value), {}};
}

Error nvrtc_error(const api::Nvrtc& nvrtc, std::string_view call, api::NvrtcStatus status, const std::string& log) {
  const char* name = nvrtc.nvrtcGetErrorString(status);
  std::string value = name != nullptr ? name : fmt::format("nvrtcResult {}", static_cast<int>(status));
  if (!log.empty()) value += "\n" + log;
  const bool refused = status == api::kNvrtcErrorCompilation || status == api::kNvrtcErrorInvalidOption;
  return {refused ? ErrorKind::compile : ErrorKind::device, std::string(call), std::move(value), {}};
}

ContextScope::ContextScope(const api::Driver& driver, api::Context context) noexcept
    : driver_(driver), status_(driver.cuCtxPushCurrent_v2(context)) {}
ContextScope::~ContextScope() {
  api::Context left = nullptr;
  if (status_ == api::kSuccess) driver_.cuCtxPopCurrent_v2(&left);
}

}  // namespace sectile::cuda
