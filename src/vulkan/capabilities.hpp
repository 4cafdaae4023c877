// Whether a device accepts a SPIR-V module, by the capabilities that the module declares.
//
// Some drivers accept modules whose capabilities they lack, and then crash or compute wrong results (SwiftShader
// crashes on a 16-bit shader). So every module is checked before a driver gets it.
#pragma once

#include "features.hpp"
#include "module/capabilities.hpp"

#include <cstdint>

namespace sectile::vulkan {

using module::capability_name;
using module::read_capabilities;

// Whether a device made with these features grants the capability. Unknown capabilities: no.
bool capability_allowed(std::uint32_t capability, const FeatureSet& features,
                        VkSubgroupFeatureFlags subgroup_operations);

}  // namespace sectile::vulkan
