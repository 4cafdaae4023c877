// What a SPIR-V module needs of a device, read from its OpCapability instructions.
//
// Drivers accept modules whose capabilities they lack and then crash or compute rubbish (SwiftShader dies
// of a 16-bit shader), so every module is looked at before a driver sees it.
#pragma once

#include "features.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace sectile::vulkan {

// The numbers of the capabilities, in the module's order. Errors: parse, for what is no SPIR-V.
Result<std::vector<std::uint32_t>> read_capabilities(std::span<const std::uint32_t> words);

// "Int16"; "capability 12345" where it is not known.
std::string capability_name(std::uint32_t capability);

// Whether a device made with these features may be given the capability. Unknown ones: no.
bool capability_allowed(std::uint32_t capability, const FeatureSet& features,
                        VkSubgroupFeatureFlags subgroup_operations);

}  // namespace sectile::vulkan
