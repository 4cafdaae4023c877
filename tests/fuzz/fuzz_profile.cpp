// Whatever a profile, a vulkaninfo dump or a supplement holds: no crash, and a profile that is accepted
// reads back as written.
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

void accepted(const sectile::Result<sectile::DeviceProfile>& profile) {
  if (!profile) {
    if (profile.error().message().empty()) std::abort();
    return;
  }
  if (sectile::print(*profile).empty()) std::abort();
  if (profile->name.empty()) return;  // a supplement to nothing
  const std::string text = sectile::to_json(*profile);
  const auto again = sectile::profile_from_json(text);
  if (!again || *again != *profile || sectile::to_json(*again) != text) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  accepted(sectile::profile_from_json(text));
  accepted(sectile::profile_from_vulkaninfo(text));
  static const sectile::DeviceProfile base = sectile::builtin_target("swiftshader").value();
  accepted(sectile::supplement(base, text));
  return 0;
}
