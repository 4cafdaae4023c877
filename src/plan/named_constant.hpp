// A specialization constant as a plan's line names it.
#pragma once

#include <cstdint>
#include <string_view>

namespace sectile::detail {

// Neighbours of one name are joined by 'x': "tile=64x32".
struct NamedConstant {
  std::uint32_t id;
  std::string_view name;
};

}  // namespace sectile::detail
