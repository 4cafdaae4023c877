#include "quirks.hpp"

namespace sectile::detail {

namespace {

constexpr Quirk kQuirks[] = {
    {"mesa", "llvmpipe", "", "26.1.6", "top-tested loop",
     "a load through an address that the whole subgroup shares runs once more after a for or while has ended; across a "
     "page's end "
     "the process dies. Test the loop at its bottom, or clamp the index",
     "seen and reproduced on lavapipe 26.1.6, 2026-11"},
    {"google", "", "", "as in Debian 13's chromium-common", "storage16",
     "a 16-bit shader is not refused: the process dies", "seen on SwiftShader, 2026-11"},
    {"qualcomm", "", "", "proprietary", "layout by push constant",
     "a kernel that picks its layout by a push constant fails to compile", "ncnn PR #6720"},
    {"qualcomm", "", "", "proprietary", "cooperative_matrix",
     "advertised, and wrong results were seen; ncnn leaves it off", "ncnn PR #6972, #6778"},
    {"intel", "", "", "some, as on Arc 140T", "default subgroup size",
     "the reported size (8) is not the one that runs (16): require one", "IGCIT #1402"},
    {"intel", "", "A770", "2024 to 2026", "cooperative_matrix", "0.0007 to 20 times the speed of plain code",
     "llama.cpp PR #24404, #10597"},
    {"amd", "AMD proprietary", "", "see source", "cooperative_matrix", "claimed on GPUs without matrix units",
     "ggml-vulkan.cpp's list of allowed devices"},
    {"imagination", "", "", "Tensor G5", "cooperative_matrix", "silently wrong results", "llama.cpp #28502, #28214"},
    {"imagination", "", "", "Tensor G5", "integer_dot_product", "silently wrong results", "llama.cpp #28502, #28214"},
};

bool speaks_for(std::string_view wanted, std::string_view text) {
  return wanted.empty() || text.find(wanted) != std::string_view::npos;
}

}  // namespace

std::vector<Quirk> quirks_for(const DeviceProfile& profile) {
  std::vector<Quirk> found;
  for (const Quirk& quirk : kQuirks)
    if ((quirk.vendor.empty() || quirk.vendor == profile.vendor) && speaks_for(quirk.driver, profile.driver) &&
        speaks_for(quirk.device, profile.name))
      found.push_back(quirk);
  return found;
}

}  // namespace sectile::detail
