#include "features.hpp"

#include <cstddef>

namespace {

struct Place {
  std::string_view name;
  VkStructureType type;
  std::size_t offset;
};

using V11 = VkPhysicalDeviceVulkan11Features;
using V12 = VkPhysicalDeviceVulkan12Features;
using V13 = VkPhysicalDeviceVulkan13Features;
using Bfloat = VkPhysicalDeviceShaderBfloat16FeaturesKHR;
using Workgroup = VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR;
using Matrix = VkPhysicalDeviceCooperativeMatrixFeaturesKHR;

constexpr auto k10 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
constexpr auto k11 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
constexpr auto k12 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
constexpr auto k13 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
constexpr auto kBfloat = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
constexpr auto kWorkgroup = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR;
constexpr auto kMatrix = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;

constexpr std::size_t core(std::size_t offset) { return offsetof(VkPhysicalDeviceFeatures2, features) + offset; }

// clang-format off
constexpr Place kPlaces[] = {
  {"bufferDeviceAddress", k12, offsetof(V12, bufferDeviceAddress)},
  {"maintenance4", k13, offsetof(V13, maintenance4)},
  {"shaderInt8", k12, offsetof(V12, shaderInt8)},
  {"shaderInt16", k10, core(offsetof(VkPhysicalDeviceFeatures, shaderInt16))},
  {"shaderInt64", k10, core(offsetof(VkPhysicalDeviceFeatures, shaderInt64))},
  {"shaderFloat16", k12, offsetof(V12, shaderFloat16)},
  {"storageBuffer8BitAccess", k12, offsetof(V12, storageBuffer8BitAccess)},
  {"storageBuffer16BitAccess", k11, offsetof(V11, storageBuffer16BitAccess)},
  {"scalarBlockLayout", k12, offsetof(V12, scalarBlockLayout)},
  {"shaderSubgroupExtendedTypes", k12, offsetof(V12, shaderSubgroupExtendedTypes)},
  {"subgroupSizeControl", k13, offsetof(V13, subgroupSizeControl)},
  {"computeFullSubgroups", k13, offsetof(V13, computeFullSubgroups)},
  {"vulkanMemoryModel", k12, offsetof(V12, vulkanMemoryModel)},
  {"vulkanMemoryModelDeviceScope", k12, offsetof(V12, vulkanMemoryModelDeviceScope)},
  {"shaderIntegerDotProduct", k13, offsetof(V13, shaderIntegerDotProduct)},
  {"shaderBFloat16Type", kBfloat, offsetof(Bfloat, shaderBFloat16Type)},
  {"shaderBFloat16DotProduct", kBfloat, offsetof(Bfloat, shaderBFloat16DotProduct)},
  {"shaderBFloat16CooperativeMatrix", kBfloat, offsetof(Bfloat, shaderBFloat16CooperativeMatrix)},
  {"workgroupMemoryExplicitLayout", kWorkgroup, offsetof(Workgroup, workgroupMemoryExplicitLayout)},
  {"workgroupMemoryExplicitLayoutScalarBlockLayout", kWorkgroup,
   offsetof(Workgroup, workgroupMemoryExplicitLayoutScalarBlockLayout)},
  {"workgroupMemoryExplicitLayout8BitAccess", kWorkgroup, offsetof(Workgroup, workgroupMemoryExplicitLayout8BitAccess)},
  {"workgroupMemoryExplicitLayout16BitAccess", kWorkgroup,
   offsetof(Workgroup, workgroupMemoryExplicitLayout16BitAccess)},
  {"cooperativeMatrix", kMatrix, offsetof(Matrix, cooperativeMatrix)},
};
// clang-format on

}  // namespace

FeatureChain::FeatureChain() {
  head.pNext = &v11;
  v11.pNext = &v12;
  v12.pNext = &v13;
  v12.timelineSemaphore = VK_TRUE;  // how this application waits
  v13.synchronization2 = VK_TRUE;   // vkQueueSubmit2, vkCmdPipelineBarrier2
}

bool FeatureChain::switch_off(std::string_view name) {
  for (const Place& place : kPlaces) {
    if (place.name != name) continue;
    for (auto* link = reinterpret_cast<VkBaseOutStructure*>(&head); link != nullptr; link = link->pNext)
      if (link->sType == place.type)
        *reinterpret_cast<VkBool32*>(reinterpret_cast<std::byte*>(link) + place.offset) = VK_FALSE;
    return true;
  }
  return false;
}
