#include "features.hpp"

#include <algorithm>
#include <cstring>

namespace sectile::vulkan {
namespace {

// The place of a feature's VkBool32: a struct and the offset in it.
struct Place {
  VkStructureType type = VK_STRUCTURE_TYPE_MAX_ENUM;
  std::size_t offset = 0;
};

struct Row {
  Feature feature;
  std::string_view name;
  FeatureUse use;
  const char* extension;  // null: core
  Place aggregate;        // in Features2 or VkPhysicalDeviceVulkan1xFeatures, where it has a place there
  Place own;              // in its extension's struct, also if it was promoted to core
};

constexpr auto kRequired = FeatureUse::required;
constexpr auto kWanted = FeatureUse::wanted;
constexpr auto kRuntime = FeatureUse::runtime;

constexpr auto k10 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
constexpr auto k11 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
constexpr auto k12 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
constexpr auto k13 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
constexpr auto kStorage8 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES;
constexpr auto kStorage16 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES;
constexpr auto kFloat16Int8 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES;
constexpr auto kAddress = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES;
constexpr auto kScalar = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES;
constexpr auto kExtended = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES;
constexpr auto kModel = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES;
constexpr auto kTimeline = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
constexpr auto kMaintenance4 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES;
constexpr auto kSizeControl = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES;
constexpr auto kDot = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_INTEGER_DOT_PRODUCT_FEATURES;
constexpr auto kBfloat = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR;
constexpr auto kWorkgroup = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR;
constexpr auto kMatrix = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR;
constexpr auto kMatrix2 = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_2_FEATURES_NV;
constexpr auto kExecutable = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR;

constexpr const char* kBfloatName = VK_KHR_SHADER_BFLOAT16_EXTENSION_NAME;
constexpr const char* kWorkgroupName = VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME;
constexpr const char* kMatrixName = VK_KHR_COOPERATIVE_MATRIX_EXTENSION_NAME;
constexpr const char* kMatrix2Name = VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME;
constexpr const char* kExecutableName = VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME;

using V11 = VkPhysicalDeviceVulkan11Features;
using V12 = VkPhysicalDeviceVulkan12Features;
using V13 = VkPhysicalDeviceVulkan13Features;
using Matrix2 = VkPhysicalDeviceCooperativeMatrix2FeaturesNV;
using Workgroup = VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR;
using Bfloat = VkPhysicalDeviceShaderBfloat16FeaturesKHR;

constexpr std::size_t core10(std::size_t offset) { return offsetof(VkPhysicalDeviceFeatures2, features) + offset; }

// clang-format off
constexpr Row kRows[] = {
  {Feature::buffer_device_address, "bufferDeviceAddress", kRequired, nullptr,
   {k12, offsetof(V12, bufferDeviceAddress)},
   {kAddress, offsetof(VkPhysicalDeviceBufferDeviceAddressFeatures, bufferDeviceAddress)}},
  {Feature::maintenance4, "maintenance4", kRequired, nullptr,
   {k13, offsetof(V13, maintenance4)},
   {kMaintenance4, offsetof(VkPhysicalDeviceMaintenance4Features, maintenance4)}},
  {Feature::shader_int8, "shaderInt8", kWanted, nullptr,
   {k12, offsetof(V12, shaderInt8)},
   {kFloat16Int8, offsetof(VkPhysicalDeviceShaderFloat16Int8Features, shaderInt8)}},
  {Feature::shader_int16, "shaderInt16", kWanted, nullptr,
   {k10, core10(offsetof(VkPhysicalDeviceFeatures, shaderInt16))}, {}},
  {Feature::shader_int64, "shaderInt64", kWanted, nullptr,
   {k10, core10(offsetof(VkPhysicalDeviceFeatures, shaderInt64))}, {}},
  {Feature::shader_float16, "shaderFloat16", kWanted, nullptr,
   {k12, offsetof(V12, shaderFloat16)},
   {kFloat16Int8, offsetof(VkPhysicalDeviceShaderFloat16Int8Features, shaderFloat16)}},
  {Feature::storage8, "storageBuffer8BitAccess", kWanted, nullptr,
   {k12, offsetof(V12, storageBuffer8BitAccess)},
   {kStorage8, offsetof(VkPhysicalDevice8BitStorageFeatures, storageBuffer8BitAccess)}},
  {Feature::storage16, "storageBuffer16BitAccess", kWanted, nullptr,
   {k11, offsetof(V11, storageBuffer16BitAccess)},
   {kStorage16, offsetof(VkPhysicalDevice16BitStorageFeatures, storageBuffer16BitAccess)}},
  {Feature::scalar_block_layout, "scalarBlockLayout", kWanted, nullptr,
   {k12, offsetof(V12, scalarBlockLayout)},
   {kScalar, offsetof(VkPhysicalDeviceScalarBlockLayoutFeatures, scalarBlockLayout)}},
  {Feature::subgroup_extended_types, "shaderSubgroupExtendedTypes", kWanted, nullptr,
   {k12, offsetof(V12, shaderSubgroupExtendedTypes)},
   {kExtended, offsetof(VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures, shaderSubgroupExtendedTypes)}},
  {Feature::subgroup_size_control, "subgroupSizeControl", kWanted, nullptr,
   {k13, offsetof(V13, subgroupSizeControl)},
   {kSizeControl, offsetof(VkPhysicalDeviceSubgroupSizeControlFeatures, subgroupSizeControl)}},
  {Feature::full_subgroups, "computeFullSubgroups", kWanted, nullptr,
   {k13, offsetof(V13, computeFullSubgroups)},
   {kSizeControl, offsetof(VkPhysicalDeviceSubgroupSizeControlFeatures, computeFullSubgroups)}},
  {Feature::memory_model, "vulkanMemoryModel", kWanted, nullptr,
   {k12, offsetof(V12, vulkanMemoryModel)},
   {kModel, offsetof(VkPhysicalDeviceVulkanMemoryModelFeatures, vulkanMemoryModel)}},
  {Feature::memory_model_device_scope, "vulkanMemoryModelDeviceScope", kWanted, nullptr,
   {k12, offsetof(V12, vulkanMemoryModelDeviceScope)},
   {kModel, offsetof(VkPhysicalDeviceVulkanMemoryModelFeatures, vulkanMemoryModelDeviceScope)}},
  {Feature::integer_dot_product, "shaderIntegerDotProduct", kWanted, nullptr,
   {k13, offsetof(V13, shaderIntegerDotProduct)},
   {kDot, offsetof(VkPhysicalDeviceShaderIntegerDotProductFeatures, shaderIntegerDotProduct)}},
  {Feature::bfloat16, "shaderBFloat16Type", kWanted, kBfloatName, {},
   {kBfloat, offsetof(Bfloat, shaderBFloat16Type)}},
  {Feature::bfloat16_dot_product, "shaderBFloat16DotProduct", kWanted, kBfloatName, {},
   {kBfloat, offsetof(Bfloat, shaderBFloat16DotProduct)}},
  {Feature::bfloat16_cooperative_matrix, "shaderBFloat16CooperativeMatrix", kWanted, kBfloatName, {},
   {kBfloat, offsetof(Bfloat, shaderBFloat16CooperativeMatrix)}},
  {Feature::workgroup_layout, "workgroupMemoryExplicitLayout", kWanted, kWorkgroupName, {},
   {kWorkgroup, offsetof(Workgroup, workgroupMemoryExplicitLayout)}},
  {Feature::workgroup_layout_scalar, "workgroupMemoryExplicitLayoutScalarBlockLayout", kWanted, kWorkgroupName, {},
   {kWorkgroup, offsetof(Workgroup, workgroupMemoryExplicitLayoutScalarBlockLayout)}},
  {Feature::workgroup_layout8, "workgroupMemoryExplicitLayout8BitAccess", kWanted, kWorkgroupName, {},
   {kWorkgroup, offsetof(Workgroup, workgroupMemoryExplicitLayout8BitAccess)}},
  {Feature::workgroup_layout16, "workgroupMemoryExplicitLayout16BitAccess", kWanted, kWorkgroupName, {},
   {kWorkgroup, offsetof(Workgroup, workgroupMemoryExplicitLayout16BitAccess)}},
  {Feature::cooperative_matrix, "cooperativeMatrix", kWanted, kMatrixName, {},
   {kMatrix, offsetof(VkPhysicalDeviceCooperativeMatrixFeaturesKHR, cooperativeMatrix)}},
  {Feature::cooperative_matrix_workgroup_scope, "cooperativeMatrixWorkgroupScope", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixWorkgroupScope)}},
  {Feature::cooperative_matrix_flexible, "cooperativeMatrixFlexibleDimensions", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixFlexibleDimensions)}},
  {Feature::cooperative_matrix_reductions, "cooperativeMatrixReductions", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixReductions)}},
  {Feature::cooperative_matrix_conversions, "cooperativeMatrixConversions", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixConversions)}},
  {Feature::cooperative_matrix_per_element, "cooperativeMatrixPerElementOperations", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixPerElementOperations)}},
  {Feature::cooperative_matrix_tensor_addressing, "cooperativeMatrixTensorAddressing", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixTensorAddressing)}},
  {Feature::cooperative_matrix_block_loads, "cooperativeMatrixBlockLoads", kWanted, kMatrix2Name, {},
   {kMatrix2, offsetof(Matrix2, cooperativeMatrixBlockLoads)}},
  {Feature::executable_statistics, "pipelineExecutableInfo", FeatureUse::statistics, kExecutableName, {},
   {kExecutable, offsetof(VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR, pipelineExecutableInfo)}},
  {Feature::timeline_semaphore, "timelineSemaphore", kRuntime, nullptr,
   {k12, offsetof(V12, timelineSemaphore)},
   {kTimeline, offsetof(VkPhysicalDeviceTimelineSemaphoreFeatures, timelineSemaphore)}},
  {Feature::sparse_binding, "sparseBinding", kRuntime, nullptr,
   {k10, core10(offsetof(VkPhysicalDeviceFeatures, sparseBinding))}, {}},
  {Feature::sparse_residency_buffer, "sparseResidencyBuffer", kRuntime, nullptr,
   {k10, core10(offsetof(VkPhysicalDeviceFeatures, sparseResidencyBuffer))}, {}},
};
// clang-format on

