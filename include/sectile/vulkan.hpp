// Runs plans on a Vulkan device that the app owns.
//
// The app makes the instance, the device, the command buffers and the memory. Sectile lists the features to enable
// before the device exists (wanted_features), makes compute pipelines (Device::prepare) and writes commands into the
// app's command buffer (record). It allocates no device memory, submits nothing, waits for nothing, and writes no file
// whose path it was not given (PipelineCacheFile). docs/guide/embedding.md has a complete program.
//
//   auto wants   = sectile::vulkan::wanted_features(get_proc, instance, physical_device);
//   ... vkCreateDevice with pNext = wants->chain() and wants->extensions() ...
//   auto device  = sectile::vulkan::Device::adopt({.get_instance_proc_addr = get_proc, ..., .everything_wanted =
//   true}); auto plan    = sectile::make_plan(problem, device->profile()); auto ready   = device->prepare(*plan); //
//   once; any thread const sectile::vulkan::OperandAddress operands[] = {{src_address, src_bytes}, {dst_address,
//   dst_bytes}}; sectile::vulkan::record(cmd, *ready, operands);
//
// This header includes vulkan_core.h as the app would: define VK_NO_PROTOTYPES before it where the
// app loads Vulkan by volk or by hand.
#pragma once

#include <sectile/device_class.hpp>
#include <sectile/error.hpp>
#include <sectile/pack.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <vulkan/vulkan_core.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::vulkan {

// ---------------------------------------------------------------------------------------------
// Before the device exists

struct WantOptions {
  bool executable_statistics = false;  // also VK_KHR_pipeline_executable_properties, for statistics()
  bool only_required = false;          // only what Sectile requires; for tests
};

// The features and extensions that Sectile can use, of those that the device offers. The instance must have been made
// for Vulkan 1.3 or later (VkApplicationInfo::apiVersion). Owns its chain of structs, which does not move with it.
class WantedFeatures {
 public:
  ~WantedFeatures();
  WantedFeatures(WantedFeatures&&) noexcept;
  WantedFeatures& operator=(WantedFeatures&&) noexcept;

  // The whole chain, for VkDeviceCreateInfo::pNext (then pEnabledFeatures must be null): features2,
  // Vulkan11Features, Vulkan12Features, Vulkan13Features and one struct for each wanted extension's.
  const VkPhysicalDeviceFeatures2* chain() const noexcept;

  // Extension names with static lifetime, for ppEnabledExtensionNames.
  std::span<const char* const> extensions() const noexcept;

  // For an app with a chain of its own: switches Sectile's features on in the structs of that chain, and links structs
  // for the others to its end (they live as long as this object). It links no struct that the chain has already, nor
  // one that an aggregate (VkPhysicalDeviceVulkan12Features) excludes.
  void enable_in(VkPhysicalDeviceFeatures2& app_chain);

