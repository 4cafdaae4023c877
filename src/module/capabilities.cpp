#include "capabilities.hpp"

#include "spirv_words.hpp"

#include <algorithm>
#include <iterator>

namespace sectile::module {
namespace {

constexpr std::string_view kBfloat = "VK_KHR_shader_bfloat16";
constexpr std::string_view kLayout = "VK_KHR_workgroup_memory_explicit_layout";
constexpr std::string_view kMatrix = "VK_KHR_cooperative_matrix";
constexpr std::string_view kMatrix2 = "VK_NV_cooperative_matrix2";

constexpr Capability always(std::uint32_t number, std::string_view name) {
  return {number, name, Grant::always, {}, 0, {}, {}};
}
constexpr Capability never(std::uint32_t number, std::string_view name, std::string_view feature) {
  return {number, name, Grant::never, feature, 0, {}, {}};
}
constexpr Capability by(std::uint32_t number, std::string_view name, std::string_view feature,
                        std::string_view extension = {}) {
  return {number, name, Grant::feature, feature, 0, {}, extension};
}
constexpr Capability group(std::uint32_t number, std::string_view name, std::uint32_t bit,
                           std::string_view operations) {
  return {number, name, Grant::subgroup, {}, bit, operations, {}};
}

// Numbers: SPIR-V's unified1 grammar. Grants: Vulkan's table "SPIR-V capabilities". Bits: VkSubgroupFeatureFlagBits.
constexpr Capability kRows[] = {
    always(0, "Matrix"),
    always(1, "Shader"),
    by(9, "Float16", "shaderFloat16"),
    never(10, "Float64", "shaderFloat64"),
    by(11, "Int64", "shaderInt64"),
    never(12, "Int64Atomics", "shaderBufferInt64Atomics"),
    by(22, "Int16", "shaderInt16"),
    by(39, "Int8", "shaderInt8"),
    group(61, "GroupNonUniform", 0x1, "basic"),
    group(62, "GroupNonUniformVote", 0x2, "vote"),
    group(63, "GroupNonUniformArithmetic", 0x4, "arithmetic"),
    group(64, "GroupNonUniformBallot", 0x8, "ballot"),
    group(65, "GroupNonUniformShuffle", 0x10, "shuffle"),
    group(66, "GroupNonUniformShuffleRelative", 0x20, "shuffle relative"),
    group(67, "GroupNonUniformClustered", 0x40, "clustered"),
    group(68, "GroupNonUniformQuad", 0x80, "quad"),
    by(4428, "WorkgroupMemoryExplicitLayoutKHR", "workgroupMemoryExplicitLayout", kLayout),
    by(4429, "WorkgroupMemoryExplicitLayout8BitAccessKHR", "workgroupMemoryExplicitLayout8BitAccess", kLayout),
    by(4430, "WorkgroupMemoryExplicitLayout16BitAccessKHR", "workgroupMemoryExplicitLayout16BitAccess", kLayout),
    by(4433, "StorageBuffer16BitAccess", "storageBuffer16BitAccess"),
    never(4434, "UniformAndStorageBuffer16BitAccess", "uniformAndStorageBuffer16BitAccess"),
    never(4435, "StoragePushConstant16", "storagePushConstant16"),
    by(4448, "StorageBuffer8BitAccess", "storageBuffer8BitAccess"),
    never(4449, "UniformAndStorageBuffer8BitAccess", "uniformAndStorageBuffer8BitAccess"),
    never(4450, "StoragePushConstant8", "storagePushConstant8"),
    by(5116, "BFloat16TypeKHR", "shaderBFloat16Type", kBfloat),
    by(5117, "BFloat16DotProductKHR", "shaderBFloat16DotProduct", kBfloat),
    by(5118, "BFloat16CooperativeMatrixKHR", "shaderBFloat16CooperativeMatrix", kBfloat),
    by(5345, "VulkanMemoryModel", "vulkanMemoryModel"),
    by(5346, "VulkanMemoryModelDeviceScope", "vulkanMemoryModelDeviceScope"),
    by(5347, "PhysicalStorageBufferAddresses", "bufferDeviceAddress"),
    by(5430, "CooperativeMatrixReductionsNV", "cooperativeMatrixReductions", kMatrix2),
    by(5431, "CooperativeMatrixConversionsNV", "cooperativeMatrixConversions", kMatrix2),
    by(5432, "CooperativeMatrixPerElementOperationsNV", "cooperativeMatrixPerElementOperations", kMatrix2),
    by(5433, "CooperativeMatrixTensorAddressingNV", "cooperativeMatrixTensorAddressing", kMatrix2),
    by(5434, "CooperativeMatrixBlockLoadsNV", "cooperativeMatrixBlockLoads", kMatrix2),
    by(5439, "TensorAddressingNV", "cooperativeMatrixTensorAddressing", kMatrix2),
    by(6016, "DotProductInputAll", "shaderIntegerDotProduct"),
    by(6017, "DotProductInput4x8Bit", "shaderIntegerDotProduct"),
    by(6018, "DotProductInput4x8BitPacked", "shaderIntegerDotProduct"),
    by(6019, "DotProduct", "shaderIntegerDotProduct"),
    by(6022, "CooperativeMatrixKHR", "cooperativeMatrix", kMatrix),
};

}  // namespace

const Capability* find_capability(std::uint32_t number) noexcept {
  const auto* row = std::ranges::find(kRows, number, &Capability::number);
  return row == std::end(kRows) ? nullptr : row;
}

std::string capability_name(std::uint32_t number) {
  const Capability* row = find_capability(number);
  return row != nullptr ? std::string(row->name) : "capability " + std::to_string(number);
}

Result<std::vector<std::uint32_t>> read_capabilities(std::span<const std::uint32_t> words) {
  if (words.size() < kHeaderWords) return fail(ErrorKind::parse, "SPIR-V", std::to_string(words.size()) + " words");
  if (words[0] != kSpirvMagic) return fail(ErrorKind::parse, "SPIR-V", "no SPIR-V magic number");
  std::vector<std::uint32_t> out;
  // Capabilities stand before everything else, each two words: the instruction and its operand.
  for (std::size_t at = kHeaderWords; at + 1 < words.size() && words[at] == (2u << 16 | OpCapability); at += 2)
    out.push_back(words[at + 1]);
  if (out.empty()) return fail(ErrorKind::parse, "SPIR-V", "no capability declared");
  return out;
}

}  // namespace sectile::module
