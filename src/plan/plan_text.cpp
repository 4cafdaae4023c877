// A plan as one line of text.
#include <sectile/plan.hpp>

#include "gemm/gemm.abi.h"
#include "operation.hpp"
#include "permute/permute.abi.h"

#include <algorithm>
#include <span>

namespace sectile {

namespace {

// The constants of a kernel, as its operation names them.
std::span<const detail::NamedConstant> named_constants(std::string_view stem) {
  std::span<const detail::NamedConstant> named;
  detail::each_operation([&](auto operation) {
    if (named.empty()) named = operation.named_constants(stem);
  });
  return named;
}

// Without `all`, a one-dimensional size is one number.
std::string sizes_text(const std::array<std::uint32_t, 3>& sizes, bool all) {
  std::string text = std::to_string(sizes[0]);
  if (all || sizes[1] != 1 || sizes[2] != 1) text += 'x' + std::to_string(sizes[1]) + 'x' + std::to_string(sizes[2]);
  return text;
}

std::string print(const Step& step) {
  std::string text = step.kernel.stem;
  if (!step.kernel.variant.empty()) text += '.' + step.kernel.variant;
  std::string_view last;
  for (const detail::NamedConstant& named : named_constants(step.kernel.stem)) {
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
  if (step.cluster != kNoCluster) text += " cluster=" + sizes_text(step.cluster, false);
  if (step.required_subgroup_size != 0) text += " subgroup=" + std::to_string(step.required_subgroup_size);
  if (step.workgroup_memory_bytes != 0) text += " shared=" + std::to_string(step.workgroup_memory_bytes);
  if (!step.tensor_maps.empty()) text += " maps=" + std::to_string(step.tensor_maps.size());
  text += " push=" + std::to_string(step.push.size());
  // Numbers that did not fit the push constants are specialized, so such a plan has its own pipeline.
  const std::uint32_t first = step.kernel.stem.starts_with("permute") ? PERMUTE_SPEC_WORD0 : GEMM_SPEC_WORD0;
  const auto frozen = std::ranges::count_if(
      step.constants, [&](const Constant& c) { return c.id >= first && c.id != SECTILE_SPEC_NUMBERS; });
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
