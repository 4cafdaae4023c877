#include "hash.hpp"

#include "json_text.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace sectile::detail {

std::string hash128(std::string_view bytes) {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(bytes.data(), bytes.size()));
  return hex_text(digest.digest);
}

}  // namespace sectile::detail
