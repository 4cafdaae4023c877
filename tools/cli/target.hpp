// --target: a built-in name, or a file with a profile in one of the forms that Sectile reads.
#pragma once

#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <string>

namespace sectile::tools {

// Errors: missing (neither a name nor a file), those of the reader that the file's form calls for.
Result<DeviceProfile> read_target(const std::string& name_or_file);

// The profile of a live device: "cuda:N", or as vulkan::device_profile. Errors: parse, as the backend's.
Result<DeviceProfile> device_profile(const std::string& selector);

// The device that is meant where none was named: what the runtime takes by itself where that is a GPU;
// among CPU devices the one of the highest Vulkan version, as SwiftShader is 50 times slower than lavapipe.
std::string default_device(const std::string& selector);

// On standard error, where the plan could use a matrix unit and does not: why.
void print_matrix_remark(const Plan& plan, const DeviceProfile& profile);

// That the planner knows a candidate by this name, or by one that begins so. Errors: missing.
Result<void> check_candidate(const Problem& problem, const DeviceProfile& profile, const std::string& force);

}  // namespace sectile::tools
