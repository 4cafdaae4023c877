// The application's own Vulkan: instance, device, memory and submission. Sectile takes part in none of it but for the
// list of features that the device is made with.
#pragma once

#include "features.hpp"

#include <sectile/vulkan.hpp>

#include <vk_mem_alloc.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// An example ends at the first error. Every function of Sectile that can fail returns std::expected.
inline void check(VkResult result, const char* what) {
  if (result == VK_SUCCESS) return;
  std::fprintf(stderr, "%s: VkResult %d\n", what, int(result));
  std::exit(1);
}
template <class T>
T check(sectile::Result<T> result, const std::string& what) {
  if (!result) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), result.error().message().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

struct GpuOptions {
  bool validation = false;           // the validation layer with synchronization validation
  bool gpu_assisted = false;         // also what only the GPU can see: accesses by address
  bool leak = false;                 // forget an object, which the validation layer has to notice
  std::string device;                // part of a device's name; empty: the first that Sectile can use
  std::vector<std::string> without;  // features to leave off, by Vulkan's names
};

// What the validation layer said. It speaks until the instance is destroyed, so this outlives the Gpu.
struct Messages {
  int count = 0;
  bool warnings = true;  // whether warnings count
};

// Memory with a device address. `mapped` is null where the host does not see it.
struct Buffer {
  VkBuffer handle = VK_NULL_HANDLE;
  VmaAllocation allocation = VK_NULL_HANDLE;
  VkDeviceAddress address = 0;
  VkDeviceSize bytes = 0;
  void* mapped = nullptr;
};

class Gpu {
 public:
  Gpu(const GpuOptions& options, Messages& messages);
  ~Gpu();
  Gpu(const Gpu&) = delete;

  // The device as Sectile takes it over. What it returns must be destroyed before this object.
  sectile::vulkan::Device adopt() const;

  Buffer make_buffer(VkDeviceSize bytes, bool host);
  void destroy(const Buffer& buffer);

  // A command buffer, recorded and ready for submission.
  VkCommandBuffer record(const std::function<void(VkCommandBuffer)>& commands);
  // Submits, and waits on the timeline semaphore.
  void run(VkCommandBuffer commands);

  const char* name() const { return properties_.deviceName; }

 private:
  void make_instance(const GpuOptions& options);
  void choose_device(const std::string& name);
  void make_device(const GpuOptions& options);

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkPhysicalDeviceProperties properties_{};
  FeatureChain features_;
  // Owns structs that are linked to features_, so it lives as long.
  std::optional<sectile::vulkan::WantedFeatures> wants_;
  VkDevice device_ = VK_NULL_HANDLE;
  std::uint32_t family_ = 0;
  VkQueue queue_ = VK_NULL_HANDLE;
  VmaAllocator allocator_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  std::uint64_t submitted_ = 0;  // the timeline's value after the last submission
  Messages& messages_;
  bool leak_;
};
