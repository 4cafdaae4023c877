// Profiles from two real dumps, from the older form, and from what is neither.
#include "data.hpp"

#include <sectile/profile.hpp>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>

using namespace sectile;

namespace {

std::string error_of(std::string_view text) {
  auto profile = profile_from_vulkaninfo(text);
  return profile ? "" : profile.error().message();
}

// What vulkaninfo wrote before the profiles schema, in short.
constexpr std::string_view kOlder = R"({
  "$schema": "https://schema.khronos.org/vulkan/devsim_1_0_0.json#",
  "comments": {"desc": "JSON configuration file describing GPU 0."},
  "VkPhysicalDeviceProperties": {
    "apiVersion": 4206592, "driverVersion": 7, "vendorID": 5045, "deviceID": 9, "deviceType": 1,
    "deviceName": "Mali-G78",
    "limits": {"maxComputeSharedMemorySize": 32768, "maxComputeWorkGroupCount": [65535, 65535, 65535],
               "maxComputeWorkGroupInvocations": 512, "maxComputeWorkGroupSize": [512, 512, 512],
               "maxPushConstantsSize": 128, "maxStorageBufferRange": 134217728}},
  "VkPhysicalDeviceSubgroupProperties": {"subgroupSize": 16},
  "VkPhysicalDeviceSubgroupSizeControlPropertiesEXT": {
    "minSubgroupSize": 16, "maxSubgroupSize": 16, "requiredSubgroupSizeStages": 32},
  "VkPhysicalDeviceSubgroupSizeControlFeaturesEXT": {"subgroupSizeControl": 1},
  "VkPhysicalDeviceFeatures": {"shaderInt16": 1, "shaderInt64": 0},
  "VkPhysicalDevice16BitStorageFeaturesKHR": {"storageBuffer16BitAccess": true},
  "VkPhysicalDeviceFloat16Int8FeaturesKHR": {"shaderFloat16": true, "shaderInt8": true},
  "ArrayOfVkExtensionProperties": [{"extensionName": "VK_KHR_16bit_storage", "specVersion": 1}]
})";

}  // namespace

TEST_CASE("reads the H200") {
  const DeviceProfile p = profile_from_vulkaninfo(data_file("nvidia-h200-vulkaninfo.json")).value();
  CHECK(p.name == "NVIDIA H200");
  CHECK(p.vendor == "nvidia");
  CHECK(p.driver == "NVIDIA 580.159.04");
  CHECK(p.kind == DeviceKind::discrete);
  CHECK(p.api_version == 1004);
  CHECK(p.device_id == 9013);
  CHECK(p.max_grid == std::array<std::uint32_t, 3>{2147483647, 65535, 65535});
  CHECK(p.max_workgroup_size == std::array<std::uint32_t, 3>{1024, 1024, 64});
  CHECK(p.workgroup_memory_bytes == 49152);
  CHECK(p.max_push_bytes == 256);
  CHECK(p.max_buffer_bytes == 1099511627776);
  CHECK(p.max_allocation_bytes == 4292870144);
  CHECK(p.required_subgroup_size == true);
  CHECK(p.storage8 == true);
  CHECK(p.int64 == true);
  CHECK(p.uuid == "bb882063a9b93b5a9062852bcea114f1");
  // The dump lists the extensions but has neither features nor shapes.
  CHECK_FALSE(p.cooperative_matrix.has_value());
  CHECK_FALSE(p.bfloat16.has_value());
  CHECK(p.matrix_shapes.empty());
  CHECK_FALSE(p.transaction_bytes.has_value());
}

TEST_CASE("reads lavapipe") {
  const DeviceProfile p = profile_from_vulkaninfo(data_file("lavapipe-vulkaninfo.json")).value();
  CHECK(p.kind == DeviceKind::cpu);
  CHECK(p.vendor == "mesa");
  CHECK(p.subgroup_size == 8);
  CHECK(p.cooperative_matrix == true);
  CHECK(p.bfloat16 == false);  // its extension is not listed
  // The built-in target says nothing that the dump contradicts.
  DeviceProfile target = builtin_target("lavapipe").value();
  target.name = p.name;
  CHECK(supplement(p, to_json(target)).has_value());
}

TEST_CASE("the hopper target agrees with the H200") {
  const DeviceProfile p = profile_from_vulkaninfo(data_file("nvidia-h200-vulkaninfo.json")).value();
  DeviceProfile target = builtin_target("nvidia-hopper").value();
  target.name = p.name;
  const auto both = supplement(p, to_json(target));
  REQUIRE(both.has_value());
  CHECK(both->banks == 32);
}

TEST_CASE("reads the older form") {
  const auto p = profile_from_vulkaninfo(kOlder);
  REQUIRE(p.has_value());
  CHECK(p->name == "Mali-G78");
  CHECK(p->vendor == "arm");
  CHECK(p->kind == DeviceKind::integrated);
  CHECK(p->api_version == 1003);
  CHECK(p->max_workgroup_invocations == 512);
  CHECK(p->subgroup_size == 16);
  CHECK(p->required_subgroup_size == true);
  CHECK(p->int16 == true);
  CHECK(p->int64 == false);
  CHECK(p->storage16 == true);
  CHECK(p->float16 == true);
  CHECK(p->cooperative_matrix == false);
  CHECK_FALSE(p->storage8.has_value());
  CHECK(p->uuid.empty());
}

TEST_CASE("refuses what is no dump") {
  CHECK(error_of("") == "parse: vulkaninfo: not JSON");
  CHECK(error_of("7") == "parse: vulkaninfo: 7 (want an object)");
  CHECK(error_of("{}").starts_with("parse: vulkaninfo: no VkPhysicalDeviceProperties"));
  CHECK(error_of(R"({"capabilities":{}})").starts_with("parse: vulkaninfo.capabilities"));
  CHECK(error_of(R"({"capabilities":{"device":3}})").starts_with("parse: vulkaninfo: no VkPhysicalDeviceProperties"));
  CHECK(error_of(R"({"VkPhysicalDeviceProperties":{}})") == "parse: vulkaninfo.deviceName: not there");
  CHECK(error_of(R"({"VkPhysicalDeviceProperties":{"deviceName":"x","vendorID":-1}})")
            .starts_with("parse: vulkaninfo.vendorID: -1"));
  CHECK(error_of(R"({"VkPhysicalDeviceProperties":{"deviceName":"x","limits":[]}})") == "");
  const std::string text = data_file("nvidia-h200-vulkaninfo.json");
  CHECK(error_of(text.substr(0, text.size() / 2)) == "parse: vulkaninfo: not JSON");
}

TEST_CASE("wrong types anywhere are refused or ignored") {
  // Every value in turn becomes something else: an error or a profile, never a crash.
  const auto root = nlohmann::json::parse(kOlder);
  const auto flat = root.flatten();
  const std::vector<nlohmann::json> values = {-1, "x", nlohmann::json::array({1}), 1.5, nullptr};
  for (const auto& item : flat.items())
    for (const auto& value : values) {
      auto changed = root;
      changed[nlohmann::json::json_pointer(item.key())] = value;
      const auto profile = profile_from_vulkaninfo(changed.dump());
      if (!profile) CHECK(profile.error().kind == ErrorKind::parse);
    }
}
