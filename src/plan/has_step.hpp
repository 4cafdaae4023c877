// Whether a plan runs some kernel.
#pragma once

#include <sectile/plan.hpp>

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace sectile::detail {

// A step's kernel is of one of these stems.
inline bool has_step(const Plan& plan, std::initializer_list<std::string_view> stems) {
  return std::ranges::any_of(
      plan.steps, [&](const Step& step) { return std::ranges::find(stems, step.kernel.stem) != stems.end(); });
}

}  // namespace sectile::detail
