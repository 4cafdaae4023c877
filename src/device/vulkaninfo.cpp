// Profiles from what `vulkaninfo -j` writes: a profiles-schema file (capabilities/<name>/features and
// properties), or the older devsim form, in which every structure stands at the top.
#include "fields.hpp"
#include "quirks.hpp"
#include "vendors.hpp"

#include "base/json_text.hpp"

#include <initializer_list>

namespace sectile {

using detail::JsonObject;
using nlohmann::json;

namespace {

// A field is looked for in several structures: the one of its core version, and those of the
// extensions that it came from.
using Names = std::initializer_list<std::string_view>;

class Dump {
 public:
  static Result<Dump> open(const json& root) {
    Dump dump;
    if (!root.is_object()) return fail(ErrorKind::parse, "vulkaninfo", JsonObject::shown(root), "an object");
    if (const json* capabilities = member(root, "capabilities")) {
      if (!capabilities->is_object() || capabilities->empty())
        return fail(ErrorKind::parse, "vulkaninfo.capabilities", JsonObject::shown(*capabilities),
                    "an object with a device's");
      const json* device = member(*capabilities, "device");
      if (device == nullptr) device = &*capabilities->begin();
      dump.features_ = member(*device, "features");
      dump.properties_ = member(*device, "properties");
      dump.extensions_ = member(*device, "extensions");
    } else {
      dump.features_ = dump.properties_ = &root;
      dump.extensions_ = member(root, "ArrayOfVkExtensionProperties");
    }
    if (dump.properties_ == nullptr || member(*dump.properties_, "VkPhysicalDeviceProperties") == nullptr)
      return fail(ErrorKind::parse, "vulkaninfo", "no VkPhysicalDeviceProperties", "what vulkaninfo -j writes");
    return dump;
  }

  const json* property(Names structures, std::string_view name) const { return find(properties_, structures, name); }
  const json* feature(Names structures, std::string_view name) const { return find(features_, structures, name); }

  // Unknown where the dump lists no extensions.
  std::optional<bool> has_extension(std::string_view name) const {
    if (extensions_ == nullptr) return {};
    if (extensions_->is_object()) return member(*extensions_, name) != nullptr;
    if (!extensions_->is_array()) return {};
    return std::ranges::any_of(*extensions_, [&](const json& row) {
      const json* text = member(row, "extensionName");
      return text != nullptr && text->is_string() && text->get_ref<const std::string&>() == name;
    });
  }

  static const json* member(const json& object, std::string_view key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() ? nullptr : &*found;
  }

 private:
  // Structures keep their extension's suffix in some dumps and lose it in others.
  static const json* find(const json* block, Names structures, std::string_view name) {
    if (block == nullptr) return nullptr;
    for (const std::string_view structure : structures)
      for (const std::string_view suffix : {"", "KHR", "EXT", "NV", "ARM"})
        if (const json* found = member(*block, std::string(structure).append(suffix)))
          if (const json* value = member(*found, name)) return value;
    return nullptr;
  }

  const json* features_ = nullptr;
  const json* properties_ = nullptr;
  const json* extensions_ = nullptr;
};

class Reader {
 public:
  explicit Reader(const Dump& dump) : dump_(dump) {}

  template <class T>
  void property(std::optional<T>& out, Names structures, std::string_view name) {
    T value{};
    if (take(dump_.property(structures, name), value, name)) out = value;
  }

  template <class T>
  void limit(std::optional<T>& out, std::string_view name) {
    const json* limits = dump_.property({"VkPhysicalDeviceProperties"}, "limits");
    T value{};
    if (limits != nullptr && take(Dump::member(*limits, name), value, name)) out = value;
  }

  // Features are booleans, or 0 and 1 in older dumps.
  void feature(std::optional<bool>& out, Names structures, std::string_view name) {
    const json* value = dump_.feature(structures, name);
    if (value == nullptr) return;
    bool flag = false;
    if (value->is_boolean() || !value->is_number_unsigned()) {
      if (take(value, flag, name)) out = flag;
    } else {
      out = value->get<std::uint64_t>() != 0;
    }
  }

  // True where the value was there and could be read. The first that could not is kept as the error.
  template <class T>
  bool take(const json* value, T& out, std::string_view name) {
    if (value == nullptr) return false;
    const auto want = detail::read_json(*value, out);
    if (want && !error_)
      error_ = Error{ErrorKind::parse, "vulkaninfo." + std::string(name), JsonObject::shown(*value), *want};
    return !want;
  }

