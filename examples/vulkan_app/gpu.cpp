#include "gpu.hpp"

// This application's own copy of the allocator, which gets its functions from volk. Sectile has another inside.
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 1
#define VMA_IMPLEMENTATION
#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#endif
#include <vk_mem_alloc.h>
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

namespace {

constexpr const char* kLayer = "VK_LAYER_KHRONOS_validation";

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data, void* user) {
  auto& messages = *static_cast<Messages*>(user);
  std::fprintf(stderr, "validation: %s\n", data->pMessage);
  if (severity >= VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT || messages.warnings) ++messages.count;
  return VK_FALSE;
}

}  // namespace

Gpu::Gpu(const GpuOptions& options, Messages& messages) : messages_(messages), leak_(options.leak) {
  // GPU-assisted validation warns of each setting that it adjusts.
  messages_.warnings = !options.gpu_assisted;
  check(volkInitialize(), "the Vulkan loader");
  make_instance(options);
  choose_device(options.device);
  make_device(options);

  VmaVulkanFunctions functions{};
  functions.vkGetInstanceProcAddr = vkGetInstanceProcAddr;
  functions.vkGetDeviceProcAddr = vkGetDeviceProcAddr;
  VmaAllocatorCreateInfo allocator{};
  allocator.flags = VMA_ALLOCATOR_CREATE_BUFFER_DEVICE_ADDRESS_BIT;
  allocator.vulkanApiVersion = VK_API_VERSION_1_3;
  allocator.instance = instance_;
  allocator.physicalDevice = physical_;
  allocator.device = device_;
  allocator.pVulkanFunctions = &functions;
  check(vmaCreateAllocator(&allocator, &allocator_), "vmaCreateAllocator");

  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = family_;
  check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
  VkSemaphoreTypeCreateInfo type{VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO};
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  const VkSemaphoreCreateInfo semaphore{VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, &type, 0};
  check(vkCreateSemaphore(device_, &semaphore, nullptr, &timeline_), "vkCreateSemaphore");
}

Gpu::~Gpu() {
  if (!leak_) vkDestroySemaphore(device_, timeline_, nullptr);
  vkDestroyCommandPool(device_, pool_, nullptr);
  vmaDestroyAllocator(allocator_);
  vkDestroyDevice(device_, nullptr);
  if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(instance_, messenger_, nullptr);
  vkDestroyInstance(instance_, nullptr);
}

void Gpu::make_instance(const GpuOptions& options) {
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.apiVersion = VK_API_VERSION_1_3;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;

  // Every message of the layer makes this program fail, so warnings are asked for as well. Type VALIDATION alone: what
  // the loader says about other drivers is GENERAL.
  VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = &messages_;
  const VkBool32 on = VK_TRUE;
  const VkLayerSettingEXT settings[] = {
      {kLayer, "validate_sync", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on},
      {kLayer, "gpuav_enable", VK_LAYER_SETTING_TYPE_BOOL32_EXT, 1, &on},
  };
  VkLayerSettingsCreateInfoEXT layer_settings{VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT, &messenger};
  layer_settings.settingCount = options.gpu_assisted ? 2 : 1;
  layer_settings.pSettings = settings;
  const char* const extensions[] = {VK_EXT_DEBUG_UTILS_EXTENSION_NAME, VK_EXT_LAYER_SETTINGS_EXTENSION_NAME};
  if (options.validation) {
    info.pNext = &layer_settings;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kLayer;
    info.enabledExtensionCount = 2;
    info.ppEnabledExtensionNames = extensions;
  }
  check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
  volkLoadInstanceOnly(instance_);
  if (options.validation)
    check(vkCreateDebugUtilsMessengerEXT(instance_, &messenger, nullptr, &messenger_), "the messenger");
}

void Gpu::choose_device(const std::string& name) {
  std::uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(instance_, &count, devices.data()), "vkEnumeratePhysicalDevices");
  for (VkPhysicalDevice device : devices) {
    vkGetPhysicalDeviceProperties(device, &properties_);
    if (std::string(properties_.deviceName).find(name) == std::string::npos) continue;
    // Refused with the reason where the device lacks what Sectile requires.
    auto wants = sectile::vulkan::wanted_features(vkGetInstanceProcAddr, instance_, device);
    if (!wants) {
      std::fprintf(stderr, "%s\n", wants.error().message().c_str());
      continue;
    }
    physical_ = device;
    wants_ = std::move(*wants);
    return;
  }
  std::fprintf(stderr, "no device that Sectile can use\n");
  std::exit(1);
}

