#include "libraries.hpp"

#include "backend/platform.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

namespace sectile::cuda {
namespace {

constexpr int kOldestDriver = 12000;  // cuDriverGetVersion: 1000 * major + 10 * minor
constexpr int kOldestNvrtc = 12;

// Names, and how errors call them.
#if defined(_WIN32)
constexpr const char* kDriver = "nvcuda.dll";
constexpr const char* kNvrtc = "nvrtc64_120_0.dll";
constexpr const char* kNvrtcSought = "not found beside the program, in System32, nor in CUDA_PATH\\bin";
constexpr const char* kBuiltins = "{}/nvrtc-builtins64_{}{}.dll";
#else
constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kNvrtc = "libnvrtc.so";
constexpr const char* kNvrtcSought = "not found by the loader, nor in /usr/local/cuda/lib64";
constexpr const char* kBuiltins = "{}/libnvrtc-builtins.so.{}.{}";
#endif

// Loads the first library that the loader finds. It stays loaded, because its code may run at exit.
void* open_library(std::span<const char* const> names) {
  for (const char* name : names)
    if (void* library = backend::load_library(name)) return library;
  return nullptr;
}

// Loads one function. Errors: missing, which names it.
template <class F>
Result<void> fill(F& function, void* library, std::string_view library_name, const char* name) {
  function = reinterpret_cast<F>(backend::library_function(library, name));
  if (function == nullptr)
    return fail(ErrorKind::missing, std::string(library_name), name, "a library that has this function");
  return {};
}

// NVRTC loads a second library by name when it compiles. If NVRTC was loaded by path, the loader does not search its
// folder. So the second library is loaded from there first, and then found by name.
void load_builtins(const api::Nvrtc& nvrtc) {
  const std::string folder = backend::library_folder(reinterpret_cast<const void*>(nvrtc.nvrtcVersion));
  if (folder.empty()) return;
  // It stays loaded; NVRTC reports it if it is missing.
  backend::load_library(fmt::format(kBuiltins, folder, nvrtc.major, nvrtc.minor));
}

std::atomic<const api::Driver*> g_driver_for_tests{nullptr};

}  // namespace

std::span<const char* const> driver_names() noexcept {
  static constexpr std::array<const char*, 1> kNames = {kDriver};
  return kNames;
}

#if defined(_WIN32)
std::span<const char* const> nvrtc_names() noexcept {
  // The toolkit is in no folder that the loader searches; its installer sets CUDA_PATH. From 13 on it has a bin\\x64.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = {"nvrtc64_130_0.dll", "nvrtc64_120_0.dll"};
    if (const char* toolkit = std::getenv("CUDA_PATH"); toolkit != nullptr && *toolkit != '\0')
      for (const char* name : {"bin/x64/nvrtc64_130_0.dll", "bin/nvrtc64_130_0.dll", "bin/nvrtc64_120_0.dll"})
        all.push_back(std::string(toolkit) + "/" + name);
    return all;
  }();
  static const std::vector<const char*> pointers = [] {
    std::vector<const char*> all;
    for (const std::string& name : names) all.push_back(name.c_str());
    return all;
  }();
  return pointers;
}
#else
std::span<const char* const> nvrtc_names() noexcept {
  static constexpr std::array<const char*, 6> kNames = {"libnvrtc.so.13",
                                                        "libnvrtc.so.12",
                                                        "libnvrtc.so",
                                                        "/usr/local/cuda/lib64/libnvrtc.so.13",
                                                        "/usr/local/cuda/lib64/libnvrtc.so.12",
                                                        "/usr/local/cuda/lib64/libnvrtc.so"};
  return kNames;
}
#endif

Result<api::Driver> load_driver(std::span<const char* const> names) {
  void* const library = open_library(names);
  if (library == nullptr)
    return fail(ErrorKind::missing, kDriver, "not found by the loader", "NVIDIA's driver installed");
  api::Driver out;
#define SECTILE_FILL(name, result, arguments) \
  if (auto filled = fill(out.name, library, kDriver, #name); !filled) return std::unexpected(filled.error());
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
  if (library == nullptr) return fail(ErrorKind::missing, kNvrtc, kNvrtcSought, "NVRTC of CUDA 12 or 13 installed");
  api::Nvrtc out;
#define SECTILE_FILL(name, result, arguments) \
  if (auto filled = fill(out.name, library, kNvrtc, #name); !filled) return std::unexpected(filled.error());
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
