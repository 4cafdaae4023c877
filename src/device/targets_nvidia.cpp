// NVIDIA's GPUs through Vulkan: its own driver and NVK. Where the two differ, a target promises the lesser or nothing.
#include "targets.hpp"

namespace sectile::detail {

namespace {

constexpr std::string_view kH200Info =
    "vulkaninfo of an H200, driver 580.159.04 (tests/data/nvidia-h200-vulkaninfo.json)";
constexpr std::string_view kH100Listing =
    "vk_cooperative_matrix_perf on an H100, driver 580.159.04 (tests/data/nvidia-h100-coopmat.txt)";
// The same numbers for every chip that it drives, Turing to Blackwell; the H200's own driver reports them too.
constexpr std::string_view kNvk = "Mesa, nvk_physical_device.c: the same for all chips";

// NVIDIA's own driver; kernels that do it by integers are right by NVK too.
constexpr std::string_view kOwnDriver = "the canary on an H200, driver 580.159.04, 2026-11";

constexpr Fact kNvidia[] = {
    {"vendor", R"("nvidia")", kNamed},
    {"vendor_id", "4318", "the PCI ID list: 0x10de is NVIDIA"},
    {"max_workgroup_invocations", "1024", kNvk},
    {"max_workgroup_size", "[1024,1024,64]", kNvk},
    {"max_grid", "[2147483647,65535,65535]", kNvk},
    {"subgroup_size", "32", kNvk},
    {"min_subgroup_size", "32", kNvk},
    {"max_subgroup_size", "32", kNvk},
    {"buffer_device_address", "true", kNvk},
    {"storage8", "true", kNvk},
    {"storage16", "true", kNvk},
    {"int8", "true", kNvk},
    {"int16", "true", kNvk},
    {"int64", "true", kNvk},
    {"float16", "true", kNvk},
    {"integer_dot_product", "true", kNvk},
    {"bf16_conversion", "false", kOwnDriver},
    {"nan_selection", "false", kOwnDriver},
    {"transaction_bytes", "32", kVkFft},
    {"banks", "32", kCudaBanks},
    {"bank_bytes", "4", kCudaBanks},
};

constexpr std::string_view kNvkTuring = "vulkaninfo of NVK 26.1.6 for TU102 (mesa-drm-shim)";
constexpr std::string_view kNvkAmpere = "vulkaninfo of NVK 26.1.6 for GA102 (mesa-drm-shim)";

constexpr Fact kTuring[] = {
    {"kind", R"("discrete")", "GeForce RTX 2070: llama.cpp PR #13324 (uma: 0)"},
    {"workgroup_memory_bytes", "49152", "GeForce RTX 2070: llama.cpp PR #13324; NVK 26.1.6 for TU102"},
    {"max_push_bytes", "256", kNvkTuring},
    // GeForce 16 is Turing without the unit: NVK leaves the extension off there, and so does a live profile.
    {"cooperative_matrix", "true", "llama.cpp PR #10597: RTX 2000 and newer; NVK 26.1.6 for TU102"},
};

constexpr Fact kAmpere[] = {
    {"kind", R"("discrete")", "GeForce RTX 3090: llama.cpp PR #11595 (uma: 0)"},
    {"workgroup_memory_bytes", "49152", "GeForce RTX 3090: llama.cpp PR #11595; NVK 26.1.6 for GA102"},
    {"max_push_bytes", "256", kNvkAmpere},
    {"cooperative_matrix", "true", "GeForce RTX 3090: llama.cpp PR #11595; NVK 26.1.6 for GA102"},
};

constexpr Fact kAda[] = {
    {"kind", R"("discrete")", "GeForce RTX 4070: llama.cpp PR #14903 (uma: 0)"},
    {"workgroup_memory_bytes", "49152", "GeForce RTX 4070: llama.cpp PR #14903"},
    {"cooperative_matrix", "true", "llama.cpp PR #10597: RTX 2000 and newer; nvk_physical_device.c"},
};

constexpr Fact kBlackwell[] = {
    {"kind", R"("discrete")", "GeForce RTX 5090: llama.cpp PR #15546 (uma: 0)"},
    {"workgroup_memory_bytes", "49152", "GeForce RTX 5090: llama.cpp PR #15546"},
    {"cooperative_matrix", "true", "llama.cpp PR #10597: RTX 2000 and newer; nvk_physical_device.c"},
};

constexpr Fact kHopper[] = {
    {"vendor", R"("nvidia")", kNamed},
    {"vendor_id", "4318", kH200Info},
    {"kind", R"("discrete")", kH200Info},
    {"api_version", "1004", kH200Info},
    {"max_workgroup_invocations", "1024", kH200Info},
    {"max_workgroup_size", "[1024,1024,64]", kH200Info},
    {"max_grid", "[2147483647,65535,65535]", kH200Info},
    {"workgroup_memory_bytes", "49152", kH200Info},
    {"max_push_bytes", "256", kH200Info},
    {"max_buffer_bytes", "1099511627776", kH200Info},
    {"max_allocation_bytes", "4292870144", kH200Info},
    {"max_storage_range_bytes", "4294967295", kH200Info},
    {"subgroup_size", "32", kH200Info},
    {"min_subgroup_size", "32", kH200Info},
    {"max_subgroup_size", "32", kH200Info},
    {"required_subgroup_size", "true", kH200Info},
    {"buffer_device_address", "true", kH200Info},
    {"storage8", "true", kH200Info},
    {"workgroup8", "true", kH200Info},
    {"storage16", "true", kH200Info},
    {"int8", "true", kH200Info},
    {"int16", "true", kH200Info},
    {"int64", "true", kH200Info},
    {"float16", "true", kH200Info},
    {"bfloat16", "true", kH100Listing},
    {"integer_dot_product", "true", kH200Info},
    {"bf16_conversion", "false", kOwnDriver},
    {"nan_selection", "false", kOwnDriver},
    {"cooperative_matrix", "true", kH100Listing},
    {"cooperative_matrix2", "true", kH100Listing},
    {"cooperative_matrix_workgroup_scope", "true", kH100Listing},
    {"transaction_bytes", "32", kVkFft},
    {"banks", "32", "CUDA C++ Programming Guide, Shared Memory: 32 banks of 32-bit words"},
    {"bank_bytes", "4", "CUDA C++ Programming Guide, Shared Memory: 32 banks of 32-bit words"},
    {"l2_bytes", "60000000", "the project's measurements of an H100 and an H200, 2026-11: 60 MB"},
    {"multiprocessors", "132", "the project's measurements of an H100 and an H200, 2026-11"},
};

// Rows without saturation; NVK lists each of the s8 ones with it as well.
constexpr Shape kTuringShapes[] = {
    {16, 16, 16, "f16", "f16"}, {16, 8, 16, "f16", "f16"}, {16, 8, 8, "f16", "f16"},  {16, 16, 16, "f16", "f32"},
    {16, 8, 16, "f16", "f32"},  {16, 8, 8, "f16", "f32"},  {16, 16, 32, "u8", "u32"}, {16, 16, 32, "s8", "s32"},
    {16, 8, 32, "u8", "u32"},   {16, 8, 32, "s8", "s32"},  {8, 8, 16, "u8", "u32"},   {8, 8, 16, "s8", "s32"},
};

constexpr Shape kAmpereShapes[] = {
    {16, 16, 16, "f16", "f16"}, {16, 8, 16, "f16", "f16"}, {16, 8, 8, "f16", "f16"},  {16, 16, 16, "f16", "f32"},
    {16, 8, 16, "f16", "f32"},  {16, 8, 8, "f16", "f32"},  {16, 16, 32, "u8", "u32"}, {16, 16, 32, "s8", "s32"},
    {16, 8, 32, "u8", "u32"},   {16, 8, 32, "s8", "s32"},  {16, 8, 16, "u8", "u32"},  {16, 8, 16, "s8", "s32"},
    {8, 8, 16, "u8", "u32"},    {8, 8, 16, "s8", "s32"},
};

// Of NVK's list for these chips what NVIDIA's own driver lists on an H100 too: the lesser of both drivers. NVK has
// 8x8x16 of int8 besides on Ada, and 16x8x16 on both.
constexpr Shape kAdaAndBlackwellShapes[] = {
    {16, 16, 16, "f16", "f16"}, {16, 8, 16, "f16", "f16"}, {16, 8, 8, "f16", "f16"},  {16, 16, 16, "f16", "f32"},
    {16, 8, 16, "f16", "f32"},  {16, 8, 8, "f16", "f32"},  {16, 16, 32, "u8", "u32"}, {16, 16, 32, "s8", "s32"},
    {16, 8, 32, "u8", "u32"},   {16, 8, 32, "s8", "s32"},
};
constexpr std::string_view kAdaAndBlackwellListing =
    "Mesa, nvk_physical_device.c, nvk_GetPhysicalDeviceCooperativeMatrixPropertiesKHR: Turing and newer, of which "
    "those that NVIDIA's driver 580.159.04 lists on an H100 too (tests/data/nvidia-h100-coopmat.txt)";

constexpr Shape kHopperShapes[] = {
    {16, 16, 16, "f16", "f16"},
    {16, 8, 16, "f16", "f16"},
    {16, 8, 8, "f16", "f16"},
    {16, 16, 16, "f16", "f32"},
    {16, 8, 16, "f16", "f32"},
    {16, 8, 8, "f16", "f32"},
    {16, 16, 32, "u8", "u32"},
    {16, 16, 32, "s8", "s32"},
    {16, 8, 32, "u8", "u32"},
    {16, 8, 32, "s8", "s32"},
    {16, 16, 16, "bf16", "f32"},
    {16, 16, 16, "f16", "f16", 0, true},
    {16, 16, 16, "f16", "f32", 0, true},
    {16, 16, 32, "u8", "u32", 0, true},
    {16, 16, 32, "s8", "s32", 0, true},
    {16, 16, 16, "bf16", "f32", 0, true},
    {16, 16, 16, "f16", "f16", 32, true},
    {16, 16, 16, "f16", "f32", 32, true},
    {16, 16, 32, "u8", "u32", 32, true},
    {16, 16, 32, "s8", "s32", 32, true},
    {16, 16, 16, "bf16", "f32", 32, true},
    {16, 16, 16, "f16", "f16", 64, true},
    {16, 16, 16, "f16", "f32", 64, true},
    {16, 16, 32, "u8", "u32", 64, true},
    {16, 16, 32, "s8", "s32", 64, true},
    {16, 16, 16, "bf16", "f32", 64, true},
    {32, 16, 16, "f16", "f16", 128, true},
    {32, 16, 16, "f16", "f32", 128, true},
    {32, 16, 32, "u8", "u32", 128, true},
    {32, 16, 32, "s8", "s32", 128, true},
    {32, 16, 16, "bf16", "f32", 128, true},
    {32, 32, 16, "f16", "f16", 256, true},
    {32, 32, 16, "f16", "f32", 256, true},
    {32, 32, 32, "u8", "u32", 256, true},
    {32, 32, 32, "s8", "s32", 256, true},
    {32, 32, 16, "bf16", "f32", 256, true},
};

constexpr Target kNvidiaTargets[] = {
    {.name = "nvidia-turing",
     .facts = kTuring,
     .family = kNvidia,
     .shapes = kTuringShapes,
     .shapes_source = kNvkTuring},
    {.name = "nvidia-ampere",
     .facts = kAmpere,
     .family = kNvidia,
     .shapes = kAmpereShapes,
     .shapes_source = kNvkAmpere},
    {.name = "nvidia-ada",
     .facts = kAda,
     .family = kNvidia,
     .shapes = kAdaAndBlackwellShapes,
     .shapes_source = kAdaAndBlackwellListing},
    {.name = "nvidia-hopper", .facts = kHopper, .shapes = kHopperShapes, .shapes_source = kH100Listing},
    {.name = "nvidia-blackwell",
     .facts = kBlackwell,
     .family = kNvidia,
     .shapes = kAdaAndBlackwellShapes,
     .shapes_source = kAdaAndBlackwellListing},
};

}  // namespace

std::span<const Target> nvidia_targets() { return kNvidiaTargets; }

}  // namespace sectile::detail
