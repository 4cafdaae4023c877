// Says in one sentence what a plan leaves unused, and why.
#include <sectile/planner.hpp>

#include "has_step.hpp"
#include "operation.hpp"

#include <algorithm>
#include <initializer_list>
#include <variant>
#include <vector>

namespace sectile {

namespace {

// Vulkan's name of a field's feature that the driver offers and the application has not enabled; otherwise empty.
std::string not_enabled(const DeviceProfile& profile, const char* field) {
  const auto source = profile.sources.find(field);
  if (source == profile.sources.end() || !source->second.starts_with(kNotEnabled)) return {};
  return source->second.substr(kNotEnabled.size());
}

// "; not enabled by the application: shaderFloat16", of the features that a kernel may need. Empty: none is.
std::string not_enabled(const DeviceProfile& profile, std::initializer_list<const char*> fields) {
  std::string names;
  for (const char* field : fields)
    if (const std::string name = not_enabled(profile, field); !name.empty())
      names.append(names.empty() ? "" : ", ").append(name);
  return names.empty() ? names : "; " + std::string(kNotEnabled) + names;
}

}  // namespace

std::string matrix_unit_remark(const DeviceProfile& profile) {
  if (profile.api == Api::cuda) {
    if (profile.matrix_units.empty()) return "the matrix unit is not known, and not used";
    std::string units;
    for (const std::string& unit : profile.matrix_units) units += (units.empty() ? "" : ", ") + unit;
    if (std::ranges::find(profile.matrix_units, "mma.sync") != profile.matrix_units.end()) return {};
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
  const std::string refusal = detail::visit_operation(
      [&](auto operation, const auto& p) { return operation.unit_refusal(p, plan, profile); }, plan.problem);
  if (refusal.empty()) return {};
  if (std::string remark = matrix_unit_remark(profile); !remark.empty()) return remark;
  return "the matrix unit is not used: " + refusal +
         not_enabled(profile,
                     {"float16", "bfloat16", "int8", "int16", "storage8", "storage16", "required_subgroup_size"});
}

namespace {

// Narrow elements that move in words.
std::string words_remark(const PermuteProblem& permute, const Plan& plan, const DeviceProfile& profile) {
  if (!detail::has_step(plan, {"permute_words"})) return {};
  const bool bytes = size_bytes(permute.type) == 1;
  const std::optional<bool> field = bytes && profile.storage16.value_or(false) ? profile.storage8 : profile.storage16;
  if (field.value_or(false)) return {};  // the kernel was forced
  return std::string("elements move in words of 4 bytes, which is slower: accesses of ") +
         (bytes ? "1 byte" : "2 bytes") + (field ? " are not there" : " are not known to be there") +
         not_enabled(profile, {"storage8", "storage16"});
}

// The profile's fields of features that kernels for such a problem may need.
std::vector<const char*> fields_for(const Problem& problem) {
  if (const auto* permute = std::get_if<PermuteProblem>(&problem)) {
    const auto narrowest = std::min(size_bytes(permute->type), size_bytes(out_type(*permute)));
    std::vector<const char*> out = {"int64"};
    if (narrowest <= 2) out.insert(out.end(), {"storage8", "storage16"});
    if (narrowest == 1) out.insert(out.end(), {"workgroup8", "int8"});
    return out;
  }
  const DType type = std::visit([](const auto& p) { return p.type; }, problem);
  std::vector<const char*> out = {"required_subgroup_size", "storage8", "storage16"};
  if (type == DType::f32) return out;
  out.insert(out.end(), {"float16", "cooperative_matrix", "cooperative_matrix2", "cooperative_matrix_workgroup_scope",
                         "cooperative_matrix_tensor_addressing"});
  if (type == DType::bf16) out.insert(out.end(), {"bfloat16", "matrix_shapes"});
  if (type == DType::i8) out.insert(out.end(), {"int8", "integer_dot_product"});
  return out;
}

}  // namespace

std::string plan_remark(const Plan& plan, const DeviceProfile& profile) {
  std::string remark = matrix_unit_remark(plan, profile);
  if (const auto* permute = std::get_if<PermuteProblem>(&plan.problem); permute != nullptr && remark.empty())
    remark = words_remark(*permute, plan, profile);
  // What the application has not enabled, whether or not another kernel would be planned with it.
  for (const char* field : fields_for(plan.problem)) {
    const std::string name = not_enabled(profile, field);
    if (name.empty() || remark.find(name) != std::string::npos) continue;
    if (remark.empty()) remark = "some kernels are left out";
    remark += remark.find(kNotEnabled) == std::string::npos ? "; " + std::string(kNotEnabled) : std::string(", ");
    remark += name;
  }
  return remark;
}

}  // namespace sectile
