// The files of measured classes of devices, and what their reader refuses.
#include "device/device_class.hpp"

#include <nlohmann/json.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace sectile;
using nlohmann::json;

namespace {

json class_text(std::string_view name) {
  for (const std::string_view text : detail::builtin_class_texts())
    if (json value = json::parse(text); value["name"] == name) return value;
  FAIL("no class of this name");
  return {};
}

std::string class_refusal(const json& value) {
  const auto read = detail::device_class_from_json(value.dump());
  return read ? "" : read.error().message();
}

}  // namespace

TEST_CASE("every class that is compiled in can be read, and has a name of its own") {
  std::set<std::string> names;
  for (const std::string_view text : detail::builtin_class_texts()) {
    const auto read = detail::device_class_from_json(text);
    CHECK_MESSAGE(read.has_value(), (read ? "" : read.error().message()));
    if (read) CHECK(names.insert(read->name).second);
  }
  CHECK(names == std::set<std::string>{"cpu", "nvidia-hopper"});
  CHECK(detail::builtin_class("nvidia-hopper")->numbers.gemm.matrix_rate == 1215);
  CHECK(detail::builtin_class("cpu")->numbers.permute_cpu.request[5] == 300);
  CHECK(detail::builtin_class("cpu")->numbers.gemm.matrix_rate == 0);
  CHECK(detail::builtin_class("gpu") == nullptr);
}

TEST_CASE("a class without a number, with 0, with a wrong one or with one too many is refused by the number's name") {
  for (const char* const name : {"nvidia-hopper", "cpu"}) {
    const json whole = class_text(name);
    CHECK(class_refusal(whole) == "");
    for (const auto& [group, numbers] : whole.items()) {
      if (group == "notes" || group == "name") continue;
      CAPTURE(group);
      json without = whole;
      without.erase(group);
      CHECK(class_refusal(without).contains(group == "permute_cpu" ? "permute_gpu" : "class." + group));
      if (!numbers.is_object()) continue;
      json more = whole;
      more[group]["colour"] = 1;
      CHECK(class_refusal(more).contains("class." + group + ".colour"));
      for (const auto& [key, number] : numbers.items()) {
        CAPTURE(key);
        json changed = whole;
        changed[group].erase(key);
        CHECK(class_refusal(changed).contains("class." + group + "." + key));
        for (const json& wrong : {json(true), json(-1), json(1.5), json(std::uint64_t{1} << 32), json::array()}) {
          changed = whole;
          changed[group][key] = wrong;
          CHECK_MESSAGE(class_refusal(changed).contains("class." + group + "." + key), wrong.dump());
        }
        if (group == "provenance") continue;
        changed = whole;
        changed[group][key] = 0;
        CHECK(class_refusal(changed).contains("class." + group + "." + key));
      }
    }
  }
}

TEST_CASE("a class of another schema, of both kinds of device, or that is no object is refused") {
  json later = class_text("nvidia-hopper");
  later["schema"] = 2;
  CHECK(class_refusal(later).contains("class.schema"));
  json both = class_text("nvidia-hopper");
  both["permute_cpu"] = class_text("cpu")["permute_cpu"];
  both["gemm_cpu"] = class_text("cpu")["gemm_cpu"];
  CHECK(class_refusal(both).contains("gpu"));
  json note = class_text("cpu");
  note["notes"]["gemm_cpu"] = 3;
  CHECK(class_refusal(note).contains("class.notes.gemm_cpu"));
  CHECK(class_refusal(json::array()).contains("class"));
  CHECK_FALSE(detail::device_class_from_json("{").has_value());
  CHECK_FALSE(detail::device_class_from_json("").has_value());
}
