// A small Vulkan runtime for programs that have none of their own: tools, tests, examples.
// It finds a device, owns instance, device, queue and memory, and runs what is recorded.
// An app with a device of its own needs none of this: see vulkan.hpp.
#pragma once

#include <sectile/error.hpp>
#include <sectile/profile.hpp>
#include <sectile/vulkan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::vulkan {

// A physical device, in the loader's order.
struct DeviceEntry {
  std::uint32_t index = 0;  // N of "vulkan:N"
  std::string name;
  std::string uuid;  // 32 hex digits
  DeviceKind kind = DeviceKind::unknown;
  std::uint32_t api_major = 0, api_minor = 0, api_patch = 0;
  std::string driver;    // name and version
  std::string unusable;  // why Sectile cannot use it; empty where it can
  std::vector<std::string> quirks;  // what is known of this driver, and what is left out for it, one line each
};

std::string_view name(DeviceKind kind) noexcept;  // "cpu", "integrated", "discrete", "virtual", "other"

// All devices, also those that Sectile cannot use. Errors: missing ("Vulkan loader" where there is no
// libvulkan, "Vulkan device" where no driver is there); device.
Result<std::vector<DeviceEntry>> list_devices();

// The device's profile, without making a device of it; with what the canary has found, where a RuntimeOptions'
// canary_folder keeps it. Selector as Runtime::open.
Result<DeviceProfile> device_profile(std::string_view selector, std::string_view canary_folder = {});

struct RuntimeOptions {
  bool validation = false;              // VK_LAYER_KHRONOS_validation with synchronization validation; an
                                        // error (missing) where the layer is not there
  bool executable_statistics = false;   // Device::statistics() works, where the driver has them
  bool only_required_features = false;  // make the device with no optional feature; for tests
  std::string pipeline_cache = {};      // a file's path; empty: no cache on disk. Saved by save_cache() only
  // Runs the canary (vulkan.hpp) before the Runtime is handed out, where the device lists matrix shapes: once a driver
  // version, if there is a place to keep the outcome in; else once a process. False: shapes stay untested.
  bool canary = true;
  // Where outcomes are kept, a file a device and driver version; made where it is missing. Empty: beside the pipeline
  // cache's file (".canary" behind its name), where that is given.
  std::string canary_folder = {};
  std::uint64_t largest_allocation =
      0;  // pretend that one allocation may have no more bytes; 0: the device's; for tests
  std::span<const Module> modules = {};  // kernels besides the embedded ones; as Adoption::modules
  const Pack* pack = nullptr;            // kernels from it alone; as Adoption::pack
};

enum class MemoryPlace : std::uint8_t {
  device,  // device-local; where the host reaches it as well is up to the driver
  host,    // host-visible, coherent, mapped for as long as it lives
};

struct BufferState;  // in src/vulkan

// Memory with a device address. Freed on destruction, by when the device must be done with it.
// Must not outlive its Runtime (which may be moved).
class Buffer {
 public:
  Buffer() noexcept;  // not defaulted here: BufferState is known in src/vulkan alone
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  VkBuffer handle() const noexcept;
  VkDeviceAddress address() const noexcept;  // of its first byte; a multiple of 256 (of the pages', where imported)
  std::uint64_t size() const noexcept;       // as asked for
  std::byte* mapped() const noexcept;        // null for MemoryPlace::device; the pages, where imported
  bool sparse() const noexcept;              // bound in pieces, as one allocation was refused
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class Runtime;
  explicit Buffer(std::unique_ptr<BufferState> state) noexcept;
  std::unique_ptr<BufferState> state_;
};

// Writes commands into a command buffer that is being recorded. An error is passed on, and nothing is submitted.
using RecordFunction = std::function<Result<void>(VkCommandBuffer)>;

