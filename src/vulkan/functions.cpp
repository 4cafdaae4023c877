#include "functions.hpp"

#include <string>

namespace sectile::vulkan {
namespace {

const char* result_name(VkResult result) {
  switch (result) {
    case VK_SUCCESS:
      return "VK_SUCCESS";
    case VK_NOT_READY:
      return "VK_NOT_READY";
    case VK_TIMEOUT:
      return "VK_TIMEOUT";
    case VK_INCOMPLETE:
      return "VK_INCOMPLETE";
    case VK_ERROR_OUT_OF_HOST_MEMORY:
      return "VK_ERROR_OUT_OF_HOST_MEMORY";
    case VK_ERROR_OUT_OF_DEVICE_MEMORY:
      return "VK_ERROR_OUT_OF_DEVICE_MEMORY";
    case VK_ERROR_INITIALIZATION_FAILED:
      return "VK_ERROR_INITIALIZATION_FAILED";
    case VK_ERROR_DEVICE_LOST:
      return "VK_ERROR_DEVICE_LOST";
    case VK_ERROR_MEMORY_MAP_FAILED:
      return "VK_ERROR_MEMORY_MAP_FAILED";
    case VK_ERROR_LAYER_NOT_PRESENT:
      return "VK_ERROR_LAYER_NOT_PRESENT";
    case VK_ERROR_EXTENSION_NOT_PRESENT:
      return "VK_ERROR_EXTENSION_NOT_PRESENT";
    case VK_ERROR_FEATURE_NOT_PRESENT:
      return "VK_ERROR_FEATURE_NOT_PRESENT";
    case VK_ERROR_INCOMPATIBLE_DRIVER:
      return "VK_ERROR_INCOMPATIBLE_DRIVER";
    case VK_ERROR_TOO_MANY_OBJECTS:
      return "VK_ERROR_TOO_MANY_OBJECTS";
    case VK_ERROR_FRAGMENTED_POOL:
      return "VK_ERROR_FRAGMENTED_POOL";
    case VK_ERROR_OUT_OF_POOL_MEMORY:
      return "VK_ERROR_OUT_OF_POOL_MEMORY";
    case VK_ERROR_INVALID_EXTERNAL_HANDLE:
      return "VK_ERROR_INVALID_EXTERNAL_HANDLE";
    case VK_ERROR_FRAGMENTATION:
      return "VK_ERROR_FRAGMENTATION";
    case VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS:
      return "VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS";
    case VK_ERROR_INVALID_SHADER_NV:
      return "VK_ERROR_INVALID_SHADER_NV";
    case VK_ERROR_VALIDATION_FAILED_EXT:
      return "VK_ERROR_VALIDATION_FAILED";
    case VK_ERROR_UNKNOWN:
      return "VK_ERROR_UNKNOWN";
    default:
      return "VkResult";
  }
}

}  // namespace

Error device_error(const char* call, VkResult result) {
  return Error{ErrorKind::device,
               call,
               std::string(result_name(result)) + " (" + std::to_string(static_cast<int>(result)) + ")",
               {}};
}

Result<InstanceFunctions> load_instance_functions(PFN_vkGetInstanceProcAddr get, VkInstance instance) {
  if (get == nullptr) return fail(ErrorKind::missing, "vkGetInstanceProcAddr", "null");
  if (instance == VK_NULL_HANDLE) return fail(ErrorKind::missing, "VkInstance", "null");
  InstanceFunctions out;
#define SECTILE_LOAD_OPTIONAL(name) out.name = reinterpret_cast<PFN_##name>(get(instance, #name));
#define SECTILE_LOAD(name)    \
  SECTILE_LOAD_OPTIONAL(name) \
  if (out.name == nullptr) return fail(ErrorKind::missing, #name, "not in this instance", "Vulkan 1.3");
  SECTILE_VULKAN_INSTANCE_FUNCTIONS(SECTILE_LOAD)
  SECTILE_VULKAN_INSTANCE_OPTIONAL_FUNCTIONS(SECTILE_LOAD_OPTIONAL)
#undef SECTILE_LOAD
#undef SECTILE_LOAD_OPTIONAL
  return out;
}

Result<DeviceFunctions> load_device_functions(const InstanceFunctions& functions, VkDevice device) {
  if (device == VK_NULL_HANDLE) return fail(ErrorKind::missing, "VkDevice", "null");
  const auto get = functions.vkGetDeviceProcAddr;
  DeviceFunctions out;
#define SECTILE_LOAD_OPTIONAL(name) out.name = reinterpret_cast<PFN_##name>(get(device, #name));
#define SECTILE_LOAD(name)    \
  SECTILE_LOAD_OPTIONAL(name) \
  if (out.name == nullptr) return fail(ErrorKind::missing, #name, "not on this device", "Vulkan 1.3");
  SECTILE_VULKAN_DEVICE_FUNCTIONS(SECTILE_LOAD)
  SECTILE_VULKAN_DEVICE_OPTIONAL_FUNCTIONS(SECTILE_LOAD_OPTIONAL)
#undef SECTILE_LOAD
#undef SECTILE_LOAD_OPTIONAL
  return out;
}

}  // namespace sectile::vulkan
