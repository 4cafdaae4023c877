// The canary's stored outcomes, for profiles of devices that are not opened.
#pragma once

#include "snapshot.hpp"

#include <string_view>

namespace sectile::vulkan {

// The profile with the outcome that the folder has for the device; unchanged where it has none.
DeviceProfile with_kept_canary(DeviceProfile profile, const Snapshot& snapshot, std::string_view folder);

}  // namespace sectile::vulkan
