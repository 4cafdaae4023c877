// The 128-bit hash behind every id. Private to Sectile.
#pragma once

#include <sectile/plan.hpp>

#include <string>
#include <string_view>

namespace sectile::detail {

// XXH3-128 as 32 lower-case hex digits, high half first (as xxhsum prints it).
std::string hash128(std::string_view bytes);

// Plan::id of a plan whose problem, profile_hash and planner_version are set.
std::string plan_id(const Plan& plan);

}  // namespace sectile::detail
