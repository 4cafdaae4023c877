// A small Vulkan runtime for programs without a device of their own: tools, tests, examples. It finds a device, owns
// instance, device, queue and memory, and runs recorded commands. An app with a device of its own uses vulkan.hpp
// alone.
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
  std::vector<std::string>
      quirks;  // known faults of this driver, and which features are not used for them; a line each
};

std::string_view name(DeviceKind kind) noexcept;  // "cpu", "integrated", "discrete", "virtual", "other"

// All devices, including those that Sectile cannot use. Errors: missing ("Vulkan loader": no libvulkan; "Vulkan
// device": no driver); device.
Result<std::vector<DeviceEntry>> list_devices();

// The device's profile, without making a VkDevice; with the canary's outcome, where canary_folder (as in
// RuntimeOptions) has it. Selector as Runtime::open.
Result<DeviceProfile> device_profile(std::string_view selector, std::string_view canary_folder = {});

// For an app that uses Runtime::queue() in other threads: called before and after each use of the queue (a submission,
// a sparse binding, the wait when the Runtime is destroyed), in the thread that uses it. They throw nothing.
struct QueueCallbacks {
  std::function<void()> lock = {}, unlock = {};
};

struct RuntimeOptions {
  bool validation = false;              // VK_LAYER_KHRONOS_validation with synchronization validation; an
                                        // error (missing) where the layer is not there
  bool executable_statistics = false;   // enables Device::statistics(), where the driver supports it
  bool only_required_features = false;  // make the device with no optional feature; for tests
  std::string pipeline_cache = {};      // a file's path; empty: no cache on disk. Saved by save_cache() only
  // Runs the canary (vulkan.hpp): once for each driver version if the outcome can be stored, otherwise once in each
  // process. False: everything stays untested.
  bool canary = true;
  // In open(), all of it. False: test_for() runs what a plan rests on.
  bool canary_at_open = true;
  // Folder of stored outcomes, one file for each device and driver version; made if missing. Empty: beside the pipeline
  // cache's file (its name with ".canary"), if that is given.
  std::string canary_folder = {};
  std::uint64_t largest_allocation =
      0;  // lowers the device's limit on one allocation, in bytes; 0: the device's own; for tests
  std::span<const Module> modules = {};  // kernels besides the embedded ones; as Adoption::modules
  const Pack* pack = nullptr;            // kernels from it alone; as Adoption::pack
  DeviceClassPtr device_class = {};      // what work costs; as Adoption::device_class
  QueueCallbacks queue = {};             // locks the queue, where others use it
};

enum class MemoryPlace : std::uint8_t {
  device,  // device-local; may be host-visible too
  host,    // host-visible, coherent, mapped during its whole life
};

struct BufferState;  // in src/vulkan

// Memory with a device address. Freed on destruction; the device must have finished with it by then. Must not outlive
// its Runtime (which may be moved).
class Buffer {
 public:
  Buffer() noexcept;  // not defaulted here: BufferState is complete in src/vulkan alone
  ~Buffer();
  Buffer(Buffer&&) noexcept;
  Buffer& operator=(Buffer&&) noexcept;

  VkBuffer handle() const noexcept;
  VkDeviceAddress address() const noexcept;  // of its first byte; a multiple of 256, or of the page size if imported
  std::uint64_t size() const noexcept;       // as requested
  std::byte* mapped() const noexcept;        // null for MemoryPlace::device; the pages, if imported
  bool sparse() const noexcept;              // bound in pieces, because the driver refused a single allocation
  explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  friend class Runtime;
  explicit Buffer(std::unique_ptr<BufferState> state) noexcept;
  std::unique_ptr<BufferState> state_;
};

// Writes commands into a command buffer that is being recorded. If it returns an error, nothing is submitted.
using RecordFunction = std::function<Result<void>(VkCommandBuffer)>;

struct TimingOptions {
  unsigned repeats = 10;        // samples of each candidate
  unsigned inner = 1;           // runs in one sample, one after the other with a barrier between
  double warmup_seconds = 0.0;  // each candidate runs this long right before its samples; where
                                // candidates alternate, all of them run in turn before the first sample
  // Called after the warm-up, right before the first sample. It may run and time other work with this Runtime. Its
  // error ends the timing.
  std::function<Result<void>()> ready = {};
};

