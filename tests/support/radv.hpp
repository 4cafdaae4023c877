// RADV without its hardware: the no-op shim that tests load it through.
#pragma once

namespace sectile::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // its runtime must be loaded first, and so must the shim
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr const char* kShim = "/usr/lib/x86_64-linux-gnu/libamdgpu_noop_drm_shim.so";
inline constexpr const char* kDriver = "/usr/share/vulkan/icd.d/radeon_icd.json";

}  // namespace sectile::test
