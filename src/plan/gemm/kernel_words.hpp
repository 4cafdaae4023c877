// The words of the kernels of GEMMs, by name and type: the lists of shaders/gemm.
#pragma once

#include "plan/words.hpp"

#include "gemm/matmul_reduce.abi.h"

#include <cstdint>

namespace sectile::detail {

// The specialization constants that conditions and counts name.
struct GemmConstants {
  std::uint32_t kEpilogue = 0, kBType = 0;
};

SECTILE_WORDS(GemmAddressWords, GemmConstants, GEMM_ADDRESS_WORDS);
SECTILE_WORDS(GemmActivationWords, GemmConstants, GEMM_ACTIVATION_WORDS);
SECTILE_WORDS(GemmWords, GemmConstants, GEMM_WORDS);
SECTILE_WORDS(MatmulReduceWords, GemmConstants, MATMUL_REDUCE_WORDS);

}  // namespace sectile::detail
