// Built-in targets as rows of facts: field, value as JSON, source. What is not known has no row.
#include "../plan/json_text.hpp"

#include <sectile/profile.hpp>

#include <span>

namespace sectile {

namespace {

struct Fact {
  std::string_view field;
  std::string_view value;  // JSON
  std::string_view source;
};

// Sources that many rows share.
constexpr std::string_view kLavapipeInfo =
    "vulkaninfo of lavapipe 26.1.6, 256-bit vectors (tests/data/lavapipe-vulkaninfo.json)";
constexpr std::string_view kSwiftShaderInfo = "vulkaninfo of SwiftShader as in Debian 13's chromium-common, 2026-11";
constexpr std::string_view kH200Info =
    "vulkaninfo of an H200, driver 580.159.04 (tests/data/nvidia-h200-vulkaninfo.json)";
constexpr std::string_view kH100Listing =
    "vk_cooperative_matrix_perf on an H100, driver 580.159.04 (tests/data/nvidia-h100-coopmat.txt)";
constexpr std::string_view kRadvInfo = "vulkaninfo of RADV 26.1.6 for navi31 (mesa-drm-shim)";
constexpr std::string_view kTurnipInfo = "vulkaninfo of Turnip 26.1.6 for Adreno 740 (mesa-drm-shim)";
constexpr std::string_view kIree = "IREE, GPU/TargetUtils/KnownTargets.cpp";
constexpr std::string_view kVkFft = "VkFFT's default coalesced memory: 32 bytes on NVIDIA and AMD, 64 elsewhere";
constexpr std::string_view kNamed = "the target's name";

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
    {"storage16", "true", kH200Info},
    {"int8", "true", kH200Info},
    {"int16", "true", kH200Info},
    {"int64", "true", kH200Info},
    {"float16", "true", kH200Info},
    {"bfloat16", "true", kH100Listing},
    {"integer_dot_product", "true", kH200Info},
    {"cooperative_matrix", "true", kH100Listing},
    {"cooperative_matrix2", "true", kH100Listing},
    {"cooperative_matrix_workgroup_scope", "true", kH100Listing},
    {"transaction_bytes", "32", kVkFft},
    {"banks", "32", "CUDA C++ Programming Guide, Shared Memory: 32 banks of 32-bit words"},
    {"bank_bytes", "4", "CUDA C++ Programming Guide, Shared Memory: 32 banks of 32-bit words"},
    {"l2_bytes", "60000000", "the project's measurements of an H100 and an H200, 2026-11: 60 MB"},
    {"multiprocessors", "132", "the project's measurements of an H100 and an H200, 2026-11"},
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

constexpr Fact kXe2[] = {
    {"vendor", R"("intel")", kNamed},
    {"vendor_id", "32902", "the PCI ID list: 0x8086 is Intel"},
    {"max_workgroup_invocations", "512", "ggml-vulkan.cpp runs its large tile with 512 threads on Xe2"},
    {"workgroup_memory_bytes", "49152", "Arc Pro B60 on Windows: llama.cpp PR #17374"},
    {"min_subgroup_size", "16", "llama.cpp PR #18178; IGCIT #1402: drivers that say 8 are wrong"},
    // Its shape is 8x16x16 (blade PR #399, B570); the component types are not known, so there is no row.
    {"cooperative_matrix", "true", "blade PR #399, B570"},
    {"transaction_bytes", "64", kVkFft},
};

constexpr Fact kValhall[] = {
    {"vendor", R"("arm")", kNamed},
    {"vendor_id", "5045", "the Khronos and PCI vendor id of Arm, 0x13b5"},
    {"kind", R"("integrated")", "Mali GPUs share the system's memory"},
    {"max_workgroup_invocations", "512", kIree},
    {"max_workgroup_size", "[512,512,512]", kIree},
    {"workgroup_memory_bytes", "32768", kIree},
    {"subgroup_size", "16", kIree},
    {"min_subgroup_size", "16", kIree},
    {"max_subgroup_size", "16", kIree},
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
    {"workgroup_memory_bytes", "32768", kIree},
    // Its own driver and Turnip differ in the default size, so there is none here.
    {"min_subgroup_size", "64", kTurnipInfo},
    {"max_subgroup_size", "128", kTurnipInfo},
    {"storage16", "true", kIree},
    {"int8", "true", kIree},
    {"int16", "true", kIree},
    {"float16", "true", kIree},
    {"integer_dot_product", "true", kIree},
    {"transaction_bytes", "64", kVkFft},
};

// A and B have one type in every row known so far, C and the result another.
struct Shape {
  std::uint32_t m, n, k;
  std::string_view ab, cd;
  std::uint32_t workgroup_invocations = 0;  // not 0: flexible, at workgroup scope
  bool flexible = false;
};

constexpr Shape kLavapipeShapes[] = {
    {8, 8, 8, "f16", "f16"},
    {8, 8, 8, "f16", "f32"},
    {8, 8, 8, "u8", "u32"},
    {8, 8, 8, "s8", "s32"},
};

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

constexpr Shape kRdna3Shapes[] = {
    {16, 16, 16, "f16", "f16"},
    {16, 16, 16, "f16", "f32"},
    {16, 16, 16, "s8", "s32"},
};

struct Target {
  std::string_view name;
  std::span<const Fact> facts;
  std::span<const Shape> shapes = {};
  std::string_view shapes_source = {};
};

constexpr Target kTargets[] = {
    {"lavapipe", kLavapipe, kLavapipeShapes,
     "lavapipe 26.1.6 run: its KHR rows; the NV2 granularities were not written down"},
    {"swiftshader", kSwiftShader},
    {"nvidia-hopper", kHopper, kHopperShapes, kH100Listing},
    {"amd-rdna3", kRdna3, kRdna3Shapes, "executorch #18726: f16 to f16 and f32, int8 to int32, all 16x16x16"},
    {"intel-xe2", kXe2},
    {"arm-valhall", kValhall},
    {"qualcomm-adreno7", kAdreno7},
};

Result<DeviceProfile> make(const Target& target) {
  detail::JsonWriter w;
  w.begin('{');
  w.field("name", target.name);
  for (const Fact& fact : target.facts) {
    w.key(fact.field);
    w.raw(fact.value);
  }
  w.end('}');
  auto profile = profile_from_json(w.text());
  if (!profile) return profile;
  for (const Fact& fact : target.facts) profile->sources.emplace(fact.field, fact.source);
  if (target.shapes.empty()) return profile;
  profile->sources.emplace("matrix_shapes", target.shapes_source);
  for (const Shape& s : target.shapes)
    profile->matrix_shapes.push_back({.m = s.m,
                                      .n = s.n,
                                      .k = s.k,
                                      .a = std::string(s.ab),
                                      .b = std::string(s.ab),
                                      .c = std::string(s.cd),
                                      .result = std::string(s.cd),
                                      .saturating = false,
                                      .scope = s.workgroup_invocations != 0 ? "workgroup" : "subgroup",
                                      .workgroup_invocations = s.workgroup_invocations,
                                      .flexible = s.flexible});
  return profile;
}

}  // namespace

std::vector<std::string_view> builtin_target_names() {
  std::vector<std::string_view> names;
  for (const Target& target : kTargets) names.push_back(target.name);
  return names;
}

Result<DeviceProfile> builtin_target(std::string_view name) {
  std::string known;
  for (const Target& target : kTargets) {
    if (target.name == name) return make(target);
    known.append(known.empty() ? "" : " ").append(target.name);
  }
  return fail(ErrorKind::missing, "target", std::string(name), "one of " + known);
}

}  // namespace sectile
