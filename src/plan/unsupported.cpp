#include "unsupported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace sectile::detail {

namespace {

// An optional device feature and its Vulkan name.
struct Feature {
  std::optional<bool> DeviceProfile::* field;
  const char* vulkan;
};
constexpr Feature kFeatures[] = {
    {&DeviceProfile::storage16, "storageBuffer16BitAccess"},
    {&DeviceProfile::storage8, "storageBuffer8BitAccess"},
    {&DeviceProfile::float16, "shaderFloat16"},
    {&DeviceProfile::int8, "shaderInt8"},
    {&DeviceProfile::int16, "shaderInt16"},
    {&DeviceProfile::int64, "shaderInt64"},
    {&DeviceProfile::bfloat16, "shaderBFloat16Type"},
    {&DeviceProfile::integer_dot_product, "shaderIntegerDotProduct"},
};

// A limit: raise() sets it to what today's GPUs have, value() prints the profile's.
struct Limit {
  const char* name;
  void (*raise)(DeviceProfile&);
  std::string (*value)(const DeviceProfile&);
};
std::string number(const std::optional<std::uint32_t>& value, std::uint32_t least) {
  return std::to_string(value.value_or(least));
}
constexpr Limit kLimits[] = {
    {"workgroup memory of more than {} bytes", [](DeviceProfile& p) { p.workgroup_memory_bytes = 49152; },
     [](const DeviceProfile& p) { return number(p.workgroup_memory_bytes, 16384); }},
    {"workgroups of more than {} invocations",
     [](DeviceProfile& p) {
       p.max_workgroup_invocations = 1024;
       p.max_workgroup_size = {1024, 1024, 64};
     },
     [](const DeviceProfile& p) { return number(p.max_workgroup_invocations, 128); }},
    {"grids beyond {} workgroups along x", [](DeviceProfile& p) { p.max_grid = {0x7fffffff, 65535, 65535}; },
     [](const DeviceProfile& p) { return std::to_string(p.max_grid ? (*p.max_grid)[0] : 65535); }},
};

// A smallest set of missing features that makes the problem plannable; empty if all of them together do not.
std::vector<const Feature*> features_needed(const DeviceProfile& profile,
                                            const std::function<bool(const DeviceProfile&)>& plannable) {
  std::vector<const Feature*> missing;
  for (const Feature& feature : kFeatures)
    if (!(profile.*feature.field).value_or(false)) missing.push_back(&feature);
  const auto would_do = [&](const std::vector<const Feature*>& with) {
    DeviceProfile other = profile;
    for (const Feature* feature : with) other.*feature->field = true;
    return plannable(other);
  };
  if (missing.empty() || !would_do(missing)) return {};
  for (std::size_t i = 0; i < missing.size(); ++i)
    if (would_do({missing[i]})) return {missing[i]};
  for (std::size_t i = 0; i < missing.size(); ++i)
    for (std::size_t j = i + 1; j < missing.size(); ++j)
      if (would_do({missing[i], missing[j]})) return {missing[i], missing[j]};
  // Three or more: drop each feature that is not needed.
  for (std::size_t i = 0; i < missing.size();) {
    auto without = missing;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    if (would_do(without))
      missing = std::move(without);
    else
      ++i;
  }
  return missing;
}

std::string missing_from(const DeviceProfile& profile, const std::function<bool(const DeviceProfile&)>& plannable) {
  if (const auto features = features_needed(profile, plannable); !features.empty()) {
    std::string names;
    std::size_t offered = 0;  // features that the driver has
    for (const Feature* feature : features) {
      names += fmt::format("{}{}", names.empty() ? "" : " and ", feature->vulkan);
      offered += std::ranges::any_of(profile.sources, [&](const auto& source) {
        return source.second == fmt::format("{}{}", kNotEnabled, feature->vulkan);
      });
    }
    if (profile.uuid.empty()) return names + ", which the target lacks";
    if (offered == features.size()) return names + ", which the application has not enabled";
    return names +
           (offered == 0 ? ", which the device lacks" : ", which the device lacks or the application has not enabled");
  }
  for (const Limit& limit : kLimits) {
    DeviceProfile other = profile;
    limit.raise(other);
    if (plannable(other)) return fmt::format(fmt::runtime(limit.name), limit.value(profile));
  }
  return "another device; PlanOptions::explain lists why each candidate is refused";
}

// The distinct refusals of the forced candidates, at most three of them.
std::string refusals_of_forced(const std::vector<Candidate>& explanations, const std::string& force) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> reasons;
  for (const Candidate& candidate : explanations) {
    const bool forced = candidate.name == force || candidate.name.starts_with(force + " ");
    if (forced && !candidate.refusal.empty() && std::ranges::find(reasons, candidate.refusal) == reasons.end())
      reasons.push_back(candidate.refusal);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(reasons.size(), kMost); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : "; or ", reasons[i]);
  if (reasons.size() > kMost) text += fmt::format("; and {} more reasons", reasons.size() - kMost);
  return text;
}

}  // namespace

Error unsupported(const Job& job, std::string_view operation, const std::vector<Candidate>& explanations,
                  const std::function<bool(const DeviceProfile&)>& plannable) {
  const std::string& force = job.options.force;
  Error error{
      ErrorKind::unsupported, fmt::format("{} on {}", operation, job.profile.name), print(job.plan.problem), {}, {}};
  if (!force.empty()) {
    const std::string reasons = refusals_of_forced(explanations, force);
    error.limit = reasons.empty() ? "an existing candidate, not '" + force + "'"
                                  : "another candidate than " + force + ": " + reasons;
  } else {
    error.limit = missing_from(job.profile, plannable);
  }
  if (job.options.explain)
    for (const Candidate& candidate : explanations)
      if (!candidate.refusal.empty()) error.detail += fmt::format("  - {}: {}\n", candidate.name, candidate.refusal);
  return error;
}

}  // namespace sectile::detail
