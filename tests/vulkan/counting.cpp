#include "counting.hpp"

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

template <Function kWhich, auto kMember, class F>
struct Wrapper;

template <Function kWhich, auto kMember, class R, class... A>
struct Wrapper<kWhich, kMember, R(VKAPI_PTR*)(A...)> {
  static R VKAPI_CALL call(A... arguments) {
    ++g_calls[static_cast<std::size_t>(kWhich)];
    if constexpr (kWhich == Function::vkCmdPipelineBarrier) take(arguments...);
    if constexpr (std::is_void_v<R>) {
      const bool command = std::strncmp(kNames[static_cast<std::size_t>(kWhich)], "vkCmd", 5) == 0;
      if (command && g_swallow) return;
    }
    return (g_real.*kMember)(arguments...);
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

std::map<std::string, std::size_t> calls() {
  std::map<std::string, std::size_t> out;
  for (std::size_t i = 0; i < g_calls.size(); ++i)
    if (g_calls[i] != 0) out[kNames[i]] = g_calls[i];
  return out;
}

void clear_calls() {
  for (auto& count : g_calls) count = 0;
}

RecordedBarrier last_barrier() { return g_barrier; }

void swallow_commands(bool on) { g_swallow = on; }

}  // namespace sectile::test
