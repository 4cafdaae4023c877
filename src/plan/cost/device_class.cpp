// Classes of devices: the reader and the writer of their files, and which class a device has.
#include "device_class.hpp"
#include "correction.hpp"
#include "number_names.hpp"

#include "base/hash.hpp"
#include "base/json_text.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sectile {

namespace detail {

namespace {

constexpr std::uint32_t kSchema = 2;
constexpr std::int32_t kMostOffset = 1 << 14;  // of a logarithm, either way: sums stay far below 2^31

// An object of the file: body(inside, what) reads its keys, and others are refused. Returns whether it is there.
template <class F>
bool read_object(JsonObject& o, const char* key, bool required, F&& body) {
  const std::string what = std::string("class.") + key;
  const nlohmann::json* value = o.find(key);
  if (value == nullptr) {
    if (required) o.fail({ErrorKind::parse, what, "not there", ""});
    return false;
  }
  JsonObject inside(*value, what);
  body(inside, what);
  if (auto ok = inside.finish(); !ok) o.fail(std::move(ok.error()));
  return true;
}

// What a class's file has and what it lacks.
struct Reading {
  DeviceClass& out;
  const DeviceClass* base;

  // The base's stands where the file has none.
  void number(JsonObject& o, const std::string& group, const char* key, std::uint32_t& number, std::uint32_t least) {
    if (o.find(key) == nullptr && base != nullptr) {
      out.derived.push_back(group + "." + key);
      return;
    }
    number = 0;
    o.required(key, number);
    if (number < least)
      o.fail(
          {ErrorKind::parse, "class." + group + "." + key, std::to_string(number), fmt::format("at least {}", least)});
  }
};

void read_devices(JsonObject& o, ClassDevices& out) {
  read_object(o, "devices", true, [&](JsonObject& inside, const std::string&) {
    std::string api, kind;
    inside.required("api", api);
    inside.required("kind", kind);
    if (api != "vulkan" && api != "cuda" && !api.empty())
      inside.fail({ErrorKind::parse, "class.devices.api", JsonObject::cut(api), "vulkan or cuda"});
    if (kind != "cpu" && kind != "gpu" && !kind.empty())
      inside.fail({ErrorKind::parse, "class.devices.kind", JsonObject::cut(kind), "cpu or gpu"});
    out.api = api == "cuda" ? Api::cuda : Api::vulkan;
    out.cpu = kind == "cpu";
    inside.optional("vendor", out.vendor);
    inside.optional("first_device_id", out.first_device_id);
    inside.optional("last_device_id", out.last_device_id);
    inside.optional("cuda_architecture", out.cuda_architecture);
    inside.optional("subgroup_size", out.subgroup_size);
    inside.optional("names", out.names);
    if (out.last_device_id && (!out.first_device_id || *out.last_device_id < *out.first_device_id))
      inside.fail({ErrorKind::parse, "class.devices.last_device_id", std::to_string(*out.last_device_id),
                   "at least first_device_id"});
  });
}

void read_provenance(JsonObject& o, ClassProvenance& out) {
  read_object(o, "provenance", true, [&](JsonObject& inside, const std::string&) {
    inside.required("device", out.device);
    inside.required("driver", out.driver);
    inside.required("dates", out.dates);
    inside.required("command", out.command);
    inside.optional("planner", out.planner);
    inside.optional("measurements", out.measurements);
    inside.optional("copies", out.copies);
    inside.optional("empty_dispatch", out.empty_dispatch);
    inside.optional("second_step", out.second_step);
  });
}

void read_groups(JsonObject& o, Reading& reading) {
  DeviceClass& out = reading.out;
  for_each_group(out.numbers, out.devices.cpu, [&](const char* group, auto&& each) {
    const bool there = read_object(o, group, reading.base == nullptr, [&](JsonObject& inside, const std::string&) {
      each([&](const char* key, std::uint32_t& number, const NumberRule& rule) {
        reading.number(inside, group, key, number, rule.least);
      });
    });
    if (there) return;
    each([&](const char* key, std::uint32_t&, const NumberRule&) {
      out.derived.push_back(std::string(group) + "." + key);
    });
  });
}

// The base's bandwidth is that of its multiprocessors; a device of other size has a share, as one of no class has.
void scale_derived_bandwidth(Reading& reading) {
  if (reading.base == nullptr) return;
  ClassNumbers& n = reading.out.numbers;
  const auto scale = [&](std::string_view name, std::uint32_t& number) {
    if (std::ranges::find(reading.out.derived, name) == reading.out.derived.end()) return;
    number = bandwidth_share(number, n.measured_multiprocessors, reading.base->numbers.measured_multiprocessors);
  };
  scale("gemm_gpu.dram_bytes", n.gemm.dram_bytes);
  scale("gemm_gpu.split_bytes", n.gemm.split_bytes);
}

bool in_range(std::int64_t value) { return value >= -kMostOffset && value <= kMostOffset; }

// Rows by their whole names: "matvec 1 by 32 2x4".
void read_rows(JsonObject& o, Reading& reading) {
  const nlohmann::json* value = o.find("rows");
  if (value == nullptr && reading.base == nullptr) return o.fail({ErrorKind::parse, "class.rows", "not there", ""});
  if (value != nullptr && !value->is_object())
    return o.fail({ErrorKind::parse, "class.rows", JsonObject::shown(*value), "an object"});
  std::set<std::string, std::less<>> seen;
  for (std::size_t t = 0; t < kCostTables; ++t) {
    const auto table = static_cast<CostTable>(t);
    const std::vector<std::string>& names = cost_rows(table);
    for (std::size_t row = 0; row < names.size(); ++row) {
      const std::string name = fmt::format("{} {}", stem_of(table), names[row]);
      RowNumbers& numbers = reading.out.rows.rows[t].at(row);
      const auto found = value == nullptr ? nlohmann::json::const_iterator() : value->find(name);
      if (value == nullptr || found == value->end()) {
        // Rows without numbers of their own have no rate: only corrections name them.
        if (reading.base != nullptr || !has_rates(table)) {
          if (has_rates(table)) reading.out.derived.push_back("rows." + name);
          continue;
        }
        return o.fail({ErrorKind::parse, "class.rows." + name, "not there", ""});
      }
      seen.insert(name);
      JsonObject inside(*found, "class.rows." + name);
      numbers = {};
      if (has_rates(table)) {
        inside.required("rate", numbers.rate);
        inside.optional("int8_rate", numbers.int8_rate);
        if (numbers.rate == 0) inside.fail({ErrorKind::parse, "class.rows." + name + ".rate", "0", "at least 1"});
      }
      inside.optional("offset", numbers.offset);
      if (!in_range(numbers.offset))
        inside.fail({ErrorKind::parse, "class.rows." + name + ".offset", std::to_string(numbers.offset),
                     fmt::format("at most {} either way", kMostOffset)});
      if (auto ok = inside.finish(); !ok) return o.fail(std::move(ok.error()));
    }
  }
  if (value == nullptr) return;
  for (const auto& [name, numbers] : value->items())
    if (!seen.contains(name)) reading.out.unknown.push_back(JsonObject::cut(name));
}

void read_corrections(JsonObject& o, DeviceClass& out) {
  read_object(o, "corrections", false, [&](JsonObject& inside, const std::string& what) {
    for (std::size_t t = 0; t < kCostTables; ++t) {
      // JsonObject keeps the keys that it was asked for; stems and features are literals, which last.
      const char* const stem = stem_of(static_cast<CostTable>(t)).data();
      const nlohmann::json* value = inside.find(stem);
      if (value == nullptr) continue;
      Correction& correction = out.rows.corrections[t];
      const std::string path = what + "." + stem;
      JsonObject one(*value, path);
      const auto number = [&](const char* key, std::int32_t& into) {
        one.optional(key, into);
        if (!in_range(into))
          one.fail({ErrorKind::parse, path + "." + key, std::to_string(into),
                    fmt::format("at most {} either way", kMostOffset)});
      };
      number("constant", correction.constant);
      const auto names = feature_names(static_cast<CostTable>(t));
      for (std::size_t f = 0; f < names.size(); ++f) number(names[f].data(), correction.slope[f]);
      if (auto ok = one.finish(); !ok) inside.fail(std::move(ok.error()));
    }
  });
}

// Notes are for people: names of numbers or groups, and text.
void read_notes(JsonObject& o, DeviceClass& out) {
  const nlohmann::json* value = o.find("notes");
  if (value == nullptr) return;
  if (!value->is_object()) return o.fail({ErrorKind::parse, "class.notes", JsonObject::shown(*value), "an object"});
  for (const auto& [key, note] : value->items()) {
    if (!note.is_string())
      return o.fail({ErrorKind::parse, "class.notes." + JsonObject::cut(key), JsonObject::shown(note), "a string"});
    out.notes.emplace_back(key, note.get<std::string>());
  }
}

void write_rows(JsonWriter& w, const ClassRows& rows) {
  w.key("rows");
  w.begin('{');
  for (std::size_t t = 0; t < kCostTables; ++t) {
    const auto table = static_cast<CostTable>(t);
    for (std::size_t row = 0; row < rows.rows[t].size(); ++row) {
      const RowNumbers& numbers = rows.rows[t][row];
      if (!has_rates(table) && numbers.offset == 0) continue;
      w.key(fmt::format("{} {}", stem_of(table), cost_rows(table)[row]));
      w.begin('{');
      if (has_rates(table)) w.field("rate", numbers.rate);
      if (numbers.int8_rate != 0) w.field("int8_rate", numbers.int8_rate);
      if (numbers.offset != 0) w.field("offset", numbers.offset);
      w.end('}');
    }
  }
  w.end('}');
}

void write_corrections(JsonWriter& w, const ClassRows& rows) {
  w.key("corrections");
  w.begin('{');
  for (std::size_t t = 0; t < kCostTables; ++t) {
    const Correction& correction = rows.corrections[t];
    if (correction == Correction{}) continue;
    w.key(stem_of(static_cast<CostTable>(t)));
    w.begin('{');
    w.field("constant", correction.constant);
    const auto names = feature_names(static_cast<CostTable>(t));
    for (std::size_t f = 0; f < names.size(); ++f)
      if (correction.slope[f] != 0) w.field(names[f], correction.slope[f]);
    w.end('}');
  }
  w.end('}');
}

// What the planner reads of a class.
void write_numbers(JsonWriter& w, const DeviceClass& c) {
  for_each_group(c.numbers, c.devices.cpu, [&](const char* group, auto&& each) {
    w.key(group);
    w.begin('{');
    each([&](const char* key, const std::uint32_t& number, const NumberRule&) { w.field(key, number); });
    w.end('}');
  });
  write_rows(w, c.rows);
  write_corrections(w, c.rows);
}

}  // namespace

std::string ClassProvenance::text() const {
  return driver.empty() ? fmt::format("{}, {}", device, dates)
                        : fmt::format("{}, driver {}, {}", device, driver, dates);
}

std::string numbers_id(const DeviceClass& device_class) {
  JsonWriter w;
  w.begin('{');
  write_numbers(w, device_class);
  w.end('}');
  return hash128(w.text());
}

Result<DeviceClass> read_device_class(std::string_view text, Lacking lacking) {
  auto value = parse_json(text, "class");
  if (!value) return std::unexpected(std::move(value.error()));
  JsonObject o(*value, "class");
  DeviceClass out;
  std::uint32_t schema = 0;
  o.required("schema", schema);
  if (schema != kSchema) o.fail({ErrorKind::parse, "class.schema", std::to_string(schema), std::to_string(kSchema)});
  o.required("name", out.name);
  if (out.name.empty()) o.fail({ErrorKind::parse, "class.name", "empty", "a name"});
  read_devices(o, out.devices);
  read_provenance(o, out.provenance);
  const DeviceClass* const base = lacking == Lacking::derived ? &base_class(out.devices.api, out.devices.cpu) : nullptr;
  if (base != nullptr) {
    out.numbers = base->numbers;
    out.rows = base->rows;
    // Offsets and corrections were fitted together: a class has its own of both, or the base's.
    if (o.find("rows") != nullptr || o.find("corrections") != nullptr) {
      out.rows.corrections = {};
      for (auto& table : out.rows.rows)
        for (RowNumbers& row : table) row.offset = 0;
    }
  }
  Reading reading{out, base};
  read_groups(o, reading);
  scale_derived_bandwidth(reading);
  read_rows(o, reading);
  read_corrections(o, out);
  read_notes(o, out);
  if (auto ok = o.finish(); !ok) return std::unexpected(std::move(ok.error()));
  out.measured = out.provenance.text();
  out.id = numbers_id(out);
  return out;
}

const std::vector<DeviceClass>& builtin_classes() {
  // A test reads each file; one that cannot be read ends the program here.
  static const std::vector<DeviceClass> classes = [] {
    std::vector<DeviceClass> all;
    for (const std::string_view text : builtin_class_texts())
      all.push_back(read_device_class(text, Lacking::refused).value());
    return all;
  }();
  return classes;
}

const DeviceClass* builtin_class(std::string_view name) {
  const auto& all = builtin_classes();
  const auto found = std::ranges::find(all, name, &DeviceClass::name);
  return found == all.end() ? nullptr : &*found;
}

const DeviceClass& base_class(Api api, bool cpu) {
  return *builtin_class(cpu ? "cpu" : api == Api::cuda ? "nvidia-hopper-cuda" : "nvidia-hopper");
}

std::uint32_t bandwidth_share(std::uint32_t whole, std::uint64_t multiprocessors, std::uint32_t measured) noexcept {
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(whole * multiprocessors / measured, 1, ~std::uint32_t{0}));
}