struct Timing {
  std::vector<double> gpu_ns;   // of one run, sample by sample, from timestamps; empty where the queue has none
  std::vector<double> wall_ns;  // of one run: submit to finished, host clock
  const std::vector<double>& best_clock() const noexcept { return gpu_ns.empty() ? wall_ns : gpu_ns; }
};

// Not thread-safe, except for device().
class Runtime {
 public:
  // Selector: "vulkan:N", a UUID, or part of the name of a device or driver in any case ("lavapipe" finds llvmpipe
  // too). Empty: the first usable device, a GPU before a CPU. Errors: missing (no loader, no device, or no match:
  // lists the devices), unsupported (the device lacks what Sectile needs), parse ("vulkan:x").
  static Result<Runtime> open(std::string_view selector = {}, const RuntimeOptions& options = {});
  ~Runtime();  // waits until the device is idle
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) noexcept;

  Device& device() noexcept;
  const DeviceProfile& profile() const noexcept;  // device().profile() with the canary's outcome
  const CanaryResult& canary() const noexcept;    // what was tested, now or by an earlier process

  // Whether the canary still has to be run for the plan (RuntimeOptions::canary_at_open is false).
  bool wants_test(const Plan& plan) const;
  // Runs the parts of the canary that the plan rests on and that were not run. True: profile() has changed, and the
  // plan is to be made again. Compiles, submits and waits. Errors: device (the device may be lost; the next start does
  // not use what was tested).
  Result<bool> test_for(const Plan& plan);
  std::string_view canary_warning() const noexcept;  // why the canary's file was ignored or not written, or empty
  const DeviceEntry& entry() const noexcept;

  // ---- memory

  // A buffer for storage, copies and device address. Above the device's stated limit on one allocation it still tries a
  // single allocation, then sparse binding. Errors: device (out of memory), limit_exceeded.
  Result<Buffer> make_buffer(std::uint64_t bytes, MemoryPlace place = MemoryPlace::device);

  // What import_pages' addresses and sizes must be multiples of; 0: the device cannot import pages.
  std::uint64_t import_alignment() const noexcept;

  // The caller's own pages as a buffer (VK_EXT_external_memory_host), so that a protected page can follow an operand
  // directly. The pages must stay mapped until the buffer is destroyed.
  Result<Buffer> import_pages(void* pages, std::uint64_t bytes);

  // Copy through staging memory, in pieces if large. Finished when they return.
  Result<void> upload(const Buffer& buffer, std::uint64_t offset, std::span<const std::byte> bytes);
  Result<void> download(const Buffer& buffer, std::uint64_t offset, std::span<std::byte> bytes);

  // Repeats `word` over bytes [offset, offset + bytes), multiples of 4.
  Result<void> fill(const Buffer& buffer, std::uint64_t offset, std::uint64_t bytes, std::uint32_t word);

  // ---- running

  // Records, submits, and waits until finished (timeline semaphore).
  Result<void> submit_and_wait(const RecordFunction& record);

  // vkCmdCopyBuffer, for a RecordFunction: what benchmarks compare with.
  void record_copy(VkCommandBuffer commands, const Buffer& dst, std::uint64_t dst_offset, const Buffer& src,
                   std::uint64_t src_offset, std::uint64_t bytes) const noexcept;

  // A barrier over everything, for a RecordFunction with several parts.
  void record_barrier(VkCommandBuffer commands) const noexcept;

  // Timed runs. With several candidates their samples alternate: a b c a b c ...
  Result<Timing> time(const RecordFunction& record, const TimingOptions& options = {});
  Result<std::vector<Timing>> time(std::span<const RecordFunction> candidates, const TimingOptions& options = {});

  // ---- messages, caches, handles

  // All warnings and errors of the validation layer so far, from all threads.
  std::vector<std::string> validation_messages() const;

  // The pipeline cache's file: why it was ignored, how many bytes of it were used; saving it.
  std::string_view cache_warning() const noexcept;
  std::size_t cache_loaded_bytes() const noexcept;
  Result<void> save_cache();

  // The handles, for what this class does not offer. The Runtime keeps ownership.
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
