#include "runtime.hpp"

#include "queue_lock.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace sectile::vulkan {

namespace {

bool import_is_reported(const volk::VolkInstanceTable& functions, VkPhysicalDevice device) {
  VkPhysicalDeviceExternalBufferInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
  info.handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  VkExternalBufferProperties properties{};
  properties.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES;
  functions.vkGetPhysicalDeviceExternalBufferProperties(device, &info, &properties);
  return (properties.externalMemoryProperties.externalMemoryFeatures & VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT) != 0;
}

}  // namespace

Submission::~Submission() {
  if (device == nullptr) return;
  const auto& table = device->table;
  if (timestamps != VK_NULL_HANDLE) table.vkDestroyQueryPool(device->handle, timestamps, nullptr);
  if (timeline != VK_NULL_HANDLE) table.vkDestroySemaphore(device->handle, timeline, nullptr);
  if (pool != VK_NULL_HANDLE) table.vkDestroyCommandPool(device->handle, pool, nullptr);
}

Runtime::Impl::~Impl() {
  if (logical.handle == VK_NULL_HANDLE) return;
  const QueueLock locked(options.queue);
  table().vkDeviceWaitIdle(logical.handle);
}

// A family with compute; one that also has timestamps and sparse binding is preferred.
void Runtime::Impl::choose_family() {
  std::uint32_t count = 0;
  const auto& functions = instance->table();
  functions.vkGetPhysicalDeviceQueueFamilyProperties(chosen.device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions.vkGetPhysicalDeviceQueueFamilyProperties(chosen.device, &count, families.data());
  int best = -1;
  for (std::uint32_t i = 0; i < families.size(); ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) continue;
    const int worth = (families[i].timestampValidBits > 0 ? 2 : 0) +
                      ((families[i].queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) != 0 ? 1 : 0);
    if (worth <= best) continue;
    best = worth;
    family = i;
    family_properties = families[i];
  }
}

Result<void> Runtime::Impl::make_device() {
  const Offer& offer = chosen.snapshot.offer;
  std::vector<FeatureUse> uses{FeatureUse::required, FeatureUse::runtime};
  if (!options.only_required_features) uses.push_back(FeatureUse::wanted);
  if (options.executable_statistics) uses.push_back(FeatureUse::statistics);
  features = choose(offer, uses);
  extensions = extensions_for(features);
  if (offer.has_extension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME))
    extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);

  FeatureStructs structs;
  VkPhysicalDeviceFeatures2& chain = structs.make_core_chain();
  structs.complete(chain, features);
  write_features(&chain, features);
  const float priority = 1.0f;
  VkDeviceQueueCreateInfo queue_info{};
  queue_info.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue_info.queueFamilyIndex = family;
  queue_info.queueCount = 1;
  queue_info.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = &chain;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue_info;
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  VkDevice handle = VK_NULL_HANDLE;
  const VkResult result = instance->table().vkCreateDevice(chosen.device, &info, nullptr, &handle);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateDevice", result));
  load_device_table(logical.table, *instance, handle);
  logical.handle = handle;
  table().vkGetDeviceQueue(logical.handle, family, 0, &queue);
  return {};
}

Result<void> Runtime::Impl::make_submission() {
  submission.device = &logical;
  VkCommandPoolCreateInfo pool{};
  pool.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool.queueFamilyIndex = family;
  VkResult result = table().vkCreateCommandPool(logical.handle, &pool, nullptr, &submission.pool);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateCommandPool", result));

  VkCommandBufferAllocateInfo commands{};
  commands.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  commands.commandPool = submission.pool;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  result = table().vkAllocateCommandBuffers(logical.handle, &commands, &submission.commands);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkAllocateCommandBuffers", result));

  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo semaphore{};
  semaphore.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  semaphore.pNext = &type;
  result = table().vkCreateSemaphore(logical.handle, &semaphore, nullptr, &submission.timeline);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateSemaphore", result));

  // A queue without timestamps is timed by the host's clock alone.
  if (family_properties.timestampValidBits == 0) return {};
  VkQueryPoolCreateInfo queries{};
  queries.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = 2;
  result = table().vkCreateQueryPool(logical.handle, &queries, nullptr, &submission.timestamps);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkCreateQueryPool", result));
  return {};
}