namespace {

enum class Differs : std::uint8_t { nothing, api, kind, vendor, cuda_architecture, subgroup_size, device_id, name };

// The first of what a class states of its devices that the profile does not have.
Differs first_difference(const ClassDevices& d, const DeviceProfile& p) noexcept {
  if (d.api != p.api) return Differs::api;
  if (d.cpu != (p.kind == DeviceKind::cpu)) return Differs::kind;
  if (!d.vendor.empty() && d.vendor != p.vendor) return Differs::vendor;
  if (d.cuda_architecture && d.cuda_architecture != p.cuda_architecture) return Differs::cuda_architecture;
  if (d.subgroup_size && d.subgroup_size != p.subgroup_size) return Differs::subgroup_size;
  const bool numbered = d.first_device_id.has_value();
  if (numbered && p.device_id != 0) {
    const std::uint32_t last = d.last_device_id.value_or(*d.first_device_id);
    return p.device_id >= *d.first_device_id && p.device_id <= last ? Differs::nothing : Differs::device_id;
  }
  const bool named = std::ranges::find(d.names, p.name) != d.names.end();
  return named || (d.names.empty() && !numbered) ? Differs::nothing : Differs::name;
}

}  // namespace

bool is_of(const ClassDevices& devices, const DeviceProfile& profile) noexcept {
  return first_difference(devices, profile) == Differs::nothing;
}

