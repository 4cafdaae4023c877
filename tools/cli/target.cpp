#include "target.hpp"

#include "backend/platform.hpp"

#include "files.hpp"
#include "machine/machine.hpp"
#include "machine/vulkan.hpp"

#include <sectile/cuda_runtime.hpp>
#include <sectile/planner.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace sectile::tools {
namespace {

// Both forms of `vulkaninfo -j` have a key at the top that a DeviceProfile never has.
bool looks_like_vulkaninfo(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return false;
  return json.contains("capabilities") || json.contains("VkPhysicalDeviceProperties") || json.contains("$schema");
}

}  // namespace

Result<DeviceProfile> read_target(const std::string& name_or_file) {
  const auto names = builtin_target_names();
  if (std::find(names.begin(), names.end(), name_or_file) != names.end()) return builtin_target(name_or_file);
  std::error_code code;
  // Neither: builtin_target's error lists all names.
  if (!std::filesystem::exists(backend::native_path(name_or_file), code)) {
    auto unknown = builtin_target(name_or_file);
    const bool path = name_or_file.find_first_of("./") != std::string::npos;
    if (path && !unknown)
      return fail(ErrorKind::missing, "target or file", name_or_file, "a file, or " + unknown.error().limit);
    return unknown;
  }
  const auto text = read_text(name_or_file);
  if (!text) return std::unexpected(text.error());
  auto profile = looks_like_vulkaninfo(*text) ? profile_from_vulkaninfo(*text) : profile_from_json(*text);
  if (!profile) {
    Error error = profile.error();
    error.what = name_or_file + ": " + error.what;
    return std::unexpected(std::move(error));
  }
  return profile;
}

Result<DeviceClassPtr> read_device_class(const std::string& file) {
  if (file.empty()) return nullptr;
  const auto text = read_text(file);
  if (!text) return std::unexpected(text.error());
  auto read = device_class_from_json(*text);
  if (read) return read;
  Error error = read.error();
  error.what = file + ": " + error.what;
  return std::unexpected(std::move(error));
}

Result<DeviceProfile> with_device_class(DeviceProfile profile, const std::string& file) {
  auto device_class = read_device_class(file);
  if (!device_class) return std::unexpected(device_class.error());
  if (*device_class == nullptr) return profile;
  const auto warnings = use_device_class(profile, std::move(*device_class));
  if (!warnings) return std::unexpected(warnings.error());
  warn(*warnings);
  return profile;
}

void warn(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "sectile: warning: {}\n", warning);
}

Result<DeviceProfile> device_profile(const std::string& selector) {
  const std::string device = default_device(selector);
  if (!is_cuda(device)) return vulkan::device_profile(device, default_canary_folder());
  int ordinal = -1;
  const std::string_view digits = std::string_view(device).substr(5);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), ordinal);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || ordinal < 0)
    return fail(ErrorKind::parse, "device", device, "cuda:N");
  return cuda::profile(ordinal);
}

std::string default_device(const std::string& selector) {
  if (!selector.empty()) return selector;
  const auto entries = vulkan::list_devices();
  if (!entries) {
    // Without Vulkan a CUDA device serves. Without both, the runtime reports Vulkan's error.
    const auto others = cuda::list_devices();
    return others && !others->empty() ? "cuda:0" : selector;
  }
  const vulkan::DeviceEntry* best = nullptr;
  const auto version = [](const vulkan::DeviceEntry& entry) { return entry.api_major * 1000 + entry.api_minor; };
  for (const auto& entry : *entries) {
    if (!entry.unusable.empty()) continue;
    if (entry.kind != DeviceKind::cpu) return selector;
    if (best == nullptr || version(entry) > version(*best)) best = &entry;
  }
  return best == nullptr ? selector : "vulkan:" + std::to_string(best->index);
}

void print_remark(const Plan& plan, const DeviceProfile& profile) {
  const std::string text = plan_remark(plan, profile);
  if (!text.empty()) fmt::print(stderr, "sectile: note: {} on {}: {}\n", print(plan.problem), profile.name, text);
}

Result<void> check_candidate(const Problem& problem, const DeviceProfile& profile, const std::string& force) {
  if (force.empty()) return {};
  const auto plan = make_plan(problem, profile, {.explain = true, .force = {}});
  if (!plan) return std::unexpected(plan.error());
  const auto known = [&](const Candidate& candidate) { return candidate.name.starts_with(force); };
  if (std::any_of(plan->candidates.begin(), plan->candidates.end(), known)) return {};
  return fail(ErrorKind::missing, "candidate", force, "a name that plan --explain lists");
}

}  // namespace sectile::tools
