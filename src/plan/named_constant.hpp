// The name of a specialization constant in a plan's text.
#pragma once

#include <cstdint>
#include <string_view>

namespace sectile::detail {

// Consecutive constants with the same name are joined by 'x': "tile=64x32".
struct NamedConstant {
  std::uint32_t id;
  std::string_view name;
};

}  // namespace sectile::detail
