// The C interface: an app's own Vulkan device.
#include "handles.hpp"

#include <sectile/vulkan.hpp>

#include <span>

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

namespace {

// The adoption's cache: the app's, or one that is made here and kept in `own`.
Result<VkPipelineCache> cache_of(const SectileVkAdoption& adoption, std::unique_ptr<vulkan::PipelineCacheFile>& own) {
  if (adoption.own_cache == 0) return reinterpret_cast<VkPipelineCache>(adoption.pipeline_cache);
  if (adoption.pipeline_cache != 0)
    return fail(ErrorKind::invalid_problem, "adoption.pipeline_cache", "given", "0 with own_cache");
  if (adoption.cache_bytes != 0)
    if (auto r = given(adoption.cache_data, "adoption.cache_data"); !r) return std::unexpected(r.error());
  auto made = vulkan::PipelineCacheFile::from_bytes(
      adoption.get_instance_proc_addr, adoption.instance, adoption.physical_device, adoption.device,
      {static_cast<const std::byte*>(adoption.cache_data), adoption.cache_bytes}, adoption.allocation_callbacks);
  if (!made) return std::unexpected(made.error());
  own = std::make_unique<vulkan::PipelineCacheFile>(std::move(*made));
  return own->cache();
}

void tell_of(const SectileVkDevice& device) {
  if (device.log.function == nullptr) return;
  if (device.cache) capi::tell(device.log, SECTILE_LOG_WARNING, std::string(device.cache->warning()));
  for (const std::string& warning : device.device->class_warnings())
    capi::tell(device.log, SECTILE_LOG_WARNING, warning);
  for (const vulkan::MissingFeature& missing : device.missing)
    capi::tell(device.log, missing.offered ? SECTILE_LOG_WARNING : SECTILE_LOG_INFO, print(missing));
}

Result<void> adopt(const SectileVkAdoption& from, SectileVkDevice& out) {
  if (from.everything_wanted == 0 && from.enabled_features == nullptr)
    return fail(ErrorKind::missing, "adoption.enabled_features", "NULL",
                "what VkDeviceCreateInfo enabled, or everything_wanted = 1");
  if (from.enabled_extension_count != 0)
    if (auto r = given(from.enabled_extensions, "adoption.enabled_extensions"); !r) return r;
  auto device_class = capi::class_of(from.device_class);
  if (!device_class) return std::unexpected(device_class.error());
  const auto cache = cache_of(from, out.cache);
  if (!cache) return std::unexpected(cache.error());
  auto adopted = vulkan::Device::adopt({.get_instance_proc_addr = from.get_instance_proc_addr,
                                        .instance = from.instance,
                                        .physical_device = from.physical_device,
                                        .device = from.device,
                                        .queue_family = from.queue_family,
                                        .pipeline_cache = *cache,
                                        .allocation_callbacks = from.allocation_callbacks,
                                        .enabled_features = from.enabled_features,
                                        .enabled_extensions = {from.enabled_extensions, from.enabled_extension_count},
                                        .everything_wanted = from.everything_wanted != 0,
                                        .debug_names = from.debug_names != 0,
                                        .pack = from.pack == nullptr ? nullptr : &from.pack->pack,
                                        .device_class = std::move(*device_class)});
  if (!adopted) return std::unexpected(adopted.error());
  out.own = std::make_unique<vulkan::Device>(std::move(*adopted));
  out.device = out.own.get();
  out.profile = std::make_unique<SectileProfile>();
  out.profile->profile = out.device->profile();
  out.missing = out.device->missing();
  out.log = from.log;
  return {};
}

}  // namespace

SectileStatus sectile_vk_device_create(const SectileVkAdoption* adoption, SectileVkDevice** device) {
  return guarded([&]() -> Result<void> {
    const auto read = capi::read(adoption, "adoption");
    if (!read) return std::unexpected(read.error());
    if (auto r = given(device, "device"); !r) return r;
    auto made = std::make_unique<SectileVkDevice>();
    if (auto r = adopt(*read, *made); !r) return r;
    tell_of(*made);
    *device = made.release();
    return {};
  });
}

