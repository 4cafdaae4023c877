// The files of classes of devices: what their reader refuses, derives and writes.
#include "class_text.hpp"

#include "plan/cost/correction.hpp"
#include "plan/cost/number_names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

using namespace sectile;
using nlohmann::json;
using test::builtin_refusal;
using test::class_of;
using test::class_refusal;
using test::class_text;
using test::empty_class;

namespace {

struct Number {
  std::string group, key;
  bool divides;
};

// Every number of a class's groups.
std::vector<Number> numbers_of(bool cpu) {
  std::vector<Number> all;
  const detail::ClassNumbers none;
  detail::for_each_group(none, cpu, [&](const char* group, auto&& each) {
    each([&](const char* key, const std::uint32_t&, const detail::NumberRule& rule) {
      all.push_back({group, key, rule.least != 0});
    });
  });
  return all;
}

// The whole names of all rows; those with rates, or the others.
std::vector<std::string> rows_of(bool rates) {
  std::vector<std::string> all;
  for (std::size_t t = 0; t < detail::kCostTables; ++t) {
    const auto table = static_cast<detail::CostTable>(t);
    if (detail::has_rates(table) != rates) continue;
    for (const std::string& row : detail::cost_rows(table))
      all.push_back(fmt::format("{} {}", detail::stem_of(table), row));
  }
  return all;
}

const std::vector<json> kNoNumbers = {json(-1),      json(1.5), json(std::uint64_t{1} << 32), json(true), json("1"),
                                      json::array(), json()};
constexpr std::size_t kMostLikely = 3;  // of them; a test that goes through many fields tries these alone

bool derived(const DeviceClass& c, const std::string& name) {
  return std::ranges::find(c.derived, name) != c.derived.end();
}

}  // namespace

TEST_CASE("every class that is built in has all numbers, and a name of its own") {
  std::set<std::string> names;
  for (const std::string_view text : detail::builtin_class_texts()) {
    const auto read = detail::read_device_class(text, detail::Lacking::refused);
    CHECK_MESSAGE(read.has_value(), (read ? "" : read.error().message()));
    if (!read) continue;
    CHECK(names.insert(read->name).second);
    CHECK(read->derived.empty());
    CHECK(read->unknown.empty());
  }
  for (const char* const name : {"cpu", "nvidia-hopper", "nvidia-hopper-cuda"}) CHECK(names.contains(name));
  CHECK(detail::builtin_class("nvidia-hopper")->numbers.gemm.matrix_rate != 0);
  CHECK(detail::builtin_class("cpu")->numbers.permute_cpu.request[5] != 0);
  CHECK(detail::builtin_class("cpu")->numbers.gemm.matrix_rate == 0);
  CHECK(detail::builtin_class("gpu") == nullptr);
}

TEST_CASE("a number of a class that is missing, 0 where it divides, or no number is refused by its path") {
  for (const char* const name : {"nvidia-hopper", "cpu"}) {
    const json whole = class_text(name);
    CHECK(builtin_refusal(whole) == "");
    for (const Number& number : numbers_of(name == std::string("cpu"))) {
      const std::string path = "class." + number.group + "." + number.key;
      CAPTURE(path);
      json changed = whole;
      changed[number.group].erase(number.key);
      CHECK(builtin_refusal(changed).contains(path + ": not there"));
      json small = empty_class(name);
      for (std::size_t i = 0; i < kMostLikely; ++i) {
        small[number.group] = {{number.key, kNoNumbers[i]}};
        CHECK_MESSAGE(class_refusal(small).contains(path + ": "), kNoNumbers[i].dump());
      }
      small[number.group] = {{number.key, 0}};
      CHECK(class_refusal(small).starts_with(number.divides ? "parse: " + path + ": 0 (want at least 1" : ""));
      CHECK(class_refusal(small).empty() == !number.divides);
    }
  }
  json small = empty_class("nvidia-hopper");
  for (const json& wrong : kNoNumbers) {
    small["gemm_gpu"]["latency"] = wrong;
    CHECK_MESSAGE(class_refusal(small).contains("class.gemm_gpu.latency: "), wrong.dump());
  }
  small["gemm_gpu"]["latency"] = ~std::uint32_t{0};
  CHECK(class_refusal(small) == "");
}

