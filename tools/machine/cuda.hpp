// The CUDA machine.
#pragma once

#include "machine.hpp"

namespace sectile::tools {

Result<std::unique_ptr<Machine>> open_cuda(const std::string& selector, const MachineOptions& options);

// The default folder of compiled kernels: $XDG_CACHE_HOME/sectile/cubin, or in ~/.cache. Empty where neither is set.
std::string default_cubin_folder();

}  // namespace sectile::tools
