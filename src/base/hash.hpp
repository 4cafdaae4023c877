// The 128-bit hash behind every id. Private to Sectile.
#pragma once

#include <string>
#include <string_view>

namespace sectile::detail {

// XXH3-128 as 32 lower-case hex digits, high half first (as xxhsum prints it).
std::string hash128(std::string_view bytes);

}  // namespace sectile::detail