void sectile_vk_device_destroy(SectileVkDevice* device) { delete device; }

const SectileProfile* sectile_vk_device_profile(const SectileVkDevice* device) { return device->profile.get(); }

uint64_t sectile_vk_device_pipelines(const SectileVkDevice* device) { return device->device->pipeline_count(); }

uint64_t sectile_vk_device_trim(SectileVkDevice* device) { return device->device->trim(); }

uint32_t sectile_vk_device_missing_count(const SectileVkDevice* device) {
  return static_cast<uint32_t>(device->missing.size());
}

SectileStatus sectile_vk_device_missing(const SectileVkDevice* device, uint32_t index, SectileMissingFeature* missing) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(device, "device"); !r) return r;
    if (index >= device->missing.size())
      return fail(ErrorKind::missing, "missing feature", std::to_string(index),
                  "fewer than " + std::to_string(device->missing.size()));
    const vulkan::MissingFeature& feature = device->missing[index];
    SectileMissingFeature out{};
    out.name = feature.name.c_str();
    out.extension = feature.extension.c_str();
    out.cost = feature.cost.c_str();
    out.offered = feature.offered ? 1 : 0;
    return capi::write(out, missing, "missing");
  });
}

SectileStatus sectile_vk_device_cache(const SectileVkDevice* device, void* data, size_t* bytes) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(device, "device"); !r) return r;
    if (auto r = given(bytes, "bytes"); !r) return r;
    if (!device->cache) return fail(ErrorKind::missing, "cache", "not the library's", "own_cache = 1");
    const auto held = device->cache->bytes();
    if (!held) return std::unexpected(held.error());
    if (data != nullptr && *bytes < held->size())
      return fail(ErrorKind::too_small, "data", std::to_string(*bytes) + " bytes",
                  std::to_string(held->size()) + " bytes");
    if (data != nullptr) std::memcpy(data, held->data(), held->size());
    *bytes = held->size();
    return {};
  });
}

namespace {

// "permute f16 2x3x64 axes=0,2,1: 2 pipelines made in 12 ms, 1 of them from the cache". Empty: none was made.
std::string made_text(const Plan& plan, const vulkan::PrepareInfo& info) {
  if (info.pipelines_created == 0) return {};
  std::string out = print(plan.problem) + ": " + std::to_string(info.pipelines_created) +
                    (info.pipelines_created == 1 ? " pipeline" : " pipelines") + " made in " +
                    std::to_string(info.nanoseconds / 1000000) + " ms";
  if (info.cache_hits != 0) out += ", " + std::to_string(info.cache_hits) + " of them from the cache";
  return out;
}

}  // namespace

SectileStatus sectile_vk_prepare(SectileVkDevice* device, const SectilePlan* const* plans, uint32_t count,
                                 uint32_t threads, uint32_t any_profile, SectileVkExecutable** executables) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(device, "device"); !r) return r;
    const PrepareOptions options{.any_profile = any_profile != 0};
    auto done = capi::prepare(
        plans, count, executables, device->log,
        [&](const Plan& plan) { return device->device->prepare(plan, options); },
        [&](std::span<const Plan> all) { return device->device->prepare(all, threads, options); });
    for (uint32_t i = 0; done && device->log.function != nullptr && i < count; ++i)
      capi::tell(device->log, SECTILE_LOG_INFO, made_text(plans[i]->plan, executables[i]->executable.info()));
    return done;
  });
}

void sectile_vk_executable_destroy(SectileVkExecutable* executable) { delete executable; }

SectileStatus sectile_vk_record(VkCommandBuffer_T* commands, const SectileVkExecutable* executable,
                                const SectileOperandAddress* operands, uint32_t count) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(commands, "commands"); !r) return r;
    if (auto r = given(executable, "executable"); !r) return r;
    capi::Addresses addresses;
    const auto read = addresses.read(operands, count);
    if (!read) return std::unexpected(read.error());
    return vulkan::record(commands, executable->executable, *read);
  });
}

