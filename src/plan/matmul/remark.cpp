// Says in one sentence why a plan does not use the matrix unit.
#include "context.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace sectile {

namespace {

// A reason without its numbers, so that the rows' reasons compare equal.
std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

// The most frequent refusal among the matrix kernels' rows. If a row is admissible, it was not the cheapest.
std::string most_frequent_refusal(const MatmulProblem& problem, const DeviceProfile& profile) {
  const detail::MatmulContext context = detail::matmul_context(problem, profile);
  std::map<std::string, std::pair<int, std::string>> reasons;  // count, and one reason with its numbers
  for (const auto* strategy : {&detail::kMatmulCoopmat, &detail::kMatmulCoopmat2})
    for (std::uint32_t row = 0; row < strategy->rows_for(context); ++row) {
      detail::Refusal refusal(true);
      if (strategy->applicable(context, row, refusal)) {
        if (!strategy->fallback(context, row)) return "another kernel costs less";
        continue;
      }
      if (strategy == &detail::kMatmulCoopmat2) continue;  // few devices have this extension: its refusals are no help
      auto& [count, text] = reasons[without_digits(refusal.reason)];
      ++count;
      text = refusal.reason;
    }
  const auto most = std::ranges::max_element(reasons, {}, [](const auto& entry) { return entry.second.first; });
  return most == reasons.end() ? std::string("its kernels are for other devices") : most->second.second;
}

}  // namespace

std::string matrix_unit_remark(const DeviceProfile& profile) {
  if (profile.api == Api::cuda) {
    if (profile.matrix_units.empty()) return "the matrix unit is not known, and not used";
    std::string units;
    for (const std::string& unit : profile.matrix_units) units += (units.empty() ? "" : ", ") + unit;
    return "the matrix unit (" + units + ") is not used: matmul has no CUDA kernel for it";
  }
  if (!profile.matrix_shapes.empty()) return {};
  if (!profile.cooperative_matrix) return "the matrix unit is not known, and not used";
  if (*profile.cooperative_matrix) return "the matrix unit's shapes are not known, and it is not used";
  const auto source = profile.sources.find("cooperative_matrix");
  if (source == profile.sources.end()) return "the device lists no matrix unit";
  return "the device has no matrix unit to use: " + source->second;
}

std::string matrix_unit_remark(const Plan& plan, const DeviceProfile& profile) {
  const auto* problem = std::get_if<MatmulProblem>(&plan.problem);
  if (problem == nullptr || problem->type == DType::f32 || plan.steps.empty()) return {};
  // Products with few rows use matvec on every device; K = 0 and alpha = 0 have no product.
  const bool without_unit = std::ranges::any_of(plan.steps, [](const Step& step) {
    return step.kernel.stem == "matmul_simt" || step.kernel.stem == "matmul_direct";
  });
  if (!without_unit) return {};
  if (std::string remark = matrix_unit_remark(profile); !remark.empty()) return remark;
  return "the matrix unit is not used: " + most_frequent_refusal(*problem, profile);
}

}  // namespace sectile
