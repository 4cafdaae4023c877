// Whether a device may be given a SPIR-V module, by the capabilities that it declares.
//
// Drivers accept modules whose capabilities they lack and then crash or compute rubbish (SwiftShader dies
// of a 16-bit shader), so every module is looked at before a driver sees it.
#pragma once

#include "features.hpp"
#include "module/capabilities.hpp"

#include <cstdint>

namespace sectile::vulkan {

using module::capability_name;
using module::read_capabilities;

// Whether a device made with these features may be given the capability. Unknown ones: no.
bool capability_allowed(std::uint32_t capability, const FeatureSet& features,
                        VkSubgroupFeatureFlags subgroup_operations);

}  // namespace sectile::vulkan
