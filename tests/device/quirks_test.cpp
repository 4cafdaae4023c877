// What known drivers do wrong, and what it does to a profile.
#include "device/quirks.hpp"
#include "data.hpp"
#include "device/fields.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace sectile;
using detail::Effect;
using detail::Quirk;

namespace {

std::vector<std::string> avoided(const DeviceProfile& profile) {
  std::vector<std::string> names;
  for (const auto& quirk : detail::quirks_for(profile)) names.emplace_back(quirk.avoid);
  return names;
}

DeviceProfile device(std::string vendor, std::string driver, std::string name) {
  DeviceProfile profile;
  profile.vendor = std::move(vendor);
  profile.driver = std::move(driver);
  profile.name = std::move(name);
  profile.cooperative_matrix = true;
  profile.cooperative_matrix2 = true;
  profile.matrix_shapes.resize(1);
  profile.sources["cooperative_matrix"] = "driver: cooperativeMatrix";
  return profile;
}

}  // namespace

TEST_CASE("quirks speak for their device") {
  using Names = std::vector<std::string>;
  CHECK(avoided(builtin_target("lavapipe").value()) == Names{"top-tested loop"});
  CHECK(avoided(builtin_target("swiftshader").value()) == Names{"storage16", "float16", "f16_conversion"});
  CHECK(avoided(builtin_target("nvidia-hopper").value()).empty());
  CHECK(avoided(builtin_target("amd-rdna3").value()).empty());  // the driver is not known
  CHECK(avoided(device("amd", "AMD proprietary driver 25.1.1", "AMD Radeon RX 6800")) ==
        Names{"cooperative_matrix", "integer_dot_product", "large matrix tiles"});
  CHECK(avoided(device("amd", "AMD proprietary driver 25.1.1", "AMD Radeon RX 7900 XTX")) ==
        Names{"large matrix tiles"});
  CHECK(avoided(device("amd", "AMD open-source driver 2025.Q2.1 (LLPC)", "AMD Radeon RX 6800")) ==
        Names{"cooperative_matrix"});
  CHECK(avoided(device("amd", "radv Mesa 26.1.6", "AMD Radeon RX 6800 (RADV NAVI21)")).empty());
  CHECK(avoided(device("intel", "Intel open-source Mesa driver Mesa 26.1", "Intel(R) Arc(tm) Graphics (MTL)")) ==
        Names{"cooperative_matrix"});
  CHECK(avoided(device("intel", "Intel open-source Mesa driver Mesa 26.1", "Intel(R) Arc(tm) Graphics (ARL)")).empty());
  DeviceProfile apu = device("amd", "AMD proprietary driver 26.3.1 (LLPC)", "AMD Radeon(TM) 8060S Graphics");
  CHECK(avoided(apu) == Names{"large matrix tiles"});
  apu.kind = DeviceKind::integrated;
  CHECK(avoided(apu) == Names{"cooperative_matrix", "large matrix tiles"});
}

TEST_CASE("every quirk is whole") {
  DeviceProfile any;
  for (const Quirk& quirk : detail::all_quirks()) {
    CAPTURE(quirk.avoid);
    CHECK_FALSE(quirk.vendor.empty());
    CHECK_FALSE(quirk.why.empty());
    CHECK_FALSE(quirk.source.empty());
    CHECK((quirk.effect == Effect::lower) == (quirk.most != 0));
    bool is_field = false;
    detail::for_each_field(any, [&](std::string_view name, auto&) { is_field = is_field || name == quirk.avoid; });
    CHECK(is_field == (quirk.effect != Effect::note));
  }
}

TEST_CASE("driver versions are read from the drivers text") {
  CHECK(detail::driver_version_of("llvmpipe Mesa 26.1.6-1~bpo13+1 (LLVM 19.1.7)") == "26.1.6");
  CHECK(detail::driver_version_of("NVIDIA 580.159.04") == "580.159.04");
  CHECK(detail::driver_version_of("MoltenVK 1.3.") == "1.3");
  CHECK(detail::driver_version_of("driver 7 of 8, 9.1") == "9.1");
  CHECK(detail::driver_version_of("version 0x7").empty());
  CHECK(detail::driver_version_of("12.").empty());
  CHECK(detail::driver_version_of("").empty());
}

TEST_CASE("version ranges begin inclusive and end exclusive") {
  CHECK(detail::version_in("26.1.6", "26.1.6", "26.2"));
  CHECK(detail::version_in("26.1.99", "26.1.6", "26.2"));
  CHECK_FALSE(detail::version_in("26.2", "26.1.6", "26.2"));
  CHECK_FALSE(detail::version_in("26.2.0", "26.1.6", "26.2"));
  CHECK_FALSE(detail::version_in("26.1.5", "26.1.6", "26.2"));
  CHECK_FALSE(detail::version_in("9.9", "26.1.6", ""));  // by number, not by letter
  CHECK(detail::version_in("100.0", "26.1.6", ""));
  CHECK(detail::version_in("0.1", "", "26.2"));
  CHECK_FALSE(detail::version_in("26.2.1", "", "26.2"));
  CHECK(detail::version_in("1.0", "", ""));
  CHECK(detail::version_in("580.159.04", "580.159.4", "580.159.5"));
}

TEST_CASE("a driver of unknown version is spoken for") {
  CHECK(detail::version_in("", "26.1.6", "26.2"));
  const Quirk quirk{.vendor = "amd", .driver = "radv", .from = "25.0", .below = "26.0", .avoid = "int8"};
  CHECK(detail::speaks_for(quirk, device("amd", "radv", "x")));
  CHECK(detail::speaks_for(quirk, device("amd", "radv Mesa 25.3.1", "x")));
  CHECK_FALSE(detail::speaks_for(quirk, device("amd", "radv Mesa 26.0.0", "x")));
  CHECK_FALSE(detail::speaks_for(quirk, device("amd", "", "x")));  // whether it is radv is not known
}

