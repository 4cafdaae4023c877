#include "device/targets.hpp"
#include "data.hpp"
#include "device/fields.hpp"
#include "device/quirks.hpp"
#include "support/paths.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sectile;

TEST_CASE("knows its targets") {
  CHECK(builtin_target_names() ==
        std::vector<std::string_view>{
            "lavapipe",         "swiftshader", "nvidia-turing", "nvidia-ampere", "nvidia-ada",       "nvidia-hopper",
            "nvidia-blackwell", "amd-gcn5",    "amd-rdna2",     "amd-rdna3",     "amd-rdna4",        "intel-xe-lpg",
            "intel-xe-hpg",     "intel-xe2",   "arm-valhall",   "arm-5th-gen",   "qualcomm-adreno7", "apple-m",
            "cuda:sm_75",       "cuda:sm_80",  "cuda:sm_86",    "cuda:sm_89",    "cuda:sm_90a",      "cuda:sm_100",
            "cuda:sm_103",      "cuda:sm_120"});
  const std::string refusal = builtin_target("h100").error().message();
  CHECK(refusal.starts_with("missing: target: h100 (want one of lavapipe swiftshader nvidia-turing "));
  CHECK(refusal.ends_with(" cuda:sm_100 cuda:sm_103 cuda:sm_120)"));
}

TEST_CASE("every fact of a target has a source") {
  for (const auto target : builtin_target_names()) {
    CAPTURE(target);
    const auto profile = builtin_target(target);
    REQUIRE_MESSAGE(profile.has_value(), profile.error().message());
    CHECK(profile->name == target);
    CHECK(profile->sources.size() > 5);
    for (const auto& [field, source] : profile->sources) {
      CAPTURE(field);
      CHECK(source.size() > 3);
    }
  }
}

TEST_CASE("a target without sources is refused") {
  const DeviceProfile good = builtin_target("nvidia-ada").value();
  REQUIRE(detail::check_target("nvidia-ada", good).has_value());
  const auto refusal = [](std::string_view name, const DeviceProfile& profile) {
    const auto ok = detail::check_target(name, profile);
    return ok ? "" : ok.error().message();
  };
  DeviceProfile bad = good;
  bad.l2_bytes = 1 << 20;
  CHECK(refusal("nvidia-ada", bad) ==
        "parse: target nvidia-ada, l2_bytes: no source (want a source for each field that is set)");
  bad.sources["l2_bytes"] = "";
  CHECK(refusal("nvidia-ada", bad).contains("l2_bytes: no source"));
  bad.sources["l2_bytes"] = "a paper";
  CHECK(refusal("nvidia-ada", bad).empty());
  bad.l2_bytes = {};
  CHECK(refusal("nvidia-ada", bad).contains("l2_bytes: a source for nothing"));
  bad = good;
  bad.sources.erase("kind");
  CHECK(refusal("nvidia-ada", bad).contains("kind: no source"));
}

TEST_CASE("a target whose name does not match is refused") {
  const auto refused = [](std::string_view name, const DeviceProfile& profile) {
    return !detail::check_target(name, profile).has_value();
  };
  DeviceProfile profile = builtin_target("amd-rdna4").value();
  CHECK(refused("amd-rdna3", profile));
  profile.name = "rdna4";  // not of its vendor
  CHECK(refused("rdna4", profile));
  profile.name = "amd-rdna4";
  profile.vendor = "nvidia";
  CHECK(refused("amd-rdna4", profile));
  profile = builtin_target("cuda:sm_90a").value();
  profile.name = "cuda:sm_90";  // another architecture
  CHECK(refused("cuda:sm_90", profile));
  profile.name = "nvidia-sm_90a";
  CHECK(refused("nvidia-sm_90a", profile));
}

TEST_CASE("CUDA targets hold the capability table") {
  struct Row {
    std::string_view name;
    std::uint32_t dynamic_kib, multiprocessor_kib, invocations;
    bool copies, maps;
    std::vector<std::string> units;
  };
  const Row rows[] = {
      {"sm_75", 64, 64, 1024, false, false, {"mma.sync"}},
      {"sm_80", 163, 164, 2048, true, false, {"mma.sync"}},
      {"sm_86", 99, 100, 1536, true, false, {"mma.sync"}},
      {"sm_89", 99, 100, 1536, true, false, {"mma.sync"}},
      {"sm_90a", 227, 228, 2048, true, true, {"mma.sync", "wgmma"}},
      {"sm_100", 227, 228, 2048, true, true, {"mma.sync"}},
      {"sm_103", 227, 228, 2048, true, true, {"mma.sync"}},
      {"sm_120", 99, 100, 1536, true, true, {"mma.sync"}},
  };
  for (const Row& row : rows) {
    const std::string name = "cuda:" + std::string(row.name);
    CAPTURE(name);
    const DeviceProfile p = builtin_target(name).value();
    CHECK(p.api == Api::cuda);
    CHECK(cuda_architecture_name(p) == row.name);
    CHECK(p.workgroup_memory_bytes == 48u * 1024);
    CHECK(p.max_dynamic_workgroup_memory_bytes == row.dynamic_kib * 1024);
    CHECK(p.workgroup_memory_per_multiprocessor_bytes == row.multiprocessor_kib * 1024);
    CHECK(p.max_invocations_per_multiprocessor == row.invocations);
    CHECK(p.registers_per_multiprocessor == 65536u);
    CHECK(p.max_grid == std::array<std::uint32_t, 3>{2147483647, 65535, 65535});
    CHECK(p.async_copy == row.copies);
    CHECK(p.tensor_maps == row.maps);
    CHECK(p.matrix_units == row.units);
  }
}

TEST_CASE("the document tells of every field") {
  std::ifstream file(test::source_folder() + "/docs/reference/targets.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  REQUIRE_FALSE(text.empty());
  const DeviceProfile profile;
  detail::for_each_field(profile, [&](std::string_view field, const auto&) {
    CAPTURE(field);
    CHECK(text.contains("`" + std::string(field) + "`"));
  });
}

TEST_CASE("no target promises less than Vulkan") {
  for (const auto target : builtin_target_names()) {
    CAPTURE(target);
    const DeviceProfile p = builtin_target(target).value();
    CHECK(p.workgroup_memory_bytes.value_or(16384) >= 16384);
    CHECK(p.max_push_bytes.value_or(128) >= 128);
    CHECK(p.max_workgroup_invocations.value_or(128) >= 128);
    CHECK(p.buffer_device_address.value_or(true));
  }
}