 private:
  friend Result<WantedFeatures> wanted_features(PFN_vkGetInstanceProcAddr, VkInstance, VkPhysicalDevice,
                                                const WantOptions&);
  struct Impl;
  explicit WantedFeatures(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// Errors: unsupported, naming what the device lacks: Vulkan 1.3, bufferDeviceAddress, maintenance4
// (which local_size_x_id needs) or a compute queue.
Result<WantedFeatures> wanted_features(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                       VkPhysicalDevice physical_device, const WantOptions& options = {});

// What the device offers, as the planner's plain data, with the source of each fact. A device that was made with fewer
// features than wanted_features() lists can do less: see Device::profile().
Result<DeviceProfile> profile(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                              VkPhysicalDevice physical_device);

// ---------------------------------------------------------------------------------------------
// The adopted device

// SPIR-V for a kernel name. The words must outlive the Device.
struct Module {
  std::string_view stem;
  std::string_view variant;
  std::span<const std::uint32_t> words;
};

struct Adoption {
  // The app's own; all must outlive the Device.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;                   // of the queues that run the commands; must support compute
  VkPipelineCache pipeline_cache = VK_NULL_HANDLE;  // optional; not one made with EXTERNALLY_SYNCHRONIZED
  const VkAllocationCallbacks* allocation_callbacks = nullptr;

  // What VkDeviceCreateInfo enabled: its feature chain and its extensions. Read by adopt() alone. Plans use only what
  // is enabled here; profile() shows it, and missing() what it costs.
  const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
  std::span<const char* const> enabled_extensions = {};
  // In place of both: the device was made with all that wanted_features() lists for it. One of the two must be said.
  bool everything_wanted = false;

  // The app has enabled VK_EXT_debug_utils on the instance: pipelines get names, and record() puts each plan between
  // labels (the problem's text) and each of its dispatches (the kernel's name).
  bool debug_names = false;

  // Makes pipelines that statistics() can read; costs compile time. Needs the feature of
  // WantOptions::executable_statistics; without it this is ignored.
  bool executable_statistics = false;

  // Kernels besides the embedded ones. One with the name of an embedded kernel replaces it.
  std::span<const Module> modules = {};

  // If given, kernels come from the pack alone, and no template is used. Copied; shares its content.
  const Pack* pack = nullptr;

  // What work costs on the device (`sectile calibrate`): profile() has it, and plans made for that choose by it. Null:
  // what is built in. See Device::class_warnings().
  DeviceClassPtr device_class = {};
};

// A feature that Sectile can use and a Device does not have.
struct MissingFeature {
  std::string name;       // Vulkan's: "cooperativeMatrix"
  std::string extension;  // "VK_KHR_cooperative_matrix"; empty: Vulkan 1.3 has it
  bool offered = false;   // the device has it, and it was not enabled
  std::string cost;       // "f16, bf16 and int8 products do not use the matrix unit"
  bool operator==(const MissingFeature&) const = default;
};
// One line: "cooperativeMatrix (VK_KHR_cooperative_matrix) was not enabled: f16, ...", or "is not offered: ...".
std::string print(const MissingFeature& missing);

// What prepare did for one executable.
struct PrepareInfo {
  std::uint32_t pipelines_created = 0;  // by this call
  std::uint32_t pipelines_shared = 0;   // existed in the Device, or were made at the same time by another thread
  std::uint32_t cache_hits = 0;         // of those created: the driver reports a hit in the pipeline cache
  std::uint64_t nanoseconds = 0;        // wall time, the whole call
};

struct ReadyPlan;  // in src/vulkan

// A prepared plan: pipelines and the bytes to push. A value: copies share the pipelines.
// Must not outlive its Device; the Device may be moved.
class Executable {
 public:
  Executable() noexcept = default;  // records nothing, takes no operand

  std::span<const PlanOperand> operands() const noexcept;  // in the order of record's addresses; scratch is one of them
  std::size_t step_count() const noexcept;
  std::string_view plan_id() const noexcept;
  const PrepareInfo& info() const noexcept;

 private:
  friend struct ExecutableAccess;  // in src/vulkan
  std::shared_ptr<const ReadyPlan> ready_;
};

using sectile::OperandAddress;  // its address is a VkDeviceAddress

// Writes the plan's commands: bind pipeline, push constants, dispatch, and a pipeline barrier between steps that the
// plan orders. On success: no heap allocation, no lock, no other Vulkan call. Safe from several threads for different
// command buffers.
//
// Operands lie in buffers with VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT. The app orders this as any compute work:
// sources must be visible to VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT with SHADER_READ (and SHADER_WRITE), and results are
// written with that stage and SHADER_WRITE. Between two plans that share memory the app records a barrier. On NVIDIA's
// GPUs a permute may load elements of the destination that it stores afterwards (to bring their sectors into the
// cache); no result depends on them, so this needs no access more. The bound compute pipeline and the push constants of
// the command buffer are replaced.
//
// Errors, before any command is written: missing (too few operands, or address 0), invalid_problem (too many of them),
// misaligned, too_small, overlap (bytes that the plan writes in one operand are accessed in another).
Result<void> record(VkCommandBuffer commands, const Executable& executable, std::span<const OperandAddress> operands);

// What record() checks, without recording. Errors: record()'s.
Result<void> check_operands(const Executable& executable, std::span<const OperandAddress> operands);

// Records several plans of one Device into a command buffer, with a barrier before each one that has to wait for an
// earlier one: because it accesses bytes that the earlier one writes, or writes bytes that the earlier one reads.
// Operands are compared by the ranges of addresses that the plans access, so a scratch that two plans share orders
// them. Work of the app's before, between and after needs the app's barriers, as for record(). Makes no heap
// allocation: it keeps up to kMostRanges ranges, and orders all before by a barrier where there are more.
class Recorder {
 public:
  static constexpr std::size_t kMostRanges = 128;

  explicit Recorder(VkCommandBuffer commands) noexcept : commands_(commands) {}

  // Errors, before any command of this plan is written: record()'s.
  Result<void> record(const Executable& executable, std::span<const OperandAddress> operands);

  // Says that the app has put a barrier between all that was recorded and what follows (compute shader to compute
  // shader, SHADER_WRITE to SHADER_READ and SHADER_WRITE).
  void ordered() noexcept { count_ = 0; }

  std::size_t barriers() const noexcept { return barriers_; }  // recorded between plans

 private:
  struct Range {
    std::uint64_t begin = 0, end = 0;
    bool written = false;
  };
  bool conflicts(const ReadyPlan& plan, std::span<const OperandAddress> operands) const noexcept;
  void add(const ReadyPlan& plan, std::span<const OperandAddress> operands);

  VkCommandBuffer commands_;
  std::array<Range, kMostRanges> ranges_;  // accessed since the last barrier
  std::size_t count_ = 0, barriers_ = 0;
};

// One plan of record_all().
struct Recording {
  const Executable* executable = nullptr;
  std::span<const OperandAddress> operands = {};
};

// Records the plans in order, by a Recorder; the number of barriers between them. Errors, before any command is
// written: record()'s, with the plan's index in front of the operand's name ("plan 2: dst"); missing (a null
// executable).
Result<std::size_t> record_all(VkCommandBuffer commands, std::span<const Recording> plans);

// One number of VK_KHR_pipeline_executable_properties, as the driver names it.
struct Statistic {
  std::string name;
  std::string value;
  std::string description;
};

struct StepStatistics {
  KernelName kernel;
  std::string executable;  // the driver's name for it
  std::uint32_t subgroup_size = 0;
  std::vector<Statistic> statistics;
};

struct PipelineCounts {
  std::size_t live = 0;                // held by the Device now
  std::uint64_t created = 0;           // ever
  std::uint64_t cache_hits = 0;        // of those created: found in the VkPipelineCache
  std::optional<bool> last_hit_cache;  // the newest one; empty before the first, or where the driver does not say
};

// Makes pipelines on the app's device, and nothing else. Thread-safe, except for moving and destroying.
// Destroying it destroys its pipelines: their commands must have finished.
class Device {
 public:
  // Errors: missing (a null handle; an entry point that the driver lacks; neither enabled_features nor
  // everything_wanted; debug_names without VK_EXT_debug_utils); unsupported (as wanted_features, or a required feature
  // that enabled_features lacks, or no compute on queue_family; or device_class is of other devices).
  static Result<Device> adopt(const Adoption& adoption);
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  // What this device can do with the features that were enabled. Plans must be made for this profile, or
  // for what with_canary() makes of it.
  const DeviceProfile& profile() const noexcept;

  // What use_device_class() warned of, a line each: Adoption::device_class was measured with another driver, ...
  const std::vector<std::string>& class_warnings() const noexcept;

  // The features that wanted_features() lists on some devices and this Device does not have, and what that costs.
  std::vector<MissingFeature> missing() const;

  // May compile. Pipelines are shared by (module, constants, required subgroup size, push bytes)
  // between all plans of this Device. Errors: as check_plan(plan, profile()); invalid_plan (the plan was made for
  // another profile, and PrepareOptions::any_profile is not set); missing (no such kernel, or
  // none in the pack: names the nearest);
  // unsupported (the kernel's module needs a capability that the device was not made with, by SPIR-V's
  // name); device (the driver's).
  Result<Executable> prepare(const Plan& plan, const PrepareOptions& options = {});

  // The same for many, compiled in parallel on `threads` threads (0: one for each processor). The
  // first error, in the order of the plans.
  Result<std::vector<Executable>> prepare(std::span<const Plan> plans, unsigned threads = 0,
                                          const PrepareOptions& options = {});

  std::size_t pipeline_count() const noexcept;
  PipelineCounts pipeline_counts() const noexcept;

  // Destroys the pipelines that no Executable uses; gives their number.
  std::size_t trim();

  // What the driver reports about an executable's pipelines (registers, spills, workgroup memory): one entry for each
  // step and pipeline executable. Errors: unsupported, where the Device was not adopted with executable_statistics or
  // the driver reports none.
  Result<std::vector<StepStatistics>> statistics(const Executable& executable) const;

 private:
  struct Impl;
  explicit Device(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// ---------------------------------------------------------------------------------------------
// The canary: a test of what a driver computes, for an app to run before it relies on it: the matrix unit's products,
// f32 to f16 and to bf16, a NaN through relu, dot products of four bytes.
//
//   const auto bytes = canary_scratch_bytes(device.profile());
//   auto run = record_canary(device, cmd, scratch_address);        // compiles; then the app submits and waits
//   auto result = read_canary(*run, bytes_of_the_scratch);
//   profile = with_canary(device.profile(), *result);              // and plans are made for this profile
//
// Without its compilation it takes about a millisecond on a GPU. Sectile's own Runtime runs the canary by itself. An
// adopted Device never does.

// Which parts of the canary are meant. Matrix kernels take a CPU driver seconds to compile, the others less than one.
struct CanaryScope {
  bool matrices = true;
  bool numbers = true;  // the rest
  bool operator==(const CanaryScope&) const = default;
};

// What a plan's kernels rest on.
CanaryScope canary_scope(const Plan& plan);

// Bytes of scratch that the canary needs on the device of this profile, at a multiple of 256. 0: nothing to test.
std::uint64_t canary_scratch_bytes(const DeviceProfile& profile, CanaryScope scope = {});

// What was recorded. Keeps its pipelines: must live until the commands have finished, and not outlive its Device.
class CanaryRun {
 public:
  std::uint64_t scratch_bytes() const noexcept;

  struct State;  // in src/vulkan

 private:
  friend struct CanaryAccess;  // in src/vulkan
  std::shared_ptr<const State> state_;
};

// Compiles a kernel for every matrix shape that the device's profile lists and that a plan could use, and one for each
// kind of numbers, and writes their commands. A matrix kernel multiplies whole numbers that it makes itself, loaded by
// rows and by columns, by address and through workgroup memory. A shape or kind whose kernel the driver refuses has
// failed; nothing is recorded for it. Results are written with VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT and SHADER_WRITE;
// the app makes them visible to the reader of the scratch memory. Errors: missing (address 0), misaligned.
Result<CanaryRun> record_canary(Device& device, VkCommandBuffer commands, VkDeviceAddress scratch,
                                CanaryScope scope = {});

// Compares the scratch memory's bytes, after the commands have finished. Errors: too_small.
Result<CanaryResult> read_canary(const CanaryRun& run, std::span<const std::byte> scratch);

// The SPIR-V capabilities that a module declares, by name ("Int64"), or as "capability 4423" where Sectile has no name.
// Errors: parse (not SPIR-V).
Result<std::vector<std::string>> module_capabilities(std::span<const std::uint32_t> words);

// ---------------------------------------------------------------------------------------------
// A pipeline cache that outlives the process, for an app that wants one

// A VkPipelineCache read from a file that the caller names, or from bytes that the caller keeps. What is truncated,
// damaged, or of another device or driver is ignored with a warning; it is no error. A header of Sectile's own (magic,
// cache UUID, driver version, size, XXH3) precedes the driver's bytes.
class PipelineCacheFile {
 public:
  // Errors: device, where the driver makes no cache at all.
  static Result<PipelineCacheFile> open(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                        VkPhysicalDevice physical_device, VkDevice device, std::string path,
                                        const VkAllocationCallbacks* allocation_callbacks = nullptr);
  // The same from what bytes() gave; empty: an empty cache. No file is read or written.
  static Result<PipelineCacheFile> from_bytes(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                              VkPhysicalDevice physical_device, VkDevice device,
                                              std::span<const std::byte> bytes,
                                              const VkAllocationCallbacks* allocation_callbacks = nullptr);
  ~PipelineCacheFile();  // destroys the VkPipelineCache; saves nothing
  PipelineCacheFile(PipelineCacheFile&&) noexcept;
  PipelineCacheFile& operator=(PipelineCacheFile&&) noexcept;

  VkPipelineCache cache() const noexcept;
  std::size_t loaded_bytes() const noexcept;  // of the driver's data; 0 where the file was not used
  std::string_view warning() const noexcept;  // why the file was ignored; empty where it was used or does not exist

  // What the cache holds now, header included. From any thread. Errors: device.
  Result<std::vector<std::byte>> bytes() const;

  // Writes a new file beside the old one, syncs it and renames it over it. Errors: io, device; missing (no path: it is
  // from_bytes()').
  Result<void> save();

  struct Impl;  // in src/vulkan

 private:
  explicit PipelineCacheFile(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sectile::vulkan