static_assert(std::size(kRows) == static_cast<std::size_t>(Feature::count));
static_assert(
    [] {
      for (std::size_t i = 0; i < std::size(kRows); ++i)
        if (kRows[i].feature != static_cast<Feature>(i)) return false;
      return true;
    }(),
    "row i describes feature i");

// Which feature depends on which. An extension's dependence on another one is that of their features: features of
// VK_NV_cooperative_matrix2 are enabled only together with VK_KHR_cooperative_matrix's, and an extension only together
// with its features. All other extensions here depend on Vulkan 1.1 alone.
constexpr FeatureNeed kNeeds[] = {
    {Feature::sparse_residency_buffer, Feature::sparse_binding},
    {Feature::memory_model_device_scope, Feature::memory_model},
    // SPIR-V: each of these capabilities declares the other.
    {Feature::bfloat16_dot_product, Feature::bfloat16},
    {Feature::bfloat16_cooperative_matrix, Feature::bfloat16},
    {Feature::bfloat16_cooperative_matrix, Feature::cooperative_matrix},
    {Feature::workgroup_layout_scalar, Feature::workgroup_layout},
    {Feature::workgroup_layout8, Feature::workgroup_layout},
    {Feature::workgroup_layout16, Feature::workgroup_layout},
    // SPV_KHR_cooperative_matrix: a module with such matrices has the Vulkan memory model.
    {Feature::cooperative_matrix, Feature::memory_model},
    // VK_NV_cooperative_matrix2 depends on VK_KHR_cooperative_matrix.
    {Feature::cooperative_matrix_workgroup_scope, Feature::cooperative_matrix},
    {Feature::cooperative_matrix_flexible, Feature::cooperative_matrix},
    {Feature::cooperative_matrix_reductions, Feature::cooperative_matrix},
    {Feature::cooperative_matrix_conversions, Feature::cooperative_matrix},
    {Feature::cooperative_matrix_per_element, Feature::cooperative_matrix},
    {Feature::cooperative_matrix_tensor_addressing, Feature::cooperative_matrix},
    {Feature::cooperative_matrix_block_loads, Feature::cooperative_matrix},
};

