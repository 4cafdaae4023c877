#include <sectile/vulkan.hpp>

#include "snapshot.hpp"

#include "device/quirks.hpp"
#include "device/vendors.hpp"

#include <fmt/format.h>
#include <utility>

namespace sectile::vulkan {
namespace {

// Facts that vendors document and Vulkan does not report. One row for each vendor whose numbers are known for all
// devices with Vulkan 1.3. CPU devices have no such numbers.
struct MemoryFacts {
  std::string_view vendor;
  std::uint32_t transaction_bytes, cache_line_bytes, banks, bank_bytes;
  std::string_view source;
};
constexpr MemoryFacts kMemoryFacts[] = {
    {"nvidia", 32, 128, 32, 4,
     "table: NVIDIA CUDA C++ Programming Guide, compute capabilities 5.x to 10.x "
     "(32-byte sectors, 128-byte lines, 32 banks of 4 bytes)"},
};

// The driver's own text; each vendor packs driverVersion differently.
std::string driver_text(const Snapshot& s) {
  if (s.v12.driverName[0] == '\0') return fmt::format("version {:#x}", s.offer.properties.driverVersion);
  if (s.v12.driverInfo[0] == '\0') return s.v12.driverName;
  return fmt::format("{} {}", s.v12.driverName, s.v12.driverInfo);
}

DeviceKind kind_of(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return DeviceKind::cpu;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return DeviceKind::integrated;
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return DeviceKind::discrete;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return DeviceKind::virtual_gpu;
    default:
      return DeviceKind::unknown;
  }
}

std::string component_name(VkComponentTypeKHR type) {
  switch (type) {
    case VK_COMPONENT_TYPE_FLOAT16_KHR:
      return "f16";
    case VK_COMPONENT_TYPE_FLOAT32_KHR:
      return "f32";
    case VK_COMPONENT_TYPE_FLOAT64_KHR:
      return "f64";
    case VK_COMPONENT_TYPE_SINT8_KHR:
      return "s8";
    case VK_COMPONENT_TYPE_SINT16_KHR:
      return "s16";
    case VK_COMPONENT_TYPE_SINT32_KHR:
      return "s32";
    case VK_COMPONENT_TYPE_SINT64_KHR:
      return "s64";
    case VK_COMPONENT_TYPE_UINT8_KHR:
      return "u8";
    case VK_COMPONENT_TYPE_UINT16_KHR:
      return "u16";
    case VK_COMPONENT_TYPE_UINT32_KHR:
      return "u32";
    case VK_COMPONENT_TYPE_UINT64_KHR:
      return "u64";
    case VK_COMPONENT_TYPE_BFLOAT16_KHR:
      return "bf16";
    case VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT:
      return "e4m3";
    case VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT:
      return "e5m2";
    default:
      return fmt::format("component{}", static_cast<int>(type));
  }
}

std::string scope_name(VkScopeKHR scope) {
  switch (scope) {
    case VK_SCOPE_DEVICE_KHR:
      return "device";
    case VK_SCOPE_WORKGROUP_KHR:
      return "workgroup";
    case VK_SCOPE_SUBGROUP_KHR:
      return "subgroup";
    case VK_SCOPE_QUEUE_FAMILY_KHR:
      return "queue_family";
    default:
      return fmt::format("scope{}", static_cast<int>(scope));
  }
}

template <class T>
void put(DeviceProfile& profile, std::optional<T>& field, const char* name, T value, std::string_view source) {
  field = value;
  profile.sources[name] = source;
}

void put_identity(DeviceProfile& out, const Snapshot& s) {
  const VkPhysicalDeviceProperties& p = s.offer.properties;
  out.name = p.deviceName;
  out.vendor = detail::vendor_name(p.vendorID);
  if (out.vendor.empty()) out.vendor = fmt::format("{:#06x}", p.vendorID);
  out.driver = driver_text(s);
  out.vendor_id = p.vendorID;
  out.device_id = p.deviceID;
  out.driver_version = p.driverVersion;
  for (const std::uint8_t byte : s.v11.deviceUUID) out.uuid += fmt::format("{:02x}", byte);
  out.kind = kind_of(p.deviceType);
  out.api_version = VK_API_VERSION_MAJOR(p.apiVersion) * 1000 + VK_API_VERSION_MINOR(p.apiVersion);
}

void put_limits(DeviceProfile& out, const Snapshot& s) {
  const VkPhysicalDeviceLimits& l = s.offer.properties.limits;
  constexpr std::string_view limits = "driver: VkPhysicalDeviceLimits";
  put(out, out.max_workgroup_invocations, "max_workgroup_invocations", l.maxComputeWorkGroupInvocations, limits);
  put(out, out.max_workgroup_size, "max_workgroup_size", std::to_array(l.maxComputeWorkGroupSize), limits);
  put(out, out.max_grid, "max_grid", std::to_array(l.maxComputeWorkGroupCount), limits);
  put(out, out.workgroup_memory_bytes, "workgroup_memory_bytes", l.maxComputeSharedMemorySize, limits);
  put(out, out.max_push_bytes, "max_push_bytes", l.maxPushConstantsSize, limits);
  put(out, out.max_storage_range_bytes, "max_storage_range_bytes", static_cast<std::uint64_t>(l.maxStorageBufferRange),
      limits);
  put(out, out.max_buffer_bytes, "max_buffer_bytes", s.v13.maxBufferSize, "driver: VkPhysicalDeviceVulkan13Properties");
  put(out, out.max_allocation_bytes, "max_allocation_bytes", s.v11.maxMemoryAllocationSize,
      "driver: VkPhysicalDeviceVulkan11Properties");
}

void put_subgroups(DeviceProfile& out, const Snapshot& s, const FeatureSet& features) {
  constexpr std::string_view v13 = "driver: VkPhysicalDeviceVulkan13Properties";
  put(out, out.subgroup_size, "subgroup_size", s.v11.subgroupSize, "driver: VkPhysicalDeviceVulkan11Properties");
  put(out, out.min_subgroup_size, "min_subgroup_size", s.v13.minSubgroupSize, v13);
  put(out, out.max_subgroup_size, "max_subgroup_size", s.v13.maxSubgroupSize, v13);
  // A kernel that states its size wants whole subgroups too: without the second feature none is stated.
  const auto both = [](const FeatureSet& set) {
    return set.has(Feature::subgroup_size_control) && set.has(Feature::full_subgroups);
  };
  const bool compute = (s.v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  std::string source = "driver: subgroupSizeControl, computeFullSubgroups, requiredSubgroupSizeStages";
  if (compute && both(s.offer.features) && !both(features)) {
    const Feature first =
        features.has(Feature::subgroup_size_control) ? Feature::full_subgroups : Feature::subgroup_size_control;
    source = fmt::format("{}{}", kNotEnabled, vulkan_name(first));
  }
  put(out, out.required_subgroup_size, "required_subgroup_size", both(features) && compute, source);
}

void put_features(DeviceProfile& out, const FeatureSet& features, const FeatureSet& offered) {
  const auto feature = [&](std::optional<bool>& field, const char* name, Feature which) {
    const bool left_out = offered.has(which) && !features.has(which);
    put(out, field, name, features.has(which),
        left_out ? fmt::format("{}{}", kNotEnabled, vulkan_name(which))
                 : fmt::format("driver: {}", vulkan_name(which)));
  };
  feature(out.buffer_device_address, "buffer_device_address", Feature::buffer_device_address);
  feature(out.storage8, "storage8", Feature::storage8);
  feature(out.storage16, "storage16", Feature::storage16);
  feature(out.workgroup8, "workgroup8", Feature::workgroup_layout8);
  feature(out.int8, "int8", Feature::shader_int8);
  feature(out.int16, "int16", Feature::shader_int16);
  feature(out.int64, "int64", Feature::shader_int64);
  feature(out.float16, "float16", Feature::shader_float16);
  feature(out.bfloat16, "bfloat16", Feature::bfloat16);
  feature(out.integer_dot_product, "integer_dot_product", Feature::integer_dot_product);
  feature(out.cooperative_matrix, "cooperative_matrix", Feature::cooperative_matrix);
  // Every kernel for it needs both.
  feature(out.cooperative_matrix2, "cooperative_matrix2",
          features.has(Feature::cooperative_matrix_flexible) ? Feature::cooperative_matrix_per_element
                                                             : Feature::cooperative_matrix_flexible);
  feature(out.cooperative_matrix_workgroup_scope, "cooperative_matrix_workgroup_scope",
          Feature::cooperative_matrix_workgroup_scope);
  feature(out.cooperative_matrix_tensor_addressing, "cooperative_matrix_tensor_addressing",
          Feature::cooperative_matrix_tensor_addressing);
}

// A driver lists all its shapes. A shape is usable where the features of its types were enabled. Shapes of types
// without a feature here (8-bit floats) are listed, and no kernel uses them.
bool types_enabled(const FeatureSet& features, std::initializer_list<VkComponentTypeKHR> types) {
  for (const VkComponentTypeKHR type : types) {
    if (type == VK_COMPONENT_TYPE_FLOAT16_KHR && !features.has(Feature::shader_float16)) return false;
    if (type == VK_COMPONENT_TYPE_BFLOAT16_KHR && !features.has(Feature::bfloat16_cooperative_matrix)) return false;
    const bool byte = type == VK_COMPONENT_TYPE_SINT8_KHR || type == VK_COMPONENT_TYPE_UINT8_KHR;
    if (byte && !features.has(Feature::shader_int8)) return false;
  }
  return true;
}

// A shape of either list; the caller adds sizes and the fields of flexible shapes.
template <class Row>
MatrixShape shape_of(const Row& row, std::uint32_t m, std::uint32_t n, std::uint32_t k) {
  return {.m = m,
          .n = n,
          .k = k,
          .a = component_name(row.AType),
          .b = component_name(row.BType),
          .c = component_name(row.CType),
          .result = component_name(row.ResultType),
          .saturating = row.saturatingAccumulation != VK_FALSE,
          .scope = scope_name(row.scope),
          .workgroup_invocations = 0,
          .flexible = false};
}

void put_flexible_matrices(DeviceProfile& out, const Snapshot& s, const FeatureSet& features) {
  for (const auto& row : s.flexible_matrices) {
    if (row.scope == VK_SCOPE_WORKGROUP_KHR && !features.has(Feature::cooperative_matrix_workgroup_scope)) continue;
    if (!types_enabled(features, {row.AType, row.BType, row.CType, row.ResultType})) continue;
    MatrixShape shape = shape_of(row, row.MGranularity, row.NGranularity, row.KGranularity);
    shape.workgroup_invocations = row.workgroupInvocations;
    shape.flexible = true;
    out.matrix_shapes.push_back(std::move(shape));
  }
  // Not queried where a quirk forbids matrices.
  if (s.matrix2.cooperativeMatrixFlexibleDimensionsMaxDimension == 0) return;
  constexpr std::string_view limits = "driver: VkPhysicalDeviceCooperativeMatrix2PropertiesNV";
  put(out, out.matrix_max_dimension, "matrix_max_dimension", s.matrix2.cooperativeMatrixFlexibleDimensionsMaxDimension,
      limits);
  if (!features.has(Feature::cooperative_matrix_workgroup_scope)) return;
  put(out, out.matrix_max_workgroup_invocations, "matrix_max_workgroup_invocations",
      s.matrix2.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize, limits);
  put(out, out.matrix_reserved_workgroup_memory_bytes, "matrix_reserved_workgroup_memory_bytes",
      s.matrix2.cooperativeMatrixWorkgroupScopeReservedSharedMemory, limits);
}

void put_matrices(DeviceProfile& out, const Snapshot& s, const FeatureSet& features) {
  if (!features.has(Feature::cooperative_matrix)) return;
  std::string source = "driver: vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
  for (const auto& row : s.matrices) {
    if (!types_enabled(features, {row.AType, row.BType, row.CType, row.ResultType})) continue;
    out.matrix_shapes.push_back(shape_of(row, row.MSize, row.NSize, row.KSize));
  }
  if (features.has(Feature::cooperative_matrix_flexible)) {
    source += ", ...FlexibleDimensionsPropertiesNV";
    put_flexible_matrices(out, s, features);
  }
  if (!out.matrix_shapes.empty()) out.sources["matrix_shapes"] = source;
  // bf16's are left out then; no field of the profile has this feature.
  if (s.offer.features.has(Feature::bfloat16_cooperative_matrix) && !features.has(Feature::bfloat16_cooperative_matrix))
    out.sources["matrix_shapes"] = fmt::format("{}{}", kNotEnabled, vulkan_name(Feature::bfloat16_cooperative_matrix));
}

void put_memory_facts(DeviceProfile& out, const Snapshot& s) {
  if (s.multiprocessors) put(out, out.multiprocessors, "multiprocessors", *s.multiprocessors, s.multiprocessors_source);
  for (const MemoryFacts& row : kMemoryFacts) {
    if (row.vendor != out.vendor) continue;
    put(out, out.transaction_bytes, "transaction_bytes", row.transaction_bytes, row.source);
    put(out, out.cache_line_bytes, "cache_line_bytes", row.cache_line_bytes, row.source);
    put(out, out.banks, "banks", row.banks, row.source);
    put(out, out.bank_bytes, "bank_bytes", row.bank_bytes, row.source);
  }
}

}  // namespace

DeviceProfile make_profile(const Snapshot& snapshot, const FeatureSet& features) {
  DeviceProfile out;
  put_identity(out, snapshot);
  put_limits(out, snapshot);
  // The rest was not read for a device that is too old.
  if (snapshot.offer.properties.apiVersion < VK_API_VERSION_1_3) return out;
  put_subgroups(out, snapshot, features);
  put_features(out, features, snapshot.offer.features);
  put_matrices(out, snapshot, features);
  put_memory_facts(out, snapshot);
  detail::apply_quirks(out);
  return out;
}

Result<DeviceProfile> profile(PFN_vkGetInstanceProcAddr get_instance_proc_addr, VkInstance instance,
                              VkPhysicalDevice physical_device) {
  const auto functions = load_instance_functions(get_instance_proc_addr, instance);
  if (!functions) return std::unexpected(functions.error());
  const auto snapshot = take_snapshot(*functions, physical_device);
  if (!snapshot) return std::unexpected(snapshot.error());
  return make_profile(*snapshot, snapshot->offer.features);
}

}  // namespace sectile::vulkan
