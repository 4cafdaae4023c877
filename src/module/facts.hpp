// Facts of a SPIR-V module: entry point, workgroup, what it needs of a device.
#pragma once

#include <sectile/error.hpp>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::module {

struct ModuleFacts {
  std::uint32_t version = 0;  // major * 1000 + minor: 1006 for SPIR-V 1.6
  std::string entry_point;
  std::array<std::uint32_t, 3> workgroup{};   // zeros where it is specialized
  std::uint32_t workgroup_memory_bytes = 0;   // of its variables, each at its natural alignment
  std::vector<std::string> capabilities;      // in the module's order
  std::vector<std::string> spirv_extensions;  // OpExtension, in the module's order
  std::vector<std::string> features;          // Vulkan's names of the features to enable, sorted
  std::vector<std::string>
      subgroup_operations;                     // "basic", "shuffle": VkPhysicalDeviceSubgroupProperties must have them
  std::vector<std::string> device_extensions;  // beyond Vulkan 1.3, sorted
  std::vector<std::uint32_t> specialization_ids;  // SpecId decorations, sorted
  std::uint32_t specialized = 0;                  // OpSpecConstant* instructions
};

// Errors: parse (not SPIR-V; not exactly one compute entry point); unsupported (an unknown capability: what it needs
// of a device is then unknown).
Result<ModuleFacts> read_facts(std::span<const std::uint32_t> words);

}  // namespace sectile::module
