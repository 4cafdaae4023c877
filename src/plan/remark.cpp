// Says in one sentence what a plan leaves unused, and why.
#include <sectile/planner.hpp>

#include "plan/conv2d/remark.hpp"
#include "plan/gemm/plan.hpp"
#include "plan/matmul/problem.hpp"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace sectile {

namespace {

// "; not enabled by the application: shaderFloat16", of the features that a kernel may need. Empty: none is.
std::string not_enabled(const DeviceProfile& profile, std::initializer_list<const char*> fields) {
  std::string names;
  for (const char* field : fields) {
    const auto source = profile.sources.find(field);
    if (source == profile.sources.end() || !source->second.starts_with(kNotEnabled)) continue;
    names.append(names.empty() ? "" : ", ").append(source->second.substr(kNotEnabled.size()));
  }
  return names.empty() ? names : "; " + std::string(kNotEnabled) + names;
}

bool has_step(const Plan& plan, std::initializer_list<std::string_view> stems) {
  return std::ranges::any_of(
      plan.steps, [&](const Step& step) { return std::ranges::find(stems, step.kernel.stem) != stems.end(); });
}

// Why none of the unit's kernels multiplies. Empty: one does, or the problem could not use the unit.
std::string unit_refusal(const Plan& plan, const DeviceProfile& profile) {
  // Products with few rows use matvec on every device; K = 0 has no product.
  if (const auto* matmul = std::get_if<MatmulProblem>(&plan.problem);
      matmul != nullptr && matmul->type != DType::f32 && has_step(plan, {"matmul_simt", "matmul_direct"}))
    return detail::gemm_unit_refusal(detail::gemm_of(*matmul), profile);
  // Depthwise kernels have no product that a unit could multiply.
  if (const auto* conv2d = std::get_if<Conv2dProblem>(&plan.problem);
      conv2d != nullptr && conv2d->type != DType::f32 &&
      has_step(plan, {"matmul_simt", "matmul_direct", "conv2d_simt", "conv2d_direct"}))
    return detail::conv2d_unit_refusal(*conv2d, profile, plan.operands);
  return {};
}

}  // namespace

std::string matrix_unit_remark(const DeviceProfile& profile) {
  if (profile.api == Api::cuda) {
    if (profile.matrix_units.empty()) return "the matrix unit is not known, and not used";
    std::string units;
    for (const std::string& unit : profile.matrix_units) units += (units.empty() ? "" : ", ") + unit;
    return "the matrix unit (" + units + ") is not used: there is no CUDA kernel for it";
  }
  if (!profile.matrix_shapes.empty()) return {};
  if (!profile.cooperative_matrix) return "the matrix unit is not known, and not used";
  if (*profile.cooperative_matrix)
    return "the matrix unit's shapes are not known, and it is not used" +
           not_enabled(profile, {"float16", "bfloat16", "int8"});
  const auto source = profile.sources.find("cooperative_matrix");
  if (source == profile.sources.end()) return "the device lists no matrix unit";
  if (source->second.starts_with(kNotEnabled))
    return "the matrix unit is not used" + not_enabled(profile, {"cooperative_matrix"});
  return "the device has no matrix unit to use: " + source->second;
}

std::string matrix_unit_remark(const Plan& plan, const DeviceProfile& profile) {
  const std::string refusal = unit_refusal(plan, profile);
  if (refusal.empty()) return {};
  if (std::string remark = matrix_unit_remark(profile); !remark.empty()) return remark;
  return "the matrix unit is not used: " + refusal +
         not_enabled(profile, {"float16", "bfloat16", "int8", "int16", "storage8", "storage16"});
}

std::string plan_remark(const Plan& plan, const DeviceProfile& profile) {
  if (std::string unit = matrix_unit_remark(plan, profile); !unit.empty()) return unit;
  const auto* permute = std::get_if<PermuteProblem>(&plan.problem);
  if (permute == nullptr || !has_step(plan, {"permute_words"})) return {};
  const bool bytes = size_bytes(permute->type) == 1;
  const std::optional<bool> field = bytes && profile.storage16.value_or(false) ? profile.storage8 : profile.storage16;
  if (field.value_or(false)) return {};  // the kernel was forced
  return std::string("elements move in words of 4 bytes, which is slower: accesses of ") +
         (bytes ? "1 byte" : "2 bytes") + (field ? " are not there" : " are not known to be there") +
         not_enabled(profile, {"storage8", "storage16"});
}

}  // namespace sectile
