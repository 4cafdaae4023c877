#include "snapshot.hpp"

namespace sectile::vulkan {
namespace {

// A struct with its type set, linked to `next`.
template <class T>
T linked(VkStructureType type, void* next) {
  T out{};
  out.sType = type;
  out.pNext = next;
  return out;
}

// Each vendor reports the number of multiprocessors in its own extension.
void query_multiprocessors(const InstanceFunctions& functions, VkPhysicalDevice device, Snapshot& out) {
  auto nvidia = linked<VkPhysicalDeviceShaderSMBuiltinsPropertiesNV>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SM_BUILTINS_PROPERTIES_NV, nullptr);
  auto amd = linked<VkPhysicalDeviceShaderCorePropertiesAMD>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_PROPERTIES_AMD, nullptr);
  auto arm = linked<VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM>(
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CORE_BUILTINS_PROPERTIES_ARM, nullptr);
  const auto ask = [&](void* next) {
    auto properties = linked<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, next);
    functions.vkGetPhysicalDeviceProperties2(device, &properties);
  };
  if (out.offer.has_extension(VK_NV_SHADER_SM_BUILTINS_EXTENSION_NAME)) {
    ask(&nvidia);
    out.multiprocessors = nvidia.shaderSMCount;
    out.multiprocessors_source = "driver: VkPhysicalDeviceShaderSMBuiltinsPropertiesNV::shaderSMCount";
  } else if (out.offer.has_extension(VK_AMD_SHADER_CORE_PROPERTIES_EXTENSION_NAME)) {
    ask(&amd);
    out.multiprocessors = amd.shaderEngineCount * amd.shaderArraysPerEngineCount * amd.computeUnitsPerShaderArray;
    out.multiprocessors_source = "driver: VkPhysicalDeviceShaderCorePropertiesAMD, engines * arrays * compute units";
  } else if (out.offer.has_extension(VK_ARM_SHADER_CORE_BUILTINS_EXTENSION_NAME)) {
    ask(&arm);
    out.multiprocessors = arm.shaderCoreCount;
    out.multiprocessors_source = "driver: VkPhysicalDeviceShaderCoreBuiltinsPropertiesARM::shaderCoreCount";
  }
  if (out.multiprocessors == 0u) out.multiprocessors.reset();
}

// Vulkan's two-call pattern, repeated until the count does not change.
template <class T, class Query>
Result<std::vector<T>> query_all(VkPhysicalDevice device, Query query, VkStructureType type, const char* call) {
  std::vector<T> out;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    std::uint32_t count = 0;
    result = query(device, &count, nullptr);
    if (result != VK_SUCCESS) break;
    out.assign(count, linked<T>(type, nullptr));
    result = query(device, &count, out.data());
    out.resize(count);
  }
  if (result != VK_SUCCESS) return std::unexpected(device_error(call, result));
  return out;
}

Result<void> query_matrices(const InstanceFunctions& functions, VkPhysicalDevice device, Snapshot& out) {
  if (out.offer.features.has(Feature::cooperative_matrix) &&
      functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR != nullptr) {
    auto rows = query_all<VkCooperativeMatrixPropertiesKHR>(
        device, functions.vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR,
        VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    if (!rows) return std::unexpected(rows.error());
    out.matrices = std::move(*rows);
  }
  if (out.offer.features.has(Feature::cooperative_matrix_flexible) &&
      functions.vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV != nullptr) {
    auto rows = query_all<VkCooperativeMatrixFlexibleDimensionsPropertiesNV>(
        device, functions.vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV,
        VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_FLEXIBLE_DIMENSIONS_PROPERTIES_NV,
        "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV");
    if (!rows) return std::unexpected(rows.error());
    out.flexible_matrices = std::move(*rows);
  }
  if (out.offer.has_extension(VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME)) {
    auto limits = linked<VkPhysicalDeviceCooperativeMatrix2PropertiesNV>(
        VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_PROPERTIES_NV, nullptr);
    auto properties = linked<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &limits);
    functions.vkGetPhysicalDeviceProperties2(device, &properties);
    out.matrix2 = limits;
  }
  return {};
}

}  // namespace

Result<Snapshot> take_snapshot(const InstanceFunctions& functions, VkPhysicalDevice physical_device) {
  auto offer = query_offer(functions, physical_device);
  if (!offer) return std::unexpected(offer.error());
  Snapshot out;
  out.offer = std::move(*offer);
  const std::uint32_t api = out.offer.properties.apiVersion;
  if (api < VK_API_VERSION_1_2) return out;

  out.v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES;
  out.v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES;
  out.v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES;
  // An older device still has an identity.
  out.v12.pNext = api >= VK_API_VERSION_1_3 ? &out.v13 : nullptr;
  out.v11.pNext = &out.v12;
  auto properties = linked<VkPhysicalDeviceProperties2>(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &out.v11);
  functions.vkGetPhysicalDeviceProperties2(physical_device, &properties);
  // The snapshot is copied and moved after this: no pointer into it may remain.
  out.v11.pNext = out.v12.pNext = out.v13.pNext = nullptr;
  if (api < VK_API_VERSION_1_3) return out;

  query_multiprocessors(functions, physical_device, out);
  // One driver crashes when it is queried for shapes, so shapes that the profile will not use are not queried.
  if (make_profile(out, out.offer.features).cooperative_matrix != true) return out;
  if (auto done = query_matrices(functions, physical_device, out); !done) return std::unexpected(done.error());
  return out;
}

}  // namespace sectile::vulkan
