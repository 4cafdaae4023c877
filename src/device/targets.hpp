// Built-in targets as rows of facts: field, value as JSON, source. What is not known has no row. A file a vendor;
// docs/reference/targets.md says how to add one.
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

// A and B have one type in every row known so far, C and the result another.
struct Shape {
  std::uint32_t m, n, k;
  std::string_view ab, cd;
  std::uint32_t workgroup_invocations = 0;  // not 0: flexible, at workgroup scope
  bool flexible = false;
};

struct Target {
  std::string_view name;
  std::span<const Fact> facts;
  std::span<const Fact> family = {};  // what it shares with its siblings; no field stands in both
  std::span<const Shape> shapes = {};
  std::string_view shapes_source = {};
};

std::span<const Target> cpu_targets();
std::span<const Target> nvidia_targets();
std::span<const Target> amd_targets();
std::span<const Target> intel_targets();
std::span<const Target> mobile_targets();
std::span<const Target> cuda_targets();

// Refuses a profile that is no target: another name than the target's or one that does not fit its vendor or
// architecture, a field that is set without a source, a source for what is not set.
Result<void> check_target(std::string_view name, const DeviceProfile& profile);

// Sources that rows of several vendors share.
inline constexpr std::string_view kNamed = "the target's name";
inline constexpr std::string_view kCudaBanks = "CUDA C++ Programming Guide, Shared Memory: 32 banks of 32-bit words";
inline constexpr std::string_view kIree = "IREE, GPU/TargetUtils/KnownTargets.cpp";
inline constexpr std::string_view kVkFft = "VkFFT's default coalesced memory: 32 bytes on NVIDIA and AMD, 64 elsewhere";

}  // namespace sectile::detail
