// PCI and Khronos vendor ids as DeviceProfile::vendor names them.
#pragma once

#include <sectile/profile.hpp>

#include <cstdint>
#include <string_view>

namespace sectile::detail {

// Empty where the id is unknown.
constexpr std::string_view vendor_name(std::uint32_t vendor_id) {
  switch (vendor_id) {
    case 0x10de:
      return "nvidia";
    case 0x1002:
      return "amd";
    case 0x8086:
      return "intel";
    case 0x13b5:
      return "arm";
    case 0x5143:
      return "qualcomm";
    case 0x106b:
      return "apple";
    case 0x1010:
      return "imagination";
    case 0x14e4:
      return "broadcom";
    case 0x1ae0:
      return "google";
    case 0x10005:
      return "mesa";  // VK_VENDOR_ID_MESA: its software drivers
    default:
      return {};
  }
}

// The subgroup size of kernels for the matrix unit. On Intel it is the smallest size (8 on Xe-HPG, 16 on Xe2; ANV
// refuses to compile others), elsewhere the default size. 0: unknown.
inline std::uint32_t matrix_subgroup_size(const DeviceProfile& profile) {
  const std::uint32_t size = profile.subgroup_size.value_or(0);
  return profile.vendor == "intel" ? profile.min_subgroup_size.value_or(size) : size;
}

}  // namespace sectile::detail