namespace {

std::unexpected<Error> of_plan(uint32_t index, Error error) {
  error.what = "plan " + std::to_string(index) + ": " + error.what;
  return std::unexpected(std::move(error));
}

}  // namespace

// As vulkan::record_all(), without an array of the operands: recording allocates nothing.
Result<uint32_t> capi::record_many(VkCommandBuffer_T* commands, const SectileVkRecording* recordings, uint32_t count) {
  if (auto r = given(commands, "commands"); !r) return std::unexpected(r.error());
  if (count != 0)
    if (auto r = given(recordings, "recordings"); !r) return std::unexpected(r.error());
  Addresses addresses;
  for (uint32_t i = 0; i < count; ++i) {
    const SectileVkRecording& plan = recordings[i];
    if (auto r = given(plan.executable, "executable"); !r) return of_plan(i, r.error());
    const auto operands = addresses.read(plan.operands, plan.operand_count);
    if (!operands) return of_plan(i, operands.error());
    if (auto r = vulkan::check_operands(plan.executable->executable, *operands); !r) return of_plan(i, r.error());
  }
  vulkan::Recorder recorder(commands);
  for (uint32_t i = 0; i < count; ++i) {
    const auto operands = addresses.read(recordings[i].operands, recordings[i].operand_count);
    if (auto r = recorder.record(recordings[i].executable->executable, *operands); !r) return of_plan(i, r.error());
  }
  return static_cast<uint32_t>(recorder.barriers());
}

SectileStatus sectile_vk_record_many(VkCommandBuffer_T* commands, const SectileVkRecording* recordings, uint32_t count,
                                     uint32_t* barriers) {
  return guarded([&]() -> Result<void> {
    const auto recorded = capi::record_many(commands, recordings, count);
    if (!recorded) return std::unexpected(recorded.error());
    if (barriers != nullptr) *barriers = *recorded;
    return {};
  });
}

// ---- the canary

namespace {

vulkan::CanaryScope scope_of(const SectilePlan* plan) {
  return plan == nullptr ? vulkan::CanaryScope() : vulkan::canary_scope(plan->plan);
}

}  // namespace

uint64_t sectile_vk_canary_scratch_bytes(const SectileVkDevice* device, const SectilePlan* plan) {
  return vulkan::canary_scratch_bytes(device->device->profile(), scope_of(plan));
}

SectileStatus sectile_vk_canary_record(SectileVkDevice* device, VkCommandBuffer_T* commands, uint64_t scratch,
                                       const SectilePlan* plan, SectileVkCanary** canary) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(device, "device"); !r) return r;
    if (auto r = given(commands, "commands"); !r) return r;
    if (auto r = given(canary, "canary"); !r) return r;
    auto run = vulkan::record_canary(*device->device, commands, scratch, scope_of(plan));
    if (!run) return std::unexpected(run.error());
    *canary = new SectileVkCanary{std::move(*run), device->device, {}};
    return {};
  });
}

SectileStatus sectile_vk_canary_read(SectileVkCanary* canary, const void* scratch, size_t bytes,
                                     SectileProfile** profile) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(canary, "canary"); !r) return r;
    if (bytes != 0)
      if (auto r = given(scratch, "scratch"); !r) return r;
    if (auto r = given(profile, "profile"); !r) return r;
    const auto result = vulkan::read_canary(canary->run, {static_cast<const std::byte*>(scratch), bytes});
    if (!result) return std::unexpected(result.error());
    auto made = std::make_unique<SectileProfile>();
    made->profile = with_canary(canary->device->profile(), *result);
    canary->json = to_json(*result);
    *profile = made.release();
    return {};
  });
}

const char* sectile_vk_canary_json(const SectileVkCanary* canary) { return canary->json.c_str(); }
void sectile_vk_canary_destroy(SectileVkCanary* canary) { delete canary; }