void Gpu::make_device(const GpuOptions& options) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(physical_, &count, families.data());
  while (family_ < count && (families[family_].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) ++family_;

  // Sectile's features go into the chain that this application has. Then those that it is told to do without go out.
  wants_->enable_in(features_.head);
  for (const std::string& name : options.without) {
    if (features_.switch_off(name)) continue;
    std::fprintf(stderr, "--without %s: no feature that Sectile uses\n", name.c_str());
    std::exit(2);
  }

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features_.head};
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = std::uint32_t(wants_->extensions().size());
  info.ppEnabledExtensionNames = wants_->extensions().data();
  check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  volkLoadDevice(device_);
  vkGetDeviceQueue(device_, family_, 0, &queue_);
}

sectile::vulkan::Device Gpu::adopt() const {
  sectile::vulkan::Adoption adoption;
  adoption.get_instance_proc_addr = vkGetInstanceProcAddr;
  adoption.instance = instance_;
  adoption.physical_device = physical_;
  adoption.device = device_;
  adoption.queue_family = family_;
  adoption.enabled_features = &features_.head;  // what the VkDevice was made with, no more
  adoption.enabled_extensions = wants_->extensions();
  adoption.debug_names = messenger_ != VK_NULL_HANDLE;  // then VK_EXT_debug_utils is enabled
  return check(sectile::vulkan::Device::adopt(adoption), "adopt");
}

Buffer Gpu::make_buffer(VkDeviceSize bytes, bool host) {
  Buffer out;
  out.bytes = bytes;
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  VmaAllocationCreateInfo allocation{};
  allocation.usage = VMA_MEMORY_USAGE_AUTO;
  if (host) {
    allocation.flags = VMA_ALLOCATION_CREATE_MAPPED_BIT | VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT;
    allocation.requiredFlags = VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  }
  VmaAllocationInfo got{};
  // 256: no operand asks for more than 16 unless its problem says so, and a whole buffer costs nothing to align.
  check(vmaCreateBufferWithAlignment(allocator_, &info, &allocation, 256, &out.handle, &out.allocation, &got),
        "vmaCreateBuffer");
  out.mapped = got.pMappedData;
  const VkBufferDeviceAddressInfo address{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, nullptr, out.handle};
  out.address = vkGetBufferDeviceAddress(device_, &address);
  return out;
}

void Gpu::destroy(const Buffer& buffer) { vmaDestroyBuffer(allocator_, buffer.handle, buffer.allocation); }

VkCommandBuffer Gpu::record(const std::function<void(VkCommandBuffer)>& commands) {
  const VkCommandBufferAllocateInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO, nullptr, pool_,
                                         VK_COMMAND_BUFFER_LEVEL_PRIMARY, 1};
  VkCommandBuffer out = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(device_, &info, &out), "vkAllocateCommandBuffers");
  const VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  check(vkBeginCommandBuffer(out, &begin), "vkBeginCommandBuffer");
  commands(out);
  check(vkEndCommandBuffer(out), "vkEndCommandBuffer");
  return out;
}

void Gpu::run(VkCommandBuffer commands) {
  VkCommandBufferSubmitInfo buffer{VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO};
  buffer.commandBuffer = commands;
  VkSemaphoreSubmitInfo signal{VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO};
  signal.semaphore = timeline_;
  signal.value = ++submitted_;
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  VkSubmitInfo2 submit{VK_STRUCTURE_TYPE_SUBMIT_INFO_2};
  submit.commandBufferInfoCount = 1;
  submit.pCommandBufferInfos = &buffer;
  submit.signalSemaphoreInfoCount = 1;
  submit.pSignalSemaphoreInfos = &signal;
  check(vkQueueSubmit2(queue_, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit2");
  VkSemaphoreWaitInfo wait{VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO};
  wait.semaphoreCount = 1;
  wait.pSemaphores = &timeline_;
  wait.pValues = &submitted_;
  check(vkWaitSemaphores(device_, &wait, UINT64_MAX), "vkWaitSemaphores");
}
