// sectile devices: lists devices, and writes a device's profile.
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "machine/vulkan.hpp"

#include "device/quirks.hpp"
#include "plan/cost/device_class.hpp"

#include <sectile/cuda_runtime.hpp>
#include <sectile/device_class.hpp>
#include <sectile/profile.hpp>
#include <sectile/vulkan_runtime.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {
namespace {

struct DevicesOptions {
  std::string device, device_class;
  std::string record;
  bool json = false;
};

// The canary's outcome: one line for each failed shape, or one line in all.
std::vector<std::string> canary_lines(const DeviceProfile& profile) {
  std::vector<std::string> lines;
  lines.reserve(profile.canary_failed.size() + 1);
  for (const auto& [field, source] : profile.sources)
    if (source.starts_with("record_canary") && field != "canary") lines.push_back("failed: " + field + ": " + source);
  for (const MatrixShape& shape : profile.canary_failed) lines.push_back("failed: " + print(shape) + " is not used");
  if (!lines.empty() || profile.matrix_shapes.empty()) return lines;
  lines.push_back(fmt::format("{}: {} matrix shapes", profile.canary == Canary::passed ? "passed" : "not run yet",
                              profile.matrix_shapes.size()));
  return lines;
}
std::vector<std::string> canary_lines(const vulkan::DeviceEntry& entry) {
  if (!entry.unusable.empty()) return {};
  const auto profile = vulkan::device_profile(fmt::format("vulkan:{}", entry.index), default_canary_folder());
  return profile ? canary_lines(*profile) : std::vector<std::string>{};
}

std::string api(const vulkan::DeviceEntry& entry) {
  return fmt::format("{}.{}.{}", entry.api_major, entry.api_minor, entry.api_patch);
}

// The device of the other API that has the same UUID, and is the same card.
std::string same_card(const std::string& uuid, const auto& others, std::string_view world) {
  for (const auto& other : others)
    if (other.uuid == uuid) return fmt::format("{}:{}", world, other.index);
  return {};
}

int list_all(const DevicesOptions& options) {
  auto found = vulkan::list_devices();
  auto cuda_found = cuda::list_devices();
  if (!found && !cuda_found) return report(found.error(), options.json);
  const auto entries = std::make_optional(found ? std::move(*found) : std::vector<vulkan::DeviceEntry>{});
  const auto cuda_entries = cuda_found ? std::move(*cuda_found) : std::vector<cuda::DeviceEntry>{};
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
                      {"quirks", entry.quirks},
                      {"canary", canary_lines(entry)},
                      {"same_card", same_card(entry.uuid, cuda_entries, "cuda")}});
    }
    for (const auto& entry : cuda_entries) {
      list.push_back({{"index", entry.index},
                      {"selector", fmt::format("cuda:{}", entry.index)},
                      {"name", entry.name},
                      {"uuid", entry.uuid},
                      {"kind", "discrete"},
                      {"api", entry.architecture},
                      {"driver", entry.driver},
                      {"usable", true},
                      {"unusable", ""},
                      {"same_card", same_card(entry.uuid, *entries, "vulkan")}});
    }
    nlohmann::json all = {{"devices", list}};
    if (!found) all["vulkan"] = found.error().message();
    if (!cuda_found) all["cuda"] = cuda_found.error().message();
    fmt::print("{}\n", all.dump(2));
    return kOk;
  }
  Table table({"device", "name", "kind", "API", "driver", "UUID", "same card", "usable"});
  for (const auto& entry : *entries) {
    table.add({fmt::format("vulkan:{}", entry.index), entry.name, std::string(vulkan::name(entry.kind)), api(entry),
               entry.driver, entry.uuid, same_card(entry.uuid, cuda_entries, "cuda"),
               entry.unusable.empty() ? "yes" : "no: " + entry.unusable});
  }
  for (const auto& entry : cuda_entries)
    table.add({fmt::format("cuda:{}", entry.index), entry.name, "", entry.architecture, entry.driver, entry.uuid,
               same_card(entry.uuid, *entries, "vulkan"), "yes"});
  fmt::print("{}", table.print());
  // Standard output lists devices. A missing CUDA is no error, and is mentioned only where CUDA's driver is installed.
  const bool no_driver = !cuda_found && cuda_found.error().kind == ErrorKind::missing &&
                         (cuda_found.error().what == "libcuda.so.1" || cuda_found.error().what == "nvcuda.dll");
  if (!found) fmt::print(stderr, "sectile: no Vulkan device: {}\n", found.error().message());
  if (!cuda_found && !no_driver) fmt::print(stderr, "sectile: no CUDA device: {}\n", cuda_found.error().message());
  for (const auto& entry : *entries)
    for (const std::string& quirk : entry.quirks) fmt::print("vulkan:{}: quirk: {}\n", entry.index, quirk);
  for (const auto& entry : *entries)
    for (const std::string& line : canary_lines(entry)) fmt::print("vulkan:{}: canary {}\n", entry.index, line);
  return kOk;
}

