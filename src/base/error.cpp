#include <sectile/error.hpp>

#include <array>
#include <utility>

namespace sectile {

std::string_view name(ErrorKind kind) noexcept {
  static constexpr auto kNames = std::to_array<std::string_view>({
      "parse",
      "invalid_problem",
      "overflow",
      "overlap",
      "unsupported",
      "limit_exceeded",
      "invalid_plan",
      "misaligned",
      "too_small",
      "missing",
      "io",
      "device",
      "compile",
  });
  static_assert(kNames.size() == static_cast<std::size_t>(ErrorKind::compile) + 1);
  const auto index = static_cast<std::size_t>(std::to_underlying(kind));
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string Error::message() const {
  std::string text(name(kind));
  text += ": ";
  text += what;
  if (!value.empty()) {
    text += ": ";
    text += value;
  }
  if (!limit.empty()) {
    text += " (want ";
    text += limit;
    text += ')';
  }
  return text;
}

}  // namespace sectile
