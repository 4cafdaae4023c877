// --target: a built-in name, or a file with a profile in one of the forms that Sectile reads. --device-class: a file
// with what work costs.
#pragma once

#include <sectile/device_class.hpp>
#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <span>
#include <string>

namespace sectile::tools {

// Errors: missing (neither a target's name nor a file), and those of reading the file.
Result<DeviceProfile> read_target(const std::string& name_or_file);

// The profile of a live device: "cuda:N", or a selector of vulkan::device_profile. Errors: parse, and the backend's.
Result<DeviceProfile> device_profile(const std::string& selector);

// The class of devices in a file; null for no file. Errors: those of reading it, with its name.
Result<DeviceClassPtr> read_device_class(const std::string& file);

// The profile with the class in the file, which it warns about on standard error; without a file the profile as it is.
// Errors: read_device_class's; unsupported (a class of other devices).
Result<DeviceProfile> with_device_class(DeviceProfile profile, const std::string& file);

// Lines on standard error.
void warn(std::span<const std::string> warnings);

// `selector`, or for an empty one the default device: a GPU that the runtime chooses, otherwise the CPU device with
// the highest Vulkan version (SwiftShader is 50 times slower than lavapipe).
std::string default_device(const std::string& selector);

// Prints on standard error what the plan leaves unused, where there is something: see plan_remark().
void print_remark(const Plan& plan, const DeviceProfile& profile);

// Checks that a candidate's name begins with `force`. Errors: missing.
Result<void> check_candidate(const Problem& problem, const DeviceProfile& profile, const std::string& force);

}  // namespace sectile::tools
