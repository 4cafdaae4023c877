// Seeing what the backend does behind the caller's back: Vulkan calls (support/counted.hpp: allocations and locks).
#pragma once

#include "support/counted.hpp"
#include "vulkan/functions.hpp"

#include <sectile/vulkan_runtime.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sectile::test {

// A vkGetInstanceProcAddr that hands out counting wrappers of every device function that src/vulkan lists.
// `real` is where the calls go. One device at a time.
PFN_vkGetInstanceProcAddr counting_proc_addr(PFN_vkGetInstanceProcAddr real);

// A Device on the runtime's VkDevice whose every Vulkan call is counted.
vulkan::Device adopt_counted(vulkan::Runtime& runtime);

// Calls since the last clear_calls(), by name; only those made at least once.
std::map<std::string, std::size_t> calls();
void clear_calls();

// The memory barrier that was recorded last.
struct RecordedBarrier {
  VkPipelineStageFlags source_stage = 0, destination_stage = 0;
  VkAccessFlags source_access = 0, destination_access = 0;
};
RecordedBarrier last_barrier();

// Dispatches since the last clear_calls(), with what was bound and pushed before each.
struct RecordedDispatch {
  VkPipeline pipeline = VK_NULL_HANDLE;
  std::array<std::uint32_t, 3> grid{};
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkShaderStageFlags stages = 0;
  std::uint32_t push_offset = 0, push_bytes = 0;
  std::array<std::uint8_t, 256> push{};
  std::size_t barriers = 0;  // recorded before it, since the last clear_calls()
};
std::vector<RecordedDispatch> dispatches();

// The pipelines that were made since the last clear_calls().
struct MadePipeline {
  VkPipeline handle = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  std::map<std::uint32_t, std::uint32_t> constants;
  std::uint32_t required_subgroup_size = 0;
  bool full_subgroups = false;
  std::string entry;
};
const std::vector<MadePipeline>& made_pipelines();
// The bytes of push constants that each layout has, by layout.
const std::map<VkPipelineLayout, std::uint32_t>& layout_bytes();

// With this on, the vkCmd* functions return without calling the driver, which may allocate as it likes.
void swallow_commands(bool on);

}  // namespace sectile::test
