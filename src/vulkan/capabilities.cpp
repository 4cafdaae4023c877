#include "capabilities.hpp"

#include <sectile/vulkan.hpp>

namespace sectile::vulkan {
namespace {

// Converts the feature names of src/module's table to our enumerators.
Feature feature_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < static_cast<std::size_t>(Feature::count); ++i)
    if (vulkan_name(static_cast<Feature>(i)) == name) return static_cast<Feature>(i);
  return Feature::count;
}

}  // namespace

bool capability_allowed(std::uint32_t capability, const FeatureSet& features,
                        VkSubgroupFeatureFlags subgroup_operations) {
  const module::Capability* row = module::find_capability(capability);
  if (row == nullptr) return false;
  switch (row->grant) {
    case module::Grant::always:
      return true;
    case module::Grant::never:
      return false;
    case module::Grant::feature: {
      const Feature feature = feature_named(row->feature);
      return feature != Feature::count && features.has(feature);
    }
    case module::Grant::subgroup:
      return (subgroup_operations & row->subgroup_bits) == row->subgroup_bits;
  }
  return false;
}

Result<std::vector<std::string>> module_capabilities(std::span<const std::uint32_t> words) {
  const auto numbers = read_capabilities(words);
  if (!numbers) return std::unexpected(numbers.error());
  std::vector<std::string> out;
  for (const std::uint32_t number : *numbers) out.push_back(capability_name(number));
  return out;
}

}  // namespace sectile::vulkan
