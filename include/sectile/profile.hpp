// What a device can do, as plain data; the planner knows nothing else about it. Unknown means not used: a field
// without a value promises nothing, and the planner then assumes what every Vulkan 1.3 device must support, or leaves
// the candidate out. docs/reference/targets.md has meanings and units.
#pragma once

#include <sectile/error.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile {

enum class DeviceKind : std::uint8_t { unknown, cpu, integrated, discrete, virtual_gpu };

// The API that runs the plans made for a profile. A card has one profile for each.
enum class Api : std::uint8_t { vulkan, cuda };

// A shape that a matrix unit multiplies: D[MxN] = A[MxK] * B[KxN] + C[MxN]. With flexible dimensions
// (VK_NV_cooperative_matrix2) M, N and K are granularities.
struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
  std::string a, b, c, result;  // component types: "f16", "f32", "bf16", "u8", "s8", "s32", ...
  bool saturating = false;
  std::string scope = "subgroup";           // or "workgroup"
  std::uint32_t workgroup_invocations = 0;  // VK_NV_cooperative_matrix2 at workgroup scope; 0 otherwise
  bool flexible = false;                    // VK_NV_cooperative_matrix2 flexible dimensions
  bool operator==(const MatrixShape&) const = default;
};

// The outcome of a test product with a matrix shape (vulkan.hpp, record_canary). Untested shapes are trusted: quirks
// have already removed those of drivers with known faults.
enum class Canary : std::uint8_t { untested, passed, failed };

// A source that begins with this: the driver offers the feature that it names, and the application has not enabled it.
inline constexpr std::string_view kNotEnabled = "not enabled by the application: ";

class DeviceClass;  // device_class.hpp

struct DeviceProfile {
  // Identity.
  Api api = Api::vulkan;  // JSON without it means Vulkan
  std::string name;       // "NVIDIA H200", "nvidia-hopper"
  std::string vendor;     // "nvidia", "amd", "intel", "arm", "qualcomm", "apple", "mesa", "google"
  std::string driver;     // driver's name and version, printed
  std::uint32_t vendor_id = 0, device_id = 0;
  std::uint32_t driver_version = 0;  // as the driver packs it
  std::string uuid;                  // 32 hex digits; empty for a profile that is not from a live device
  DeviceKind kind = DeviceKind::unknown;
  std::uint32_t api_version = 0;  // major * 1000 + minor: 1003 for Vulkan 1.3, 13000 for CUDA 13.0; 0 unknown

  // Limits.
  std::optional<std::uint32_t> max_workgroup_invocations;
  std::optional<std::array<std::uint32_t, 3>> max_workgroup_size;
  std::optional<std::array<std::uint32_t, 3>> max_grid;  // workgroups in x, y, z
  std::optional<std::uint32_t> workgroup_memory_bytes;
  std::optional<std::uint32_t> max_push_bytes;
  std::optional<std::uint64_t> max_buffer_bytes;
  std::optional<std::uint64_t> max_allocation_bytes;
  std::optional<std::uint64_t> max_storage_range_bytes;

  // Subgroups.
  std::optional<std::uint32_t> subgroup_size;  // the default
  std::optional<std::uint32_t> min_subgroup_size, max_subgroup_size;
  std::optional<bool> required_subgroup_size;  // compute pipelines may require a size

  // Features of shaders.
  std::optional<bool> buffer_device_address;
  std::optional<bool> storage8, storage16;                    // 8/16-bit loads and stores in storage buffers
  std::optional<bool> workgroup8;                             // the same of 8 bits in workgroup memory
  std::optional<bool> int8, int16, int64, float16, bfloat16;  // arithmetic
  std::optional<bool> integer_dot_product;
  // Whether the driver's instructions do as docs/reference/numbers.md says, where Vulkan leaves it open: f32 to f16,
  // f32 to bf16, a NaN in a comparison and selection. False: kernels do it by integers. Unknown is trusted, as untested
  // matrix shapes are.
  std::optional<bool> f16_conversion, bf16_conversion, nan_selection;
  std::optional<bool> cooperative_matrix, cooperative_matrix2;
  std::optional<bool> cooperative_matrix_workgroup_scope, cooperative_matrix_tensor_addressing;
  std::vector<MatrixShape> matrix_shapes;  // that plans may use
  Canary canary = Canary::untested;        // failed: at least one shape did
  std::vector<MatrixShape> canary_failed;  // listed by the driver, but with wrong products; not in matrix_shapes

  // Matrices at workgroup scope and with flexible dimensions (VK_NV_cooperative_matrix2).
  std::optional<std::uint32_t> matrix_max_workgroup_invocations;
  std::optional<std::uint32_t> matrix_reserved_workgroup_memory_bytes;  // taken from each workgroup's memory
  std::optional<std::uint32_t> matrix_max_dimension;

  // Memory system.
  std::optional<std::uint32_t> transaction_bytes;  // smallest unit of a global access (32 on NVIDIA)
  std::optional<std::uint32_t> cache_line_bytes;
  std::optional<std::uint32_t> banks;  // workgroup-memory banks
  std::optional<std::uint32_t> bank_bytes;
  std::optional<std::uint64_t> l2_bytes;
  std::optional<std::uint32_t> multiprocessors;  // SMs, CUs, Xe cores, shader cores

