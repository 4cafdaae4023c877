#include "quirks.hpp"

#include "fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

namespace sectile::detail {

namespace {

// GPUs that have matrix units under AMD's own drivers, by name.
constexpr std::string_view kAmdWithMatrixUnits[] = {"RX 7", "RX 9", "PRO W7", "AI PRO R9", "8060S", "8050S"};

// RDNA3 and later, by name: those, and processors' graphics that have no such matrix unit in that list.
constexpr std::string_view kAmdFromRdna3[] = {"RX 7", "RX 9", "PRO W7", "AI PRO R9", "8060S", "8050S", "740M",
                                              "760M", "780M", "820M",   "840M",      "860M",  "880M",  "890M"};

// A row has versions where a report says when the fault began or ended. Most reports do not: then there is no bound.
constexpr Quirk kQuirks[] = {
    {.vendor = "mesa",
     .driver = "llvmpipe",
     .avoid = "top-tested loop",
     .why = "a load through an address that the whole subgroup shares runs once more after a for or while has ended; "
            "across a page's end the process dies. Test the loop at its bottom, or clamp the index",
     .source = "seen and reproduced on lavapipe 26.1.6, 2026-11"},
    {.vendor = "mesa",
     .driver = "llvmpipe",
     .subgroup_size = 16,
     .avoid = "address of two words that differs from lane to lane",
     .why =
         "its compiler joins two words to 64 bits in an array on its stack that has room for 8 lanes: the process dies "
         "of it. Give the subgroup one address, and each lane a 32-bit offset",
     .source = "seen under gdb on lavapipe 26.1.6 with LP_NATIVE_VECTOR_WIDTH=512, 2026-11"},
    {.vendor = "mesa",
     .driver = "llvmpipe",
     .subgroup_size = 16,
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "compiling its loads kills the process: their addresses differ from lane to lane",
     .source = "seen under gdb on lavapipe 26.1.6 with LP_NATIVE_VECTOR_WIDTH=512, 2026-11"},
    {.vendor = "google",
     .avoid = "storage16",
     .effect = Effect::forbid,
     .why = "a 16-bit shader is not refused: the process dies",
     .source = "seen on SwiftShader as in Debian 13's chromium-common, 2026-11"},
    {.vendor = "google",
     .avoid = "float16",
     .effect = Effect::forbid,
     .why = "a 16-bit shader is not refused: the process dies",
     .source = "seen on SwiftShader as in Debian 13's chromium-common, 2026-11"},
    {.vendor = "google",
     .avoid = "f16_conversion",
     .effect = Effect::doubt,
     .why = "packHalf2x16 makes NaN of what is above 65536, changes the other half from 1e30 on, and rounds numbers "
            "just above half of the least subnormal to 0",
     .source = "seen on SwiftShader as in Debian 13's chromium-common, 2026-11"},
    {.vendor = "nvidia",
     .driver = "NVIDIA",
     .avoid = "bf16_conversion",
     .effect = Effect::doubt,
     .why = "bfloat16_t(float) rounds to zero, which VK_KHR_shader_bfloat16 allows",
     .source = "the canary on an H200, driver 580.159.04, 2026-11"},
    {.vendor = "nvidia",
     .driver = "NVIDIA",
     .avoid = "nan_selection",
     .effect = Effect::doubt,
     .why = "its compiler makes a maximum of v < 0 ? 0 : v, which takes a NaN for 0",
     .source = "the canary on an H200, driver 580.159.04, 2026-11"},
    {.vendor = "nvidia",
     .driver = "NVIDIA",
     .avoid = "workgroup_memory_bytes",
     .effect = Effect::lower,
     .most = 49152,
     .why = "a kernel with more compiles, and then loses the device",
     .source = "tried on an H200, driver 580.159.04, 2026-11"},
    // Both of AMD's own drivers, "AMD proprietary driver" and "AMD open-source driver"; RADV is not one of them.
    {.vendor = "amd",
     .driver = "AMD ",
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .except = kAmdWithMatrixUnits,
     .why = "claimed on GPUs without matrix units",
     .source = "llama.cpp PR #11074: by name; ggml-vulkan.cpp's list of allowed devices"},
    // The products are 4 bytes by 4 bytes in one instruction on RDNA3 and later alone.
    {.vendor = "amd",
     .driver = "AMD proprietary",
     .avoid = "integer_dot_product",
     .effect = Effect::forbid,
     .except = kAmdFromRdna3,
     .why = "said to be accelerated, and silently wrong before RDNA3",
     .source = "audio.cpp PR #193 and #192 (RX 6800), ollama #13108 (RX 6650 XT), Windows"},
    {.vendor = "amd",
     .driver = "AMD proprietary",
     .kind = DeviceKind::integrated,
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "asking for the shapes kills the process",
     .source = "llama.cpp PR #22750, AMDVLK #422: Radeon 860M, driver 26.3.1"},
    {.vendor = "amd",
     .driver = "AMD proprietary",
     .avoid = "large matrix tiles",
     .why = "slower than the medium ones",
     .source = "llama.cpp PR #18763"},
    {.vendor = "intel",
     .device = "A770",
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "0.0007 to 20 times the speed of plain code",
     .source = "llama.cpp PR #24404, #10597"},
    {.vendor = "intel",
     .driver = "Mesa",
     .device = "(MTL)",
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "emulated: the chip has no matrix unit",
     .source = "Mesa, intel_device_info.c: CMAT_PRE_XEHP_CONFIGURATIONS without has_systolic"},
    {.vendor = "intel",
     .device = "B70",
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "the device is lost",
     .source = "IGCIT #1487: Arc Pro B70, Windows driver 32.0.101.8826"},
    {.vendor = "intel",
     .device = "140T",
     .avoid = "subgroup_size",
     .effect = Effect::clear,
     .why = "8 is said to be the least, and 16 runs: require a size",
     .source = "IGCIT #1402: Arc 140T, Windows driver 32.0.101.8626"},
    {.vendor = "intel",
     .driver = "Intel Corporation",
     .avoid = "integer dot product in matrix times vector",
     .why = "slower than plain code on Xe1",
     .source = "llama.cpp #17628"},
    {.vendor = "qualcomm",
     .driver = "Qualcomm",
     .avoid = "layout by push constant",
     .why = "a kernel that picks its layout by a push constant fails to compile",
     .source = "ncnn PR #6720"},
    {.vendor = "qualcomm",
     .driver = "Qualcomm",
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "advertised, and wrong results were seen; ncnn leaves it off",
     .source = "ncnn PR #6972, #6778"},
    {.vendor = "qualcomm",
     .driver = "Qualcomm",
     .device = "750",
     .avoid = "subgroup reduction without workgroup memory in matrix times vector",
     .why = "the driver crashes as it compiles it",
     .source = "llama.cpp PR #29165"},
    {.vendor = "imagination",
     .avoid = "cooperative_matrix",
     .effect = Effect::forbid,
     .why = "silently wrong results",
     .source = "llama.cpp #28502, #28214: Tensor G5"},
    {.vendor = "imagination",
     .avoid = "integer_dot_product",
     .effect = Effect::forbid,
     .why = "silently wrong results",
     .source = "llama.cpp #28502, #28214: Tensor G5"},
    {.vendor = "amd",
     .driver = "MoltenVK",
     .avoid = "subgroup_size",
     .effect = Effect::clear,
     .why = "64 is reported and 32 may run; shuffles across lane 32 are wrong",
     .source = "MoltenVK #1553"},
    {.vendor = "apple",
     .driver = "Honeykrisp",
     .avoid = "unrolled loop over K",
     .why = "a matmul's loop over K has to stay rolled",
     .source = "ggml-vulkan.cpp, near line 2943 as of 2026"},
};

bool part_of(std::string_view part, std::string_view text) {
  return part.empty() || text.find(part) != std::string_view::npos;
}

// The next number of a dotted version, and 0 after its end: 26.1 is 26.1.0.
std::uint32_t next_number(std::string_view& version) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
  version.remove_prefix(static_cast<std::size_t>(end - version.data()));
  if (version.starts_with('.')) version.remove_prefix(1);
  return error == std::errc() ? number : 0;
}

bool before(std::string_view a, std::string_view b) {
  while (!a.empty() || !b.empty()) {
    const std::uint32_t x = next_number(a), y = next_number(b);
    if (x != y) return x < y;
  }
  return false;
}

// Removes the features that depend on the named one.
constexpr std::pair<std::string_view, std::string_view> kHangsOn[] = {
    {"cooperative_matrix2", "cooperative_matrix"},
    {"cooperative_matrix_tensor_addressing", "cooperative_matrix"},
    {"cooperative_matrix_workgroup_scope", "cooperative_matrix"},
    {"matrix_shapes", "cooperative_matrix"},
};

bool acts_on(const Quirk& quirk, std::string_view field) {
  if (quirk.avoid == field) return true;
  return quirk.effect == Effect::forbid && std::ranges::any_of(kHangsOn, [&](const auto& row) {
           return row.first == field && row.second == quirk.avoid;
         });
}

// True where the field was changed.
template <class T>
bool act(const Quirk& quirk, T& field) {
  if constexpr (std::same_as<T, std::optional<bool>>) {
    if ((quirk.effect == Effect::forbid && field == true) || (quirk.effect == Effect::doubt && field != false)) {
      field = false;
      return true;
    }
  }
  if constexpr (std::same_as<T, std::vector<MatrixShape>>) {
    if (quirk.effect == Effect::forbid && !field.empty()) {
      field.clear();
      return true;
    }
  }
  if constexpr (std::same_as<T, std::optional<std::uint32_t>>) {
    if (quirk.effect == Effect::lower && field && *field > quirk.most) {
      field = quirk.most;
      return true;
    }
  }
  if constexpr (requires { field.reset(); }) {
    if (quirk.effect == Effect::clear && field) {
      field.reset();
      return true;
    }
  }
  return false;
}

}  // namespace

