// Shared by all strategies: refusals and small arithmetic.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

namespace sectile::detail {

// The reason why a candidate is not admissible. The text is made only if `worded` is set.
class Refusal {
 public:
  explicit Refusal(bool worded) : worded_(worded) {}
  template <class... Args>
  bool no(fmt::format_string<Args...> text, Args&&... args) {
    if (worded_) reason = fmt::format(text, std::forward<Args>(args)...);
    return false;
  }
  std::string reason;

 private:
  bool worded_;
};

inline constexpr std::uint64_t kMaxIds = std::uint64_t{1} << 31;

// NOLINTNEXTLINE(clang-analyzer-core.DivideZero): tables and profiles have no sizes of 0, see check_profile()
inline std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

}  // namespace sectile::detail
