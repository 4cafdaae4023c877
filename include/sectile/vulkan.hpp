// Carrying out plans on a Vulkan device that the app owns.
//
// The app makes the instance, the device, the command buffers and the memory. Sectile says before the
// device exists what it would like enabled (wanted_features), makes compute pipelines (Device::prepare)
// and writes commands into the app's command buffer (record). It allocates no device memory, submits
// nothing, waits for nothing, and writes no file whose path it was not given (PipelineCacheFile).
//
//   auto wants   = sectile::vulkan::wanted_features(get_proc, instance, physical_device);
//   ... vkCreateDevice with pNext = wants->chain() and wants->extensions() ...
//   auto device  = sectile::vulkan::Device::adopt({.get_instance_proc_addr = get_proc, ...});
//   auto plan    = sectile::make_plan(problem, device->profile());
//   auto ready   = device->prepare(*plan);                       // once; any thread
//   const sectile::vulkan::OperandAddress operands[] = {{src_address, src_bytes}, {dst_address, dst_bytes}};
//   sectile::vulkan::record(cmd, *ready, operands);
//
// This header includes vulkan_core.h as the app would: define VK_NO_PROTOTYPES before it where the
// app loads Vulkan by volk or by hand.
#pragma once

#include <sectile/error.hpp>
#include <sectile/pack.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <vulkan/vulkan_core.h>

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
  bool only_required = false;          // nothing but what Sectile cannot do without; for tests
};

// The features and extensions that Sectile would like a device to be made with; only such as it offers.
// The instance must have been made for Vulkan 1.3 or later (VkApplicationInfo::apiVersion).
// Owns its chain of structs; movable, and the chain stays where it is.
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

  // For an app with a chain of its own: switches Sectile's features on in the structs that it has, and
  // links structs for the others to its end (they live as long as this object). It never links one that
  // clashes with an aggregate (VkPhysicalDeviceVulkan12Features) or with another struct of the chain.
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

// What the device offers, as the planner's plain data, with the source of each fact. A device made with
// fewer features than wanted_features() says can do less than this: Device::profile() tells.
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
  std::uint32_t queue_family = 0;                   // whose queues will run the commands; must do compute
  VkPipelineCache pipeline_cache = VK_NULL_HANDLE;  // used where given; must not be externally synchronized
  const VkAllocationCallbacks* allocation_callbacks = nullptr;

  // What VkDeviceCreateInfo enabled: its feature chain and its extensions. Null: all that
  // wanted_features() lists for this device. Looked at by adopt() only.
  const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
  std::span<const char* const> enabled_extensions = {};  // meant only where enabled_features is given

  // Pipelines are made so that statistics() can read them; costs compile time. Needs the feature
  // that WantOptions::executable_statistics asks for; where the device lacks it, this is ignored.
  bool executable_statistics = false;

  // Kernels besides the embedded ones; one of the same name goes before the embedded one.
  std::span<const Module> modules = {};

  // Where given, kernels come from it alone: no template is looked at. Copied; shares its content.
  const Pack* pack = nullptr;
};

// What prepare did for one executable.
struct PrepareInfo {
  std::uint32_t pipelines_created = 0;  // by this call
  std::uint32_t pipelines_shared = 0;   // found in the Device, or made at the same time by another thread
  std::uint32_t cache_hits = 0;         // of those created: the driver says that its pipeline cache had them
  std::uint64_t nanoseconds = 0;        // wall time, the whole call
};

struct ReadyPlan;  // in src/vulkan

// A prepared plan: pipelines and the bytes to push. A value: copies share the pipelines.
// Must not outlive its Device; the Device may be moved.
class Executable {
 public:
  Executable() noexcept = default;  // records nothing, takes no operand

  std::span<const PlanOperand> operands() const noexcept;  // in the order in which record wants addresses
  std::size_t step_count() const noexcept;
  std::string_view plan_id() const noexcept;
  const PrepareInfo& info() const noexcept;

 private:
  friend struct ExecutableAccess;  // in src/vulkan
  std::shared_ptr<const ReadyPlan> ready_;
};

using sectile::OperandAddress;  // its address is a VkDeviceAddress

// Writes the plan's commands: bind pipeline, push constants, dispatch, and a pipeline barrier between
// steps that the plan orders. On success: no heap allocation, no lock, no other Vulkan call. Safe from
// several threads for different command buffers.
//
// Before and after it the app orders as for any compute work: what the operands hold must be visible to
// VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT / SHADER_READ, SHADER_WRITE, and results are written by them.
// It disturbs the command buffer's bound compute pipeline and its push constants.
//
// Errors, before anything was written: missing (an operand too few, or address 0), misaligned,
// too_small, overlap (a written operand shares bytes with any other, by what the plan touches).
Result<void> record(VkCommandBuffer commands, const Executable& executable, std::span<const OperandAddress> operands);

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

