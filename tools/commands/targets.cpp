// sectile targets: lists the built-in targets, and compares profiles.
#include "cli/command.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"

#include "device/quirks.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace sectile::tools {
namespace {

using nlohmann::json;

struct TargetsOptions {
  std::vector<std::string> names;
  bool sources = false;
  bool json = false;
};

std::string shown(const std::optional<std::uint32_t>& value) { return value ? std::to_string(*value) : "-"; }

std::string subgroups(const DeviceProfile& p) {
  if (!p.min_subgroup_size || !p.max_subgroup_size) return shown(p.subgroup_size);
  if (p.min_subgroup_size == p.max_subgroup_size) return shown(p.min_subgroup_size);
  return fmt::format("{}-{}", *p.min_subgroup_size, *p.max_subgroup_size);
}

// Matrix instructions, or the shapes of the extension.
std::string matrices(const DeviceProfile& p) {
  std::string text;
  for (const std::string& unit : p.matrix_units) text += (text.empty() ? "" : " ") + unit;
  if (!text.empty()) return text;
  if (!p.matrix_shapes.empty()) return fmt::format("{} shapes", p.matrix_shapes.size());
  if (!p.cooperative_matrix) return "not known, not used";
  return *p.cooperative_matrix ? "shapes not known, not used" : "no";
}

int list_all(bool as_json) {
  Table table({"target", "API", "vendor", "subgroup", "invocations", "workgroup memory", "dynamic", "matrix", "facts",
               "quirks"});
  json list = json::array();
  for (const std::string_view name : builtin_target_names()) {
    const auto profile = builtin_target(name);
    if (!profile) return report(profile.error(), as_json);
    const auto quirks = detail::quirks_for(*profile);
    if (as_json) {
      json notes = json::array();
      for (const auto& quirk : quirks) notes.push_back(detail::describe(quirk));
      list.push_back({{"name", name}, {"profile", json::parse(to_json(*profile))}, {"quirks", std::move(notes)}});
      continue;
    }
    table.add({profile->name, profile->api == Api::cuda ? "CUDA" : "Vulkan", profile->vendor, subgroups(*profile),
               shown(profile->max_workgroup_invocations), shown(profile->workgroup_memory_bytes),
               shown(profile->max_dynamic_workgroup_memory_bytes), matrices(*profile),
               std::to_string(profile->sources.size()), std::to_string(quirks.size())});
  }
  if (as_json)
    fmt::print("{}\n", json{{"targets", std::move(list)}}.dump(2));
  else
    fmt::print("{}", table.print());
  return kOk;
}

// A field's value as a cell: JSON, shortened where it would break the table.
std::string cell(const json& profile, const std::string& field) {
  const auto found = profile.find(field);
  if (found == profile.end()) return "-";
  if (field == "matrix_shapes") return fmt::format("{} shapes", found->size());
  return found->is_string() ? found->get<std::string>() : found->dump();
}

json value(const json& profile, const std::string& field) {
  const auto found = profile.find(field);
  return found == profile.end() ? json() : *found;
}

bool differ(const std::vector<json>& profiles, const std::string& field) {
  for (const json& profile : profiles)
    if (value(profile, field) != value(profiles.front(), field)) return true;
  return false;
}

std::string source(const json& profile, const std::string& field) {
  const auto sources = profile.find("sources");
  if (sources == profile.end() || !sources->contains(field)) return {};
  return (*sources)[field].get<std::string>();
}

void print_comparison(const std::vector<json>& profiles, const std::set<std::string>& fields, bool sources) {
  std::vector<std::string> heads = {"", "field"};
  for (const json& profile : profiles) heads.push_back(cell(profile, "name"));
  Table table(heads);
  for (const std::string& field : fields) {
    std::vector<std::string> cells = {differ(profiles, field) ? "*" : "", field};
    for (const json& profile : profiles) cells.push_back(cell(profile, field));
    table.add(std::move(cells));
  }
  fmt::print("{}", table.print());
  if (profiles.size() > 1) fmt::print("\n*: they differ; -: not known\n");
  if (!sources) return;
  for (const std::string& field : fields) {
    fmt::print("\n{}\n", field);
    for (const json& profile : profiles) {
      const std::string text = source(profile, field);
      if (!text.empty()) fmt::print("  {} = {}: {}\n", cell(profile, "name"), cell(profile, field), text);
    }
  }
}

int compare(const TargetsOptions& options) {
  std::vector<json> profiles;
  json as_json = json::array();
  std::set<std::string> fields;
  std::string quirks, units;
  for (const std::string& name : options.names) {
    const auto profile = read_target(name);
    if (!profile) return report(profile.error(), options.json);
    profiles.push_back(json::parse(to_json(*profile)));
    for (const auto& [field, unused] : profiles.back().items()) fields.insert(field);
    json notes = json::array();
    for (const auto& quirk : detail::quirks_for(*profile)) {
      quirks += fmt::format("{}: {}\n", profile->name, detail::describe(quirk));
      notes.push_back(detail::describe(quirk));
    }
    const std::string unit = matrix_unit_remark(*profile);
    if (!unit.empty()) units += fmt::format("{}: {}\n", profile->name, unit);
    as_json.push_back({{"name", profile->name}, {"profile", profiles.back()}, {"quirks", std::move(notes)}});
    if (!unit.empty()) as_json.back()["matrix_unit_unused"] = unit;
  }
  // A profile without this field is for Vulkan. It is set here, so that the column does not show "not known".
  for (json& profile : profiles) profile.emplace("api", "vulkan");
  fields.insert("api");
  fields.erase("name");
  fields.erase("sources");
  if (options.json) {
    json differing = json::array();
    for (const std::string& field : fields)
      if (differ(profiles, field)) differing.push_back(field);
    fmt::print("{}\n", json{{"targets", std::move(as_json)}, {"differ", std::move(differing)}}.dump(2));
    return kOk;
  }
  print_comparison(profiles, fields, options.sources);
  if (!quirks.empty()) fmt::print("\nQuirks\n{}", quirks);
  if (!units.empty()) fmt::print("\nMatrix units that matmuls do not use\n{}", units);
  return kOk;
}

}  // namespace

Command add_targets(CLI::App& parent) {
  auto options = std::make_shared<TargetsOptions>();
  CLI::App* app = parent.add_subcommand("targets", "List the built-in targets, or compare some field by field");
  app->add_option("targets", options->names, "Names of built-in targets, or files: profile or vulkaninfo JSON");
  app->add_flag("--sources", options->sources, "Print the source of each value");
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return options->names.empty() ? list_all(options->json) : compare(*options); }};
}

}  // namespace sectile::tools
