// The words of the kernels of convolutions, by name and type: the lists of shaders/conv2d.
#pragma once

#include "plan/gemm/kernel_words.hpp"
#include "plan/words.hpp"

#include "conv2d/conv2d.abi.h"
#include "conv2d/conv2d_winograd.abi.h"
#include "conv2d/direct_words.abi.h"
#include "lib/abi.h"

#include <cstdint>

namespace sectile::detail {

// Two numbers of at most 16 bits: vertical, horizontal.
constexpr U16x2 u16x2(std::int64_t x, std::int64_t y) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y)};
}

// The specialization constants that conditions name.
struct Conv2dConstants {
  std::uint32_t kPrologue = 0, kGatheredSide = 0, kFlattenedBatch = 0;
};

SECTILE_WORDS(Conv2dPrologueWords, Conv2dConstants, CONV2D_PROLOGUE_WORDS);
SECTILE_WORDS(Conv2dGatherWords, Conv2dConstants, CONV2D_GATHER_WORDS);

// Those of the kernels that are no GEMM. Conditions are the epilogue's.
SECTILE_WORDS(Conv2dDirectWords, GemmConstants, CONV2D_DIRECT_WORDS);
SECTILE_WORDS(Conv2dWinogradFilterWords, GemmConstants, CONV2D_WINOGRAD_FILTER_WORDS);
SECTILE_WORDS(Conv2dWinogradInputWords, GemmConstants, CONV2D_WINOGRAD_INPUT_WORDS);
SECTILE_WORDS(Conv2dWinogradOutputWords, GemmConstants, CONV2D_WINOGRAD_OUTPUT_WORDS);

}  // namespace sectile::detail
