// What a permute with an elementwise stage is measured against: the permute alone, and the stage in a pass of its own.
#include "passes.hpp"
#include "permute.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sectile::tools {
namespace {

// The stage on what the permute has left, which is packed and in the destination's layout.
Result<PermuteProblem> second_pass(const PermuteProblem& problem) {
  if (problem.axes.empty())
    return fail(ErrorKind::unsupported, "separate passes", print(Problem(problem)), "a problem with axes");
  auto shape = dst_shape(problem);
  if (!shape) return std::unexpected(shape.error());
  PermuteProblem second = problem;
  second.shape = std::move(*shape);
  second.src_strides.clear();
  second.src_offset = 0;
  second.src_align = 16;
  for (std::size_t i = 0; i < second.axes.size(); ++i) second.axes[i] = static_cast<int>(i);
  for (std::string* const vector : {&second.stage.scale, &second.stage.bias}) {
    if (vector->empty()) continue;
    const auto at = std::ranges::find(problem.axes, std::stoi(*vector));
    *vector = std::to_string(at - problem.axes.begin());
  }
  return second;
}

}  // namespace

Result<Plan> separate_passes(const PermuteProblem& problem, const DeviceProfile& profile) {
  PermuteProblem first = problem;
  first.stage = {};
  first.dst_strides.clear();
  first.dst_offset = 0;
  first.dst_align = 16;
  auto second = second_pass(problem);
  if (!second) return std::unexpected(second.error());
  const Pass passes[] = {{first, {{"dst", "between"}}}, {std::move(*second), {{"src", "between"}}}};
  return joined_passes(problem, passes, profile);
}

}  // namespace sectile::tools
