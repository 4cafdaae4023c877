// The loader, an instance of the runtime's own, and the devices behind it.
#pragma once

#include "functions.hpp"
#include "snapshot.hpp"
#include "volk.hpp"

#include <sectile/vulkan_runtime.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::vulkan {

// The validation layer's messages, from all threads.
class Messages {
 public:
  void add(std::string text);
  std::vector<std::string> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

// During its lifetime this thread's validation messages with these ids are dropped; for known faults of drivers, which
// are named at each use.
class MutedMessages {
 public:
  explicit MutedMessages(std::span<const char* const> ids) noexcept;
  ~MutedMessages();
  MutedMessages(const MutedMessages&) = delete;
  MutedMessages& operator=(const MutedMessages&) = delete;
};

struct Candidate {
  DeviceEntry entry;
  VkPhysicalDevice device = VK_NULL_HANDLE;
  VkDriverId driver_id = VkDriverId{};
  Snapshot snapshot;
};

class Instance {
 public:
  // Errors: missing (no loader, no driver, no validation layer), unsupported (an old loader), device.
  static Result<std::unique_ptr<Instance>> make(bool validation);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const noexcept { return handle_; }
  const volk::VolkInstanceTable& table() const noexcept { return table_; }
  const Messages& messages() const noexcept { return messages_; }

  // Errors: missing (no device); device.
  Result<std::vector<Candidate>> devices() const;

 private:
  Instance() = default;
  Result<void> create(bool validation);

  VkInstance handle_ = VK_NULL_HANDLE;
  volk::VolkInstanceTable table_{};
  Messages messages_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

// The loader's vkGetInstanceProcAddr. Null before an Instance was made.
PFN_vkGetInstanceProcAddr loader_proc_addr() noexcept;

// volk keeps vkGetDeviceProcAddr in a global: tables are filled one at a time.
void load_device_table(volk::VolkDeviceTable& table, const Instance& instance, VkDevice device);

// The device that a selector names (see Runtime::open).
Result<std::size_t> select(std::string_view selector, const std::vector<Candidate>& candidates);

}  // namespace sectile::vulkan
