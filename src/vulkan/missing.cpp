// What an app loses by each feature that its device was made without.
#include "device.hpp"

#include <iterator>

namespace sectile::vulkan {
namespace {

constexpr std::string_view kNothing = "costs nothing today: no kernel needs it";
constexpr std::string_view kTensors =
    "f16, bf16 and int8 products do not use matrices that a whole workgroup shares; VK_KHR_cooperative_matrix still "
    "serves";
constexpr std::string_view kSubgroupSize =
    "on a device with several subgroup sizes products do not use the matrix unit, and small products lose kernels";

// tests/vulkan/missing_test.cpp plans with each of these left out, and looks whether the text is true.
struct Cost {
  Feature feature;
  std::string_view text;
};
constexpr Cost kCosts[] = {
    {Feature::shader_int8, "int8 products do not use the matrix unit; permutes of 1 byte lose a kernel"},
    {Feature::shader_int16, "the canary does not test conversions to bf16"},
    {Feature::shader_int64, "operands with indices beyond 2^31 are cut into several dispatches, or refused"},
    {Feature::shader_float16, "f16 products do not use the matrix unit"},
    {Feature::storage8,
     "permutes of 1 byte move words of 4 bytes, which is slower; products do not use the matrix unit; int8 products of "
     "ragged sizes are refused"},
    {Feature::storage16,
     "permutes of 1 and 2 bytes move words of 4 bytes, which is slower; products do not use the matrix unit; products "
     "that access single elements of 2 bytes (ragged sizes, a bias) are refused"},
    {Feature::scalar_block_layout, kNothing},
    {Feature::subgroup_extended_types, kNothing},
    {Feature::subgroup_size_control, kSubgroupSize},
    {Feature::full_subgroups, kSubgroupSize},
    {Feature::memory_model, "f16, bf16 and int8 products do not use the matrix unit"},
    {Feature::memory_model_device_scope, kNothing},
    {Feature::integer_dot_product, "int8 products without a matrix unit multiply one element at a time"},
    {Feature::bfloat16, "bf16 products do not use the matrix unit"},
    {Feature::bfloat16_dot_product, kNothing},
    {Feature::bfloat16_cooperative_matrix, "bf16 products do not use the matrix unit"},
    {Feature::workgroup_layout, "permutes of 1 byte lose a kernel"},
    {Feature::workgroup_layout_scalar, kNothing},
    {Feature::workgroup_layout8, "permutes of 1 byte lose a kernel"},
    {Feature::workgroup_layout16, kNothing},
    {Feature::cooperative_matrix, "f16, bf16 and int8 products do not use the matrix unit"},
    {Feature::cooperative_matrix_workgroup_scope, kTensors},
    {Feature::cooperative_matrix_flexible, kTensors},
    {Feature::cooperative_matrix_reductions, kNothing},
    {Feature::cooperative_matrix_conversions, kNothing},
    {Feature::cooperative_matrix_per_element, kTensors},
    {Feature::cooperative_matrix_tensor_addressing, kTensors},
    {Feature::cooperative_matrix_block_loads, kNothing},
};

// Every wanted feature has its text, in the order of the features.
constexpr bool all_wanted() {
  std::size_t next = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i) {
    const auto feature = static_cast<Feature>(i);
    if (feature == Feature::buffer_device_address || feature == Feature::maintenance4) continue;
    if (feature == Feature::executable_statistics) break;
    if (next == std::size(kCosts) || kCosts[next].feature != feature) return false;
    ++next;
  }
  return next == std::size(kCosts);
}
static_assert(all_wanted());

}  // namespace

std::vector<MissingFeature> missing_features(const FeatureSet& enabled, const FeatureSet& offered) {
  std::vector<MissingFeature> out;
  for (const Cost& cost : kCosts)
    if (!enabled.has(cost.feature))
      out.push_back({std::string(vulkan_name(cost.feature)), std::string(extension_of(cost.feature)),
                     offered.has(cost.feature), std::string(cost.text)});
  return out;
}

std::vector<MissingFeature> Device::missing() const {
  return missing_features(impl_->features, impl_->snapshot.offer.features);
}

std::string print(const MissingFeature& missing) {
  std::string out = missing.name;
  if (!missing.extension.empty()) out += " (" + missing.extension + ")";
  return out + (missing.offered ? " was not enabled: " : " is not offered: ") + missing.cost;
}

}  // namespace sectile::vulkan
