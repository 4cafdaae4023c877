// What work costs on a class of devices: the planner's numbers for its estimates. Devices like those that were measured
// have a class that is built in; for another device `sectile calibrate` makes one, and the app gives it to the profile
// (use_device_class). Without it such a device is planned for with another's numbers.
// docs/reference/device-class.md describes the file, docs/guide/calibrating.md the command.
#pragma once

#include <sectile/error.hpp>
#include <sectile/profile.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sectile {

using DeviceClassPtr = std::shared_ptr<const DeviceClass>;

// Reads a class's file. Numbers that it lacks are derived, as docs/reference/device-class.md says. Errors: parse, with
// the name of a field that is missing, unknown, out of its range, or of another kind of device; another schema.
Result<DeviceClassPtr> device_class_from_json(std::string_view text);
std::string to_json(const DeviceClass& device_class);     // a file that device_class_from_json reads
std::string print(const DeviceClass& device_class);       // one line: its name, and where it was measured
std::string class_name(const DeviceClass& device_class);  // "nvidia-hopper"
std::string class_id(const DeviceClass& device_class);    // a hash of its numbers: it is part of the ids of plans

// Gives the profile the class, in place of one that it had; null takes it away, and what is built in counts again.
// Returns warnings, one line each: the class was measured with another driver, or by another version of the planner; it
// has a candidate that there is no more. Errors: unsupported, if the class is of other devices.
Result<std::vector<std::string>> use_device_class(DeviceProfile& profile, DeviceClassPtr device_class);

// The class that plans for this profile use; null where nothing was measured on devices like it.
const DeviceClass* device_class_of(const DeviceProfile& profile);

}  // namespace sectile
