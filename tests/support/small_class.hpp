// A class of devices for tests: the numbers that are built in, but for one.
#pragma once

#include <sectile/device_class.hpp>
#include <sectile/profile.hpp>

#include <string>

namespace sectile::test {

// The file of a class of devices with the profile's API and kind, measured with a driver ("": with any).
inline std::string small_class_text(const DeviceProfile& profile, const std::string& driver = "") {
  const bool cpu = profile.kind == DeviceKind::cpu;
  return std::string(R"({"schema":2,"name":"mine","devices":{"api":")") +
         (profile.api == Api::cuda ? "cuda" : "vulkan") + R"(","kind":")" + (cpu ? "cpu" : "gpu") +
         R"("},"provenance":{"device":"a test's","driver":")" + driver +
         R"(","dates":"2026-11-27","command":"none"},")" + (cpu ? "gemm_cpu" : "gemm_gpu") +
         R"(":{"second_step":123456}})";
}

// The same of the other kind.
inline std::string class_text_of_others(DeviceProfile profile) {
  profile.kind = profile.kind == DeviceKind::cpu ? DeviceKind::discrete : DeviceKind::cpu;
  return small_class_text(profile);
}

}  // namespace sectile::test