TEST_CASE("a part of a class that is missing, of another type, or has an unknown key is refused by its path") {
  for (const char* const name : {"nvidia-hopper", "cpu"}) {
    const json whole = class_text(name);
    for (const auto& [part, value] : whole.items()) {
      CAPTURE(part);
      json changed = whole;
      changed.erase(part);
      if (part == "notes" || part == "corrections")
        CHECK(builtin_refusal(changed) == "");
      else
        CHECK(builtin_refusal(changed).contains("class." + part + ": not there"));
      changed[part] = json::array();
      CHECK(builtin_refusal(changed).contains("class." + part + ": "));
      if (!value.is_object() || part == "notes" || part == "rows") continue;
      changed = whole;
      changed[part]["colour"] = 1;
      CHECK(builtin_refusal(changed).contains("class." + part + ".colour: unknown key"));
    }
    for (const auto& [key, value] : whole["provenance"].items())
      for (const json& wrong : {json(-3), json::object()}) {
        json changed = whole;
        changed["provenance"][key] = wrong;
        CHECK(builtin_refusal(changed).contains("class.provenance." + key));
      }
  }
  json changed = empty_class("cpu");
  changed["colour"] = 1;
  CHECK(class_refusal(changed) == "parse: class.colour: unknown key");
  CHECK_FALSE(device_class_from_json("{").has_value());
  CHECK_FALSE(device_class_from_json("").has_value());
  CHECK(class_refusal(json::array()).contains("class"));
}

TEST_CASE("a class of another schema, without a name, or with a wrong note is refused") {
  for (const int schema : {0, 1, 3}) {
    json other = empty_class("nvidia-hopper");
    other["schema"] = schema;
    other["new in it"] = true;
    CHECK(class_refusal(other) == fmt::format("parse: class.schema: {} (want 2)", schema));
  }
  json unnamed = empty_class("cpu");
  unnamed["name"] = "";
  CHECK(class_refusal(unnamed).contains("class.name"));
  json note = empty_class("cpu");
  note["notes"]["gemm_cpu"] = 3;
  CHECK(class_refusal(note).contains("class.notes.gemm_cpu"));
}

TEST_CASE("a class's groups are those of its kind of device") {
  json gpu = empty_class("nvidia-hopper"), cpu = empty_class("cpu");
  for (const char* const group : {"permute_cpu", "gemm_cpu", "conv2d_cpu"}) {
    json both = gpu;
    both[group] = class_text("cpu")[group];
    CHECK(class_refusal(both).contains(std::string("class.") + group + ": unknown key"));
  }
  for (const char* const group : {"permute_gpu", "gemm_gpu", "conv2d_gpu"}) {
    json both = cpu;
    both[group] = class_text("nvidia-hopper")[group];
    CHECK(class_refusal(both).contains(std::string("class.") + group + ": unknown key"));
  }
  gpu["devices"]["kind"] = "tpu";
  CHECK(class_refusal(gpu).contains("class.devices.kind: tpu (want cpu or gpu)"));
  cpu["devices"]["api"] = "metal";
  CHECK(class_refusal(cpu).contains("class.devices.api: metal (want vulkan or cuda)"));
}

TEST_CASE("what a class says of its devices is refused where it is wrong") {
  const json whole = empty_class("nvidia-hopper");
  for (const char* const key : {"first_device_id", "last_device_id", "cuda_architecture", "subgroup_size"})
    for (const json& wrong : kNoNumbers) {
      json changed = whole;
      changed["devices"][key] = wrong;
      CHECK_MESSAGE(class_refusal(changed).contains(std::string("class.devices.") + key + ": "), wrong.dump());
    }
  for (const char* const key : {"api", "kind", "vendor", "names"}) {
    json changed = whole;
    changed["devices"][key] = 7;
    CHECK(class_refusal(changed).contains(std::string("class.devices.") + key + ": 7"));
  }
  for (const char* const key : {"api", "kind"}) {
    json changed = whole;
    changed["devices"].erase(key);
    CHECK(class_refusal(changed).contains(std::string("class.devices.") + key + ": not there"));
  }
  json ids = whole;
  ids["devices"]["last_device_id"] = ids["devices"]["first_device_id"].get<unsigned>() - 1;
  CHECK(class_refusal(ids).contains("class.devices.last_device_id"));
  ids["devices"].erase("first_device_id");
  CHECK(class_refusal(ids).contains("class.devices.last_device_id"));
}

