// Counts the heap allocations of each thread, so that `bench --preset host` can show that a plan-cache
// hit and a recorded dispatch make none. Linked in only where allocation_count() is used.
#include "bench/bench.hpp"

#include <cstdlib>
#include <new>

namespace {

thread_local std::uint64_t allocations = 0;

void* counted(void* memory) {
  ++allocations;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* allocate(std::size_t bytes) { return counted(std::malloc(bytes == 0 ? 1 : bytes)); }

}  // namespace

// All other forms of new and delete end in these; under a sanitizer the nothrow ones would end in its own.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
// What new gave came from malloc, in this very file: compilers that inline one and not the other warn of it.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// Windows frees aligned memory by another function than other memory: its own forms stay, and are not counted.
#if !defined(_WIN32)
namespace {
void* allocate(std::size_t bytes, std::align_val_t align) {
  const auto to = static_cast<std::size_t>(align);
  return to <= alignof(std::max_align_t) ? allocate(bytes)
                                         : counted(std::aligned_alloc(to, (bytes + to - 1) / to * to));
}
}  // namespace
void* operator new(std::size_t bytes, std::align_val_t align) { return allocate(bytes, align); }
void* operator new[](std::size_t bytes, std::align_val_t align) { return allocate(bytes, align); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
#endif

namespace sectile::tools {

std::uint64_t allocation_count() noexcept { return allocations; }

}  // namespace sectile::tools
