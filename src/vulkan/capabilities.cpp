#include "capabilities.hpp"

#include <sectile/vulkan.hpp>

#include <algorithm>
#include <string_view>

namespace sectile::vulkan {
namespace {

// What grants a capability: a feature, subgroup operations, every Vulkan 1.3 device, or nothing that
// Sectile asks for (known by name only, for the refusal's sake).
enum class Grant { always, never, feature, subgroup };

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order in which one reads it
struct Row {
  std::uint32_t number;
  std::string_view name;
  Grant grant;
  Feature feature = Feature::count;
  VkSubgroupFeatureFlags operations = 0;
};

constexpr Row by(std::uint32_t number, std::string_view name, Feature feature) {
  return {number, name, Grant::feature, feature, 0};
}
constexpr Row by(std::uint32_t number, std::string_view name, VkSubgroupFeatureFlags operations) {
  return {number, name, Grant::subgroup, Feature::count, operations};
}

// Numbers: SPIR-V's unified1 grammar. Grants: Vulkan's table "SPIR-V capabilities".
constexpr Row kRows[] = {
    {0, "Matrix", Grant::always},
    {1, "Shader", Grant::always},
    by(9, "Float16", Feature::shader_float16),
    {10, "Float64", Grant::never},
    by(11, "Int64", Feature::shader_int64),
    {12, "Int64Atomics", Grant::never},
    by(22, "Int16", Feature::shader_int16),
    by(39, "Int8", Feature::shader_int8),
    by(61, "GroupNonUniform", VK_SUBGROUP_FEATURE_BASIC_BIT),
    by(62, "GroupNonUniformVote", VK_SUBGROUP_FEATURE_VOTE_BIT),
    by(63, "GroupNonUniformArithmetic", VK_SUBGROUP_FEATURE_ARITHMETIC_BIT),
    by(64, "GroupNonUniformBallot", VK_SUBGROUP_FEATURE_BALLOT_BIT),
    by(65, "GroupNonUniformShuffle", VK_SUBGROUP_FEATURE_SHUFFLE_BIT),
    by(66, "GroupNonUniformShuffleRelative", VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT),
    by(67, "GroupNonUniformClustered", VK_SUBGROUP_FEATURE_CLUSTERED_BIT),
    by(68, "GroupNonUniformQuad", VK_SUBGROUP_FEATURE_QUAD_BIT),
    by(4428, "WorkgroupMemoryExplicitLayoutKHR", Feature::workgroup_layout),
    by(4429, "WorkgroupMemoryExplicitLayout8BitAccessKHR", Feature::workgroup_layout8),
    by(4430, "WorkgroupMemoryExplicitLayout16BitAccessKHR", Feature::workgroup_layout16),
    by(4433, "StorageBuffer16BitAccess", Feature::storage16),
    {4434, "UniformAndStorageBuffer16BitAccess", Grant::never},
    {4435, "StoragePushConstant16", Grant::never},
    by(4448, "StorageBuffer8BitAccess", Feature::storage8),
    {4449, "UniformAndStorageBuffer8BitAccess", Grant::never},
    {4450, "StoragePushConstant8", Grant::never},
    by(5116, "BFloat16TypeKHR", Feature::bfloat16),
    by(5117, "BFloat16DotProductKHR", Feature::bfloat16_dot_product),
    by(5118, "BFloat16CooperativeMatrixKHR", Feature::bfloat16_cooperative_matrix),
    by(5345, "VulkanMemoryModel", Feature::memory_model),
    by(5346, "VulkanMemoryModelDeviceScope", Feature::memory_model_device_scope),
    by(5347, "PhysicalStorageBufferAddresses", Feature::buffer_device_address),
    by(5430, "CooperativeMatrixReductionsNV", Feature::cooperative_matrix_reductions),
    by(5431, "CooperativeMatrixConversionsNV", Feature::cooperative_matrix_conversions),
    by(5432, "CooperativeMatrixPerElementOperationsNV", Feature::cooperative_matrix_per_element),
    by(5433, "CooperativeMatrixTensorAddressingNV", Feature::cooperative_matrix_tensor_addressing),
    by(5434, "CooperativeMatrixBlockLoadsNV", Feature::cooperative_matrix_block_loads),
    by(5439, "TensorAddressingNV", Feature::cooperative_matrix_tensor_addressing),
    by(6016, "DotProductInputAll", Feature::integer_dot_product),
    by(6017, "DotProductInput4x8Bit", Feature::integer_dot_product),
    by(6018, "DotProductInput4x8BitPacked", Feature::integer_dot_product),
    by(6019, "DotProduct", Feature::integer_dot_product),
    by(6022, "CooperativeMatrixKHR", Feature::cooperative_matrix),
};

const Row* find(std::uint32_t capability) {
  const auto* row = std::ranges::find(kRows, capability, &Row::number);
  return row == std::end(kRows) ? nullptr : row;
}

constexpr std::uint32_t kSpirvMagic = 0x07230203;
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kOpCapability = 17;

}  // namespace

Result<std::vector<std::uint32_t>> read_capabilities(std::span<const std::uint32_t> words) {
  if (words.size() < kHeaderWords) return fail(ErrorKind::parse, "SPIR-V", std::to_string(words.size()) + " words");
  if (words[0] != kSpirvMagic) return fail(ErrorKind::parse, "SPIR-V", "no SPIR-V magic number");
  std::vector<std::uint32_t> out;
  // Capabilities stand before everything else, each two words: the instruction and its operand.
  for (std::size_t at = kHeaderWords; at + 1 < words.size() && words[at] == (2u << 16 | kOpCapability); at += 2)
    out.push_back(words[at + 1]);
  if (out.empty()) return fail(ErrorKind::parse, "SPIR-V", "no capability declared");
  return out;
}

std::string capability_name(std::uint32_t capability) {
  const Row* row = find(capability);
  return row != nullptr ? std::string(row->name) : "capability " + std::to_string(capability);
}

bool capability_allowed(std::uint32_t capability, const FeatureSet& features,
                        VkSubgroupFeatureFlags subgroup_operations) {
  const Row* row = find(capability);
  if (row == nullptr) return false;
  switch (row->grant) {
    case Grant::always:
      return true;
    case Grant::never:
      return false;
    case Grant::feature:
      return features.has(row->feature);
    case Grant::subgroup:
      return (subgroup_operations & row->operations) == row->operations;
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