const Row& row(Feature feature) noexcept { return kRows[static_cast<std::size_t>(feature)]; }

VkBool32* place_in(VkBaseOutStructure* link, const Place& place) noexcept {
  if (link->sType != place.type) return nullptr;
  return reinterpret_cast<VkBool32*>(reinterpret_cast<std::byte*>(link) + place.offset);
}

// The feature's place in one struct of a chain; null where this struct has none.
VkBool32* place_in(VkBaseOutStructure* link, const Row& r) noexcept {
  VkBool32* at = place_in(link, r.aggregate);
  return at != nullptr ? at : place_in(link, r.own);
}

bool has_place(VkBaseOutStructure* chain, const Row& r) noexcept {
  for (auto* link = chain; link != nullptr; link = link->pNext)
    if (place_in(link, r) != nullptr) return true;
  return false;
}

}  // namespace

std::string_view vulkan_name(Feature feature) noexcept { return row(feature).name; }
FeatureUse use_of(Feature feature) noexcept { return row(feature).use; }
std::string_view extension_of(Feature feature) noexcept {
  return row(feature).extension == nullptr ? std::string_view{} : row(feature).extension;
}

std::span<const FeatureNeed> feature_needs() noexcept { return kNeeds; }

FeatureSet without_unmet_needs(FeatureSet features) noexcept {
  // Repeats until nothing changes: a dropped feature may be one that another needs.
  for (bool changed = true; changed;) {
    changed = false;
    for (const FeatureNeed& need : kNeeds) {
      if (!features.has(need.feature) || features.has(need.needs)) continue;
      features.set(need.feature, false);
      changed = true;
    }
  }
  return features;
}