std::string other_device(const ClassDevices& d, const DeviceProfile& p) {
  const auto shown = [](const std::optional<std::uint32_t>& number) {
    return number ? std::to_string(*number) : std::string("unknown");
  };
  switch (first_difference(d, p)) {
    case Differs::nothing:
      break;
    case Differs::api:
      return fmt::format("api {}", p.api == Api::cuda ? "cuda" : "vulkan");
    case Differs::kind:
      return fmt::format("kind {}", d.cpu ? "gpu" : "cpu");
    case Differs::vendor:
      return fmt::format("vendor {}", p.vendor);
    case Differs::cuda_architecture:
      return fmt::format("cuda_architecture {}", shown(p.cuda_architecture));
    case Differs::subgroup_size:
      return fmt::format("subgroup_size {}", shown(p.subgroup_size));
    case Differs::device_id:
      return fmt::format("device_id {}", p.device_id);
    case Differs::name:
      return fmt::format("name {}", p.name);
  }
  return {};
}

const DeviceClass* measured_class_of(const DeviceProfile& profile) {
  // The most special first: a class that states a subgroup size stands before one that states none.
  const DeviceClass* best = nullptr;
  for (const DeviceClass& c : builtin_classes())
    if (is_of(c.devices, profile) && (best == nullptr || (c.devices.subgroup_size && !best->devices.subgroup_size)))
      best = &c;
  return best;
}

}  // namespace detail

