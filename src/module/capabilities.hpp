// What each SPIR-V capability requires of a Vulkan device, as a table.
#pragma once

#include <sectile/error.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::module {

// What grants a capability: a feature, subgroup operations, any Vulkan 1.3 device, or nothing that Sectile enables
// (known only so that a refusal can name it).
enum class Grant : std::uint8_t { always, never, feature, subgroup };

struct Capability {
  std::uint32_t number;
  std::string_view name;  // SPIR-V's
  Grant grant;
  std::string_view feature;     // Vulkan's name of the feature, "shaderInt16"; empty: not a feature
  std::uint32_t subgroup_bits;  // VkSubgroupFeatureFlags; 0: not a subgroup operation
  std::string_view operations;  // those bits by name
  std::string_view extension;   // Vulkan device extension that has the feature; empty where Vulkan 1.3 has it
};

// Null where Sectile does not know it.
const Capability* find_capability(std::uint32_t number) noexcept;

// "Int16"; "capability 12345" where it is unknown.
std::string capability_name(std::uint32_t number);

// The numbers of the capabilities, in the module's order. Errors: parse (not SPIR-V).
Result<std::vector<std::uint32_t>> read_capabilities(std::span<const std::uint32_t> words);

}  // namespace sectile::module
