#include "counted.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SECTILE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SECTILE_SANITIZED 1
#endif
#endif

namespace {

thread_local bool g_counting = false;
thread_local std::size_t g_allocations = 0;
thread_local std::size_t g_locks = 0;

void* counted_or_null(std::size_t bytes, std::size_t align) noexcept {
  if (g_counting) ++g_allocations;
  if (bytes == 0) bytes = 1;
  return align <= alignof(std::max_align_t) ? std::malloc(bytes)
                                            : std::aligned_alloc(align, (bytes + align - 1) / align * align);
}

void* counted_allocation(std::size_t bytes, std::size_t align) {
  void* const out = counted_or_null(bytes, align);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted_allocation(bytes, 1); }
void* operator new[](std::size_t bytes) { return counted_allocation(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return counted_allocation(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return counted_allocation(bytes, static_cast<std::size_t>(align));
}
// The library's own are built on those above; a sanitizer's are not.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return counted_or_null(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes, std::align_val_t align, const std::nothrow_t&) noexcept {
  return counted_or_null(bytes, static_cast<std::size_t>(align));
}
// What new gave came from malloc, in this very file: compilers that inline one and not the other warn of it.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

#ifndef SECTILE_SANITIZED
// std::mutex comes down to this one, and the executable's goes before the C library's.
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  using Lock = int (*)(pthread_mutex_t*);
  static std::atomic<Lock> real{nullptr};
  Lock lock = real.load(std::memory_order_relaxed);
  if (lock == nullptr) {
    lock = reinterpret_cast<Lock>(::dlsym(RTLD_NEXT, "pthread_mutex_lock"));
    real.store(lock, std::memory_order_relaxed);
  }
  if (g_counting) ++g_locks;
  return lock(mutex);
}
#endif

namespace sectile::test {

Counted::Counted() {
  g_allocations = g_locks = 0;
  g_counting = true;
}
Counted::~Counted() { g_counting = false; }
std::size_t Counted::allocations() const { return g_allocations; }
std::size_t Counted::locks() const { return g_locks; }

}  // namespace sectile::test
