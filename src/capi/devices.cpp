// The C interface: the devices that are here.
#include "handles.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

using namespace sectile;
using capi::given;
using capi::guarded;

namespace {

struct Entry {
  vulkan::DeviceEntry device;
  std::string selector, kind, api;
};

Entry entry_of(vulkan::DeviceEntry device) {
  std::string selector = "vulkan:" + std::to_string(device.index);
  std::string api = std::to_string(device.api_major) + '.' + std::to_string(device.api_minor) + '.' +
                    std::to_string(device.api_patch);
  std::string kind(vulkan::name(device.kind));
  return {std::move(device), std::move(selector), std::move(kind), std::move(api)};
}

// A JSON string. A driver's name is UTF-8, and is passed on as it is.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_of(const Entry& entry) {
  std::string quirks;
  for (const std::string& quirk : entry.device.quirks) quirks += (quirks.empty() ? "" : ",") + quoted(quirk);
  return "{\"api\":" + quoted(entry.api) + ",\"driver\":" + quoted(entry.device.driver) +
         ",\"index\":" + std::to_string(entry.device.index) + ",\"kind\":" + quoted(entry.kind) +
         ",\"name\":" + quoted(entry.device.name) + ",\"quirks\":[" + quirks +
         "],\"selector\":" + quoted(entry.selector) + ",\"unusable\":" + quoted(entry.device.unusable) +
         ",\"usable\":" + (entry.device.unusable.empty() ? "true" : "false") +
         ",\"uuid\":" + quoted(entry.device.uuid) + '}';
}

}  // namespace

struct SectileDeviceList {
  std::vector<Entry> entries;
  capi::LazyText json = {};
};

SectileStatus sectile_device_list_create(SectileDeviceList** list) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(list, "list"); !r) return r;
    auto found = vulkan::list_devices();
    if (!found) return std::unexpected(found.error());
    auto made = std::make_unique<SectileDeviceList>();
    for (vulkan::DeviceEntry& device : *found) made->entries.push_back(entry_of(std::move(device)));
    *list = made.release();
    return {};
  });
}

void sectile_device_list_destroy(SectileDeviceList* list) { delete list; }

uint32_t sectile_device_list_count(const SectileDeviceList* list) {
  return static_cast<uint32_t>(list->entries.size());
}

SectileStatus sectile_device_list_device(const SectileDeviceList* list, uint32_t index, SectileDeviceInfo* info) {
  return guarded([&]() -> Result<void> {
    if (auto r = given(list, "list"); !r) return r;
    if (index >= list->entries.size())
      return fail(ErrorKind::missing, "device", std::to_string(index),
                  "fewer than " + std::to_string(list->entries.size()));
    const Entry& entry = list->entries[index];
    SectileDeviceInfo out{};
    out.selector = entry.selector.c_str();
    out.name = entry.device.name.c_str();
    out.uuid = entry.device.uuid.c_str();
    out.kind = entry.kind.c_str();
    out.api = entry.api.c_str();
    out.driver = entry.device.driver.c_str();
    out.unusable = entry.device.unusable.c_str();
    return capi::write(out, info, "info");
  });
}

const char* sectile_device_list_json(const SectileDeviceList* list) {
  return list->json.get([&] {
    std::string all;
    for (const Entry& entry : list->entries) all += (all.empty() ? "" : ",") + json_of(entry);
    return "{\"devices\":[" + all + "]}";
  });
}
