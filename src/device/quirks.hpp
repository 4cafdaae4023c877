// What known drivers do that their reported features do not say.
#pragma once

#include <sectile/profile.hpp>

#include <string_view>
#include <vector>

namespace sectile::detail {

struct Quirk {
  std::string_view vendor;    // DeviceProfile::vendor; empty: any
  std::string_view driver;    // part of DeviceProfile::driver; empty: any
  std::string_view device;    // part of DeviceProfile::name; empty: any
  std::string_view versions;  // which were seen to have it
  std::string_view avoid;     // a feature by its DeviceProfile field, or a habit of shader code
  std::string_view why;
  std::string_view source;
};

// Rows that speak for the profile's vendor, driver and device.
std::vector<Quirk> quirks_for(const DeviceProfile& profile);

}  // namespace sectile::detail
