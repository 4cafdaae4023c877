// sectile devices: what is there, and a device's profile as a file.
#include "command.hpp"
#include "files.hpp"
#include "target.hpp"
#include "text.hpp"

#include "device/quirks.hpp"

#include <sectile/profile.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace sectile::tools {
namespace {

struct DevicesOptions {
  std::string device;
  std::string record;
  bool json = false;
};

std::string api(const vulkan::DeviceEntry& entry) {
  return fmt::format("{}.{}.{}", entry.api_major, entry.api_minor, entry.api_patch);
}

int list_all(const DevicesOptions& options) {
  const auto entries = vulkan::list_devices();
  if (!entries) return report(entries.error(), options.json);
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& entry : *entries) {
      list.push_back({{"index", entry.index},
                      {"selector", fmt::format("vulkan:{}", entry.index)},
                      {"name", entry.name},
                      {"uuid", entry.uuid},
                      {"kind", std::string(vulkan::name(entry.kind))},
                      {"api", api(entry)},
                      {"driver", entry.driver},
                      {"usable", entry.unusable.empty()},
                      {"unusable", entry.unusable},
                      {"quirks", entry.quirks}});
    }
    fmt::print("{}\n", nlohmann::json{{"devices", list}}.dump(2));
    return kOk;
  }
  Table table({"device", "name", "kind", "Vulkan", "driver", "UUID", "usable"});
  for (const auto& entry : *entries) {
    table.add({fmt::format("vulkan:{}", entry.index), entry.name, std::string(vulkan::name(entry.kind)), api(entry),
               entry.driver, entry.uuid, entry.unusable.empty() ? "yes" : "no: " + entry.unusable});
  }
  fmt::print("{}", table.print());
  for (const auto& entry : *entries)
    for (const std::string& quirk : entry.quirks) fmt::print("vulkan:{}: quirk: {}\n", entry.index, quirk);
  return kOk;
}

int run(const DevicesOptions& options) {
  if (options.device.empty() && options.record.empty()) return list_all(options);
  if (!options.record.empty()) {
    if (auto place = check_place(options.record); !place) return report(place.error(), options.json);
  }
  const auto profile = vulkan::device_profile(default_device(options.device));
  if (!profile) return report(profile.error(), options.json);
  const std::string json = to_json(*profile);
  if (!options.record.empty()) {
    const auto written = write_atomically(options.record, json + "\n");
    if (!written) return report(written.error(), options.json);
    fmt::print(stderr, "sectile: wrote the profile of {} to {}\n", profile->name, options.record);
  }
  if (options.json)
    fmt::print("{}\n", json);
  else if (options.record.empty()) {
    fmt::print("{}\n", print(*profile));
    for (const auto& quirk : detail::quirks_for(*profile)) fmt::print("quirk: {}\n", detail::describe(quirk));
  }
  return kOk;
}

}  // namespace

Command add_devices(CLI::App& parent) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* app = parent.add_subcommand("devices", "List devices, or record one's profile");
  app->add_option("--device", options->device, "vulkan:N, a UUID or part of a name: print this one's profile");
  app->add_option("--record", options->record, "Write the profile (JSON) to this file");
  app->add_flag("--json", options->json, "JSON on standard output");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
