// All that a live device reports and the profile and the pipelines need, read once.
#pragma once

#include "features.hpp"

#include <sectile/profile.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace sectile::vulkan {

struct Snapshot {
  Offer offer;
  VkPhysicalDeviceVulkan11Properties v11{};
  VkPhysicalDeviceVulkan12Properties v12{};
  VkPhysicalDeviceVulkan13Properties v13{};
  std::optional<std::uint32_t> multiprocessors;
  const char* multiprocessors_source = "";
  std::vector<VkCooperativeMatrixPropertiesKHR> matrices;
  std::vector<VkCooperativeMatrixFlexibleDimensionsPropertiesNV> flexible_matrices;
  VkPhysicalDeviceCooperativeMatrix2PropertiesNV matrix2{};
};

// Errors: as query_offer; device.
Result<Snapshot> take_snapshot(const InstanceFunctions& functions, VkPhysicalDevice physical_device);

// The profile of a device made with `features`, a subset of those offered.
DeviceProfile make_profile(const Snapshot& snapshot, const FeatureSet& features);

}  // namespace sectile::vulkan