// Where the class lands beside a recorded profile: h200.json has h200.class.json.
std::string class_file_of(const std::string& record) {
  constexpr std::string_view kJson = ".json";
  return (record.ends_with(kJson) ? record.substr(0, record.size() - kJson.size()) : record) + ".class.json";
}

// The profile, and beside it what plans for it cost.
Result<void> record(const DevicesOptions& options, const DeviceProfile& profile, const std::string& json) {
  if (auto written = write_atomically(options.record, json + "\n"); !written) return written;
  fmt::print(stderr, "sectile: wrote the profile of {} to {}\n", profile.name, options.record);
  const DeviceClass* const device_class = device_class_of(profile);
  if (device_class == nullptr) {
    fmt::print(stderr, "sectile: note: {} is of no class of devices: nothing was measured (sectile calibrate)\n",
               profile.name);
    return {};
  }
  const std::string file = class_file_of(options.record);
  if (auto written = write_atomically(file, to_json(*device_class)); !written) return written;
  fmt::print(stderr, "sectile: wrote its class, {}, to {}\n", class_name(*device_class), file);
  return {};
}

std::string class_line(const DeviceProfile& profile) {
  const DeviceClass* const device_class = device_class_of(profile);
  if (device_class == nullptr) return "none: nothing was measured on such devices (sectile calibrate)";
  std::string line = print(*device_class);
  const detail::ClassProvenance& measured = device_class->provenance;
  if (!measured.copies.empty()) {
    const auto& [bytes, picoseconds] = measured.copies.back();
    line +=
        fmt::format("; a copy of {} MB at {:.0f} GB/s", bytes / 1'000'000,
                    2e3 * static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(picoseconds, 1)));
  }
  if (measured.empty_dispatch)
    line += fmt::format(", an empty dispatch {:.2f} us", static_cast<double>(*measured.empty_dispatch) * 1e-6);
  return line;
}

int run(const DevicesOptions& options) {
  if (options.device.empty() && options.device_class.empty() && options.record.empty()) return list_all(options);
  if (!options.record.empty()) {
    for (const std::string& file : {options.record, class_file_of(options.record)})
      if (auto place = check_place(file); !place) return report(place.error(), options.json);
  }
  auto profile = device_profile(options.device);
  if (profile) profile = with_device_class(std::move(*profile), options.device_class);
  if (!profile) return report(profile.error(), options.json);
  const std::string json = to_json(*profile);
  if (!options.record.empty())
    if (auto written = record(options, *profile, json); !written) return report(written.error(), options.json);
  if (options.json)
    fmt::print("{}\n", json);
  else if (options.record.empty()) {
    fmt::print("{}\n", print(*profile));
    fmt::print("class {}\n", class_line(*profile));
    for (const auto& quirk : detail::quirks_for(*profile)) fmt::print("quirk: {}\n", detail::describe(quirk));
    for (const std::string& line : canary_lines(*profile)) fmt::print("canary {}\n", line);
  }
  return kOk;
}

}  // namespace

Command add_devices(CLI::App& parent) {
  auto options = std::make_shared<DevicesOptions>();
  CLI::App* app = parent.add_subcommand("devices", "List devices, or record the profile of one");
  app->add_option("--device", options->device,
                  "Print the profile of this device: vulkan:N, cuda:N, a UUID or part of a name");
  app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--record", options->record,
                  "Write the profile to this file, as JSON, and what work costs beside it: h200.json, h200.class.json");
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
