#include <sectile/vulkan.hpp>

#include "features.hpp"

namespace sectile::vulkan {

struct WantedFeatures::Impl {
  FeatureSet features;
  FeatureStructs structs;  // of chain()
  const VkPhysicalDeviceFeatures2* chain = nullptr;
  FeatureStructs lent;  // linked into the app's chain by enable_in()
  std::vector<const char*> extensions;
};

WantedFeatures::WantedFeatures(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
WantedFeatures::~WantedFeatures() = default;
WantedFeatures::WantedFeatures(WantedFeatures&&) noexcept = default;
WantedFeatures& WantedFeatures::operator=(WantedFeatures&&) noexcept = default;

const VkPhysicalDeviceFeatures2* WantedFeatures::chain() const noexcept { return impl_->chain; }
std::span<const char* const> WantedFeatures::extensions() const noexcept { return impl_->extensions; }

void WantedFeatures::enable_in(VkPhysicalDeviceFeatures2& app_chain) {
  impl_->lent.complete(app_chain, impl_->features);
  write_features(&app_chain, impl_->features);
}

Result<WantedFeatures> wanted_features(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                                       VkPhysicalDevice physical_device, const WantOptions& options) {
  const auto functions = load_instance_functions(get_instance_proc_addr, instance);
  if (!functions) return std::unexpected(functions.error());
  const auto offer = query_offer(*functions, physical_device);
  if (!offer) return std::unexpected(offer.error());
  if (auto usable = check_usable(*offer); !usable) return std::unexpected(usable.error());

  std::vector<FeatureUse> uses{FeatureUse::required};
  if (!options.only_required) uses.push_back(FeatureUse::wanted);
  if (options.executable_statistics) uses.push_back(FeatureUse::statistics);
  auto impl = std::make_unique<WantedFeatures::Impl>();
  impl->features = choose(*offer, uses);
  impl->extensions = extensions_for(impl->features);
  VkPhysicalDeviceFeatures2& chain = impl->structs.make_core_chain();
  impl->structs.complete(chain, impl->features);
  write_features(&chain, impl->features);
  impl->chain = &chain;
  return WantedFeatures(std::move(impl));
}

}  // namespace sectile::vulkan
