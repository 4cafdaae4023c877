// What a device can do, as plain data: the planner sees nothing else of it.
// Unknown is not used: a field without a value makes no promise, and the planner then takes what
// every Vulkan 1.3 device must give, or leaves the candidate out. docs/reference/targets.md has meanings and units.
#pragma once

#include <sectile/error.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sectile {

enum class DeviceKind : std::uint8_t { unknown, cpu, integrated, discrete, virtual_gpu };

// What carries the plans out that are made for a profile. One card has a profile for each.
enum class Api : std::uint8_t { vulkan, cuda };

// One row of what a matrix unit multiplies: D[MxN] = A[MxK] * B[KxN] + C[MxN].
// For flexible dimensions (NV2) M, N, K are granularities.
struct MatrixShape {
  std::uint32_t m = 0, n = 0, k = 0;
  std::string a, b, c, result;             // component types: "f16", "f32", "bf16", "u8", "s8", "s32", ...
  bool saturating = false;
  std::string scope = "subgroup";          // or "workgroup"
  std::uint32_t workgroup_invocations = 0; // NV2 at workgroup scope; 0 otherwise
  bool flexible = false;                   // VK_NV_cooperative_matrix2 flexible dimensions
  bool operator==(const MatrixShape&) const = default;
};

// What came of multiplying with a matrix shape (vulkan.hpp, record_canary). Untested is trusted: what is known of a
// driver's faults (quirks) has taken its shapes away already.
enum class Canary : std::uint8_t { untested, passed, failed };

struct DeviceProfile {
  // Who it is.
  Api api = Api::vulkan;                   // JSON without it means Vulkan
  std::string name;                        // "NVIDIA H200", "nvidia-hopper"
  std::string vendor;                      // "nvidia", "amd", "intel", "arm", "qualcomm", "apple", "mesa", "google"
  std::string driver;                      // driver's name and version, printed
  std::uint32_t vendor_id = 0, device_id = 0;
  std::uint32_t driver_version = 0;        // as the driver packs it
  std::string uuid;                        // 32 hex digits; empty for a profile that is not of a live device
  DeviceKind kind = DeviceKind::unknown;
  std::uint32_t api_version = 0;           // major * 1000 + minor: 1003 for Vulkan 1.3, 13000 for CUDA 13.0; 0 unknown

  // Limits.
  std::optional<std::uint32_t> max_workgroup_invocations;
  std::optional<std::array<std::uint32_t, 3>> max_workgroup_size;
  std::optional<std::array<std::uint32_t, 3>> max_grid;        // workgroups in x, y, z
  std::optional<std::uint32_t> workgroup_memory_bytes;
  std::optional<std::uint32_t> max_push_bytes;
  std::optional<std::uint64_t> max_buffer_bytes;
  std::optional<std::uint64_t> max_allocation_bytes;
  std::optional<std::uint64_t> max_storage_range_bytes;

  // Subgroups.
  std::optional<std::uint32_t> subgroup_size;                  // the default
  std::optional<std::uint32_t> min_subgroup_size, max_subgroup_size;
  std::optional<bool> required_subgroup_size;                  // compute may state it

  // What shaders may use.
  std::optional<bool> buffer_device_address;
  std::optional<bool> storage8, storage16;                     // 8/16-bit loads and stores in storage buffers
  std::optional<bool> int8, int16, int64, float16, bfloat16;   // arithmetic
  std::optional<bool> integer_dot_product;
  std::optional<bool> cooperative_matrix, cooperative_matrix2;
  std::optional<bool> cooperative_matrix_workgroup_scope, cooperative_matrix_tensor_addressing;
  std::vector<MatrixShape> matrix_shapes;  // those that are to be used
  Canary canary = Canary::untested;        // failed: some shape did
  std::vector<MatrixShape> canary_failed;  // the driver lists them and their products are wrong: not in matrix_shapes

  // Of matrices at workgroup scope, and of flexible dimensions (VK_NV_cooperative_matrix2).
  std::optional<std::uint32_t> matrix_max_workgroup_invocations;
  std::optional<std::uint32_t> matrix_reserved_workgroup_memory_bytes;  // less for the kernel's own, in each workgroup
  std::optional<std::uint32_t> matrix_max_dimension;

