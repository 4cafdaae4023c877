// Seeing what the backend does behind the caller's back: Vulkan calls (support/counted.hpp: allocations and locks).
#pragma once

#include "support/counted.hpp"
#include "vulkan/functions.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace sectile::test {

// A vkGetInstanceProcAddr that hands out counting wrappers of every device function that src/vulkan lists.
// `real` is where the calls go. One device at a time.
PFN_vkGetInstanceProcAddr counting_proc_addr(PFN_vkGetInstanceProcAddr real);

// Calls since the last clear_calls(), by name; only those made at least once.
std::map<std::string, std::size_t> calls();
void clear_calls();

// The memory barrier that was recorded last.
struct RecordedBarrier {
  VkPipelineStageFlags source_stage = 0, destination_stage = 0;
  VkAccessFlags source_access = 0, destination_access = 0;
};
RecordedBarrier last_barrier();

// With this on, the vkCmd* functions return without calling the driver, which may allocate as it likes.
void swallow_commands(bool on);

}  // namespace sectile::test
