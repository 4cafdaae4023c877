// Classes of devices: the reader of their files, and which class a device has.
#include "device_class.hpp"

#include "base/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::detail {

namespace {

constexpr std::uint32_t kSchema = 1;

template <class F>
void for_each_number(PermuteGpuCost& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5] = c;  // does not compile when a number is added
  visit("byte", c.byte);
  visit("instruction", c.instruction);
  visit("bank_pass", c.bank_pass);
  visit("overlap_divisor", c.overlap_divisor);
  visit("resident", c.resident);
}

template <class F>
void for_each_number(GemmGpuCost& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20,
                          f21, f22, f23, f24] = c;
  visit("clock_picoseconds", c.clock_picoseconds);
  visit("latency", c.latency);
  visit("latency_pipelined", c.latency_pipelined);
  visit("latency_l2_prefetch", c.latency_l2_prefetch);
  visit("gathered_latency", c.gathered_latency);
  visit("gathered_issue", c.gathered_issue);
  visit("barriers", c.barriers);
  visit("workgroup_start", c.workgroup_start);
  visit("second_step", c.second_step);
  visit("permute_step", c.permute_step);
  visit("cache_bytes", c.cache_bytes);
  visit("stored_elements", c.stored_elements);
  visit("matrix_rate", c.matrix_rate);
  visit("scalar_rate", c.scalar_rate);
  visit("schedulers", c.schedulers);
  visit("dot_rate", c.dot_rate);
  visit("dram_bytes", c.dram_bytes);
  visit("split_bytes", c.split_bytes);
  visit("bank_pass_divisor", c.bank_pass_divisor);
  visit("exposed_staging_permille", c.exposed_staging_permille);
  visit("tail_permille", c.tail_permille);
  visit("most_resident", c.most_resident);
  visit("reserved_bytes", c.reserved_bytes);
  visit("driver_staged_bytes", c.driver_staged_bytes);
}

template <class F>
void for_each_number(PermuteCpuCost& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2, f3, f4, f5, f6] = c;
  constexpr const char* kRequests[] = {"request_direct", "request_staged", "request_words",
                                       "request_rows",   "request_box",    "request_box_bytes"};  // by Addressing
  static_assert(std::size(kRequests) == sizeof(c.request) / sizeof(c.request[0]));
  for (std::size_t i = 0; i < std::size(kRequests); ++i) visit(kRequests[i], c.request[i]);
  visit("request_bytes", c.request_bytes);
  visit("load", c.load);
  visit("store", c.store);
  visit("instruction", c.instruction);
  visit("scale", c.scale);
}

template <class F>
void for_each_number(GemmCpuCost& c, F&& visit) {
  [[maybe_unused]] auto& [f1, f2] = c;
  visit("ps_per_kfma", c.ps_per_kfma);
  visit("second_step", c.second_step);
}

// An object of the file, which must be there: body(inside, what) reads its keys, and others are refused.
template <class F>
void read_object(JsonObject& o, const char* key, F&& body) {
  const std::string what = std::string("class.") + key;
  const nlohmann::json* value = o.find(key);
  if (value == nullptr) return o.fail({ErrorKind::parse, what, "not there", ""});
  JsonObject inside(*value, what);
  body(inside, what);
  if (auto ok = inside.finish(); !ok) o.fail(std::move(ok.error()));
}

// The planner divides by some of them, and 0 would say that work is free.
void read_number(JsonObject& o, const std::string& what, const char* key, std::uint32_t& number) {
  o.required(key, number);
  if (number == 0) o.fail({ErrorKind::parse, what + "." + key, "0", "at least 1"});
}

template <class Group>
void read_group(JsonObject& o, const char* key, Group& group) {
  read_object(o, key, [&](JsonObject& inside, const std::string& what) {
    for_each_number(group, [&](const char* name, std::uint32_t& number) { read_number(inside, what, name, number); });
  });
}

void read_provenance(JsonObject& o, ClassProvenance& out) {
  read_object(o, "provenance", [&](JsonObject& inside, const std::string&) {
    inside.required("device", out.device);
    inside.required("driver", out.driver);
    inside.required("dates", out.dates);
    inside.required("command", out.command);
  });
}

void read_defaults(JsonObject& o, ClassNumbers& out) {
  read_object(o, "defaults", [&](JsonObject& inside, const std::string& what) {
    read_number(inside, what, "multiprocessors", out.multiprocessors);
    read_number(inside, what, "multiprocessors_to_fill", out.multiprocessors_to_fill);
    read_number(inside, what, "multiprocessors_of_few_tiles", out.multiprocessors_of_few_tiles);
  });
}

// Notes are for people: names of numbers or groups, and text.
void read_notes(JsonObject& o) {
  const nlohmann::json* value = o.find("notes");
  if (value == nullptr) return;
  if (!value->is_object()) return o.fail({ErrorKind::parse, "class.notes", JsonObject::shown(*value), "an object"});
  for (const auto& [key, note] : value->items())
    if (!note.is_string())
      return o.fail({ErrorKind::parse, "class.notes." + JsonObject::cut(key), JsonObject::shown(note), "a string"});
}

// GH100: the PCI device IDs 0x2300 to 0x23ff (NVIDIA, open-gpu-doc, "PCI IDs"; H100 0x2330, H200 0x2335).
bool is_hopper(const DeviceProfile& p) {
  if (p.api == Api::cuda) return p.cuda_architecture == 90;
  return p.vendor == "nvidia" && (p.device_id == 0 ? p.name == "nvidia-hopper" : p.device_id >> 8 == 0x23);
}

}  // namespace

std::string ClassProvenance::text() const {
  return driver.empty() ? fmt::format("{}, {}", device, dates)
                        : fmt::format("{}, driver {}, {}", device, driver, dates);
}

Result<DeviceClass> device_class_from_json(std::string_view text) {
  auto value = parse_json(text, "class");
  if (!value) return std::unexpected(std::move(value.error()));
  JsonObject o(*value, "class");
  DeviceClass out;
  std::uint32_t schema = 0;
  o.required("schema", schema);
  if (schema != 0 && schema != kSchema)
    o.fail({ErrorKind::parse, "class.schema", std::to_string(schema), std::to_string(kSchema)});
  o.required("name", out.name);
  read_provenance(o, out.provenance);
  read_defaults(o, out.numbers);
  // A device is a GPU or a CPU: a group of the other kind is an unknown key.
  if (value->is_object() && value->contains("permute_cpu")) {
    read_group(o, "permute_cpu", out.numbers.permute_cpu);
    read_group(o, "gemm_cpu", out.numbers.gemm_cpu);
  } else {
    read_group(o, "permute_gpu", out.numbers.permute);
    read_group(o, "gemm_gpu", out.numbers.gemm);
  }
  read_notes(o);
  if (auto ok = o.finish(); !ok) return std::unexpected(std::move(ok.error()));
  out.measured = out.provenance.text();
  return out;
}

const DeviceClass* builtin_class(std::string_view name) {
  // A test reads each file; one that cannot be read ends the program here.
  static const std::vector<DeviceClass> classes = [] {
    std::vector<DeviceClass> all;
    for (const std::string_view text : builtin_class_texts()) all.push_back(device_class_from_json(text).value());
    return all;
  }();
  const auto found = std::ranges::find(classes, name, &DeviceClass::name);
  return found == classes.end() ? nullptr : &*found;
}

const DeviceClass* measured_class_of(const DeviceProfile& profile) {
  if (profile.kind == DeviceKind::cpu) return builtin_class("cpu");
  return is_hopper(profile) ? builtin_class("nvidia-hopper") : nullptr;
}

}  // namespace sectile::detail
