#include "data.hpp"
#include "device/fields.hpp"
#include "device/quirks.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sectile;

TEST_CASE("knowsSevenTargets") {
  CHECK(builtin_target_names() == std::vector<std::string_view>{"lavapipe", "swiftshader", "nvidia-hopper", "amd-rdna3",
                                                                "intel-xe2", "arm-valhall", "qualcomm-adreno7"});
  CHECK(builtin_target("h100").error().message() ==
        "missing: target: h100 (want one of lavapipe swiftshader nvidia-hopper amd-rdna3 intel-xe2 arm-valhall "
        "qualcomm-adreno7)");
}

TEST_CASE("everyFactOfATargetHasASource") {
  for (const auto target : builtin_target_names()) {
    const DeviceProfile profile = builtin_target(target).value();
    CHECK(profile.name == target);
    std::size_t facts = 0;
    detail::for_each_field(profile, [&](std::string_view field, const auto& value) {
      if (field == "name" || field == "sources" || !detail::is_known(value)) return;
      ++facts;
      CAPTURE(target);
      CAPTURE(field);
      const auto source = profile.sources.find(std::string(field));
      REQUIRE(source != profile.sources.end());
      CHECK(source->second.size() > 3);
    });
    CHECK(profile.sources.size() == facts);  // and no source for what is not stated
  }
}

TEST_CASE("noTargetPromisesLessThanVulkan") {
  for (const auto target : builtin_target_names()) {
    CAPTURE(target);
    const DeviceProfile p = builtin_target(target).value();
    CHECK(p.workgroup_memory_bytes.value_or(16384) >= 16384);
    CHECK(p.max_push_bytes.value_or(128) >= 128);
    CHECK(p.max_workgroup_invocations.value_or(128) >= 128);
    CHECK(p.buffer_device_address.value_or(true));
  }
}

TEST_CASE("quirksSpeakForTheirDevice") {
  const auto avoid = [](const DeviceProfile& profile) {
    std::vector<std::string> names;
    for (const auto& quirk : detail::quirks_for(profile)) names.emplace_back(quirk.avoid);
    return names;
  };
  CHECK(avoid(builtin_target("lavapipe").value()) == std::vector<std::string>{"top-tested loop"});
  CHECK(avoid(builtin_target("swiftshader").value()) == std::vector<std::string>{"storage16"});
  CHECK(avoid(builtin_target("nvidia-hopper").value()).empty());
  CHECK(avoid(builtin_target("amd-rdna3").value()).empty());  // the driver is not known
  DeviceProfile amd = builtin_target("amd-rdna3").value();
  amd.driver = "AMD proprietary driver 25.1";
  CHECK(avoid(amd) == std::vector<std::string>{"cooperative_matrix"});
  for (const auto target : builtin_target_names())
    for (const auto& quirk : detail::quirks_for(builtin_target(target).value())) {
      CHECK_FALSE(quirk.source.empty());
      CHECK_FALSE(quirk.why.empty());
    }
}