Result<void> Runtime::Impl::make_memory() {
  const auto& functions = instance->table();
  MemoryContext context;
  context.get_instance_proc_addr = loader_proc_addr();
  context.get_device_proc_addr = functions.vkGetDeviceProcAddr;
  context.instance = instance->handle();
  context.physical_device = chosen.device;
  context.device = logical.handle;
  context.table = &logical.table;
  functions.vkGetPhysicalDeviceMemoryProperties(chosen.device, &context.types);
  if (features.has(Feature::sparse_binding) && (family_properties.queueFlags & VK_QUEUE_SPARSE_BINDING_BIT) != 0)
    context.sparse_queue = queue;
  context.queue_callbacks = &options.queue;
  context.largest_buffer = chosen.snapshot.v13.maxBufferSize;
  context.largest_allocation = chosen.snapshot.v11.maxMemoryAllocationSize;
  if (options.largest_allocation != 0) {
    context.largest_allocation = std::min(context.largest_allocation, options.largest_allocation);
    context.enforce_largest_allocation = true;
  }
  if (chosen.snapshot.offer.has_extension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME)) {
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT import{};
    import.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT;
    VkPhysicalDeviceProperties2 properties{};
    properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
    properties.pNext = &import;
    functions.vkGetPhysicalDeviceProperties2(chosen.device, &properties);
    context.import_alignment = import.minImportedHostPointerAlignment;
    context.import_unreported = !import_is_reported(functions, chosen.device);
  }
  auto made = Memory::make(context);
  if (!made) return std::unexpected(made.error());
  memory = std::move(*made);
  return {};
}

Result<Device> Runtime::Impl::adopted(VkPipelineCache pipelines) const {
  Adoption adoption;
  adoption.get_instance_proc_addr = loader_proc_addr();
  adoption.instance = instance->handle();
  adoption.physical_device = chosen.device;
  adoption.device = logical.handle;
  adoption.queue_family = family;
  adoption.pipeline_cache = pipelines;
  adoption.executable_statistics = options.executable_statistics;
  adoption.modules = options.modules;
  adoption.pack = options.pack;
  adoption.device_class = options.device_class;
  adoption.debug_names = options.validation;  // then VK_EXT_debug_utils is enabled
  FeatureStructs structs;
  VkPhysicalDeviceFeatures2& chain = structs.make_core_chain();
  structs.complete(chain, features);
  write_features(&chain, features);
  adoption.enabled_features = &chain;
  adoption.enabled_extensions = extensions;
  return Device::adopt(adoption);
}

Result<void> Runtime::Impl::adopt() {
  if (!options.pipeline_cache.empty()) {
    auto file = PipelineCacheFile::open(loader_proc_addr(), instance->handle(), chosen.device, logical.handle,
                                        options.pipeline_cache);
    if (!file) return std::unexpected(file.error());
    cache = std::make_unique<PipelineCacheFile>(std::move(*file));
  }
  auto made = adopted(cache ? cache->cache() : VK_NULL_HANDLE);
  if (!made) return std::unexpected(made.error());
  device = std::make_unique<Device>(std::move(*made));
  return {};
}

Result<void> Runtime::Impl::open(std::string_view selector) {
  auto made = Instance::make(options.validation);
  if (!made) return std::unexpected(made.error());
  instance = std::move(*made);
  auto candidates = instance->devices();
  if (!candidates) return std::unexpected(candidates.error());
  const auto index = select(selector, *candidates);
  if (!index) return std::unexpected(index.error());
  chosen = std::move((*candidates)[*index]);
  if (auto usable = check_usable(chosen.snapshot.offer); !usable) return usable;
  if (!chosen.snapshot.offer.features.has(Feature::timeline_semaphore))
    return fail(ErrorKind::unsupported, chosen.entry.name + ": timelineSemaphore", "false", "true");
  choose_family();
  if (auto done = make_device(); !done) return done;
  if (auto done = make_submission(); !done) return done;
  if (auto done = make_memory(); !done) return done;
  return adopt();
}

Result<Runtime> Runtime::open(std::string_view selector, const RuntimeOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->options = options;
  if (auto opened = impl->open(selector); !opened) return std::unexpected(opened.error());
  Runtime out(std::move(impl));
  if (auto tested = out.impl_->start_canary(out); !tested) return std::unexpected(tested.error());
  return out;
}

