// The words of the kernels of convolutions, by name and type: the lists of shaders/conv2d.
#pragma once

#include "plan/words.hpp"

#include "conv2d/conv2d.abi.h"
#include "lib/abi.h"

#include <cstdint>

namespace sectile::detail {

// The specialization constants that conditions name.
struct Conv2dConstants {
  std::uint32_t kPrologue = 0, kImageSide = 0, kFlattenedBatch = 0;
};

SECTILE_WORDS(Conv2dPrologueWords, Conv2dConstants, CONV2D_PROLOGUE_WORDS);
SECTILE_WORDS(Conv2dGatherWords, Conv2dConstants, CONV2D_GATHER_WORDS);

}  // namespace sectile::detail