TEST_CASE("a row of a class without a rate, with a wrong number or with an unknown key is refused by its name") {
  json growing = class_text("cpu");
  growing["rows"] = json::object();
  growing.erase("notes");
  for (const std::string& row : rows_of(true)) {
    const std::string path = "class.rows." + row;
    CAPTURE(row);
    CHECK(builtin_refusal(growing).contains(path + ": not there"));
    growing["rows"][row] = {{"rate", 1}};
    json small = empty_class("cpu");
    small["rows"][row] = json::object();
    CHECK(class_refusal(small).contains(path + ".rate: not there"));
    small["rows"][row] = {{"rate", 0}};
    CHECK(class_refusal(small).contains(path + ".rate: 0 (want at least 1)"));
    small["rows"][row] = {{"rate", 1}, {"offset", 16385}};
    CHECK(class_refusal(small).contains(path + ".offset: 16385 (want at most 16384 either way)"));
  }
  CHECK(builtin_refusal(growing) == "");
  for (const std::string& row : rows_of(false)) {
    const std::string path = "class.rows." + row;
    CAPTURE(row);
    json small = empty_class("cpu");
    small["rows"][row] = {{"offset", -16385}};
    CHECK(class_refusal(small).contains(path + ".offset: -16385 (want at most 16384 either way)"));
    small["rows"][row] = {{"rate", 5}};
    CHECK(class_refusal(small).contains(path + ".rate: unknown key"));
  }
  const std::string row = rows_of(true).front();
  for (const char* const key : {"rate", "int8_rate"})
    for (const json& wrong : kNoNumbers) {
      json small = empty_class("cpu");
      small["rows"][row] = {{"rate", 1}};
      small["rows"][row][key] = wrong;
      CHECK_MESSAGE(class_refusal(small).contains("class.rows." + row + "." + key + ": "), wrong.dump());
    }
  json small = empty_class("cpu");
  small["rows"][row] = {{"rate", 1}, {"colour", 1}};
  CHECK(class_refusal(small).contains("class.rows." + row + ".colour: unknown key"));
  small["rows"][row] = 7;
  CHECK(class_refusal(small).contains("class.rows." + row + ": 7 (want an object)"));
  for (const int most : {16384, -16384}) {
    small["rows"][row] = {{"rate", 1}, {"offset", most}};
    CHECK(class_refusal(small) == "");
  }
}

