// The Vulkan machine, for the subcommands that also need the runtime beneath it.
#pragma once

#include "machine.hpp"

#include <sectile/device_class.hpp>
#include <sectile/vulkan_runtime.hpp>

namespace sectile::tools {

// device_class: what is in MachineOptions' file.
Result<std::unique_ptr<Machine>> open_vulkan(const std::string& selector, const MachineOptions& options,
                                             const DeviceClassPtr& device_class);

// The folder of canaries' outcomes (vulkan_runtime.hpp); empty where there is no cache folder.
std::string default_canary_folder();

// False where SECTILE_CANARY=0. On a no-op device nothing runs, and every canary would fail.
bool canary_wanted();

}  // namespace sectile::tools
