// The entry points of Vulkan that Sectile calls on an app's instance and device, one line a symbol.
//
// They are loaded through the app's own vkGetInstanceProcAddr into tables that belong to one Device. Nothing is
// global, so several devices, loaders and users of volk can exist in a process. The tests wrap every entry of these
// lists to see which calls are made.
#pragma once

#include <sectile/error.hpp>

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES
#endif
#include <vulkan/vulkan_core.h>

// X(name): required.
#define SECTILE_VULKAN_INSTANCE_FUNCTIONS(X) \
  X(vkEnumerateDeviceExtensionProperties)    \
  X(vkGetDeviceProcAddr)                     \
  X(vkGetPhysicalDeviceFeatures2)            \
  X(vkGetPhysicalDeviceProperties)           \
  X(vkGetPhysicalDeviceProperties2)          \
  X(vkGetPhysicalDeviceQueueFamilyProperties)

// X(name): null where the driver lacks it.
#define SECTILE_VULKAN_INSTANCE_OPTIONAL_FUNCTIONS(X)  \
  X(vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR) \
  X(vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV)

#define SECTILE_VULKAN_DEVICE_FUNCTIONS(X) \
  X(vkCmdBindPipeline)                     \
  X(vkCmdDispatch)                         \
  X(vkCmdPipelineBarrier)                  \
  X(vkCmdPushConstants)                    \
  X(vkCreateComputePipelines)              \
  X(vkCreatePipelineCache)                 \
  X(vkCreatePipelineLayout)                \
  X(vkCreateShaderModule)                  \
  X(vkDestroyPipeline)                     \
  X(vkDestroyPipelineCache)                \
  X(vkDestroyPipelineLayout)               \
  X(vkDestroyShaderModule)                 \
  X(vkGetPipelineCacheData)

#define SECTILE_VULKAN_DEVICE_OPTIONAL_FUNCTIONS(X) \
  X(vkCmdBeginDebugUtilsLabelEXT)                   \
  X(vkCmdEndDebugUtilsLabelEXT)                     \
  X(vkGetPipelineExecutablePropertiesKHR)           \
  X(vkGetPipelineExecutableStatisticsKHR)           \
  X(vkSetDebugUtilsObjectNameEXT)

namespace sectile::vulkan {

#define SECTILE_VULKAN_MEMBER(name) PFN_##name name = nullptr;

struct InstanceFunctions {
  SECTILE_VULKAN_INSTANCE_FUNCTIONS(SECTILE_VULKAN_MEMBER)
  SECTILE_VULKAN_INSTANCE_OPTIONAL_FUNCTIONS(SECTILE_VULKAN_MEMBER)
};

struct DeviceFunctions {
  SECTILE_VULKAN_DEVICE_FUNCTIONS(SECTILE_VULKAN_MEMBER)
  SECTILE_VULKAN_DEVICE_OPTIONAL_FUNCTIONS(SECTILE_VULKAN_MEMBER)
};

#undef SECTILE_VULKAN_MEMBER

// Errors: missing, which names the null handle or the missing entry point.
Result<InstanceFunctions> load_instance_functions(PFN_vkGetInstanceProcAddr get, VkInstance instance);
Result<DeviceFunctions> load_device_functions(const InstanceFunctions& functions, VkDevice device);

// Converts a VkResult to an error: "vkCreateComputePipelines" and "VK_ERROR_OUT_OF_HOST_MEMORY (-1)".
Error device_error(const char* call, VkResult result);

}  // namespace sectile::vulkan