TEST_CASE("a correction of a class is read by its stem and feature, and refused by them where it is wrong") {
  for (std::size_t t = 0; t < detail::kCostTables; ++t) {
    const auto table = static_cast<detail::CostTable>(t);
    const std::string stem(detail::stem_of(table));
    CAPTURE(stem);
    std::vector<std::string> keys = {"constant"};
    for (const std::string_view feature : detail::feature_names(table)) keys.emplace_back(feature);
    json right = empty_class("nvidia-hopper");
    for (std::size_t i = 0; i < keys.size(); ++i) right["corrections"][stem][keys[i]] = -100 - static_cast<int>(i);
    const DeviceClassPtr read = class_of(right);
    CHECK(read->rows.correction(table).constant == -100);
    for (std::size_t i = 1; i < keys.size(); ++i)
      CHECK(read->rows.correction(table).slope[i - 1] == -100 - static_cast<int>(i));
    for (const std::string& key : keys) {
      const std::string path = "class.corrections." + stem + "." + key;
      json changed = right;
      changed["corrections"][stem][key] = 1.5;
      CHECK(class_refusal(changed).contains(path + ": 1.5 (want an integer"));
      changed["corrections"][stem][key] = 16385;
      CHECK(class_refusal(changed).contains(path + ": 16385 (want at most 16384 either way)"));
    }
    right["corrections"][stem]["colour"] = 1;
    CHECK(class_refusal(right).contains("class.corrections." + stem + ".colour: unknown key"));
  }
  json changed = empty_class("nvidia-hopper");
  json& constant = changed["corrections"]["permute_tile"]["constant"];
  for (const json& wrong : {json(true), json("1"), json(std::uint64_t{1} << 31), json(-16385), json()}) {
    constant = wrong;
    CHECK_MESSAGE(class_refusal(changed).contains("class.corrections.permute_tile.constant: "), wrong.dump());
  }
  for (const int most : {16384, -16384}) {
    constant = most;
    CHECK(class_refusal(changed) == "");
  }
  changed["corrections"]["permute_tile"] = 3;
  CHECK(class_refusal(changed).contains("class.corrections.permute_tile: 3 (want an object)"));
  changed["corrections"].erase("permute_tile");
  changed["corrections"]["matmul_magic"] = json::object();
  CHECK(class_refusal(changed).contains("class.corrections.matmul_magic: unknown key"));
}

TEST_CASE("numbers that a class lacks are those of the class for its API and kind, and are listed") {
  for (const char* const base : {"nvidia-hopper", "nvidia-hopper-cuda", "cpu"}) {
    CAPTURE(base);
    const DeviceClassPtr read = class_of(empty_class(base));
    CHECK(read->id == detail::builtin_class(base)->id);
    const std::vector<std::string> rates = rows_of(true);
    const auto numbers = numbers_of(base == std::string("cpu"));
    CHECK(read->derived.size() == numbers.size() + rates.size());
    for (const Number& number : numbers) CHECK(derived(*read, number.group + "." + number.key));
    for (const std::string& row : rates) CHECK(derived(*read, "rows." + row));
  }
  json some = empty_class("nvidia-hopper");
  const std::string row = rows_of(true).front();
  some["gemm_gpu"] = {{"latency", 77}};
  some["rows"][row] = {{"rate", 55}};
  const DeviceClassPtr read = class_of(some);
  CHECK(read->numbers.gemm.latency == 77);
  CHECK(read->numbers.gemm.barriers == detail::builtin_class("nvidia-hopper")->numbers.gemm.barriers);
  CHECK_FALSE(derived(*read, "gemm_gpu.latency"));
  CHECK(derived(*read, "gemm_gpu.barriers"));
  CHECK_FALSE(derived(*read, "rows." + row));
  CHECK(read->derived.size() == numbers_of(false).size() + rows_of(true).size() - 2);
}

TEST_CASE("a class's derived bandwidth is the share of its multiprocessors") {
  const detail::ClassNumbers& base = detail::builtin_class("nvidia-hopper")->numbers;
  json half = empty_class("nvidia-hopper");
  half["defaults"] = {{"measured_multiprocessors", base.measured_multiprocessors / 2}};
  CHECK(class_of(half)->numbers.gemm.dram_bytes == base.gemm.dram_bytes / 2);
  CHECK(class_of(half)->numbers.gemm.split_bytes == base.gemm.split_bytes / 2);
  half["gemm_gpu"] = {{"dram_bytes", 999}};
  CHECK(class_of(half)->numbers.gemm.dram_bytes == 999);
  CHECK(class_of(half)->numbers.gemm.split_bytes == base.gemm.split_bytes / 2);
  half["defaults"] = {{"measured_multiprocessors", 1u}};
  half["gemm_gpu"] = json::object();
  CHECK(class_of(half)->numbers.gemm.dram_bytes == std::max(1u, base.gemm.dram_bytes / base.measured_multiprocessors));
}

