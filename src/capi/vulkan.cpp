// The C interface: an app's own Vulkan device.
#include "handles.hpp"

#include <array>
#include <span>
#include <vector>

using namespace sectile;
using capi::given;
using capi::guarded;

SectileStatus sectile_vk_wants_create(SectileGetInstanceProcAddr get_instance_proc_addr, VkInstance_T* instance,
                                      VkPhysicalDevice_T* physical_device, SectileVkWants** wants) {
  return guarded([&]() -> Result<void> {
    if (get_instance_proc_addr == nullptr) return given(nullptr, "get_instance_proc_addr");
    if (auto r = given(instance, "instance"); !r) return r;
    if (auto r = given(physical_device, "physical_device"); !r) return r;
    if (auto r = given(wants, "wants"); !r) return r;
    auto wanted = vulkan::wanted_features(get_instance_proc_addr, instance, physical_device);
    if (!wanted) return std::unexpected(wanted.error());
    *wants = new SectileVkWants{std::move(*wanted)};
    return {};
  });
}

void sectile_vk_wants_destroy(SectileVkWants* wants) { delete wants; }

const VkPhysicalDeviceFeatures2* sectile_vk_wants_chain(const SectileVkWants* wants) { return wants->wanted.chain(); }

const char* const* sectile_vk_wants_extensions(const SectileVkWants* wants, uint32_t* count) {
  const std::span<const char* const> names = wants->wanted.extensions();
  if (count != nullptr) *count = static_cast<uint32_t>(names.size());
  return names.data();
}

SectileStatus sectile_vk_wants_enable_in(SectileVkWants* wants, VkPhysicalDeviceFeatures2* chain) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(wants, "wants"); !r) return r;
    if (auto r = given(chain, "chain"); !r) return r;
    wants->wanted.enable_in(*chain);
    return {};
  });
}

SectileStatus sectile_vk_device_create(const SectileVkAdoption* adoption, SectileVkDevice** device) {
  return guarded([&]() -> Result<void> {
    const auto read = capi::read(adoption, "adoption");
    if (!read) return std::unexpected(read.error());
    if (auto r = given(device, "device"); !r) return r;
    if (read->everything_wanted == 0 && read->enabled_features == nullptr)
      return fail(ErrorKind::missing, "adoption.enabled_features", "NULL",
                  "what VkDeviceCreateInfo enabled, or everything_wanted = 1");
    if (read->enabled_extension_count != 0)
      if (auto r = given(read->enabled_extensions, "adoption.enabled_extensions"); !r) return r;
    auto adopted =
        vulkan::Device::adopt({.get_instance_proc_addr = read->get_instance_proc_addr,
                               .instance = read->instance,
                               .physical_device = read->physical_device,
                               .device = read->device,
                               .queue_family = read->queue_family,
                               .pipeline_cache = reinterpret_cast<VkPipelineCache>(read->pipeline_cache),
                               .allocation_callbacks = read->allocation_callbacks,
                               .enabled_features = read->everything_wanted != 0 ? nullptr : read->enabled_features,
                               .enabled_extensions = {read->enabled_extensions, read->enabled_extension_count}});
    if (!adopted) return std::unexpected(adopted.error());
    auto own = std::make_unique<vulkan::Device>(std::move(*adopted));
    vulkan::Device* const made = own.get();
    *device = new SectileVkDevice{.own = std::move(own), .device = made, .profile = {.profile = made->profile()}};
    return {};
  });
}

void sectile_vk_device_destroy(SectileVkDevice* device) { delete device; }

const SectileProfile* sectile_vk_device_profile(const SectileVkDevice* device) { return &device->profile; }

uint64_t sectile_vk_device_pipelines(const SectileVkDevice* device) { return device->device->pipeline_count(); }

uint64_t sectile_vk_device_trim(SectileVkDevice* device) { return device->device->trim(); }

SectileStatus sectile_vk_prepare(SectileVkDevice* device, const SectilePlan* const* plans, uint32_t count,
                                 uint32_t threads, uint32_t any_profile, SectileVkExecutable** executables) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(device, "device"); !r) return r;
    if (count == 0) return {};
    if (auto r = given(plans, "plans"); !r) return r;
    if (auto r = given(executables, "executables"); !r) return r;
    const PrepareOptions options{.any_profile = any_profile != 0};
    std::vector<std::unique_ptr<SectileVkExecutable>> made;
    made.reserve(count);
    if (count == 1) {  // no copy of the plan
      if (auto r = given(plans[0], "plans[0]"); !r) return r;
      auto ready = device->device->prepare(plans[0]->plan, options);
      if (!ready) return std::unexpected(ready.error());
      made.push_back(std::make_unique<SectileVkExecutable>(std::move(*ready)));
    } else {
      std::vector<Plan> all;
      all.reserve(count);
      for (uint32_t i = 0; i < count; ++i) {
        if (auto r = given(plans[i], "plans[i]"); !r) return r;
        all.push_back(plans[i]->plan);
      }
      auto ready = device->device->prepare(all, threads, options);
      if (!ready) return std::unexpected(ready.error());
      for (auto& one : *ready) made.push_back(std::make_unique<SectileVkExecutable>(std::move(one)));
    }
    for (uint32_t i = 0; i < count; ++i) executables[i] = made[i].release();
    return {};
  });
}

void sectile_vk_executable_destroy(SectileVkExecutable* executable) { delete executable; }

Result<void> capi::record(VkCommandBuffer_T* commands, const SectileVkExecutable* executable,
                          const SectileOperandAddress* operands, uint32_t count) {
  if (auto r = given(commands, "commands"); !r) return r;
  if (auto r = given(executable, "executable"); !r) return r;
  if (count != 0)
    if (auto r = given(operands, "operands"); !r) return r;
  std::array<OperandAddress, 16> addresses;  // recording allocates nothing
  if (count > addresses.size())
    return fail(ErrorKind::invalid_problem, "operands", std::to_string(count), "at most 16");
  for (uint32_t i = 0; i < count; ++i) addresses[i] = {operands[i].address, operands[i].bytes};
  return vulkan::record(commands, executable->executable, std::span(addresses).first(count));
}

SectileStatus sectile_vk_record(VkCommandBuffer_T* commands, const SectileVkExecutable* executable,
                                const SectileOperandAddress* operands, uint32_t count) {
  return guarded([&] { return capi::record(commands, executable, operands, count); });
}
