// Loading: what a machine without CUDA is told, and the two conversions of errors.
#include "helpers.hpp"

#include <array>

using namespace sectile;
using namespace sectile::test;

TEST_CASE("a machine without the driver is told so by name") {
  constexpr std::array<const char*, 2> kNames = {"libsectile-no-such-driver.so.1", "/nowhere/libcuda.so.1"};
  const auto loaded = cuda::load_driver(kNames);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().kind == ErrorKind::missing);
  CHECK(loaded.error().what == "libcuda.so.1");
  CHECK(loaded.error().message().find('\n') == std::string::npos);
}

TEST_CASE("a machine without NVRTC is told so by name") {
  constexpr std::array<const char*, 1> kNames = {"libsectile-no-such-nvrtc.so"};
  const auto loaded = cuda::load_nvrtc(kNames);
  REQUIRE_FALSE(loaded.has_value());
  CHECK(loaded.error().kind == ErrorKind::missing);
  CHECK(loaded.error().what == "libnvrtc.so");
  CHECK(loaded.error().message().find('\n') == std::string::npos);
}

TEST_CASE("a library without the functions is refused by the first that it lacks") {
  constexpr std::array<const char*, 1> kLibc = {"libc.so.6"};
  const auto driver = cuda::load_driver(kLibc);
  REQUIRE_FALSE(driver.has_value());
  CHECK(driver.error().kind == ErrorKind::missing);
  CHECK(driver.error().value == "cuInit");
  const auto nvrtc = cuda::load_nvrtc(kLibc);
  REQUIRE_FALSE(nvrtc.has_value());
  CHECK(nvrtc.error().value == "nvrtcVersion");
}

TEST_CASE("without a driver every door says the same") {
  constexpr std::array<const char*, 1> kNames = {"libcuda.so.1"};
  if (cuda::load_driver(kNames).has_value()) {
    MESSAGE("skipped: without a driver every door says the same: this machine has one");
    return;
  }
  const auto refused = [](const auto& result) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().kind == ErrorKind::missing);
    CHECK(result.error().what == "libcuda.so.1");
  };
  refused(cuda::load());
  refused(cuda::profile(0));
  refused(cuda::list_devices());
  refused(cuda::Runtime::open());
  refused(cuda::Device::adopt({}));
}

TEST_CASE("NVRTC is found and new enough") {
  const cuda::api::Nvrtc* nvrtc = nvrtc_or_skip("NVRTC is found and new enough");
  if (nvrtc == nullptr) return;
  CHECK(nvrtc->major >= 12);
  CHECK(nvrtc == *cuda::nvrtc());
}

TEST_CASE("an nvrtcResult becomes an error by what was at fault") {
  const cuda::api::Nvrtc* nvrtc = nvrtc_or_skip("an nvrtcResult becomes an error by what was at fault");
  if (nvrtc == nullptr) return;
  const Error refused = cuda::nvrtc_error(*nvrtc, "nvrtcCompileProgram", cuda::api::kNvrtcErrorCompilation, "line 3");
  CHECK(refused.kind == ErrorKind::compile);
  CHECK(refused.message() == "compile: nvrtcCompileProgram: NVRTC_ERROR_COMPILATION\nline 3");
  CHECK(cuda::nvrtc_error(*nvrtc, "x", cuda::api::NvrtcStatus{1}).kind == ErrorKind::device);  // out of memory
}
