// One line a plan, for people.
#include <sectile/plan.hpp>

#include "permute/permute_box.abi.h"
#include "permute/permute_copy.abi.h"
#include "permute/permute_fused.abi.h"
#include "permute/permute_rows.abi.h"
#include "permute/permute_runs.abi.h"
#include "permute/permute_tile.abi.h"
#include "permute/permute_weave.abi.h"
#include "permute/permute_words.abi.h"

#include <algorithm>

namespace sectile {

namespace {

// Constants that say which of a kernel's shapes this is. Neighbours of one name are joined by 'x'.
struct Named {
  std::string_view stem;
  std::uint32_t id;
  std::string_view name;
};
constexpr Named kNamed[] = {
    {"permute_copy", PERMUTE_COPY_SPEC_WIDTH, "width"},       {"permute_copy", PERMUTE_COPY_SPEC_UNROLL, "unroll"},
    {"permute_rows", PERMUTE_ROWS_SPEC_UNROLL, "unroll"},     {"permute_tile", PERMUTE_TILE_SPEC_TILE_S, "tile"},
    {"permute_tile", PERMUTE_TILE_SPEC_TILE_D, "tile"},       {"permute_tile", PERMUTE_TILE_SPEC_VECTOR_S, "vector"},
    {"permute_tile", PERMUTE_TILE_SPEC_VECTOR_D, "vector"},   {"permute_block", PERMUTE_TILE_SPEC_TILE_S, "tile"},
    {"permute_block", PERMUTE_TILE_SPEC_TILE_D, "tile"},      {"permute_block", PERMUTE_TILE_SPEC_VECTOR_S, "vector"},
    {"permute_block", PERMUTE_TILE_SPEC_VECTOR_D, "vector"},  {"permute_box", PERMUTE_BOX_SPEC_LOAD_VECTOR, "vector"},
    {"permute_box", PERMUTE_BOX_SPEC_STORE_VECTOR, "vector"}, {"permute_weave", PERMUTE_WEAVE_SPEC_STEPS, "steps"},
    {"permute_weave", PERMUTE_WEAVE_SPEC_SOURCES, "from"},    {"permute_weave", PERMUTE_WEAVE_SPEC_SRC_RUN, "from"},
    {"permute_weave", PERMUTE_WEAVE_SPEC_TARGETS, "to"},      {"permute_weave", PERMUTE_WEAVE_SPEC_DST_RUN, "to"},
    {"permute_runs", PERMUTE_RUNS_SPEC_RUN, "run"},           {"permute_runs", PERMUTE_RUNS_SPEC_TILE_S, "tile"},
    {"permute_runs", PERMUTE_RUNS_SPEC_TILE_D, "tile"},       {"permute_runs", PERMUTE_RUNS_SPEC_BLOCK_S, "block"},
    {"permute_runs", PERMUTE_RUNS_SPEC_BLOCK_D, "block"},
    {"permute_fused", PERMUTE_FUSED_SPEC_VECTOR, "vector"},   {"permute_fused_block", PERMUTE_FUSED_SPEC_TILE_S, "tile"},
    {"permute_fused_block", PERMUTE_FUSED_SPEC_TILE_D, "tile"}, {"permute_fused_block", PERMUTE_FUSED_SPEC_VECTOR_S, "vector"},
    {"permute_fused_block", PERMUTE_FUSED_SPEC_VECTOR_D, "vector"},
};

// The least that is left out of {1, 1, 1}'s tail, so that a one-dimensional size is one number.
std::string sizes_text(const std::array<std::uint32_t, 3>& sizes, bool whole) {
  std::string text = std::to_string(sizes[0]);
  if (whole || sizes[1] != 1 || sizes[2] != 1) text += 'x' + std::to_string(sizes[1]) + 'x' + std::to_string(sizes[2]);
  return text;
}

std::string print(const Step& step) {
  std::string text = step.kernel.stem;
  if (!step.kernel.variant.empty()) text += '.' + step.kernel.variant;
  std::string_view last;
  for (const Named& named : kNamed) {
    if (named.stem != step.kernel.stem) continue;
    const auto found = std::ranges::find(step.constants, named.id, &Constant::id);
    if (found == step.constants.end()) continue;
    if (named.name == last)
      text += 'x';
    else
      text.append(" ").append(named.name).append("=");
    text += std::to_string(found->value);
    last = named.name;
  }
  text += " wg=" + sizes_text(step.workgroup, false) + " grid=" + sizes_text(step.grid, true);
  if (step.required_subgroup_size != 0) text += " subgroup=" + std::to_string(step.required_subgroup_size);
  if (step.workgroup_memory_bytes != 0) text += " shared=" + std::to_string(step.workgroup_memory_bytes);
  if (!step.tensor_maps.empty()) text += " maps=" + std::to_string(step.tensor_maps.size());
  text += " push=" + std::to_string(step.push.size());
  // Numbers that did not fit the push bytes: such a plan has a pipeline of its own.
  const auto frozen =
      std::ranges::count_if(step.constants, [](const Constant& c) { return c.id >= PERMUTE_SPEC_WORD0; });
  if (frozen != 0) text += " frozen=" + std::to_string(frozen);
  return text;
}

}  // namespace

std::string print(const Plan& plan) {
  if (plan.steps.empty()) return "nothing";
  std::string text;
  for (const Step& step : plan.steps) {
    if (!text.empty()) text += step.barrier_before ? " | barrier | " : " | ";
    text += print(step);
  }
  return text;
}

}  // namespace sectile
