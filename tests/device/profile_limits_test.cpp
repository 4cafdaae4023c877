// Profiles at the limits of what reads them: a value at a limit is taken, the next one is refused by field.
#include <sectile/profile.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

using namespace sectile;

namespace {

const std::string kAnyShape = R"({"m":1,"n":1,"k":1,"a":"f16","b":"f16","c":"f16","result":"f16"})";

const std::string kListing =
    "VK_KHR_cooperative_matrix properties: 1\n  [0] M=16 N=16 K=16 A=float16_t(0) B=float16_t(0) C=float16_t(0) "
    "Result=float16_t(0) saturating=0 scope=subgroup(3)\n";

std::string message_of(const auto& result) { return result ? "" : result.error().message(); }

// Of a profile with a name and these fields.
std::string said_of(const std::string& fields) {
  return message_of(profile_from_json(R"({"name":"x",)" + fields + "}"));
}

std::string list_of_many(const std::string& item, std::size_t count) {
  std::string text = "[" + item;
  for (std::size_t i = 1; i < count; ++i) text += "," + item;
  return text + "]";
}

}  // namespace

TEST_CASE("each number of a profile is taken within its limits alone") {
  struct Number {
    std::uint64_t value;
    bool fine;
  };
  const Number powers[] = {{0, false}, {1, true}, {2, true}, {3, false}, {32768, true}, {65536, true}, {131072, false}};
  const Number counts[] = {{0, false}, {1, true}, {4294967295, true}, {4294967296, false}};
  const auto check = [](const char* key, const Number& number) {
    const std::string said = said_of(fmt::format("\"{}\":{}", key, number.value));
    CHECK_MESSAGE(said.empty() == number.fine, key << " " << number.value);
    if (!said.empty()) CHECK(said.starts_with(fmt::format("parse: profile.{}: {} (want ", key, number.value)));
  };
  for (const char* key : {"bank_bytes", "banks", "cache_line_bytes", "max_subgroup_size", "min_subgroup_size",
                          "subgroup_size", "transaction_bytes"})
    for (const Number& number : powers) check(key, number);
  for (const char* key : {"max_invocations_per_multiprocessor", "max_workgroup_invocations", "multiprocessors",
                          "registers_per_multiprocessor"})
    for (const Number& number : counts) check(key, number);
  for (const Number& number : {Number{9, false}, Number{10, true}, Number{999, true}, Number{1000, false}})
    check("cuda_architecture", number);
  for (const char* key : {"max_grid", "max_workgroup_size"}) {
    CHECK(said_of(fmt::format("\"{}\":[1,1,1]", key)) == "");
    for (const char* sizes : {"[0,1,1]", "[1,0,1]", "[1,1,0]"})
      CHECK(said_of(fmt::format("\"{}\":{}", key, sizes)) ==
            fmt::format("parse: profile.{}: 0 (want at least 1 in x, y and z)", key));
  }
}

TEST_CASE("a profile's numbers that bound one another may be equal") {
  CHECK(said_of(R"("min_subgroup_size":32,"max_subgroup_size":32)") == "");
  CHECK(said_of(R"("min_subgroup_size":32,"max_subgroup_size":16)") ==
        "parse: profile.min_subgroup_size: 32 (want at most max_subgroup_size)");
  CHECK(said_of(R"("max_dynamic_workgroup_memory_bytes":49152,"workgroup_memory_bytes":49152)") == "");
  CHECK(said_of(R"("max_dynamic_workgroup_memory_bytes":49151,"workgroup_memory_bytes":49152)") ==
        "parse: profile.max_dynamic_workgroup_memory_bytes: 49151 (want at least workgroup_memory_bytes)");
  CHECK(said_of(R"("max_dynamic_workgroup_memory_bytes":0)") == "");
}

TEST_CASE("a profile's uuid has 32 digits") {
  const std::string digits(32, 'f');
  CHECK(said_of("\"uuid\":\"" + digits + "\"") == "");
  CHECK(said_of(R"("uuid":"")") == "");
  for (const std::string& uuid : {digits.substr(1), digits.substr(2), digits + "f", digits + "ff",
                                  digits.substr(1) + "g", digits.substr(1) + "F", "/" + digits.substr(1)})
    CHECK_MESSAGE(
        said_of("\"uuid\":\"" + uuid + "\"") == "parse: profile.uuid: " + uuid + " (want 32 lower-case hex digits)",
        uuid);
}