TEST_CASE("rows of a class that no table has are kept aside") {
  json more = empty_class("cpu");
  more["rows"]["matmul_simt 1x2x3 4x5"] = {{"rate", 5}};
  more["rows"]["matmul_magic"] = 7;
  const DeviceClassPtr read = class_of(more);
  CHECK(read->unknown == std::vector<std::string>{"matmul_magic", "matmul_simt 1x2x3 4x5"});
  // It has rows, so it has no corrections of the class that it is derived from.
  CHECK(read->id != detail::builtin_class("cpu")->id);
}

TEST_CASE("a class is written as it was read, and its id is a hash of its numbers alone") {
  for (const DeviceClass& c : detail::builtin_classes()) {
    CAPTURE(c.name);
    const auto again = device_class_from_json(to_json(c));
    REQUIRE_MESSAGE(again.has_value(), (again ? "" : again.error().message()));
    CHECK((*again)->id == c.id);
    CHECK((*again)->name == c.name);
    CHECK((*again)->devices == c.devices);
    CHECK((*again)->measured == c.measured);
    CHECK((*again)->notes.size() == c.notes.size());
    CHECK((*again)->derived.empty());
    CHECK(to_json(**again) == to_json(c));
    CHECK(class_id(c) == c.id);
    CHECK(class_name(c) == c.name);
    CHECK(print(c).contains(c.name));
    CHECK(print(c).contains(c.provenance.device));
  }
  // What is set at all is written at all.
  json all = empty_class("nvidia-hopper");
  all["devices"] = {{"api", "cuda"},       {"kind", "gpu"},           {"vendor", "v"},       {"first_device_id", 3},
                    {"last_device_id", 5}, {"cuda_architecture", 90}, {"subgroup_size", 16}, {"names", {"a", "b"}}};
  all["provenance"] = {{"device", "d"},
                       {"driver", "e"},
                       {"dates", "f"},
                       {"command", "g"},
                       {"planner", "h"},
                       {"measurements", 12},
                       {"copies", {{4096, 1500}, {16384, 2000}}},
                       {"empty_dispatch", 1200},
                       {"second_step", 900}};
  all["notes"] = {{"gemm_gpu", "text \"quoted\""}};
  const json written = json::parse(to_json(*class_of(all)));
  for (const char* const part : {"devices", "provenance", "notes"}) CHECK(written[part] == all[part]);
}

TEST_CASE("a class's id changes with any of its numbers, and with nothing else") {
  for (const char* const name : {"nvidia-hopper", "cpu"}) {
    json value = empty_class(name);
    const DeviceClassPtr first = class_of(value);
    std::set<std::string> ids = {first->id};
    const auto fresh = [&](const json& changed) { return ids.insert(class_of(changed)->id).second; };
    const json whole = class_text(name);
    for (const Number& number : numbers_of(name == std::string("cpu"))) {
      json changed = value;
      changed["defaults"]["measured_multiprocessors"] = whole["defaults"]["measured_multiprocessors"];
      changed[number.group][number.key] = whole[number.group][number.key].get<std::uint32_t>() + 1;
      CHECK_MESSAGE(fresh(changed), number.key);
    }
    for (const bool rates : {true, false})
      for (const std::string& row : rows_of(rates)) {
        json changed = value;
        if (rates) changed["rows"][row] = {{"rate", 12345}, {"int8_rate", 17}};
        changed["rows"][row]["offset"] = 4321;
        CHECK_MESSAGE(fresh(changed), row);
      }
    for (std::size_t t = 0; t < detail::kCostTables; ++t) {
      const auto table = static_cast<detail::CostTable>(t);
      json changed = value;
      changed["corrections"][detail::stem_of(table)]["constant"] = 1;
      CHECK(fresh(changed));
      for (const std::string_view feature : detail::feature_names(table)) {
        changed = value;
        changed["corrections"][detail::stem_of(table)][feature] = 1;
        CHECK_MESSAGE(fresh(changed), feature);
      }
    }
    value["name"] = "another";
    value["provenance"]["driver"] = "another";
    value["notes"] = {{"gemm", "text"}};
    value["devices"]["names"] = {"another"};
    CHECK(class_of(value)->id == first->id);
  }
}