// Makes pipelines on the app's device, and nothing else. Thread-safe but for moving and destroying.
// Destroying it destroys its pipelines: their commands must have finished.
class Device {
 public:
  // Errors: missing (a null handle, or an entry point that the driver lacks); unsupported (as
  // wanted_features, or a required feature that enabled_features lacks, or no compute on queue_family).
  static Result<Device> adopt(const Adoption& adoption);
  ~Device();
  Device(Device&&) noexcept;
  Device& operator=(Device&&) noexcept;

  // What this device can do with the features that it was made with.
  const DeviceProfile& profile() const noexcept;

  // May compile. Pipelines are shared by (module, constants, required subgroup size, push bytes)
  // between all plans of this Device. Errors: as check_plan(plan, profile()); missing (no such kernel, or
  // none in the pack: names the nearest);
  // unsupported (the kernel's module needs a capability that the device was not made with, by SPIR-V's
  // name); device (the driver's).
  Result<Executable> prepare(const Plan& plan);

  // The same for many, compiled in parallel on `threads` threads (0: one for each processor). The
  // first error, in the order of the plans.
  Result<std::vector<Executable>> prepare(std::span<const Plan> plans, unsigned threads = 0);

  std::size_t pipeline_count() const noexcept;
  PipelineCounts pipeline_counts() const noexcept;

  // Destroys the pipelines that no Executable uses; gives their number.
  std::size_t trim();

  // What the driver tells about an executable's pipelines (registers, spills, workgroup memory): one
  // entry for each step and pipeline executable. Errors: unsupported where the Device was not adopted
  // with executable_statistics, or the driver has none.
  Result<std::vector<StepStatistics>> statistics(const Executable& executable) const;

 private:
  struct Impl;
  explicit Device(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// ---------------------------------------------------------------------------------------------
// The canary: whether the matrix unit multiplies as it should, for an app that wants to know before it relies on it.
//
//   const auto bytes = canary_scratch_bytes(device.profile());     // 0: no matrix unit here
//   auto run = record_canary(device, cmd, scratch_address);        // compiles; then the app submits and waits
//   auto result = read_canary(*run, what_the_scratch_holds);
//   profile = with_canary(device.profile(), *result);              // and plans are made for this profile
//
// Sectile's own Runtime does all this by itself; nothing else does.

// Memory that the canary wants on the device that has this profile; its address a multiple of 256. 0: nothing to test.
std::uint64_t canary_scratch_bytes(const DeviceProfile& profile);

// What was recorded. Keeps its pipelines: must live until the commands have finished, and not outlive its Device.
class CanaryRun {
 public:
  std::uint64_t scratch_bytes() const noexcept;

  struct State;  // in src/vulkan

 private:
  friend struct CanaryAccess;  // in src/vulkan
  std::shared_ptr<const State> state_;
};

// Compiles a kernel for every matrix shape that the device's profile lists and that some plan could use, and writes
// their commands. Each shape multiplies whole numbers that it makes itself, loaded row by row and column by column, by
// address and through workgroup memory. A shape whose kernel the driver refuses has failed; it records nothing.
// Results are written by VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT / SHADER_WRITE; the app makes them visible to whoever
// reads the scratch memory. Errors: missing (address 0), misaligned.
Result<CanaryRun> record_canary(Device& device, VkCommandBuffer commands, VkDeviceAddress scratch);

// From what the scratch memory holds when the commands have finished. Errors: too_small.
Result<CanaryResult> read_canary(const CanaryRun& run, std::span<const std::byte> scratch);

// The SPIR-V capabilities that a module declares, by name where Sectile knows it ("Int64"), else as
// "capability 4423". Errors: parse, for what is no SPIR-V.
Result<std::vector<std::string>> module_capabilities(std::span<const std::uint32_t> words);

// ---------------------------------------------------------------------------------------------
// A pipeline cache on disk, for an app that wants one

// A VkPipelineCache read from a file that the caller names. A file that is truncated, garbage, or of
// another device or driver is ignored with a warning, never an error. The file has a header of
// Sectile's own (magic, cache UUID, driver version, size, XXH3) before the driver's bytes.
class PipelineCacheFile {
 public:
  // Errors: device, where the driver makes no cache at all.
  static Result<PipelineCacheFile> open(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                        VkPhysicalDevice physical_device, VkDevice device, std::string path,
                                        const VkAllocationCallbacks* allocation_callbacks = nullptr);
  ~PipelineCacheFile();  // destroys the VkPipelineCache; saves nothing
  PipelineCacheFile(PipelineCacheFile&&) noexcept;
  PipelineCacheFile& operator=(PipelineCacheFile&&) noexcept;

  VkPipelineCache cache() const noexcept;
  std::size_t loaded_bytes() const noexcept;  // of the driver's data; 0 where nothing was taken
  std::string_view warning() const noexcept;  // why the file was ignored; empty if it was not, or is not there

  // Writes a new file beside the old one, syncs it and renames it over it. Errors: io, device.
  Result<void> save();

 private:
  struct Impl;
  explicit PipelineCacheFile(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sectile::vulkan
