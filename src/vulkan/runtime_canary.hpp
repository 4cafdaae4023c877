// What the Runtime keeps of canaries, for profiles of devices that nobody opens.
#pragma once

#include "snapshot.hpp"

#include <string_view>

namespace sectile::vulkan {

// The profile with the outcome that the folder keeps for the device; as it is where it keeps none.
DeviceProfile with_kept_canary(DeviceProfile profile, const Snapshot& snapshot, std::string_view folder);

}  // namespace sectile::vulkan
