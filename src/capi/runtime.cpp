// The C interface: the small Vulkan runtime.
#include "handles.hpp"

#include <cstddef>
#include <span>

using namespace sectile;
using capi::given;
using capi::guarded;

SectileStatus sectile_runtime_open(const char* selector, uint32_t validation, SectileRuntime** runtime) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    auto opened = vulkan::Runtime::open(selector == nullptr ? "" : selector, {.validation = validation != 0});
    if (!opened) return std::unexpected(opened.error());
    auto made = std::make_unique<SectileRuntime>(std::move(*opened));
    made->device.device = &made->runtime.device();
    made->device.profile.profile = made->runtime.profile();
    *runtime = made.release();
    return {};
  });
}

void sectile_runtime_destroy(SectileRuntime* runtime) { delete runtime; }

const SectileProfile* sectile_runtime_profile(const SectileRuntime* runtime) { return &runtime->device.profile; }

SectileVkDevice* sectile_runtime_device(SectileRuntime* runtime) { return &runtime->device; }

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

SectileStatus sectile_runtime_run(SectileRuntime* runtime, const SectileVkExecutable* const* executables,
                                  const SectileOperandAddress* const* operands, const uint32_t* operand_counts,
                                  uint32_t count) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(runtime, "runtime"); !r) return r;
    if (count == 0) return {};
    if (auto r = given(executables, "executables"); !r) return r;
    if (auto r = given(operands, "operands"); !r) return r;
    if (auto r = given(operand_counts, "operand_counts"); !r) return r;
    return runtime->runtime.submit_and_wait([&](VkCommandBuffer commands) -> Result<void> {
      for (uint32_t i = 0; i < count; ++i) {
        if (i != 0) runtime->runtime.record_barrier(commands);
        if (auto r = capi::record(commands, executables[i], operands[i], operand_counts[i]); !r) return r;
      }
      return {};
    });
  });
}
