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

std::string plan_id(const Plan& plan) {
  JsonWriter w;
  w.begin('{');
  w.field("planner_version", plan.planner_version);
  w.key("problem");
  w.raw(to_json(plan.problem));
  w.field("profile_hash", plan.profile_hash);
  w.end('}');
  return hash128(w.text());
}

}  // namespace sectile::detail
