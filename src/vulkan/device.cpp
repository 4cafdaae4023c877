#include <sectile/vulkan.hpp>

#include "capabilities.hpp"
#include "device.hpp"
#include "executable.hpp"

#include "backend/operands.hpp"
#include "backend/prepare_all.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace sectile::vulkan {
namespace {

// The features that the app enabled, of those that the device offers. Features of an extension count only if the
// extension was enabled as well.
FeatureSet enabled_features(const Adoption& adoption, const Offer& offer) {
  if (adoption.everything_wanted) {
    constexpr FeatureUse kUses[] = {FeatureUse::required, FeatureUse::wanted};
    constexpr FeatureUse kWithStatistics[] = {FeatureUse::required, FeatureUse::wanted, FeatureUse::statistics};
    return adoption.executable_statistics ? choose(offer, kWithStatistics) : choose(offer, kUses);
  }
  FeatureSet features = read_features(adoption.enabled_features);
  features &= offer.features;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i) {
    const auto feature = static_cast<Feature>(i);
    const std::string_view extension = extension_of(feature);
    if (!extension.empty() &&
        std::ranges::find(adoption.enabled_extensions, extension) == adoption.enabled_extensions.end())
      features.set(feature, false);
  }
  return without_unmet_needs(features);
}

Result<void> check_queue_family(const InstanceFunctions& functions, const Adoption& adoption) {
  std::uint32_t count = 0;
  functions.vkGetPhysicalDeviceQueueFamilyProperties(adoption.physical_device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  functions.vkGetPhysicalDeviceQueueFamilyProperties(adoption.physical_device, &count, families.data());
  if (adoption.queue_family >= families.size())
    return fail(ErrorKind::unsupported, "queue family", std::to_string(adoption.queue_family),
                "less than " + std::to_string(families.size()));
  if ((families[adoption.queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0)
    return fail(ErrorKind::unsupported, "queue family", std::to_string(adoption.queue_family), "one with compute");
  return {};
}

// The subgroup size to require in the pipeline: none where the device has only that size. check_plan has checked that
// the size is possible.
Result<std::uint32_t> stated_subgroup_size(const Step& step, const Snapshot& snapshot, const DeviceProfile& profile) {
  const std::uint32_t size = step.required_subgroup_size;
  if (size == 0 || !profile.required_subgroup_size.value_or(false)) return 0u;
  const std::uint64_t invocations = std::uint64_t{step.workgroup[0]} * step.workgroup[1] * step.workgroup[2];
  const std::uint64_t most = std::uint64_t{size} * snapshot.v13.maxComputeWorkgroupSubgroups;
  if (invocations > most)
    return fail(ErrorKind::limit_exceeded, "workgroup invocations", std::to_string(invocations),
                "at most " + std::to_string(most) + " in subgroups of " + std::to_string(size));
  return size;
}

// What the app must have said.
Result<void> check_adoption(const Adoption& adoption, const DeviceFunctions& functions) {
  if (adoption.enabled_features == nullptr && !adoption.everything_wanted)
    return fail(ErrorKind::missing, "Adoption::enabled_features", "null",
                "what VkDeviceCreateInfo enabled, or everything_wanted");
  if (adoption.debug_names &&
      (functions.vkSetDebugUtilsObjectNameEXT == nullptr || functions.vkCmdBeginDebugUtilsLabelEXT == nullptr ||
       functions.vkCmdEndDebugUtilsLabelEXT == nullptr))
    return fail(ErrorKind::missing, "Adoption::debug_names", "no vkSetDebugUtilsObjectNameEXT",
                VK_EXT_DEBUG_UTILS_EXTENSION_NAME " enabled on the instance");
  return {};
}

}  // namespace

Device::Device(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Device::~Device() = default;
Device::Device(Device&&) noexcept = default;
Device& Device::operator=(Device&&) noexcept = default;

Result<Device> Device::adopt(const Adoption& adoption) {
  const auto instance = load_instance_functions(adoption.get_instance_proc_addr, adoption.instance);
  if (!instance) return std::unexpected(instance.error());
  auto snapshot = take_snapshot(*instance, adoption.physical_device);
  if (!snapshot) return std::unexpected(snapshot.error());
  const auto functions = load_device_functions(*instance, adoption.device);
  if (!functions) return std::unexpected(functions.error());
  if (auto fine = check_queue_family(*instance, adoption); !fine) return std::unexpected(fine.error());
  if (auto fine = check_adoption(adoption, *functions); !fine) return std::unexpected(fine.error());

  const FeatureSet features = enabled_features(adoption, snapshot->offer);
  // Checked against what was enabled, not against what the device offers.
  Offer enabled = snapshot->offer;
  enabled.features = features;
  if (auto usable = check_usable(enabled); !usable) return std::unexpected(usable.error());

  DeviceProfile profile = make_profile(*snapshot, features);
  auto warnings = use_device_class(profile, adoption.device_class);
  if (!warnings) return std::unexpected(warnings.error());

  PipelineContext context;
  context.functions = *functions;
  context.device = adoption.device;
  context.cache = adoption.pipeline_cache;
  context.callbacks = adoption.allocation_callbacks;
  context.names = adoption.debug_names;
  context.capture_statistics = adoption.executable_statistics && features.has(Feature::executable_statistics) &&
                               functions->vkGetPipelineExecutablePropertiesKHR != nullptr &&
                               functions->vkGetPipelineExecutableStatisticsKHR != nullptr;
  return Device(std::make_unique<Impl>(std::move(*snapshot), features, std::move(profile), std::move(*warnings),
                                       adoption, context));
}

const DeviceProfile& Device::profile() const noexcept { return impl_->profile; }
const std::vector<std::string>& Device::class_warnings() const noexcept { return impl_->class_warnings; }
std::size_t Device::pipeline_count() const noexcept { return impl_->pipelines.counts().live; }
PipelineCounts Device::pipeline_counts() const noexcept { return impl_->pipelines.counts(); }
std::size_t Device::trim() { return impl_->pipelines.trim(); }

Result<void> Device::Impl::check_capabilities(const KernelName& kernel, std::span<const std::uint32_t> words) const {
  const std::string name = kernel.stem + "." + kernel.variant;
  const auto capabilities = read_capabilities(words);
  if (!capabilities) return fail(ErrorKind::parse, name, capabilities.error().value, "a SPIR-V module");
  for (const std::uint32_t capability : *capabilities)
    if (!capability_allowed(capability, features,
                            snapshot.v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT
                                ? snapshot.v11.subgroupSupportedOperations
                                : 0u))
      return fail(ErrorKind::unsupported, name, capability_name(capability),
                  "a feature that was enabled on " + profile.name);
  return {};
}

namespace {

void put_accesses(ReadyPlan& out, const Plan& plan) {
  const std::size_t steps = plan.steps.size();
  std::size_t first = steps, last = 0;  // steps with a barrier before them
  for (std::size_t i = 0; i < steps; ++i) {
    if (!plan.steps[i].barrier_before) continue;
    first = std::min(first, i);
    last = i;
  }
  out.accessed = backend::accessed_ranges(plan, 0, steps);
  out.accessed_first = backend::accessed_ranges(plan, 0, first);
  out.accessed_last = backend::accessed_ranges(plan, last, steps);
  out.orders = first < steps;
}

}  // namespace

// All checks of a step, made before the driver gets any of the plan's modules.
Result<StepRequest> Device::Impl::request(const Step& step) {
  const auto code = modules.find(step);
  if (!code) return std::unexpected(code.error());
  const auto subgroup_size = stated_subgroup_size(step, snapshot, profile);
  if (!subgroup_size) return std::unexpected(subgroup_size.error());
  const std::size_t push_bytes = (step.push.size() + 3) / 4 * 4;
  if (push_bytes > kMostPushBytes)
    return fail(ErrorKind::limit_exceeded, "push bytes", std::to_string(push_bytes),
                "at most " + std::to_string(kMostPushBytes));
  // A frozen module has no constants: its words are the whole key.
  StepRequest out{{code->hash(), code->frozen ? std::vector<Constant>{} : step.constants, *subgroup_size,
                   static_cast<std::uint32_t>(push_bytes)},
                  nullptr,
                  {}};
  // A pipeline that exists was made from a module that has passed: most new shapes open no module.
  out.pipeline = pipelines.find(out.key);
  if (out.pipeline) return out;
  auto words = open(*code);
  if (!words) return std::unexpected(words.error());
  if (auto fine = check_capabilities(step.kernel, words->span()); !fine) return std::unexpected(fine.error());
  out.words = std::move(*words);
  return out;
}

Result<Executable> Device::prepare(const Plan& plan, const PrepareOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  if (auto fine = backend::check_prepared(plan, impl_->profile, impl_->profile_hash, options); !fine)
    return std::unexpected(fine.error());
  std::vector<StepRequest> requests;
  for (const Step& step : plan.steps) {
    auto request = impl_->request(step);
    if (!request) return std::unexpected(request.error());
    requests.push_back(std::move(*request));
  }
  const DeviceFunctions& functions = impl_->pipelines.context().functions;
  auto out = std::make_shared<ReadyPlan>();
  out->bind_pipeline = functions.vkCmdBindPipeline;
  out->push_constants = functions.vkCmdPushConstants;
  out->dispatch = functions.vkCmdDispatch;
  out->pipeline_barrier = functions.vkCmdPipelineBarrier;
  if (impl_->pipelines.context().names) {
    out->begin_label = functions.vkCmdBeginDebugUtilsLabelEXT;
    out->end_label = functions.vkCmdEndDebugUtilsLabelEXT;
    out->label = print(plan.problem);
  }
  out->operands = plan.operands;
  put_accesses(*out, plan);
  out->plan_id = plan.id;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    StepRequest& request = requests[i];
    if (request.pipeline) {
      ++out->info.pipelines_shared;
    } else {
      auto made = impl_->pipelines.get(request.key, request.words.span(), step.kernel, out->info);
      if (!made) return std::unexpected(made.error());
      request.pipeline = std::move(*made);
    }
    ReadyStep ready{std::move(request.pipeline), step.kernel, {}, step.grid, step.push, step.addresses,
                    step.barrier_before};
    if (out->begin_label != nullptr) ready.label = step.kernel.stem + "." + step.kernel.variant;
    ready.push.resize(request.key.push_bytes);
    out->steps.push_back(std::move(ready));
  }
  const auto elapsed = std::chrono::steady_clock::now() - start;
  out->info.nanoseconds =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count());
  return ExecutableAccess::make(std::move(out));
}

Result<std::vector<Executable>> Device::prepare(std::span<const Plan> plans, unsigned threads,
                                                const PrepareOptions& options) {
  return backend::prepare_all<Executable>(plans, threads, [&](const Plan& plan) { return prepare(plan, options); });
}

}  // namespace sectile::vulkan
