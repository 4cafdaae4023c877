// How much of a test's scope runs. SECTILE_THOROUGH in the environment: all of it. Else what a sanitizer slows many
// times over, or what costs a second a case, runs in part. Where a test says that each kernel and variant has run, the
// part still reaches them.
#pragma once

#include <cstdlib>

namespace sectile::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

inline bool thorough() {
  const char* const value = std::getenv("SECTILE_THOROUGH");
  return value != nullptr && *value != '\0';
}

// Of the three that one which counts here.
template <class T>
T scope(T all, T usual, T sanitized) {
  return thorough() ? all : kSanitized ? sanitized : usual;
}

}  // namespace sectile::test
