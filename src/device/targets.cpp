// The built-in targets, made from their rows.
#include "targets.hpp"

#include "fields.hpp"
#include "quirks.hpp"

#include "base/json_text.hpp"

#include <array>

namespace sectile {

namespace {

using detail::Fact;
using detail::Target;

// In the order in which they are listed.
auto all_targets() {
  return std::array{detail::cpu_targets(),   detail::nvidia_targets(), detail::amd_targets(),
                    detail::intel_targets(), detail::mobile_targets(), detail::cuda_targets()};
}

Result<DeviceProfile> make(const Target& target) {
  detail::JsonWriter w;
  w.begin('{');
  w.field("name", target.name);
  const std::array rows = {target.family, target.facts};
  for (const auto& facts : rows)
    for (const Fact& fact : facts) {
      w.key(fact.field);
      w.raw(fact.value);
    }
  w.end('}');
  auto profile = profile_from_json(w.text());
  if (!profile) return profile;
  for (const auto& facts : rows)
    for (const Fact& fact : facts)
      if (!profile->sources.emplace(fact.field, fact.source).second)
        return fail(ErrorKind::parse, "target " + std::string(target.name), std::string(fact.field), "each field once");
  for (const auto& s : target.shapes)
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
  if (!target.shapes.empty()) profile->sources.emplace("matrix_shapes", target.shapes_source);
  if (auto ok = detail::check_target(target.name, *profile); !ok) return std::unexpected(std::move(ok.error()));
  detail::apply_quirks(*profile);
  return profile;
}

}  // namespace

Result<void> detail::check_target(std::string_view name, const DeviceProfile& profile) {
  const std::string what = "target " + std::string(name);
  if (profile.name != name) return fail(ErrorKind::parse, what, profile.name, "a profile of that name");
  const bool software = profile.vendor == "mesa" || profile.vendor == "google";
  const std::string prefix = profile.api == Api::cuda ? "cuda:" + cuda_architecture_name(profile)
                             : software               ? std::string(name)
                                                      : profile.vendor + "-";
  if (profile.vendor.empty() || !name.starts_with(prefix) || (profile.api == Api::cuda && name != prefix))
    return fail(ErrorKind::parse, what, prefix, "a name that says vendor or architecture");
  std::optional<Error> wrong;
  for_each_field(profile, [&](std::string_view field, const auto& value) {
    if (wrong || field == "name" || field == "sources") return;
    const auto source = profile.sources.find(std::string(field));
    const bool known = is_known(value), sourced = source != profile.sources.end() && !source->second.empty();
    if (known != sourced)
      wrong = Error{ErrorKind::parse, what + ", " + std::string(field), known ? "no source" : "a source for nothing",
                    "a source for each field that is set"};
  });
  if (wrong) return std::unexpected(std::move(*wrong));
  return {};
}

std::vector<std::string_view> builtin_target_names() {
  std::vector<std::string_view> names;
  for (const auto& targets : all_targets())
    for (const Target& target : targets) names.push_back(target.name);
  return names;
}

Result<DeviceProfile> builtin_target(std::string_view name) {
  std::string known;
  for (const auto& targets : all_targets())
    for (const Target& target : targets) {
      if (target.name == name) return make(target);
      known.append(known.empty() ? "" : " ").append(target.name);
    }
  return fail(ErrorKind::missing, "target", std::string(name), "one of " + known);
}

}  // namespace sectile