Result<DeviceClassPtr> device_class_from_json(std::string_view text) {
  auto read = detail::read_device_class(text, detail::Lacking::derived);
  if (!read) return std::unexpected(std::move(read.error()));
  return std::make_shared<const DeviceClass>(std::move(*read));
}

std::string to_json(const DeviceClass& c) {
  detail::JsonWriter w;
  w.begin('{');
  w.field("schema", detail::kSchema);
  w.field("name", c.name);
  w.key("devices");
  w.begin('{');
  w.field("api", c.devices.api == Api::cuda ? "cuda" : "vulkan");
  w.field("kind", c.devices.cpu ? "cpu" : "gpu");
  if (!c.devices.vendor.empty()) w.field("vendor", c.devices.vendor);
  if (c.devices.first_device_id) w.field("first_device_id", *c.devices.first_device_id);
  if (c.devices.last_device_id) w.field("last_device_id", *c.devices.last_device_id);
  if (c.devices.cuda_architecture) w.field("cuda_architecture", *c.devices.cuda_architecture);
  if (c.devices.subgroup_size) w.field("subgroup_size", *c.devices.subgroup_size);
  if (!c.devices.names.empty()) w.field("names", c.devices.names);
  w.end('}');
  w.key("provenance");
  w.begin('{');
  w.field("device", c.provenance.device);
  w.field("driver", c.provenance.driver);
  w.field("dates", c.provenance.dates);
  w.field("command", c.provenance.command);
  w.field("planner", c.provenance.planner);
  w.field("measurements", c.provenance.measurements);
  if (!c.provenance.copies.empty()) w.field("copies", c.provenance.copies);
  if (c.provenance.empty_dispatch) w.field("empty_dispatch", *c.provenance.empty_dispatch);
  if (c.provenance.second_step) w.field("second_step", *c.provenance.second_step);
  w.end('}');
  detail::write_numbers(w, c);
  w.key("notes");
  w.begin('{');
  for (const auto& [key, note] : c.notes) w.field(key, note);
  w.end('}');
  w.end('}');
  return nlohmann::json::parse(w.text(), nullptr, false).dump(1) + "\n";
}

