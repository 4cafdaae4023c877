// Seeing what the backend does behind the caller's back: heap allocations, locks and Vulkan calls.
#pragma once

#include "vulkan/functions.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace sectile::test {

// While one of these lives, this thread's calls of operator new and of pthread_mutex_lock are counted.
class Counted {
 public:
  Counted();
  ~Counted();
  std::size_t allocations() const;
  std::size_t locks() const;  // 0 always under sanitizers, which have a lock of their own
};

// A vkGetInstanceProcAddr that hands out counting wrappers of every device function that src/vulkan lists.
// `real` is where the calls go. One device at a time.
PFN_vkGetInstanceProcAddr counting_proc_addr(PFN_vkGetInstanceProcAddr real);

// Calls since the last clear_calls(), by name; only those made at least once.
std::map<std::string, std::size_t> calls();
void clear_calls();

// With this on, the vkCmd* functions return without calling the driver, which may allocate as it likes.
void swallow_commands(bool on);

}  // namespace sectile::test
