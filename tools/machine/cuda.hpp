// The CUDA machine.
#pragma once

#include "machine.hpp"

#include <sectile/device_class.hpp>

namespace sectile::tools {

// device_class: what is in MachineOptions' file.
Result<std::unique_ptr<Machine>> open_cuda(const std::string& selector, const MachineOptions& options,
                                           const DeviceClassPtr& device_class);

// The default folder of compiled kernels: $XDG_CACHE_HOME/sectile/cubin, or in ~/.cache. Empty where neither is set.
std::string default_cubin_folder();

}  // namespace sectile::tools