std::string print(const DeviceClass& c) { return fmt::format("{}, measured on {}", c.name, c.measured); }
std::string class_name(const DeviceClass& c) { return c.name; }
std::string class_id(const DeviceClass& c) { return c.id; }

Result<std::vector<std::string>> use_device_class(DeviceProfile& profile, DeviceClassPtr device_class) {
  if (device_class == nullptr) {
    profile.device_class = nullptr;
    return std::vector<std::string>();
  }
  const DeviceClass& c = *device_class;
  if (const std::string other = detail::other_device(c.devices, profile); !other.empty())
    return fail(ErrorKind::unsupported, "device class " + c.name + " on " + profile.name, other,
                "a device like " + c.provenance.device);
  std::vector<std::string> warnings;
  if (!c.provenance.driver.empty() && !profile.driver.empty() && c.provenance.driver != profile.driver)
    warnings.push_back(fmt::format("device class {}: measured with driver {}, this is {}", c.name, c.provenance.driver,
                                   profile.driver));
  if (!c.provenance.planner.empty() && c.provenance.planner != planner_version())
    warnings.push_back(fmt::format("device class {}: measured by planner version {}, this is {}", c.name,
                                   c.provenance.planner, planner_version()));
  for (const std::string& row : c.unknown)
    warnings.push_back(fmt::format("device class {}: there is no candidate {} any more", c.name, row));
  profile.device_class = std::move(device_class);
  return warnings;
}

const DeviceClass* device_class_of(const DeviceProfile& profile) {
  return profile.device_class != nullptr ? profile.device_class.get() : detail::measured_class_of(profile);
}

}  // namespace sectile
