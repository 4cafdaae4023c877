// Arm, Qualcomm and Apple.
#include "targets.hpp"

namespace sectile::detail {

namespace {

constexpr std::string_view kTurnipInfo = "vulkaninfo of Turnip 26.1.6 for Adreno 740 (mesa-drm-shim)";
constexpr std::string_view kPanvk = "Mesa, panvk_vX_physical_device.c";
constexpr std::string_view kG720 = "Mali-G720-Immortalis MC12, driver r44p1: llama.cpp PR #27163";
constexpr std::string_view kIree5th = "IREE, GPU/TargetUtils/KnownTargets.cpp: 512 on Valhall, 1024 on 5th gen";
constexpr std::string_view kMoltenVk = "MoltenVK, MVKDevice.mm";
constexpr std::string_view kM4 = "Apple M4 Max, MoltenVK: llama.cpp PR #14316";

constexpr Fact kValhall[] = {
    {"vendor", R"("arm")", kNamed},
    {"vendor_id", "5045", "the Khronos and PCI vendor id of Arm, 0x13b5"},
    {"kind", R"("integrated")", "Mali GPUs share the system's memory"},
    {"max_workgroup_invocations", "512", kIree},
    {"max_workgroup_size", "[512,512,512]", kIree},
    {"max_grid", "[65535,65535,65535]", "Mesa, panvk_vX_physical_device.c; IREE, KnownTargets.cpp"},
    {"workgroup_memory_bytes", "32768", kIree},
    {"subgroup_size", "16", kIree},
    {"min_subgroup_size", "16", kIree},
    {"max_subgroup_size", "16", kIree},
    {"buffer_device_address", "true", "Mali-G78's own driver: strato-emu/compat-list #1450; PanVK"},
    {"storage8", "true", kIree},
    {"storage16", "true", kIree},
    {"int8", "true", kIree},
    {"int16", "true", kIree},
    {"float16", "true", kIree},
    {"integer_dot_product", "true", kIree},
    {"cooperative_matrix", "false", "llama.cpp PR #27163: not even on the later Mali-G720; IREE lists none"},
    {"transaction_bytes", "64", kVkFft},
};

constexpr Fact kAdreno7[] = {
    {"vendor", R"("qualcomm")", kNamed},
    {"vendor_id", "20803", kTurnipInfo},
    {"kind", R"("integrated")", kTurnipInfo},
    {"max_workgroup_invocations", "1024", kIree},
    {"max_workgroup_size", "[1024,1024,1024]", kIree},
    {"max_grid", "[65535,65535,65535]", kTurnipInfo},
    {"workgroup_memory_bytes", "32768", kIree},
    // Its own driver and Turnip differ in the default size, so there is none here.
    {"min_subgroup_size", "64", kTurnipInfo},
    {"max_subgroup_size", "128", kTurnipInfo},
    {"buffer_device_address", "true", kTurnipInfo},
    {"storage16", "true", kIree},
    {"int8", "true", kIree},
    {"int16", "true", kIree},
    {"float16", "true", kIree},
    {"integer_dot_product", "true", kIree},
    {"transaction_bytes", "64", kVkFft},
};

constexpr Fact kFifthGen[] = {
    {"vendor", R"("arm")", kNamed},
    {"vendor_id", "5045", kG720},
    {"kind", R"("integrated")", "Mali GPUs share the system's memory"},
    {"api_version", "1003", kG720},
    {"max_workgroup_invocations", "1024", kIree5th},
    {"max_workgroup_size", "[1024,1024,1024]", kIree5th},
    {"max_grid", "[65535,65535,65535]", kPanvk},
    {"workgroup_memory_bytes", "32768", kG720},
    {"subgroup_size", "16", kG720},
    {"buffer_device_address", "true", kPanvk},
    {"storage8", "true", kPanvk},
    {"storage16", "true", kPanvk},
    {"int8", "true", kPanvk},
    {"int16", "true", kPanvk},
    {"float16", "true", "Mali-G720-Immortalis: llama.cpp #17783"},
    {"bfloat16", "false", "Mali-G720-Immortalis: llama.cpp #17783"},
    {"integer_dot_product", "true", kG720},
    {"cooperative_matrix", "false", kG720},
    {"transaction_bytes", "64", kVkFft},
};

// MoltenVK is the driver: Honeykrisp on the same chips reports otherwise. macOS 13 or newer.
constexpr Fact kAppleM[] = {
    {"vendor", R"("apple")", kNamed},
    {"vendor_id", "4203", kMoltenVk},
    {"driver", R"("MoltenVK")", kMoltenVk},
    {"kind", R"("integrated")", "Apple M4 Max, MoltenVK: llama.cpp PR #14316 (uma: 1)"},
    {"api_version", "1004", "MoltenVK #2490: Vulkan 1.4's requirements, completed"},
    {"max_workgroup_invocations", "1024", kIree},
    {"max_workgroup_size", "[1024,1024,1024]", kIree},
    {"max_grid", "[65535,65535,65535]", kIree},
    {"workgroup_memory_bytes", "32768", kM4},
    {"max_push_bytes", "4096", kMoltenVk},
    {"subgroup_size", "32", kM4},
    {"min_subgroup_size", "4", "MoltenVK #2218: 4 to 32"},
    {"max_subgroup_size", "32", "MoltenVK #2218: 4 to 32"},
    {"required_subgroup_size", "false", "MoltenVK #2218: Metal has no way to state it"},
    {"buffer_device_address", "true", "MoltenVK PR #1638; #1840: from macOS 13 on"},
    {"storage8", "true", kMoltenVk},
    {"storage16", "true", kMoltenVk},
    {"int8", "true", kMoltenVk},
    {"int16", "true", kIree},
    {"int64", "true", kIree},
    {"float16", "true", kMoltenVk},
    {"integer_dot_product", "true", "MoltenVK #1930: VK_KHR_shader_integer_dot_product, added in #2119"},
    {"transaction_bytes", "64", kVkFft},
};

constexpr Target kMobileTargets[] = {
    {.name = "arm-valhall", .facts = kValhall},
    {.name = "arm-5th-gen", .facts = kFifthGen},
    {.name = "qualcomm-adreno7", .facts = kAdreno7},
    {.name = "apple-m", .facts = kAppleM},
};

}  // namespace

std::span<const Target> mobile_targets() { return kMobileTargets; }

}  // namespace sectile::detail