struct TimingOptions {
  unsigned repeats = 10;        // samples of each candidate
  unsigned inner = 1;           // runs in one sample, one after the other with a barrier between
  double warmup_seconds = 0.0;  // each candidate is run this long right before its samples, and
                                // where candidates alternate, all of them in turn before the first
  // Called after the warm-up, right before the first sample; it may run and time other things by this Runtime. Its
  // error ends the timing.
  std::function<Result<void>()> ready = {};
};

struct Timing {
  std::vector<double> gpu_ns;   // of one run, sample by sample; by timestamps; empty where the queue has none
  std::vector<double> wall_ns;  // of one run: submit to finished, host clock
  const std::vector<double>& best_clock() const noexcept { return gpu_ns.empty() ? wall_ns : gpu_ns; }
};

// Not thread-safe, but for device(), which is.
class Runtime {
 public:
  // Selector: "vulkan:N", a UUID, or a part of a device's or its driver's name in any case ("lavapipe"
  // is llvmpipe as well); empty: the first usable device, a GPU before a CPU. Errors: missing (no loader, no device, no
  // match: lists what is there), unsupported (the device lacks what Sectile needs), parse ("vulkan:x").
  static Result<Runtime> open(std::string_view selector = {}, const RuntimeOptions& options = {});
  ~Runtime();  // waits until the device is idle
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  Device& device() noexcept;
  const DeviceProfile& profile() const noexcept;  // device().profile(), and what the canary found
  const CanaryResult& canary() const noexcept;    // by shape; empty where nothing was tested
  std::string_view canary_warning() const noexcept;  // why the canary's file was ignored or not written; else empty
  const DeviceEntry& entry() const noexcept;

  // ---- memory

  // A buffer for storage, copies and device address. Above the device's largest allocation it tries
  // one allocation all the same, then sparse binding. Errors: device (out of memory), limit_exceeded.
  Result<Buffer> make_buffer(std::uint64_t bytes, MemoryPlace place = MemoryPlace::device);

  // Whether import_pages works here, and what addresses and sizes must be multiples of (0: it does not).
  std::uint64_t import_alignment() const noexcept;

  // The caller's own pages as a buffer (VK_EXT_external_memory_host), so that a protected page can
  // stand right behind an operand. The pages must stay mapped until the buffer is gone.
  Result<Buffer> import_pages(void* pages, std::uint64_t bytes);

  // Copies by way of staging memory, in pieces where big; finished when they return.
  Result<void> upload(const Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes);

  // Repeats `word` over bytes [offset, offset + bytes), multiples of 4.
  Result<void> fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word);

  // ---- running

  // Records, submits, and waits until finished (timeline semaphore).
  Result<void> submit_and_wait(const RecordFunction& record);

  // vkCmdCopyBuffer, for a RecordFunction: the plainest rival.
  void record_copy(VkCommandBuffer commands, const Buffer& dst, std::uint64_t dst_offset, const Buffer& src,
                   std::uint64_t src_offset, std::uint64_t bytes) const noexcept;

  // A barrier over everything, for a RecordFunction with several parts.
  void record_barrier(VkCommandBuffer commands) const noexcept;

  // Timed runs. With several candidates their samples alternate: a b c a b c ...
  Result<Timing> time(const RecordFunction& record, const TimingOptions& options = {});
  Result<std::vector<Timing>> time(std::span<const RecordFunction> candidates, const TimingOptions& options = {});

  // ---- around it

  // What the validation layer has said so far, warnings and errors, over all threads. Empty is good.
  std::vector<std::string> validation_messages() const;

  // Of the pipeline cache's file: why it was ignored, how much of it was taken; saving it.
  std::string_view cache_warning() const noexcept;
  std::size_t cache_loaded_bytes() const noexcept;
  Result<void> save_cache();

  // For what this class does not do: the handles, which stay its own.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr() const noexcept;
  VkInstance instance() const noexcept;
  VkPhysicalDevice physical_device() const noexcept;
  VkDevice vk_device() const noexcept;
  VkQueue queue() const noexcept;
  std::uint32_t queue_family() const noexcept;

 private:
  struct Impl;
  explicit Runtime(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sectile::vulkan
