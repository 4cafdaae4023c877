// AMD's GPUs: RADV, and AMD's own drivers. Where these differ, a target promises the lesser or nothing.
#include "targets.hpp"

namespace sectile::detail {

namespace {

constexpr std::string_view kRadvInfo = "vulkaninfo of RADV 26.1.6 for navi31 (mesa-drm-shim)";
constexpr std::string_view kVega10 = "vulkaninfo of RADV 26.1.6 for vega10 (mesa-drm-shim)";
constexpr std::string_view kNavi21 = "vulkaninfo of RADV 26.1.6 for navi21 (mesa-drm-shim)";
constexpr std::string_view kGfx1201 = "vulkaninfo of RADV 26.1.6 for gfx1201 (mesa-drm-shim)";
constexpr std::string_view kAmdPci = "the PCI ID list: 0x1002 is AMD";

constexpr Fact kGcn5[] = {
    {"vendor", R"("amd")", kNamed},
    {"vendor_id", "4098", kAmdPci},
    {"max_workgroup_invocations", "1024", kVega10},
    {"max_workgroup_size", "[1024,1024,1024]", kVega10},
    // RADV gives 65536, and so did AMD's driver before Adrenalin 26.5.2.
    {"workgroup_memory_bytes", "32768", "AMD's proprietary driver, Vega 8: llama.cpp #26163"},
    {"subgroup_size", "64", kVega10},
    {"min_subgroup_size", "64", kVega10},
    {"max_subgroup_size", "64", kVega10},
    {"buffer_device_address", "true", kVega10},
    {"storage8", "true", kVega10},
    {"storage16", "true", kVega10},
    {"int8", "true", kVega10},
    {"int16", "true", kVega10},
    {"int64", "true", kVega10},
    {"float16", "true", kVega10},
    {"integer_dot_product", "true", kVega10},
    {"cooperative_matrix", "false", "VK_KHR_cooperative_matrix is not listed by RADV 26.1.6 for vega10"},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by RADV 26.1.6 for vega10"},
    {"transaction_bytes", "32", kVkFft},
};

constexpr Fact kRdna2[] = {
    {"vendor", R"("amd")", kNamed},
    {"vendor_id", "4098", kAmdPci},
    {"max_workgroup_invocations", "1024", kNavi21},
    {"max_workgroup_size", "[1024,1024,1024]", kNavi21},
    // RADV gives 65536; a plan for this target must run on either driver.
    {"workgroup_memory_bytes", "32768", "AMD's proprietary driver: llama.cpp #18523, AMDVLK #413"},
    {"subgroup_size", "64", kNavi21},
    {"min_subgroup_size", "32", kNavi21},
    {"max_subgroup_size", "64", kNavi21},
    {"required_subgroup_size", "true", kNavi21},
    {"buffer_device_address", "true", kNavi21},
    {"storage8", "true", kNavi21},
    {"storage16", "true", kNavi21},
    {"int8", "true", kNavi21},
    {"int16", "true", kNavi21},
    {"int64", "true", kNavi21},
    {"float16", "true", kNavi21},
    {"integer_dot_product", "true", kNavi21},
    {"cooperative_matrix", "false", "VK_KHR_cooperative_matrix is not listed by RADV 26.1.6 for navi21"},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by RADV 26.1.6 for navi21"},
    {"transaction_bytes", "32", kVkFft},
};

constexpr Fact kRdna4[] = {
    {"vendor", R"("amd")", kNamed},
    {"vendor_id", "4098", kAmdPci},
    {"max_workgroup_invocations", "1024", kGfx1201},
    {"max_workgroup_size", "[1024,1024,1024]", kGfx1201},
    // RADV gives 65536; a plan for this target must run on either driver.
    {"workgroup_memory_bytes", "32768", "AMD's proprietary driver: llama.cpp #18523, AMDVLK #413"},
    {"subgroup_size", "64", kGfx1201},
    {"min_subgroup_size", "32", kGfx1201},
    {"max_subgroup_size", "64", kGfx1201},
    {"required_subgroup_size", "true", kGfx1201},
    {"buffer_device_address", "true", kGfx1201},
    {"storage8", "true", kGfx1201},
    {"storage16", "true", kGfx1201},
    {"int8", "true", kGfx1201},
    {"int16", "true", kGfx1201},
    {"int64", "true", kGfx1201},
    {"float16", "true", kGfx1201},
    {"bfloat16", "true", kGfx1201},
    {"integer_dot_product", "true", kGfx1201},
    {"cooperative_matrix", "true", kGfx1201},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by RADV 26.1.6 for gfx1201"},
    {"transaction_bytes", "32", kVkFft},
};

constexpr Fact kRdna3[] = {
    {"vendor", R"("amd")", kNamed},
    {"vendor_id", "4098", kRadvInfo},
    {"max_workgroup_invocations", "1024", kIree},
    {"max_workgroup_size", "[1024,1024,1024]", kIree},
    // RADV gives 65536; a plan for this target must run on either driver.
    {"workgroup_memory_bytes", "32768", "AMD's proprietary driver: llama.cpp #18523, AMDVLK #413"},
    {"subgroup_size", "64", kRadvInfo},
    {"min_subgroup_size", "32", kIree},
    {"max_subgroup_size", "64", kIree},
    {"required_subgroup_size", "true", kRadvInfo},
    {"buffer_device_address", "true", kRadvInfo},
    {"storage8", "true", kIree},
    {"storage16", "true", kIree},
    {"int8", "true", kIree},
    {"int16", "true", kIree},
    {"int64", "true", kIree},
    {"float16", "true", kIree},
    {"integer_dot_product", "true", kIree},
    {"cooperative_matrix", "true", "executorch #18726"},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by RADV 26.1.6's vulkaninfo for navi31"},
    {"transaction_bytes", "32", kVkFft},
    {"banks", "64", kIree},
    {"bank_bytes", "4",
     "ROCm documentation, ck_tile, Understanding AMD GPU LDS and Bank Conflicts: each bank is 4 bytes wide"},
};

constexpr Shape kRdna3Shapes[] = {
    {16, 16, 16, "f16", "f16"},
    {16, 16, 16, "f16", "f32"},
    {16, 16, 16, "s8", "s32"},
    {16, 16, 16, "u8", "u32"},
};

constexpr Shape kRdna4Shapes[] = {
    {16, 16, 16, "f16", "f16"},  {16, 16, 16, "f16", "f32"},  {16, 16, 16, "bf16", "bf16"}, {16, 16, 16, "bf16", "f32"},
    {16, 16, 16, "e4m3", "f32"}, {16, 16, 16, "e5m2", "f32"}, {16, 16, 16, "u8", "u32"},    {16, 16, 16, "s8", "s32"},
};

constexpr Target kAmdTargets[] = {
    {.name = "amd-gcn5", .facts = kGcn5},
    {.name = "amd-rdna2", .facts = kRdna2},
    {.name = "amd-rdna3",
     .facts = kRdna3,
     .shapes = kRdna3Shapes,
     .shapes_source = "executorch #18726: f16 to f16 and f32, int8 to int32, all 16x16x16; RADV 26.1.6 for navi31 "
                      "(mesa-drm-shim): the same and u8 to u32, of its 14 rows those of one signedness without "
                      "saturation"},
    {.name = "amd-rdna4",
     .facts = kRdna4,
     .shapes = kRdna4Shapes,
     .shapes_source = "vulkaninfo of RADV 26.1.6 for gfx1201 (mesa-drm-shim): its rows of one type in A and B, "
                      "of one signedness and without saturation"},
};

}  // namespace

std::span<const Target> amd_targets() { return kAmdTargets; }

}  // namespace sectile::detail
