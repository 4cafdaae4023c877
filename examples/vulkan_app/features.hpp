// What the VkDevice is made with.
#pragma once

#include <volk.h>

#include <string_view>

// The application's own features, in a chain to which Sectile adds its own (WantedFeatures::enable_in).
struct FeatureChain {
  VkPhysicalDeviceFeatures2 head{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};

  FeatureChain();
  FeatureChain(const FeatureChain&) = delete;  // its structs point at each other

  // Switches a feature off by Vulkan's name, wherever it stands in the chain. False: not one of Sectile's.
  bool switch_off(std::string_view name);
};
