// GPUs that are not here: Mesa's drivers behind a no-op shim of the kernel's interface compile for them, and the
// rest does nothing. The shim must be loaded before everything else, so each such GPU is a process of its own.
#pragma once

#include "scope.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::test {

struct NoopGpu {
  const char* name;                    // RADV's and ANV's own name for it
  const char* shim;                    // of mesa-drm-shim, or built by tools/dev.d/intel-shim.sh
  const char* driver;                  // the loader's file
  std::vector<std::string> variables;  // which GPU the shim shows
};

namespace noop {
inline constexpr const char* kAmdShim = "/usr/lib/x86_64-linux-gnu/libamdgpu_noop_drm_shim.so";
inline constexpr const char* kIntelShim = "/opt/drm-shim/libintel_noop_drm_shim.so";
inline constexpr const char* kNouveauShim = "/usr/lib/x86_64-linux-gnu/libnouveau_noop_drm_shim.so";
inline constexpr const char* kMsmShim = "/usr/lib/x86_64-linux-gnu/libfreedreno_noop_drm_shim.so";
inline constexpr const char* kRadv = "/usr/share/vulkan/icd.d/radeon_icd.json";
inline constexpr const char* kAnv = "/usr/share/vulkan/icd.d/intel_icd.json";
inline constexpr const char* kNvk = "/usr/share/vulkan/icd.d/nouveau_icd.json";
inline constexpr const char* kTurnip = "/usr/share/vulkan/icd.d/freedreno_icd.json";
}  // namespace noop

inline NoopGpu radv(const char* gpu) {
  return {gpu, noop::kAmdShim, noop::kRadv, {std::string("AMDGPU_GPU_ID=") + gpu}};
}
// A platform has several devices; `pci` picks one of them.
inline NoopGpu anv(const char* name, const char* platform, const char* pci = nullptr) {
  NoopGpu out{name, noop::kIntelShim, noop::kAnv, {std::string("INTEL_STUB_GPU_PLATFORM=") + platform}};
  if (pci != nullptr) out.variables.push_back(std::string("INTEL_STUB_GPU_DEVICE_ID=") + pci);
  return out;
}
inline NoopGpu nvk(const char* name, const char* chipset) {
  return {name, noop::kNouveauShim, noop::kNvk, {std::string("NOUVEAU_CHIPSET=") + chipset}};
}
inline NoopGpu turnip(const char* name, const char* id) {
  return {name, noop::kMsmShim, noop::kTurnip, {std::string("FD_GPU_ID=") + id}};
}

// What stands in the way of a process for this GPU; empty where nothing does.
inline std::string absent(const NoopGpu& gpu) {
  if (kSanitized) return "a sanitizer has to be loaded before everything else, and so has the shim";
  for (const char* const file : {gpu.shim, gpu.driver})
    if (!std::filesystem::exists(file)) return std::string("no ") + file;
  return {};
}

// Arguments of `env` that run one of this program's test cases on the GPU; the driver's own disk cache is off.
inline std::vector<std::string> noop_process(const NoopGpu& gpu, std::span<const std::string> variables,
                                             std::string_view test_case) {
  std::vector<std::string> out = gpu.variables;
  for (std::string variable : {std::string("VK_DRIVER_FILES=") + gpu.driver, std::string("LD_PRELOAD=") + gpu.shim,
                               std::string("MESA_SHADER_CACHE_DISABLE=1"), std::string("SECTILE_REQUIRE=vulkan")})
    out.push_back(std::move(variable));
  out.insert(out.end(), variables.begin(), variables.end());
  out.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  out.push_back("-tc=" + std::string(test_case));
  return out;
}

}  // namespace sectile::test