FeatureSet read_features(const void* chain) noexcept {
  FeatureSet out;
  // Shares code with write_features, which needs non-const structs. Nothing is written here.
  for (auto* link = static_cast<VkBaseOutStructure*>(const_cast<void*>(chain)); link != nullptr; link = link->pNext)
    for (const Row& r : kRows)
      if (const VkBool32* at = place_in(link, r); at != nullptr && *at != VK_FALSE) out.set(r.feature);
  return out;
}

void write_features(void* chain, const FeatureSet& features) noexcept {
  for (auto* link = static_cast<VkBaseOutStructure*>(chain); link != nullptr; link = link->pNext)
    for (const Row& r : kRows)
      if (VkBool32* at = place_in(link, r); at != nullptr && features.has(r.feature)) *at = VK_TRUE;
}

VkBaseOutStructure* FeatureStructs::add(VkStructureType type) {
  static_assert(sizeof(VkPhysicalDeviceFeatures2) <= sizeof(Block) && sizeof(V12) <= sizeof(Block) &&
                sizeof(Matrix2) <= sizeof(Block));
  blocks_.push_back(std::make_unique<Block>());
  std::memset(blocks_.back()->bytes, 0, sizeof(Block));
  auto* link = reinterpret_cast<VkBaseOutStructure*>(blocks_.back()->bytes);
  link->sType = type;
  return link;
}

VkPhysicalDeviceFeatures2& FeatureStructs::make_core_chain() {
  VkBaseOutStructure* head = add(k10);
  VkBaseOutStructure* last = head;
  for (const VkStructureType type : {k11, k12, k13}) {
    last->pNext = add(type);
    last = last->pNext;
  }
  return *reinterpret_cast<VkPhysicalDeviceFeatures2*>(head);
}

