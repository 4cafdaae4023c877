// --target: a built-in name, or a file with a profile in one of the forms that Sectile reads.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <string>

namespace sectile::tools {

// Errors: missing (neither a target's name nor a file), and those of reading the file.
Result<DeviceProfile> read_target(const std::string& name_or_file);

// The profile of a live device: "cuda:N", or a selector of vulkan::device_profile. Errors: parse, and the backend's.
Result<DeviceProfile> device_profile(const std::string& selector);

// `selector`, or for an empty one the default device: a GPU that the runtime chooses, otherwise the CPU device with
// the highest Vulkan version (SwiftShader is 50 times slower than lavapipe).
std::string default_device(const std::string& selector);

// Prints on standard error what the plan leaves unused, where there is something: see plan_remark().
void print_remark(const Plan& plan, const DeviceProfile& profile);

// Checks that a candidate's name begins with `force`. Errors: missing.
Result<void> check_candidate(const Problem& problem, const DeviceProfile& profile, const std::string& force);

}  // namespace sectile::tools
