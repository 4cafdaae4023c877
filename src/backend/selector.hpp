// Finds the device that a selector names: "vulkan:N" or "cuda:N", a UUID, or part of a name.
#pragma once

#include <sectile/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sectile::backend {

struct Selectable {
  std::string_view name;
  std::string_view uuid;  // 32 hex digits
  std::string called;     // further names, a line each
};

// Case does not matter. A whole name is preferred to names that contain it. `prefix` is "vulkan:" or the like, and
// `selector` is not empty. Errors: parse ("vulkan:x"); missing (lists the devices).
Result<std::size_t> select(std::string_view prefix, std::string_view selector, std::span<const Selectable> devices);

}  // namespace sectile::backend
