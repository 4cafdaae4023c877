// Compiles kernels with NVRTC.
#pragma once

#include "kernels.hpp"
#include "libraries.hpp"

#include <sectile/cuda.hpp>

namespace sectile::cuda {

// Needs no driver and no GPU. Safe from several threads. Errors: as compile().
Result<Code> compile_text(const api::Nvrtc& nvrtc, const KernelText& kernel, std::string_view architecture,
                          const CompileOptions& options);

}  // namespace sectile::cuda
