#include "counting.hpp"
#include "helpers.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace sectile::test {
namespace {

using vulkan::DeviceFunctions;

enum class Function : std::size_t {
#define SECTILE_NAME(name) name,
  SECTILE_VULKAN_DEVICE_FUNCTIONS(SECTILE_NAME) SECTILE_VULKAN_DEVICE_OPTIONAL_FUNCTIONS(SECTILE_NAME)
#undef SECTILE_NAME
      count,
};

constexpr const char* kNames[] = {
#define SECTILE_NAME(name) #name,
    SECTILE_VULKAN_DEVICE_FUNCTIONS(SECTILE_NAME) SECTILE_VULKAN_DEVICE_OPTIONAL_FUNCTIONS(SECTILE_NAME)
#undef SECTILE_NAME
};

PFN_vkGetInstanceProcAddr g_real_instance = nullptr;
PFN_vkGetDeviceProcAddr g_real_device = nullptr;
DeviceFunctions g_real;
std::array<std::atomic<std::size_t>, static_cast<std::size_t>(Function::count)> g_calls;
std::atomic<bool> g_swallow{false};
RecordedBarrier g_barrier;

void take(VkCommandBuffer, VkPipelineStageFlags from, VkPipelineStageFlags to, VkDependencyFlags,
          std::uint32_t memories, const VkMemoryBarrier* memory, std::uint32_t, const VkBufferMemoryBarrier*,
          std::uint32_t, const VkImageMemoryBarrier*) {
  g_barrier = {from, to, 0, 0};
  for (std::uint32_t i = 0; i < memories; ++i) {
    g_barrier.source_access |= memory[i].srcAccessMask;
    g_barrier.destination_access |= memory[i].dstAccessMask;
  }
}

// Of fixed size: recording allocates nothing.
std::array<RecordedDispatch, 1024> g_dispatches;
std::size_t g_dispatched = 0;
RecordedDispatch g_next;  // what has been bound and pushed
std::vector<MadePipeline> g_made;
std::map<VkPipelineLayout, std::uint32_t> g_layouts;

void take(VkCommandBuffer, VkPipelineBindPoint, VkPipeline pipeline) { g_next.pipeline = pipeline; }

void take(VkCommandBuffer, VkPipelineLayout layout, VkShaderStageFlags stages, std::uint32_t offset,
          std::uint32_t bytes, const void* values) {
  g_next.layout = layout;
  g_next.stages = stages;
  g_next.push_offset = offset;
  g_next.push_bytes = bytes;
  std::memcpy(g_next.push.data(), values, std::min<std::size_t>(bytes, g_next.push.size()));
}

void take(VkCommandBuffer, std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  g_next.grid = {x, y, z};
  g_next.barriers = g_calls[static_cast<std::size_t>(Function::vkCmdPipelineBarrier)];
  if (g_dispatched < g_dispatches.size()) g_dispatches[g_dispatched++] = g_next;
}

void seen(VkDevice, const VkPipelineLayoutCreateInfo* info, const VkAllocationCallbacks*,
          const VkPipelineLayout* layout) {
  std::uint32_t end = 0;
  for (std::uint32_t i = 0; i < info->pushConstantRangeCount; ++i)
    end = std::max(end, info->pPushConstantRanges[i].offset + info->pPushConstantRanges[i].size);
  g_layouts[*layout] = end;
}

void made(const VkComputePipelineCreateInfo& info, VkPipeline handle) {
  MadePipeline& out = g_made.emplace_back();
  out.handle = handle;
  out.layout = info.layout;
  out.entry = info.stage.pName;
  out.full_subgroups = (info.stage.flags & VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT) != 0;
  if (const auto* subgroup = static_cast<const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo*>(info.stage.pNext))
    out.required_subgroup_size = subgroup->requiredSubgroupSize;
  const VkSpecializationInfo* constants = info.stage.pSpecializationInfo;
  for (std::uint32_t i = 0; constants != nullptr && i < constants->mapEntryCount; ++i) {
    const VkSpecializationMapEntry& entry = constants->pMapEntries[i];
    std::uint32_t value = 0;
    std::memcpy(&value, static_cast<const std::uint8_t*>(constants->pData) + entry.offset, sizeof value);
    out.constants[entry.constantID] = entry.offset + entry.size <= constants->dataSize ? value : ~0u;
  }
}

void seen(VkDevice, VkPipelineCache, std::uint32_t count, const VkComputePipelineCreateInfo* infos,
          const VkAllocationCallbacks*, const VkPipeline* handles) {
  for (std::uint32_t i = 0; i < count; ++i) made(infos[i], handles[i]);
}

template <Function kWhich, auto kMember, class F>
struct Wrapper;

template <Function kWhich, auto kMember, class R, class... A>
struct Wrapper<kWhich, kMember, R(VKAPI_PTR*)(A...)> {
  static R VKAPI_CALL call(A... arguments) {
    ++g_calls[static_cast<std::size_t>(kWhich)];
    if constexpr (kWhich == Function::vkCmdPipelineBarrier || kWhich == Function::vkCmdBindPipeline ||
                  kWhich == Function::vkCmdPushConstants || kWhich == Function::vkCmdDispatch)
      take(arguments...);
    if constexpr (std::is_void_v<R>) {
      const bool command = std::strncmp(kNames[static_cast<std::size_t>(kWhich)], "vkCmd", 5) == 0;
      if (command && g_swallow) return;
    }
    if constexpr (kWhich == Function::vkCreateComputePipelines || kWhich == Function::vkCreatePipelineLayout) {
      const R result = (g_real.*kMember)(arguments...);
      seen(arguments...);
      return result;
    } else {
      return (g_real.*kMember)(arguments...);
    }
  }
};

PFN_vkVoidFunction VKAPI_CALL counting_device(VkDevice device, const char* name) {
  const PFN_vkVoidFunction real = g_real_device(device, name);
  if (real == nullptr) return nullptr;
#define SECTILE_WRAP(function)                                                           \
  if (std::strcmp(name, #function) == 0) {                                               \
    g_real.function = reinterpret_cast<PFN_##function>(real);                            \
    return reinterpret_cast<PFN_vkVoidFunction>(                                         \
        &Wrapper<Function::function, &DeviceFunctions::function, PFN_##function>::call); \
  }
  SECTILE_VULKAN_DEVICE_FUNCTIONS(SECTILE_WRAP)
  SECTILE_VULKAN_DEVICE_OPTIONAL_FUNCTIONS(SECTILE_WRAP)
#undef SECTILE_WRAP
  // The backend calls nothing that it does not list: an unlisted function would escape the count.
  return nullptr;
}

PFN_vkVoidFunction VKAPI_CALL counting_instance(VkInstance instance, const char* name) {
  const PFN_vkVoidFunction real = g_real_instance(instance, name);
  if (std::strcmp(name, "vkGetDeviceProcAddr") != 0) return real;
  g_real_device = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
  return reinterpret_cast<PFN_vkVoidFunction>(&counting_device);
}

}  // namespace

PFN_vkGetInstanceProcAddr counting_proc_addr(PFN_vkGetInstanceProcAddr real) {
  g_real_instance = real;
  return &counting_instance;
}

vulkan::Device adopt_counted(vulkan::Runtime& runtime) {
  vulkan::Adoption adoption = adoption_of(runtime);
  adoption.get_instance_proc_addr = counting_proc_addr(runtime.get_instance_proc_addr());
  return must(vulkan::Device::adopt(adoption));
}

std::map<std::string, std::size_t> calls() {
  std::map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < g_calls.size(); ++i)
    if (g_calls[i] != 0) out[kNames[i]] = g_calls[i];
  return out;
}

void clear_calls() {
  for (auto& count : g_calls) count = 0;
  g_dispatched = 0;
  g_made.clear();
}

std::vector<RecordedDispatch> dispatches() {
  return {g_dispatches.begin(), g_dispatches.begin() + static_cast<std::ptrdiff_t>(g_dispatched)};
}
const std::vector<MadePipeline>& made_pipelines() { return g_made; }
const std::map<VkPipelineLayout, std::uint32_t>& layout_bytes() { return g_layouts; }

RecordedBarrier last_barrier() { return g_barrier; }

void swallow_commands(bool on) { g_swallow = on; }

}  // namespace sectile::test