  // What the memory system is made of.
  std::optional<std::uint32_t> transaction_bytes;              // least unit of a global access (32 on NVIDIA)
  std::optional<std::uint32_t> cache_line_bytes;
  std::optional<std::uint32_t> banks;                          // workgroup-memory banks
  std::optional<std::uint32_t> bank_bytes;
  std::optional<std::uint64_t> l2_bytes;
  std::optional<std::uint32_t> multiprocessors;                // SMs, CUs, Xe cores, shader cores

  // What a multiprocessor holds at a time, shared by the workgroups that it runs.
  std::optional<std::uint32_t> workgroup_memory_per_multiprocessor_bytes;
  std::optional<std::uint32_t> registers_per_multiprocessor;   // of 32 bits
  std::optional<std::uint32_t> max_invocations_per_multiprocessor;

  // What only CUDA tells of. workgroup_memory_bytes is there what a kernel may declare (48 KiB).
  std::optional<std::uint32_t> cuda_architecture;              // 10 * major + minor of the compute capability: 90
  std::optional<bool> cuda_architecture_features;              // code for this architecture alone: the a of sm_90a
  std::optional<std::uint32_t> max_dynamic_workgroup_memory_bytes;  // to be asked for at launch; 227 KiB on sm_90
  std::optional<bool> async_copy;                              // cp.async, global to workgroup memory
  std::optional<bool> tensor_maps;                             // TMA: cp.async.bulk.tensor
  std::vector<std::string> matrix_units;                       // instructions: "mma.sync", "wgmma", "tcgen05"

  // Where a fact comes from: field name -> source. Built-in profiles name one for every field they set.
  std::map<std::string, std::string> sources;

  bool operator==(const DeviceProfile&) const = default;
};

// What NVRTC calls a CUDA profile's architecture: "sm_90a". Empty where it is not known.
std::string cuda_architecture_name(const DeviceProfile& profile);

std::string print(const DeviceProfile& profile);               // one line
std::string to_json(const DeviceProfile& profile);             // canonical; unknown fields left out
Result<DeviceProfile> profile_from_json(std::string_view text);  // DeviceProfile's own JSON

// A profile from `vulkaninfo -j` output (either the profiles-schema form, or the older form).
// What that output lacks (matrix shapes, newer features) stays unknown.
Result<DeviceProfile> profile_from_vulkaninfo(std::string_view json_text);

// Fills unknown fields of `profile` from a text of facts: DeviceProfile JSON with any subset of fields,
// or the matrix-shape listing printed by vk_cooperative_matrix_perf. Known fields are not overwritten:
// a contradiction is an error naming the field.
Result<DeviceProfile> supplement(DeviceProfile profile, std::string_view text);

// ---- the canary's outcome, for the app to keep by device and driver version (uuid, driver_version)

struct CanaryRow {
  MatrixShape shape;
  Canary verdict = Canary::untested;
  std::string detail;                      // "D[3][5] is 17, not 12 (column-major, by workgroup memory)"; empty if passed
  bool operator==(const CanaryRow&) const = default;
};
struct CanaryResult {
  std::vector<CanaryRow> rows;             // one a shape that was listed; empty: nothing was tested
  bool operator==(const CanaryResult&) const = default;
};

// The profile with what the canary found: shapes that failed are taken out.
DeviceProfile with_canary(DeviceProfile profile, const CanaryResult& result);

// Why plans for this profile must not use the shape: not listed, by a quirk, or the canary failed. Empty: they may.
std::string matrix_objection(const DeviceProfile& profile, const MatrixShape& shape);

std::string print(const MatrixShape& shape);                   // "16x16x16 f16*f16+f32->f32 subgroup"
std::string print(const CanaryRow& row);                       // "16x16x16 …: failed: …"
std::string to_json(const CanaryResult& result);               // canonical
Result<CanaryResult> canary_from_json(std::string_view text);

// Built-in targets, by name: families of GPUs ("nvidia-hopper", "amd-rdna3"), CPU drivers ("lavapipe"), and CUDA's
// architectures ("cuda:sm_90a"). What is known of their drivers' faults has been applied, as to a live profile.
std::vector<std::string_view> builtin_target_names();
Result<DeviceProfile> builtin_target(std::string_view name);   // an unknown name lists the known ones

}  // namespace sectile
