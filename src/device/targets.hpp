// Built-in targets as rows of facts: field, value as JSON, source. Unknown fields have no row. One file for each
// vendor; docs/reference/targets.md says how to add a target.
#pragma once

#include <sectile/profile.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace sectile::detail {

struct Fact {
  std::string_view field;
  std::string_view value;  // JSON
  std::string_view source;
};

// In every known row A and B have one type, C and the result another.
struct Shape {
  std::uint32_t m, n, k;
  std::string_view ab, cd;
  std::uint32_t workgroup_invocations = 0;  // not 0: flexible dimensions at workgroup scope
  bool flexible = false;
};

struct Target {
  std::string_view name;
  std::span<const Fact> facts;
  std::span<const Fact> family = {};  // facts of the family; no field is in both lists
  std::span<const Shape> shapes = {};
  std::string_view shapes_source = {};
};

std::span<const Target> cpu_targets();
std::span<const Target> nvidia_targets();
std::span<const Target> amd_targets();
std::span<const Target> intel_targets();
std::span<const Target> mobile_targets();
std::span<const Target> cuda_targets();

// Refuses a profile that is not a valid target: its name differs or does not fit vendor or architecture, a field has
// no source, or a source has no field.
Result<void> check_target(std::string_view name, const DeviceProfile& profile);

// Sources that several vendors' rows share.
inline constexpr std::string_view kNamed = "the target's name";
inline constexpr std::string_view kCudaBanks = "CUDA C++ Programming Guide, Shared Memory: 32 banks of 32-bit words";
inline constexpr std::string_view kIree = "IREE, GPU/TargetUtils/KnownTargets.cpp";
inline constexpr std::string_view kVkFft = "VkFFT's default coalesced memory: 32 bytes on NVIDIA and AMD, 64 elsewhere";

}  // namespace sectile::detail