TEST_CASE("lists of shapes have at most 1024, each of sizes of at least 1") {
  CHECK(said_of("\"matrix_shapes\":[" + kAnyShape + "]") == "");
  for (const char* size : {"m", "n", "k"}) {
    std::string none = kAnyShape;
    none.replace(none.find(fmt::format("\"{}\":1", size)) + 4, 1, "0");
    CHECK(said_of("\"matrix_shapes\":[" + none + "]") == "parse: profile.matrix_shapes: 0 (want sizes of at least 1)");
  }
  const std::string row = R"({"verdict":"passed","shape":)" + kAnyShape + "}";
  const std::string kind = R"({"verdict":"passed","kind":"f16 conversion"})";
  for (const std::size_t count : {1024u, 1025u}) {
    const auto refusal = [&](const char* what) {
      return count == 1024 ? "" : fmt::format("parse: {}: an array of 1025 (want an array of at most 1024)", what);
    };
    CHECK(said_of("\"matrix_shapes\":" + list_of_many(kAnyShape, count)) == refusal("profile.matrix_shapes"));
    CHECK(said_of(R"("canary":"failed","canary_failed":)" + list_of_many(kAnyShape, count)) ==
          refusal("profile.canary_failed"));
    CHECK(message_of(canary_from_json("{\"rows\":" + list_of_many(row, count) + "}")) == refusal("canary.rows"));
    CHECK(message_of(canary_from_json("{\"kinds\":" + list_of_many(kind, count) + "}")) == refusal("canary.kinds"));
  }
  // Failed where, and only where, a shape is listed.
  CHECK(said_of(R"("canary_failed":[)" + kAnyShape + "]").starts_with("parse: profile.canary: untested"));
  CHECK(
      said_of(R"("canary":"passed","canary_failed":[)" + kAnyShape + "]").starts_with("parse: profile.canary: passed"));
  CHECK(said_of(R"("canary":"failed","canary_failed":[])").starts_with("parse: profile.canary: failed"));
}

TEST_CASE("numbers of a matrix listing are within their limits") {
  struct Change {
    std::string from, to;
    bool fine;
  };
  const Change changes[] = {{" M=16", " M=1", true},
                            {" M=16", " M=0", false},
                            {" N=16", " N=1", true},
                            {" N=16", " N=0", false},
                            {" K=16", " K=1", true},
                            {" K=16", " K=0", false},
                            {" K=16", " K=4294967295", true},
                            {" K=16", " K=4294967296", false},
                            {"saturating=0", "saturating=1", true},
                            {"saturating=0", "saturating=2", false}};
  for (const Change& change : changes) {
    std::string text = kListing;
    text.replace(text.find(change.from), change.from.size(), change.to);
    const std::string said = message_of(supplement({}, text));
    CHECK_MESSAGE(said.empty() == change.fine, change.to);
    CHECK_MESSAGE(said.starts_with("parse: matrix listing: line 2 ") != change.fine, change.to);
  }
}

TEST_CASE("a listing has as many shapes as a profile's JSON may hold") {
  std::string text = kListing;
  const std::string line = text.substr(text.find('\n') + 1);
  for (int i = 1; i < 1024; ++i) text += line;
  DeviceProfile profile;
  profile.name = "x";
  const auto most = supplement(profile, text);
  REQUIRE(most.has_value());
  CHECK(most->matrix_shapes.size() == 1024);
  CHECK(profile_from_json(to_json(*most)).has_value());
  CHECK(message_of(supplement({}, text + line)) == "parse: profile.matrix_shapes: 1025 (want at most 1024)");
}

TEST_CASE("numbers of a vulkaninfo dump are within their limits") {
  const std::pair<int, DeviceKind> kinds[] = {{0, DeviceKind::unknown},  {1, DeviceKind::integrated},
                                              {2, DeviceKind::discrete}, {3, DeviceKind::virtual_gpu},
                                              {4, DeviceKind::cpu},      {5, DeviceKind::unknown}};
  for (const auto& [number, kind] : kinds) {
    const auto profile = profile_from_vulkaninfo(
        fmt::format(R"({{"VkPhysicalDeviceProperties":{{"deviceName":"x","deviceType":{}}}}})", number));
    REQUIRE_MESSAGE(profile.has_value(), number);
    CHECK_MESSAGE(profile->kind == kind, number);
  }
  const auto uuid = [](std::size_t bytes, const char* byte) {
    return message_of(profile_from_vulkaninfo(
        fmt::format(R"({{"VkPhysicalDeviceProperties":{{"deviceName":"x"}},"VkPhysicalDeviceIDProperties":)"
                    R"({{"deviceUUID":{}}}}})",
                    list_of_many(byte, bytes))));
  };
  CHECK(uuid(16, "255") == "");
  CHECK(uuid(16, "256").starts_with("parse: vulkaninfo.deviceUUID: an array of 16 (want an integer from 0 to 255"));
  CHECK(uuid(15, "0") == "parse: vulkaninfo.deviceUUID: an array of 15 (want an array of 16)");
  CHECK(uuid(17, "0") == "parse: vulkaninfo.deviceUUID: an array of 17 (want an array of 16)");
}
