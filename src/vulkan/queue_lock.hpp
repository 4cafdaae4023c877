// Keeps the app's lock while the runtime uses its queue.
#pragma once

#include <sectile/vulkan_runtime.hpp>

namespace sectile::vulkan {

class QueueLock {
 public:
  explicit QueueLock(const QueueCallbacks& callbacks) : callbacks_(callbacks) {
    if (callbacks_.lock) callbacks_.lock();
  }
  ~QueueLock() {
    if (callbacks_.unlock) callbacks_.unlock();
  }
  QueueLock(const QueueLock&) = delete;
  QueueLock& operator=(const QueueLock&) = delete;

 private:
  const QueueCallbacks& callbacks_;
};

}  // namespace sectile::vulkan
