// Seeing what a backend does behind the caller's back: heap allocations and locks.
#pragma once

#include <cstddef>

namespace sectile::test {

// While one of these lives, this thread's calls of operator new and of pthread_mutex_lock are counted.
class Counted {
 public:
  Counted();
  ~Counted();
  std::size_t allocations() const;
  std::size_t locks() const;  // 0 always under sanitizers, which have a lock of their own
};

}  // namespace sectile::test