  // Resources of a multiprocessor, shared by the workgroups that run on it.
  std::optional<std::uint32_t> workgroup_memory_per_multiprocessor_bytes;
  std::optional<std::uint32_t> registers_per_multiprocessor;  // of 32 bits
  std::optional<std::uint32_t> max_invocations_per_multiprocessor;

  // CUDA alone. workgroup_memory_bytes is then the limit on static shared memory (48 KiB).
  std::optional<std::uint32_t> cuda_architecture;                   // 10 * major + minor of the compute capability: 90
  std::optional<bool> cuda_architecture_features;                   // architecture-specific code: the a of sm_90a
  std::optional<std::uint32_t> max_dynamic_workgroup_memory_bytes;  // opt-in limit of a launch; 227 KiB on sm_90
  std::optional<bool> async_copy;                                   // cp.async, global to workgroup memory
  std::optional<bool> tensor_maps;                                  // TMA: cp.async.bulk.tensor
  std::vector<std::string> matrix_units;                            // instructions: "mma.sync", "wgmma", "tcgen05"

  // Sources of facts: field name -> source. Built-in profiles have one for every field that they set.
  std::map<std::string, std::string> sources;

  // What work costs on the device, where it is not what is built in (use_device_class). It is not in the profile's
  // JSON, nor in its hash: measured choices of a device stay valid.
  std::shared_ptr<const DeviceClass> device_class;

  bool operator==(const DeviceProfile&) const = default;
};

// NVRTC's name of a CUDA profile's architecture: "sm_90a". Empty where it is unknown.
std::string cuda_architecture_name(const DeviceProfile& profile);

std::string print(const DeviceProfile& profile);                 // one line
std::string to_json(const DeviceProfile& profile);               // canonical; unknown fields left out
Result<DeviceProfile> profile_from_json(std::string_view text);  // DeviceProfile's own JSON

// A profile from the output of `vulkaninfo -j` (the profiles-schema form or the older form). What that output lacks
// (matrix shapes, newer features) stays unknown.
Result<DeviceProfile> profile_from_vulkaninfo(std::string_view json_text);

// Fills unknown fields of `profile` from a text: DeviceProfile JSON with any subset of fields, or the list of matrix
// shapes that vk_cooperative_matrix_perf prints. Known fields are not overwritten; a contradiction is an error that
// names the field.
Result<DeviceProfile> supplement(DeviceProfile profile, std::string_view text);

// ---- the canary's outcome, for the app to keep by device and driver version (uuid, driver_version)

struct CanaryRow {
  MatrixShape shape;
  Canary verdict = Canary::untested;
  std::string detail;  // "D[3][5] is 17, not 12 (column-major, by workgroup memory)", or empty
  bool operator==(const CanaryRow&) const = default;
};
// The outcome of what is not a matrix shape: "f16 conversion", "bf16 conversion", "NaN selection", "dot products".
struct CanaryKind {
  std::string kind;
  Canary verdict = Canary::untested;
  std::string detail;  // "3e+38 gives 0x7e00, not 0x7c00", or empty
  bool operator==(const CanaryKind&) const = default;
};
struct CanaryResult {
  std::vector<CanaryRow> rows = {};    // one for each listed shape; empty: no matrices were tested
  std::vector<CanaryKind> kinds = {};  // one for each kind; empty: they were not tested
  bool operator==(const CanaryResult&) const = default;
};

// The profile with the canary's outcome. Failed shapes are removed. A failed kind's field becomes false:
// f16_conversion, bf16_conversion, nan_selection, integer_dot_product. Kinds that passed change nothing, so that a
// device without faults has the same profile before and after.
DeviceProfile with_canary(DeviceProfile profile, const CanaryResult& result);
// The profile as it was before with_canary(), its matrix shapes in a fixed order.
DeviceProfile without_canary(DeviceProfile profile);

// Why plans for this profile must not use the shape: it is not listed, a quirk forbids it, or the canary failed.
// Empty: they may.
std::string matrix_objection(const DeviceProfile& profile, const MatrixShape& shape);

std::string print(const MatrixShape& shape);      // "16x16x16 f16*f16+f32->f32 subgroup"
std::string print(const CanaryRow& row);          // "16x16x16 …: failed: …"
std::string print(const CanaryKind& kind);        // "f16 conversion: failed: …"
std::string to_json(const CanaryResult& result);  // canonical
Result<CanaryResult> canary_from_json(std::string_view text);

// Built-in targets, by name: families of GPUs ("nvidia-hopper", "amd-rdna3"), CPU drivers ("lavapipe"), CUDA
// architectures ("cuda:sm_90a"). Quirks of their drivers have been applied, as to live profiles.
std::vector<std::string_view> builtin_target_names();
Result<DeviceProfile> builtin_target(std::string_view name);  // an unknown name lists the known ones

}  // namespace sectile
