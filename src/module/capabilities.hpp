// What a SPIR-V capability asks of a Vulkan device, as rows.
#pragma once

#include <sectile/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::module {

// What grants a capability: a feature, subgroup operations, every Vulkan 1.3 device, or nothing that
// Sectile asks for (known by name only, for the refusal's sake).
enum class Grant : std::uint8_t { always, never, feature, subgroup };

struct Capability {
  std::uint32_t number;
  std::string_view name;       // SPIR-V's
  Grant grant;
  std::string_view feature;    // Vulkan's name of the feature, "shaderInt16"; empty where it is none
  std::uint32_t subgroup_bits; // VkSubgroupFeatureFlags; 0 where it is no subgroup operation
  std::string_view operations; // those bits by name
  std::string_view extension;  // Vulkan device extension that has the feature; empty where Vulkan 1.3 has it
};

// Null where Sectile does not know it.
const Capability* find_capability(std::uint32_t number) noexcept;

// "Int16"; "capability 12345" where it is not known.
std::string capability_name(std::uint32_t number);

// The numbers of the capabilities, in the module's order. Errors: parse, for what is no SPIR-V.
Result<std::vector<std::uint32_t>> read_capabilities(std::span<const std::uint32_t> words);

}  // namespace sectile::module
