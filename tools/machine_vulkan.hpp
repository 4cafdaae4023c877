// The Vulkan machine, for the subcommands that also need the runtime beneath it.
#pragma once

#include "machine.hpp"

#include <sectile/vulkan_runtime.hpp>

namespace sectile::tools {

Result<std::unique_ptr<Machine>> open_vulkan(const std::string& selector, const MachineOptions& options);

}  // namespace sectile::tools