std::span<const Quirk> all_quirks() { return kQuirks; }

std::string_view driver_version_of(std::string_view driver) {
  constexpr std::string_view kDigits = "0123456789", kVersion = "0123456789.";
  while (!driver.empty()) {
    const std::size_t start = driver.find_first_of(kDigits);
    if (start == std::string_view::npos) return {};
    driver.remove_prefix(start);
    std::string_view number = driver.substr(0, driver.find_first_not_of(kVersion));
    driver.remove_prefix(number.size());
    while (number.ends_with('.')) number.remove_suffix(1);
    if (number.find('.') != std::string_view::npos) return number;
  }
  return {};
}

bool version_in(std::string_view version, std::string_view from, std::string_view below) {
  if (version.empty()) return true;
  return (from.empty() || !before(version, from)) && (below.empty() || before(version, below));
}

bool speaks_for(const Quirk& quirk, const DeviceProfile& profile) {
  return (quirk.vendor.empty() || quirk.vendor == profile.vendor) && part_of(quirk.driver, profile.driver) &&
         part_of(quirk.device, profile.name) && (quirk.kind == DeviceKind::unknown || quirk.kind == profile.kind) &&
         (quirk.subgroup_size == 0 || quirk.subgroup_size == profile.subgroup_size) &&
         std::ranges::none_of(quirk.except, [&](std::string_view name) { return part_of(name, profile.name); }) &&
         version_in(driver_version_of(profile.driver), quirk.from, quirk.below);
}

std::vector<Quirk> quirks_for(const DeviceProfile& profile) {
  std::vector<Quirk> found;
  std::ranges::copy_if(kQuirks, std::back_inserter(found),
                       [&](const Quirk& quirk) { return speaks_for(quirk, profile); });
  return found;
}

void apply_quirk(const Quirk& quirk, DeviceProfile& profile) {
  if (quirk.effect == Effect::note) return;
  std::vector<std::string_view> changed;
  for_each_field(profile, [&](std::string_view name, auto& field) {
    if (acts_on(quirk, name) && act(quirk, field)) changed.push_back(name);
  });
  for (const std::string_view name : changed) {
    std::string& source = profile.sources[std::string(name)];
    const std::string before = source.empty() ? "" : "; it was: " + source;
    source = fmt::format("quirk: {} ({}){}", quirk.why, quirk.source, before);
  }
}

void apply_quirks(DeviceProfile& profile) {
  for (const Quirk& quirk : quirks_for(profile)) apply_quirk(quirk, profile);
}

std::string describe(const Quirk& quirk) {
  return std::string(quirk.avoid) + ": " + std::string(quirk.why) + " (" + std::string(quirk.source) + ")";
}

}  // namespace sectile::detail
