// A device's profile, from the driver's attributes.
#pragma once

#include "libraries.hpp"

#include <sectile/profile.hpp>

#include <string>

namespace sectile::cuda {

// Errors: device.
Result<DeviceProfile> describe_device(const api::Driver& driver, api::Ordinal device);

// 32 hex digits, the same as Vulkan's deviceUUID of the card.
Result<std::string> uuid_of(const api::Driver& driver, api::Ordinal device);
Result<std::string> name_of(const api::Driver& driver, api::Ordinal device);
Result<std::string> driver_text(const api::Driver& driver);  // "CUDA 13.0"

}  // namespace sectile::cuda