TEST_CASE("a quirk may speak for one subgroup size") {
  DeviceProfile profile = builtin_target("lavapipe").value();
  CHECK(profile.subgroup_size == 8u);
  CHECK(profile.cooperative_matrix == true);
  CHECK_FALSE(profile.matrix_shapes.empty());
  for (const std::uint32_t size : {4u, 16u}) {
    DeviceProfile other = profile;
    other.subgroup_size = size;
    detail::apply_quirks(other);
    CHECK(other.cooperative_matrix == (size != 16));
    CHECK(other.matrix_shapes.empty() == (size == 16));
  }
}

TEST_CASE("forbidden features go with what hangs on them") {
  DeviceProfile profile = device("qualcomm", "Qualcomm Technologies Inc. Adreno Vulkan Driver", "Adreno (TM) 840");
  const DeviceProfile before = profile;
  detail::apply_quirks(profile);
  CHECK(profile.cooperative_matrix == false);
  CHECK(profile.cooperative_matrix2 == false);
  CHECK_FALSE(profile.cooperative_matrix_workgroup_scope.has_value());  // unknown before, unknown now
  CHECK(profile.matrix_shapes.empty());
  const std::string source = profile.sources.at("cooperative_matrix");
  CHECK(source.starts_with("quirk: advertised, and wrong results were seen"));
  CHECK(source.contains("ncnn PR #6972"));
  CHECK(source.ends_with("it was: driver: cooperativeMatrix"));
  const DeviceProfile once = profile;
  detail::apply_quirks(profile);
  CHECK(profile == once);
  CHECK(profile != before);
  CHECK(profile_from_json(to_json(profile)) == profile);
}

TEST_CASE("limits are lowered and never raised") {
  DeviceProfile profile = device("nvidia", "NVIDIA 999.1", "x");
  profile.workgroup_memory_bytes = 65536;
  detail::apply_quirks(profile);
  CHECK(profile.workgroup_memory_bytes == 49152u);
  CHECK(profile.sources.at("workgroup_memory_bytes").starts_with("quirk: "));
  DeviceProfile small = device("nvidia", "NVIDIA 999.1", "x");
  small.workgroup_memory_bytes = 32768;
  detail::apply_quirks(small);
  CHECK(small.workgroup_memory_bytes == 32768u);
  CHECK_FALSE(small.sources.contains("workgroup_memory_bytes"));
}

TEST_CASE("values that are not to be trusted become unknown") {
  DeviceProfile profile = device("intel", "Intel Corporation", "Intel(R) Arc(TM) 140T GPU (16GB)");
  profile.subgroup_size = 8;
  detail::apply_quirks(profile);
  CHECK_FALSE(profile.subgroup_size.has_value());
  CHECK(profile.sources.at("subgroup_size").contains("IGCIT #1402"));
  CHECK(profile.cooperative_matrix == true);
}

TEST_CASE("notes change nothing") {
  DeviceProfile profile = device("mesa", "llvmpipe Mesa 26.1.6", "llvmpipe");
  const DeviceProfile before = profile;
  detail::apply_quirks(profile);
  CHECK(profile == before);
  CHECK(detail::describe(detail::quirks_for(profile).front()).starts_with("top-tested loop: a load through"));
}

TEST_CASE("imported dumps are lowered too") {
  std::string dump = data_file("lavapipe-vulkaninfo.json");
  const auto replace = [&](std::string_view from, std::string_view to) {
    const auto at = dump.find(from);
    REQUIRE(at != std::string::npos);
    dump.replace(at, from.size(), to);
  };
  CHECK(profile_from_vulkaninfo(dump)->cooperative_matrix == true);
  replace("\"vendorID\": 65541", "\"vendorID\": 4112");
  const DeviceProfile p = profile_from_vulkaninfo(dump).value();
  CHECK(p.vendor == "imagination");
  CHECK(p.cooperative_matrix == false);
  CHECK(p.integer_dot_product == false);
}

TEST_CASE("a conversion that is known to be wrong is doubted, and AMD's own dot products before RDNA3 are not used") {
  DeviceProfile swiftshader = device("google", "SwiftShader driver 5.0.0", "SwiftShader Device (Subzero)");
  CHECK_FALSE(swiftshader.f16_conversion.has_value());
  detail::apply_quirks(swiftshader);
  CHECK(swiftshader.f16_conversion == false);
  CHECK(swiftshader.sources.at("f16_conversion").starts_with("quirk: packHalf2x16"));
  CHECK_FALSE(swiftshader.bf16_conversion.has_value());
  const auto dot = [](const char* driver, const char* name) {
    DeviceProfile profile = device("amd", driver, name);
    profile.integer_dot_product = true;
    detail::apply_quirks(profile);
    return profile.integer_dot_product == true;
  };
  CHECK(!dot("AMD proprietary driver 25.8.1", "AMD Radeon RX 6800"));
  CHECK(!dot("AMD proprietary driver 25.8.1", "AMD Radeon RX 5700 XT"));
  CHECK(dot("AMD proprietary driver 25.8.1", "AMD Radeon RX 7900 XTX"));
  CHECK(dot("AMD proprietary driver 25.8.1", "AMD Radeon 780M"));
  CHECK(dot("radv Mesa 26.1.6", "AMD Radeon RX 6800 (RADV NAVI21)"));
}
