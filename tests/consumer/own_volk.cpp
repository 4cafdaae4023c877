// The application's own volk, made for older headers than Sectile's: its tables have fewer members, at other places.
// Compiled with VOLK_NAMESPACE, as Sectile's is, and without. It opens a device of its own, which lives beside
// Sectile's.
#define VK_NO_PROTOTYPES
#include <vulkan/vulkan_core.h>
#undef VK_VERSION_1_2
#undef VK_VERSION_1_3
#undef VK_VERSION_1_4
#include VOLK_SOURCE

#include <cstddef>

namespace {
VkInstance instance = VK_NULL_HANDLE;
VkDevice device = VK_NULL_HANDLE;
VkQueue queue = VK_NULL_HANDLE;
}  // namespace

extern "C" std::size_t own_table_bytes() { return sizeof(VolkInstanceTable) + sizeof(VolkDeviceTable); }

extern "C" int own_device_opens() {
  if (volkInitialize() != VK_SUCCESS || volkGetInstanceVersion() == 0) return 0;
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo instance_info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  instance_info.pApplicationInfo = &application;
  if (vkCreateInstance(&instance_info, nullptr, &instance) != VK_SUCCESS) return 0;
  volkLoadInstance(instance);
  uint32_t one = 1;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  if (vkEnumeratePhysicalDevices(instance, &one, &physical) < VK_SUCCESS || one == 0) return 0;
  const float priority = 1;
  VkDeviceQueueCreateInfo queue_info{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo device_info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  device_info.queueCreateInfoCount = 1;
  device_info.pQueueCreateInfos = &queue_info;
  if (vkCreateDevice(physical, &device_info, nullptr, &device) != VK_SUCCESS) return 0;
  volkLoadDevice(device);
  vkGetDeviceQueue(device, 0, 0, &queue);
  return queue != VK_NULL_HANDLE;
}

// Through the functions that were loaded for this device: after Sectile has opened its own as well.
extern "C" int own_device_works() {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = 256;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  if (vkCreateBuffer(device, &info, nullptr, &buffer) != VK_SUCCESS) return 0;
  VkMemoryRequirements needs{};
  vkGetBufferMemoryRequirements(device, buffer, &needs);
  vkDestroyBuffer(device, buffer, nullptr);
  return needs.size >= 256 && vkQueueSubmit(queue, 0, nullptr, VK_NULL_HANDLE) == VK_SUCCESS &&
         vkQueueWaitIdle(queue) == VK_SUCCESS;
}

extern "C" void own_device_closes() {
  vkDestroyDevice(device, nullptr);
  vkDestroyInstance(instance, nullptr);
}
