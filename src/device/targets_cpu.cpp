// Drivers that run on the CPU.
#include "targets.hpp"

namespace sectile::detail {

namespace {

constexpr std::string_view kLavapipeInfo =
    "vulkaninfo of lavapipe 26.1.6, 256-bit vectors (tests/data/lavapipe-vulkaninfo.json)";
constexpr std::string_view kSwiftShaderInfo = "vulkaninfo of SwiftShader as in Debian 13's chromium-common, 2026-11";

constexpr Fact kLavapipe[] = {
    {"vendor", R"("mesa")", kNamed},
    {"vendor_id", "65541", kLavapipeInfo},
    {"driver", R"json("llvmpipe Mesa 26.1.6-1~bpo13+1 (LLVM 19.1.7)")json", kLavapipeInfo},
    {"driver_version", "109056006", kLavapipeInfo},
    {"kind", R"("cpu")", kLavapipeInfo},
    {"api_version", "1004", kLavapipeInfo},
    {"max_workgroup_invocations", "1024", kLavapipeInfo},
    {"max_workgroup_size", "[1024,1024,1024]", kLavapipeInfo},
    {"max_grid", "[65535,65535,65535]", kLavapipeInfo},
    {"workgroup_memory_bytes", "32768", kLavapipeInfo},
    {"max_push_bytes", "256", kLavapipeInfo},
    {"max_buffer_bytes", "4294967295", kLavapipeInfo},
    {"max_allocation_bytes", "2147483648", kLavapipeInfo},
    {"max_storage_range_bytes", "134217728", kLavapipeInfo},
    {"subgroup_size", "8", kLavapipeInfo},
    {"min_subgroup_size", "8", kLavapipeInfo},
    {"max_subgroup_size", "8", kLavapipeInfo},
    {"required_subgroup_size", "true", kLavapipeInfo},
    {"buffer_device_address", "true", kLavapipeInfo},
    {"storage8", "true", kLavapipeInfo},
    {"workgroup8", "true", kLavapipeInfo},
    {"storage16", "true", kLavapipeInfo},
    {"int8", "true", kLavapipeInfo},
    {"int16", "true", kLavapipeInfo},
    {"int64", "true", kLavapipeInfo},
    {"float16", "true", kLavapipeInfo},
    {"bfloat16", "false", "VK_KHR_shader_bfloat16 is not listed by lavapipe 26.1.6's vulkaninfo"},
    {"integer_dot_product", "true", kLavapipeInfo},
    {"cooperative_matrix", "true", kLavapipeInfo},
    {"cooperative_matrix2", "true",
     "lavapipe 26.1.6 run: flexible dimensions, reductions, conversions, per-element operations"},
    {"cooperative_matrix_workgroup_scope", "false", "lavapipe 26.1.6 run"},
    {"cooperative_matrix_tensor_addressing", "false", "lavapipe 26.1.6 run"},
};

constexpr Fact kSwiftShader[] = {
    {"vendor", R"("google")", kNamed},
    {"vendor_id", "6880", kSwiftShaderInfo},
    {"driver_version", "20971520", kSwiftShaderInfo},
    {"kind", R"("cpu")", kSwiftShaderInfo},
    {"api_version", "1003", kSwiftShaderInfo},
    {"max_workgroup_invocations", "256", kSwiftShaderInfo},
    {"max_workgroup_size", "[256,256,64]", kSwiftShaderInfo},
    {"max_grid", "[65535,65535,65535]", kSwiftShaderInfo},
    {"workgroup_memory_bytes", "32768", kSwiftShaderInfo},
    {"max_push_bytes", "128", kSwiftShaderInfo},
    {"max_buffer_bytes", "1073741824", kSwiftShaderInfo},
    {"max_allocation_bytes", "1073741824", kSwiftShaderInfo},
    {"max_storage_range_bytes", "1073741824", kSwiftShaderInfo},
    {"subgroup_size", "4", kSwiftShaderInfo},
    {"min_subgroup_size", "4", kSwiftShaderInfo},
    {"max_subgroup_size", "4", kSwiftShaderInfo},
    {"required_subgroup_size", "true", kSwiftShaderInfo},
    {"buffer_device_address", "true", kSwiftShaderInfo},
    {"storage8", "false", kSwiftShaderInfo},
    {"workgroup8", "false", kSwiftShaderInfo},
    {"storage16", "false", kSwiftShaderInfo},
    {"int8", "false", kSwiftShaderInfo},
    {"int16", "false", kSwiftShaderInfo},
    {"int64", "false", kSwiftShaderInfo},
    {"float16", "false", kSwiftShaderInfo},
    {"bfloat16", "false", "VK_KHR_shader_bfloat16 is not listed by SwiftShader's vulkaninfo"},
    {"integer_dot_product", "true", kSwiftShaderInfo},
    {"cooperative_matrix", "false", "VK_KHR_cooperative_matrix is not listed by SwiftShader's vulkaninfo"},
    {"cooperative_matrix2", "false", "VK_NV_cooperative_matrix2 is not listed by SwiftShader's vulkaninfo"},
    {"cooperative_matrix_workgroup_scope", "false",
     "VK_NV_cooperative_matrix2 is not listed by SwiftShader's vulkaninfo"},
    {"cooperative_matrix_tensor_addressing", "false",
     "VK_NV_cooperative_matrix2 is not listed by SwiftShader's vulkaninfo"},
};

constexpr Shape kLavapipeShapes[] = {
    {8, 8, 8, "f16", "f16"},
    {8, 8, 8, "f16", "f32"},
    {8, 8, 8, "u8", "u32"},
    {8, 8, 8, "s8", "s32"},
};

constexpr Target kCpuTargets[] = {
    {.name = "lavapipe",
     .facts = kLavapipe,
     .shapes = kLavapipeShapes,
     .shapes_source = "lavapipe 26.1.6 run: its KHR rows; the NV2 granularities were not written down"},
    {.name = "swiftshader", .facts = kSwiftShader},
};

}  // namespace

std::span<const Target> cpu_targets() { return kCpuTargets; }

}  // namespace sectile::detail
