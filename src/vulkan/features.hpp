// The device features that Sectile knows, as one table. Reads and enables them in any pNext chain, whichever of
// Vulkan's structs the app uses for them.
#pragma once

#include "functions.hpp"

#include <sectile/vulkan.hpp>

#include <bitset>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::vulkan {

enum class Feature : unsigned {
  buffer_device_address,
  maintenance4,
  shader_int8,
  shader_int16,
  shader_int64,
  shader_float16,
  storage8,
  storage16,
  scalar_block_layout,
  subgroup_extended_types,
  subgroup_size_control,
  full_subgroups,
  memory_model,
  memory_model_device_scope,
  integer_dot_product,
  bfloat16,
  bfloat16_dot_product,
  bfloat16_cooperative_matrix,
  workgroup_layout,
  workgroup_layout_scalar,
  workgroup_layout8,
  workgroup_layout16,
  cooperative_matrix,
  cooperative_matrix_workgroup_scope,
  cooperative_matrix_flexible,
  cooperative_matrix_reductions,
  cooperative_matrix_conversions,
  cooperative_matrix_per_element,
  cooperative_matrix_tensor_addressing,
  cooperative_matrix_block_loads,
  executable_statistics,
  timeline_semaphore,
  sparse_binding,
  sparse_residency_buffer,
  count,
};

enum class FeatureUse : unsigned {
  required,    // Sectile needs it
  wanted,      // more kernels, or faster ones
  statistics,  // only for Device::statistics()
  runtime,     // only for Sectile's own runtime
};

class FeatureSet {
 public:
  bool has(Feature feature) const noexcept { return bits_[static_cast<std::size_t>(feature)]; }
  void set(Feature feature, bool on = true) noexcept { bits_[static_cast<std::size_t>(feature)] = on; }
  FeatureSet& operator&=(const FeatureSet& other) noexcept {
    bits_ &= other.bits_;
    return *this;
  }
  bool operator==(const FeatureSet&) const = default;

 private:
  std::bitset<static_cast<std::size_t>(Feature::count)> bits_;
};

std::string_view vulkan_name(Feature feature) noexcept;  // "shaderInt16"
FeatureUse use_of(Feature feature) noexcept;
// The extension that has it; empty where Vulkan 1.3 has it.
std::string_view extension_of(Feature feature) noexcept;

// The features that a chain of feature structs enables, including its head.
FeatureSet read_features(const void* chain) noexcept;

// Owns feature structs; they do not move with the owner.
class FeatureStructs {
 public:
  // A zeroed VkPhysicalDeviceFeatures2 with the Vulkan 1.1, 1.2 and 1.3 structs after it.
  VkPhysicalDeviceFeatures2& make_core_chain();

  // Appends a zeroed struct for every feature of `features` that has no place in the chain. Where the chain has no
  // aggregate (VkPhysicalDeviceVulkan12Features), the feature's own struct is appended: Vulkan allows either an
  // aggregate or the structs that it replaces.
  void complete(VkPhysicalDeviceFeatures2& chain, const FeatureSet& features);

 private:
  struct Block {
    alignas(8) std::byte bytes[256];  // the largest is VkPhysicalDeviceFeatures2, 240 bytes
  };
  VkBaseOutStructure* add(VkStructureType type);
  std::vector<std::unique_ptr<Block>> blocks_;
};

// Enables features wherever `chain` has a place for them.
void write_features(void* chain, const FeatureSet& features) noexcept;

// A feature, and one that it depends on: without the second one the first is forbidden, or has no effect.
struct FeatureNeed {
  Feature feature, needs;
};
std::span<const FeatureNeed> feature_needs() noexcept;
// The features whose dependences are all in the set.
FeatureSet without_unmet_needs(FeatureSet features) noexcept;

// What the device offers, and its properties.
struct Offer {
  FeatureSet features;  // without those that depend on a missing one
  std::vector<std::string> extensions;
  VkPhysicalDeviceProperties properties{};
  bool compute_queue = false;
  bool has_extension(std::string_view name) const noexcept;
};
Result<Offer> query_offer(const InstanceFunctions& functions, VkPhysicalDevice physical_device);

// Whether Sectile can use a device with this offer. Errors: unsupported, which names what is missing.
Result<void> check_usable(const Offer& offer);

// The wanted features that are not enabled, and what that costs.
std::vector<MissingFeature> missing_features(const FeatureSet& enabled, const FeatureSet& offered);

// The offered features that the runtime or an app should enable, each with all that it depends on.
FeatureSet choose(const Offer& offer, std::span<const FeatureUse> uses);
// The extensions that those need, with static lifetime.
std::vector<const char*> extensions_for(const FeatureSet& features);

}  // namespace sectile::vulkan
