// Intel's GPUs: Mesa's ANV, and the Windows driver.
#include "targets.hpp"

namespace sectile::detail {

namespace {

constexpr std::string_view kIntelPci = "the PCI ID list: 0x8086 is Intel";
constexpr std::string_view kAnv = "Mesa, anv_physical_device.c";
constexpr std::string_view kA380 = "ANV 26.1.6 for an Arc A380 (dg2, 0x56a5; Mesa's intel_noop_drm_shim)";

constexpr Fact kIntel[] = {
    {"vendor", R"("intel")", kNamed},
    {"vendor_id", "32902", kIntelPci},
    {"max_grid", "[65535,65535,65535]", kAnv},
    {"max_subgroup_size", "32", kAnv},
    {"required_subgroup_size", "true", kAnv},
    {"buffer_device_address", "true", kAnv},
    {"storage8", "true", kAnv},
    {"storage16", "true", kAnv},
    {"int8", "true", kAnv},
    {"int16", "true", kAnv},
    {"int64", "true", kAnv},
    {"float16", "true", kAnv},
    {"integer_dot_product", "true", kAnv},
    {"transaction_bytes", "64", kVkFft},
};

// Meteor Lake and Arrow Lake. Their matrix extension is left unknown: ANV lists shapes on all of them, but only
// Arrow Lake-H has the unit (intel_device_info.c, has_systolic).
constexpr Fact kXeLpg[] = {
    {"kind", R"("integrated")", "Arc Graphics (MTL): llama.cpp PR #16463 (uma: 1)"},
    {"max_workgroup_invocations", "1024", kAnv},
    {"max_workgroup_size", "[1024,1024,1024]", kAnv},
    // ANV gives 65536 on Meteor Lake (llama.cpp PR #16463).
    {"workgroup_memory_bytes", "32768", "Intel's Windows driver, there on an A770: llama.cpp PR #14001"},
    {"subgroup_size", "32", "Arc Graphics (MTL): llama.cpp PR #16463"},
    {"min_subgroup_size", "8", kAnv},
};

// Arc A380 to A770, under ANV. The quirks take the matrices from the A770.
constexpr Fact kXeHpg[] = {
    {"max_workgroup_invocations", "1024", kA380},
    {"max_workgroup_size", "[1024,1024,1024]", kA380},
    // ANV gives 49152.
    {"workgroup_memory_bytes", "32768", "Intel's Windows driver, on an A770: llama.cpp PR #14001"},
    {"subgroup_size", "32", kA380},
    {"min_subgroup_size", "8", kA380},
    {"bfloat16", "true", kA380},
    {"cooperative_matrix", "true", kA380},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by ANV 26.1.6"},
};

constexpr Shape kXeHpgShapes[] = {
    {8, 8, 16, "f16", "f32"},
    {8, 8, 16, "bf16", "f32"},
    {8, 8, 32, "s8", "s32"},
    {8, 8, 32, "u8", "u32"},
};

constexpr Fact kXe2[] = {
    {"max_workgroup_invocations", "512",
     "ggml-vulkan.cpp runs its large tile with 512 threads on Xe2; ANV allows 1024"},
    {"max_workgroup_size", "[512,512,512]", "as max_workgroup_invocations; ANV allows 1024"},
    {"workgroup_memory_bytes", "49152",
     "Arc Pro B60 on Windows: llama.cpp PR #17374; Arc Pro B50 on ANV: llama.cpp PR #25380"},
    {"subgroup_size", "32", "Arc Pro B50 on ANV: llama.cpp PR #25380"},
    {"min_subgroup_size", "16", "llama.cpp PR #18178; IGCIT #1402: drivers that say 8 are wrong; ANV says 16"},
    {"bfloat16", "true", "Arc Pro B50 on ANV: llama.cpp PR #25380"},
    {"cooperative_matrix", "true", "blade PR #399, B570; Arc Pro B50 on ANV: llama.cpp PR #25380"},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by ANV 26.1.6"},
};

constexpr Shape kXe2Shapes[] = {
    {8, 16, 16, "f16", "f16"},  {8, 16, 16, "f16", "f32"}, {8, 16, 16, "bf16", "bf16"},
    {8, 16, 16, "bf16", "f32"}, {8, 16, 32, "s8", "s32"},  {8, 16, 32, "u8", "u32"},
};

constexpr Target kIntelTargets[] = {
    {.name = "intel-xe-lpg", .facts = kXeLpg, .family = kIntel},
    {.name = "intel-xe-hpg", .facts = kXeHpg, .family = kIntel, .shapes = kXeHpgShapes, .shapes_source = kA380},
    {.name = "intel-xe2",
     .facts = kXe2,
     .family = kIntel,
     .shapes = kXe2Shapes,
     .shapes_source = "Mesa, intel_device_info.c, CMAT_XE2_CONFIGURATIONS, and so says ANV 26.1.6 for bmg "
                      "(Mesa's intel_noop_drm_shim); 8x16x16 also on a B570: blade PR #399"},
};

}  // namespace

std::span<const Target> intel_targets() { return kIntelTargets; }

}  // namespace sectile::detail
