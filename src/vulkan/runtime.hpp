// The inside of a Runtime. Each member depends on those before it, so that destruction runs in the right order.
#pragma once

#include "runtime_instance.hpp"
#include "runtime_memory.hpp"

#include <optional>

namespace sectile::vulkan {

// A VkDevice with its entry points.
struct LogicalDevice {
  VkDevice handle = VK_NULL_HANDLE;
  volk::VolkDeviceTable table{};
  ~LogicalDevice() {
    if (handle != VK_NULL_HANDLE) table.vkDestroyDevice(handle, nullptr);
  }
};

// A queue's pool, command buffer, timeline semaphore and timestamps.
struct Submission {
  const LogicalDevice* device = nullptr;
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  VkSemaphore timeline = VK_NULL_HANDLE;
  VkQueryPool timestamps = VK_NULL_HANDLE;  // null: the queue has none
  std::uint64_t submitted = 0;              // the timeline's value when all submissions have finished
  ~Submission();
};

struct Runtime::Impl {
  std::unique_ptr<Instance> instance;
  Candidate chosen;
  RuntimeOptions options;
  LogicalDevice logical;
  std::uint32_t family = 0;
  VkQueueFamilyProperties family_properties{};
  VkQueue queue = VK_NULL_HANDLE;
  std::vector<const char*> extensions;
  FeatureSet features;  // enabled
  Submission submission;
  std::unique_ptr<Memory> memory;
  Buffer staging;
  std::unique_ptr<PipelineCacheFile> cache;  // null: none
  std::unique_ptr<Device> device;
  DeviceProfile profile;  // the device's, with the canary's outcome
  CanaryResult canary;
  std::string canary_warning;

  ~Impl();
  Result<void> open(std::string_view selector);
  CanaryScope tested{false, false};  // parts of the canary whose outcome is known

  // Fills in the profile with what is kept of the canary; runs all of it if the options ask for that.
  Result<void> start_canary(Runtime& owner);
  // Runs the parts of the canary, keeps their outcome and fills in the profile.
  Result<void> test(Runtime& owner, CanaryScope scope);
  // Another Device on the same VkDevice, with its own pipelines.
  Result<Device> adopted(VkPipelineCache pipelines) const;

  const volk::VolkDeviceTable& table() const noexcept { return logical.table; }

  // Records into the command buffer, submits and waits. Earlier work is finished and visible before it, and its writes
  // are visible to the host and to later work.
  struct Elapsed {
    double wall_ns = 0;
    std::optional<double> gpu_ns;  // between the two timestamps, where `timed`
  };
  Result<Elapsed> run(const RecordFunction& record, bool timed);

  // A mapped buffer of at least `bytes`, kept for later calls.
  Result<Buffer*> staging_of(std::uint64_t bytes);
  Result<double> sample(const RecordFunction& record, unsigned inner, Timing* timing);
  Result<void> warm_up(const RecordFunction& record, unsigned inner, double seconds);

 private:
  void choose_family();
  Result<void> make_device();
  std::string canary_path() const;  // empty: outcomes are kept in the process alone
  Result<void> make_submission();
  Result<void> make_memory();
  Result<void> adopt();
  Result<void> submit();
};

}  // namespace sectile::vulkan
