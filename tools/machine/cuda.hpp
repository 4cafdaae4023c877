// The CUDA machine.
#pragma once

#include "machine.hpp"

namespace sectile::tools {

Result<std::unique_ptr<Machine>> open_cuda(const std::string& selector, const MachineOptions& options);

// Where compiled kernels are kept if nobody names a folder: $XDG_CACHE_HOME/sectile/cubin, or ~/.cache's. Empty
// where neither is set.
std::string default_cubin_folder();

}  // namespace sectile::tools