  const Dump& dump() const { return dump_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  const Dump& dump_;
  std::optional<Error> error_;
};

DeviceKind kind_of(const json* value) {
  constexpr std::pair<std::string_view, DeviceKind> kKinds[] = {
      {"TYPE_INTEGRATED_GPU", DeviceKind::integrated},
      {"TYPE_DISCRETE_GPU", DeviceKind::discrete},
      {"TYPE_VIRTUAL_GPU", DeviceKind::virtual_gpu},
      {"TYPE_CPU", DeviceKind::cpu},
  };
  if (value != nullptr && value->is_number_unsigned()) {  // VkPhysicalDeviceType: 1 to 4, in the table's order
    const auto number = value->get<std::uint64_t>();
    return number >= 1 && number <= 4 ? kKinds[number - 1].second : DeviceKind::unknown;
  }
  if (value != nullptr && value->is_string())
    for (const auto& [suffix, kind] : kKinds)
      if (value->get_ref<const std::string&>().ends_with(suffix)) return kind;
  return DeviceKind::unknown;
}

void read_identity(Reader& r, DeviceProfile& p) {
  const Names base = {"VkPhysicalDeviceProperties"};
  const Dump& dump = r.dump();
  std::uint32_t api = 0;
  r.take(dump.property(base, "deviceName"), p.name, "deviceName");
  r.take(dump.property(base, "vendorID"), p.vendor_id, "vendorID");
  r.take(dump.property(base, "deviceID"), p.device_id, "deviceID");
  r.take(dump.property(base, "driverVersion"), p.driver_version, "driverVersion");
  if (r.take(dump.property(base, "apiVersion"), api, "apiVersion")) {
    const std::uint32_t major = api >> 22 & 0x7f, minor = api >> 12 & 0x3ff;  // VK_API_VERSION_MAJOR, _MINOR
    p.api_version = major * 1000 + minor;
  }
  p.vendor = detail::vendor_name(p.vendor_id);
  p.kind = kind_of(dump.property(base, "deviceType"));
  std::string info;
  const Names driver = {"VkPhysicalDeviceVulkan12Properties", "VkPhysicalDeviceDriverProperties"};
  r.take(dump.property(driver, "driverName"), p.driver, "driverName");
  r.take(dump.property(driver, "driverInfo"), info, "driverInfo");
  if (!info.empty()) p.driver += (p.driver.empty() ? "" : " ") + info;
  std::array<std::uint8_t, 16> uuid;
  const Names id = {"VkPhysicalDeviceVulkan11Properties", "VkPhysicalDeviceIDProperties"};
  if (r.take(dump.property(id, "deviceUUID"), uuid, "deviceUUID")) p.uuid = detail::hex_text(uuid);
}

void read_limits(Reader& r, DeviceProfile& p) {
  r.limit(p.max_workgroup_invocations, "maxComputeWorkGroupInvocations");
  r.limit(p.max_workgroup_size, "maxComputeWorkGroupSize");
  r.limit(p.max_grid, "maxComputeWorkGroupCount");
  r.limit(p.workgroup_memory_bytes, "maxComputeSharedMemorySize");
  r.limit(p.max_push_bytes, "maxPushConstantsSize");
  r.limit(p.max_storage_range_bytes, "maxStorageBufferRange");
  r.property(p.max_buffer_bytes, {"VkPhysicalDeviceVulkan13Properties", "VkPhysicalDeviceMaintenance4Properties"},
             "maxBufferSize");
  r.property(p.max_allocation_bytes, {"VkPhysicalDeviceVulkan11Properties", "VkPhysicalDeviceMaintenance3Properties"},
             "maxMemoryAllocationSize");
  r.property(p.multiprocessors, {"VkPhysicalDeviceShaderSMBuiltinsProperties"}, "shaderSMCount");
  if (!p.multiprocessors)
    r.property(p.multiprocessors, {"VkPhysicalDeviceShaderCoreBuiltinsProperties"}, "shaderCoreCount");
}

// Whether compute is among the stages: names, or a mask in older dumps.
std::optional<bool> names_compute(const json* stages) {
  constexpr std::uint64_t kComputeBit = 0x20;  // VK_SHADER_STAGE_COMPUTE_BIT
  if (stages == nullptr) return {};
  if (stages->is_number_unsigned()) return (stages->get<std::uint64_t>() & kComputeBit) != 0;
  if (!stages->is_array()) return {};
  return std::ranges::any_of(*stages, [](const json& stage) {
    return stage.is_string() && stage.get_ref<const std::string&>().ends_with("STAGE_COMPUTE_BIT");
  });
}

void read_subgroups(Reader& r, DeviceProfile& p) {
  const Names control = {"VkPhysicalDeviceVulkan13Properties", "VkPhysicalDeviceSubgroupSizeControlProperties"};
  r.property(p.subgroup_size, {"VkPhysicalDeviceVulkan11Properties", "VkPhysicalDeviceSubgroupProperties"},
             "subgroupSize");
  r.property(p.min_subgroup_size, control, "minSubgroupSize");
  r.property(p.max_subgroup_size, control, "maxSubgroupSize");
  std::optional<bool> sizes_stated;
  r.feature(sizes_stated, {"VkPhysicalDeviceVulkan13Features", "VkPhysicalDeviceSubgroupSizeControlFeatures"},
            "subgroupSizeControl");
  const auto compute = names_compute(r.dump().property(control, "requiredSubgroupSizeStages"));
  if (sizes_stated && compute) p.required_subgroup_size = *sizes_stated && *compute;
}

void read_features(Reader& r, DeviceProfile& p) {
  const Names base = {"VkPhysicalDeviceFeatures"};
  const Names half = {"VkPhysicalDeviceVulkan12Features", "VkPhysicalDeviceShaderFloat16Int8Features",
                      "VkPhysicalDeviceFloat16Int8Features"};
  const Names matrix2 = {"VkPhysicalDeviceCooperativeMatrix2Features"};
  r.feature(p.int16, base, "shaderInt16");
  r.feature(p.int64, base, "shaderInt64");
  r.feature(p.int8, half, "shaderInt8");
  r.feature(p.float16, half, "shaderFloat16");
  r.feature(p.bfloat16, {"VkPhysicalDeviceShaderBfloat16Features"}, "shaderBFloat16Type");
  r.feature(p.buffer_device_address,
            {"VkPhysicalDeviceVulkan12Features", "VkPhysicalDeviceBufferDeviceAddressFeatures"}, "bufferDeviceAddress");
  r.feature(p.storage8, {"VkPhysicalDeviceVulkan12Features", "VkPhysicalDevice8BitStorageFeatures"},
            "storageBuffer8BitAccess");
  r.feature(p.storage16, {"VkPhysicalDeviceVulkan11Features", "VkPhysicalDevice16BitStorageFeatures"},
            "storageBuffer16BitAccess");
  r.feature(p.workgroup8, {"VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeatures"},
            "workgroupMemoryExplicitLayout8BitAccess");
  r.feature(p.integer_dot_product,
            {"VkPhysicalDeviceVulkan13Features", "VkPhysicalDeviceShaderIntegerDotProductFeatures"},
            "shaderIntegerDotProduct");
  r.feature(p.cooperative_matrix, {"VkPhysicalDeviceCooperativeMatrixFeatures"}, "cooperativeMatrix");
  r.feature(p.cooperative_matrix2, matrix2, "cooperativeMatrixFlexibleDimensions");
  r.feature(p.cooperative_matrix_workgroup_scope, matrix2, "cooperativeMatrixWorkgroupScope");
  r.feature(p.cooperative_matrix_tensor_addressing, matrix2, "cooperativeMatrixTensorAddressing");
  // An extension that is not listed is not there. One that is listed may still lack its features.
  const std::pair<std::string_view, std::optional<bool>*> needed[] = {
      {"VK_KHR_shader_bfloat16", &p.bfloat16},
      {"VK_KHR_workgroup_memory_explicit_layout", &p.workgroup8},
      {"VK_KHR_cooperative_matrix", &p.cooperative_matrix},
      {"VK_NV_cooperative_matrix2", &p.cooperative_matrix2},
      {"VK_NV_cooperative_matrix2", &p.cooperative_matrix_workgroup_scope},
      {"VK_NV_cooperative_matrix2", &p.cooperative_matrix_tensor_addressing},
  };
  for (const auto& [extension, field] : needed)
    if (!field->has_value() && r.dump().has_extension(extension) == false) *field = false;
}

}  // namespace

Result<DeviceProfile> profile_from_vulkaninfo(std::string_view json_text) {
  auto root = detail::parse_json(json_text, "vulkaninfo");
  if (!root) return std::unexpected(std::move(root.error()));
  auto dump = Dump::open(*root);
  if (!dump) return std::unexpected(std::move(dump.error()));
  DeviceProfile profile;
  Reader reader(*dump);
  read_identity(reader, profile);
  read_limits(reader, profile);
  read_subgroups(reader, profile);
  read_features(reader, profile);
  if (const auto& error = reader.error()) return std::unexpected(*error);
  if (profile.name.empty()) return fail(ErrorKind::parse, "vulkaninfo.deviceName", "not there");
  if (auto ok = detail::check_profile(profile); !ok) return std::unexpected(std::move(ok.error()));
  detail::apply_quirks(profile);
  return profile;
}

}  // namespace sectile