void FeatureStructs::complete(VkPhysicalDeviceFeatures2& chain, const FeatureSet& features) {
  auto* head = reinterpret_cast<VkBaseOutStructure*>(&chain);
  auto* last = head;
  while (last->pNext != nullptr) last = last->pNext;
  for (const Row& r : kRows) {
    if (!features.has(r.feature) || r.own.type == VK_STRUCTURE_TYPE_MAX_ENUM || has_place(head, r)) continue;
    last->pNext = add(r.own.type);
    last = last->pNext;
  }
}

bool Offer::has_extension(std::string_view name) const noexcept {
  return std::ranges::find(extensions, name) != extensions.end();
}

Result<Offer> query_offer(const InstanceFunctions& functions, VkPhysicalDevice physical_device) {
  if (physical_device == VK_NULL_HANDLE) return fail(ErrorKind::missing, "VkPhysicalDevice", "null");
  Offer out;
  functions.vkGetPhysicalDeviceProperties(physical_device, &out.properties);

  std::vector<VkExtensionProperties> extensions;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    std::uint32_t count = 0;
    result = functions.vkEnumerateDeviceExtensionProperties(physical_device, nullptr, &count, nullptr);
    if (result != VK_SUCCESS) break;
    extensions.resize(count);
    result = functions.vkEnumerateDeviceExtensionProperties(physical_device, nullptr, &count, extensions.data());
    extensions.resize(count);
  }
  if (result != VK_SUCCESS) return std::unexpected(device_error("vkEnumerateDeviceExtensionProperties", result));
  for (const auto& extension : extensions) out.extensions.emplace_back(extension.extensionName);

  std::uint32_t families = 0;
  functions.vkGetPhysicalDeviceQueueFamilyProperties(physical_device, &families, nullptr);
  std::vector<VkQueueFamilyProperties> queues(families);
  functions.vkGetPhysicalDeviceQueueFamilyProperties(physical_device, &families, queues.data());
  out.compute_queue =
      std::ranges::any_of(queues, [](const auto& queue) { return (queue.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0; });

  // An older device has no VkPhysicalDeviceVulkan13Features, and Sectile cannot use it.
  if (out.properties.apiVersion < VK_API_VERSION_1_3) return out;
  FeatureSet askable;
  for (const Row& r : kRows) askable.set(r.feature, r.extension == nullptr || out.has_extension(r.extension));
  FeatureStructs structs;
  VkPhysicalDeviceFeatures2& chain = structs.make_core_chain();
  structs.complete(chain, askable);
  functions.vkGetPhysicalDeviceFeatures2(physical_device, &chain);
  out.features = without_unmet_needs(read_features(&chain));
  return out;
}

Result<void> check_usable(const Offer& offer) {
  const std::string device = offer.properties.deviceName;
  const std::uint32_t api = offer.properties.apiVersion;
  if (api < VK_API_VERSION_1_3)
    return fail(ErrorKind::unsupported, device + ": Vulkan version",
                std::to_string(VK_API_VERSION_MAJOR(api)) + "." + std::to_string(VK_API_VERSION_MINOR(api)), "1.3");
  if (!offer.compute_queue) return fail(ErrorKind::unsupported, device + ": compute queue", "none", "1");
  for (const Row& r : kRows)
    if (r.use == FeatureUse::required && !offer.features.has(r.feature))
      return fail(ErrorKind::unsupported, device + ": " + std::string(r.name), "false", "true");
  return {};
}

FeatureSet choose(const Offer& offer, std::span<const FeatureUse> uses) {
  FeatureSet out;
  for (const Row& r : kRows)
    out.set(r.feature, offer.features.has(r.feature) && std::ranges::find(uses, r.use) != uses.end());
  return without_unmet_needs(out);
}

std::vector<const char*> extensions_for(const FeatureSet& features) {
  std::vector<const char*> out;
  for (const Row& r : kRows)
    if (features.has(r.feature) && r.extension != nullptr && std::ranges::find(out, r.extension) == out.end())
      out.push_back(r.extension);
  return out;
}

}  // namespace sectile::vulkan
