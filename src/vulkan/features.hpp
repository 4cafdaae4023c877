// The device features that Sectile knows, as one table: reading them from any pNext chain, and
// switching them on in any pNext chain, whichever of Vulkan's structs an app has chosen to spell them in.
#pragma once

#include "functions.hpp"

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
  required,    // Sectile cannot do without
  wanted,      // more kernels, or faster ones
  statistics,  // only where statistics() is asked for
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
// The extension that brings it; empty where Vulkan 1.3 has it.
std::string_view extension_of(Feature feature) noexcept;

// The features that a chain of feature structs has switched on, the head included.
FeatureSet read_features(const void* chain) noexcept;

// Feature structs, owned; they stay where they are when the owner is moved.
class FeatureStructs {
 public:
  // A zeroed VkPhysicalDeviceFeatures2 with the Vulkan 1.1, 1.2 and 1.3 structs behind it.
  VkPhysicalDeviceFeatures2& make_core_chain();

  // Links to the chain's end a zeroed struct for every feature of `features` that has no place in it.
  // Where the chain lacks an aggregate (VkPhysicalDeviceVulkan12Features), the feature's own struct is
  // linked: Vulkan allows an aggregate or the structs that it stands for, never both.
  void complete(VkPhysicalDeviceFeatures2& chain, const FeatureSet& features);

 private:
  struct Block {
    alignas(8) std::byte bytes[256];  // the largest is VkPhysicalDeviceFeatures2, 240 bytes
  };
  VkBaseOutStructure* add(VkStructureType type);
  std::vector<std::unique_ptr<Block>> blocks_;
};

// Switches features on wherever `chain` has a place for them.
void write_features(void* chain, const FeatureSet& features) noexcept;

// A feature, and one that it depends on: without it, Vulkan's rules or SPIR-V's forbid the first, or it does nothing.
struct FeatureNeed {
  Feature feature, needs;
};
std::span<const FeatureNeed> feature_needs() noexcept;
// Those of the features whose needs are all among them.
FeatureSet without_unmet_needs(FeatureSet features) noexcept;

// What the device offers, and what it is called.
struct Offer {
  FeatureSet features;             // none that depends on what is not offered
  std::vector<std::string> extensions;
  VkPhysicalDeviceProperties properties{};
  bool compute_queue = false;
  bool has_extension(std::string_view name) const noexcept;
};
Result<Offer> query_offer(const InstanceFunctions& functions, VkPhysicalDevice physical_device);

// Why Sectile cannot use a device with this offer: an unsupported error naming it; else nothing.
Result<void> check_usable(const Offer& offer);

// Features that the runtime or an app should switch on, of those offered: each with all that it depends on.
FeatureSet choose(const Offer& offer, std::span<const FeatureUse> uses);
// The extensions that those need, with static lifetime.
std::vector<const char*> extensions_for(const FeatureSet& features);

}  // namespace sectile::vulkan
