// The C interface: the small Vulkan runtime.
#include "handles.hpp"

#include <cstddef>
#include <span>

using namespace sectile;
using capi::given;
using capi::guarded;

namespace {

enum : uint32_t { kCanaryAtOpen = 0, kCanaryLater = 1, kCanaryNever = 2 };

Result<vulkan::RuntimeOptions> options_of(const SectileRuntimeOptions& from) {
  if (from.canary > kCanaryNever)
    return fail(ErrorKind::invalid_problem, "options.canary", std::to_string(from.canary), "0, 1 or 2");
  if ((from.lock_queue == nullptr) != (from.unlock_queue == nullptr))
    return fail(ErrorKind::missing, "options.lock_queue, unlock_queue", "one of them", "both or none");
  vulkan::RuntimeOptions out;
  out.validation = from.validation != 0;
  out.canary = from.canary != kCanaryNever;
  out.canary_at_open = from.canary == kCanaryAtOpen;
  if (from.pipeline_cache != nullptr) out.pipeline_cache = from.pipeline_cache;
  if (from.lock_queue != nullptr)
    out.queue = {[lock = from.lock_queue, user = from.queue_user] { lock(user); },
                 [unlock = from.unlock_queue, user = from.queue_user] { unlock(user); }};
  return out;
}

// The validation layer's messages that were not told yet.
void tell_validation(SectileRuntime& runtime) {
  if (runtime.device.log.function == nullptr) return;
  const auto messages = runtime.runtime.validation_messages();
  for (; runtime.told < messages.size(); ++runtime.told)
    capi::tell(runtime.device.log, SECTILE_LOG_WARNING, messages[runtime.told]);
}

}  // namespace

SectileStatus sectile_runtime_open(const SectileRuntimeOptions* options, SectileRuntime** runtime) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    SectileRuntimeOptions read{};
    if (options != nullptr) {
      const auto given_options = capi::read(options, "options");
      if (!given_options) return std::unexpected(given_options.error());
      read = *given_options;
    }
    const auto settings = options_of(read);
    if (!settings) return std::unexpected(settings.error());
    auto opened = vulkan::Runtime::open(read.selector == nullptr ? "" : read.selector, *settings);
    if (!opened) return std::unexpected(opened.error());
    auto made = std::make_unique<SectileRuntime>(std::move(*opened));
    made->device.device = &made->runtime.device();
    made->device.missing = made->device.device->missing();
    made->device.log = read.log;
    made->profiles.emplace_back().profile = made->runtime.profile();
    capi::tell(read.log, SECTILE_LOG_WARNING, std::string(made->runtime.cache_warning()));
    capi::tell(read.log, SECTILE_LOG_WARNING, std::string(made->runtime.canary_warning()));
    tell_validation(*made);
    *runtime = made.release();
    return {};
  });
}

void sectile_runtime_destroy(SectileRuntime* runtime) {
  if (runtime == nullptr) return;
  guarded([&]() -> Result<void> {
    if (auto saved = runtime->runtime.save_cache(); !saved)
      capi::tell(runtime->device.log, SECTILE_LOG_WARNING, saved.error().message());
    tell_validation(*runtime);
    return {};
  });
  delete runtime;
}

const SectileProfile* sectile_runtime_profile(const SectileRuntime* runtime) { return &runtime->profiles.back(); }

SectileStatus sectile_runtime_test(SectileRuntime* runtime, const SectilePlan* plan, uint32_t* changed) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    if (auto r = given(plan, "plan"); !r) return r;
    if (auto r = given(changed, "changed"); !r) return r;
    const auto tested = runtime->runtime.test_for(plan->plan);
    if (!tested) return std::unexpected(tested.error());
    if (*tested) runtime->profiles.emplace_back().profile = runtime->runtime.profile();
    *changed = *tested ? 1 : 0;
    return {};
  });
}

SectileVkDevice* sectile_runtime_device(SectileRuntime* runtime) { return &runtime->device; }

SectileStatus sectile_runtime_vk(SectileRuntime* runtime, SectileVkHandles* handles) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    const vulkan::Runtime& own = runtime->runtime;
    SectileVkHandles out{};
    out.get_instance_proc_addr = own.get_instance_proc_addr();
    out.instance = own.instance();
    out.physical_device = own.physical_device();
    out.device = own.vk_device();
    out.queue = own.queue();
    out.queue_family = own.queue_family();
    return capi::write(out, handles, "handles");
  });
}

SectileStatus sectile_buffer_create(SectileRuntime* runtime, uint64_t bytes, uint32_t host, SectileBuffer** buffer) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    if (auto r = given(buffer, "buffer"); !r) return r;
    const auto place = host != 0 ? vulkan::MemoryPlace::host : vulkan::MemoryPlace::device;
    auto made = runtime->runtime.make_buffer(bytes, place);
    if (!made) return std::unexpected(made.error());
    *buffer = new SectileBuffer{std::move(*made), &runtime->runtime};
    return {};
  });
}

void sectile_buffer_destroy(SectileBuffer* buffer) { delete buffer; }
uint64_t sectile_buffer_address(const SectileBuffer* buffer) { return buffer->buffer.address(); }
uint64_t sectile_buffer_size(const SectileBuffer* buffer) { return buffer->buffer.size(); }
void* sectile_buffer_mapped(const SectileBuffer* buffer) { return buffer->buffer.mapped(); }

namespace {

Result<void> inside(const SectileBuffer* buffer, uint64_t offset, const void* data, size_t bytes) {
  if (auto r = given(buffer, "buffer"); !r) return r;
  if (bytes != 0)
    if (auto r = given(data, "data"); !r) return r;
  if (offset > buffer->buffer.size() || bytes > buffer->buffer.size() - offset)
    return fail(ErrorKind::too_small, "buffer", std::to_string(buffer->buffer.size()) + " bytes",
                std::to_string(offset) + " + " + std::to_string(bytes));
  return {};
}

}  // namespace

SectileStatus sectile_buffer_upload(SectileBuffer* buffer, uint64_t offset, const void* data, size_t bytes) {
  return guarded([&]() -> Result<void> {
    if (auto r = inside(buffer, offset, data, bytes); !r || bytes == 0) return r;
    return buffer->runtime->upload(buffer->buffer, offset, {static_cast<const std::byte*>(data), bytes});
  });
}

SectileStatus sectile_buffer_download(SectileBuffer* buffer, uint64_t offset, void* data, size_t bytes) {
  return guarded([&]() -> Result<void> {
    if (auto r = inside(buffer, offset, data, bytes); !r || bytes == 0) return r;
    return buffer->runtime->download(buffer->buffer, offset, {static_cast<std::byte*>(data), bytes});
  });
}

SectileStatus sectile_runtime_run(SectileRuntime* runtime, const SectileVkRecording* recordings, uint32_t count) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    if (count == 0) return {};
    const auto done = runtime->runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      const auto recorded = capi::record_many(commands, recordings, count);
      if (!recorded) return std::unexpected(recorded.error());
      return {};
    });
    tell_validation(*runtime);
    return done;
  });
}
