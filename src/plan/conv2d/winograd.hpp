// Winograd's algorithm as a GEMM.
#pragma once

#include "context.hpp"

#include <memory>

namespace sectile::detail {

// The GEMM of Winograd's algorithm, with its transforms before and after it.
std::unique_ptr<Conv2dGemm> winograd_gemm(const Conv2dContext& c);

}  // namespace sectile::detail