Result<void> Runtime::Impl::submit() {
  const std::uint64_t value = ++submission.submitted;
  VkTimelineSemaphoreSubmitInfo timeline{};
  timeline.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
  timeline.signalSemaphoreValueCount = 1;
  timeline.pSignalSemaphoreValues = &value;
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.pNext = &timeline;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &submission.commands;
  info.signalSemaphoreCount = 1;
  info.pSignalSemaphores = &submission.timeline;
  VkResult result = VK_SUCCESS;
  {
    const QueueLock locked(options.queue);
    result = table().vkQueueSubmit(queue, 1, &info, VK_NULL_HANDLE);
  }
  if (result != VK_SUCCESS) {
    --submission.submitted;
    return std::unexpected(device_error("vkQueueSubmit", result));
  }
  VkSemaphoreWaitInfo wait{};
  wait.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  wait.semaphoreCount = 1;
  wait.pSemaphores = &submission.timeline;
  wait.pValues = &value;
  result = table().vkWaitSemaphores(logical.handle, &wait, UINT64_MAX);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkWaitSemaphores", result));
  return {};
}

Result<Runtime::Impl::Elapsed> Runtime::Impl::run(const RecordFunction& record, bool timed) {
  VkResult result = table().vkResetCommandPool(logical.handle, submission.pool, 0);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkResetCommandPool", result));
  const VkCommandBuffer commands = submission.commands;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  result = table().vkBeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkBeginCommandBuffer", result));

  const bool stamps = timed && submission.timestamps != VK_NULL_HANDLE;
  if (stamps) {
    table().vkCmdResetQueryPool(commands, submission.timestamps, 0, 2);
    table().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, submission.timestamps, 0);
  }
  if (auto recorded = record(commands); !recorded) return std::unexpected(recorded.error());
  if (stamps) table().vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, submission.timestamps, 1);
  // Makes writes visible to the host and to later submissions.
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  table().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier, 0,
                               nullptr, 0, nullptr);
  result = table().vkEndCommandBuffer(commands);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkEndCommandBuffer", result));

  Elapsed out;
  const auto start = std::chrono::steady_clock::now();
  if (auto done = submit(); !done) return std::unexpected(done.error());
  out.wall_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  if (!stamps) return out;

  std::uint64_t ticks[2] = {};
  result = table().vkGetQueryPoolResults(logical.handle, submission.timestamps, 0, 2, sizeof(ticks), ticks,
                                         sizeof(ticks[0]), VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT);
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkGetQueryPoolResults", result));
  // The counter has timestampValidBits bits and wraps around.
  const std::uint32_t bits = family_properties.timestampValidBits;
  const std::uint64_t mask = bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const double period = static_cast<double>(chosen.snapshot.offer.properties.limits.timestampPeriod);
  out.gpu_ns = static_cast<double>((ticks[1] - ticks[0]) & mask) * period;
  return out;
}

Runtime::Runtime(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

Result<void> Runtime::submit_and_wait(const RecordFunction& record) {
  const auto done = impl_->run(record, false);
  if (!done) return std::unexpected(done.error());
  return {};
}

Device& Runtime::device() noexcept { return *impl_->device; }
const DeviceProfile& Runtime::profile() const noexcept { return impl_->profile; }
const CanaryResult& Runtime::canary() const noexcept { return impl_->canary; }
std::string_view Runtime::canary_warning() const noexcept { return impl_->canary_warning; }
const DeviceEntry& Runtime::entry() const noexcept { return impl_->chosen.entry; }
std::vector<std::string> Runtime::validation_messages() const { return impl_->instance->messages().all(); }
std::string_view Runtime::cache_warning() const noexcept {
  return impl_->cache ? impl_->cache->warning() : std::string_view();
}
std::size_t Runtime::cache_loaded_bytes() const noexcept { return impl_->cache ? impl_->cache->loaded_bytes() : 0; }
Result<void> Runtime::save_cache() { return impl_->cache ? impl_->cache->save() : Result<void>(); }
PFN_vkGetInstanceProcAddr Runtime::get_instance_proc_addr() const noexcept { return loader_proc_addr(); }
VkInstance Runtime::instance() const noexcept { return impl_->instance->handle(); }
VkPhysicalDevice Runtime::physical_device() const noexcept { return impl_->chosen.device; }
VkDevice Runtime::vk_device() const noexcept { return impl_->logical.handle; }
VkQueue Runtime::queue() const noexcept { return impl_->queue; }
std::uint32_t Runtime::queue_family() const noexcept { return impl_->family; }

}  // namespace sectile::vulkan
