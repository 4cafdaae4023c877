// The words of the permute kernels, by name and type: the lists of shaders/permute and shaders/permute/permute.abi.h.
#pragma once

#include "plan/words.hpp"

#include "permute/permute_box.abi.h"
#include "permute/permute_copy.abi.h"
#include "permute/permute_elements.abi.h"
#include "permute/permute_fused.abi.h"
#include "permute/permute_ragged.abi.h"
#include "permute/permute_realign.abi.h"
#include "permute/permute_runs.abi.h"
#include "permute/permute_table.abi.h"
#include "permute/permute_tile.abi.h"
#include "permute/permute_words.abi.h"

#include <cstdint>

namespace sectile::detail {

// The specialization constants that conditions and counts name.
struct PermuteConstants {
  std::uint32_t kAxes = 0, kStage = 0;
};

// What every stream has.
SECTILE_WORDS(PermuteAxisWords, NoConstants, PERMUTE_AXIS_WORDS);
SECTILE_WORDS(PermuteShiftWords, PermuteConstants, PERMUTE_SHIFT_WORDS);
SECTILE_WORDS(PermuteBoundWords, PermuteConstants, PERMUTE_BOUND_WORDS);
SECTILE_WORDS(PermuteFusedFirstWords, PermuteConstants, PERMUTE_FUSED_FIRST_WORDS);
SECTILE_WORDS(PermuteFusedLastWords, PermuteConstants, PERMUTE_FUSED_LAST_WORDS);

struct InnerConstants {
  std::uint32_t kInner = 0;
};

struct RaggedConstants {
  std::uint32_t kInner = 0, kPacked = 0;
};

// A kernel's own.
SECTILE_WORDS(PermuteBoxWords, NoConstants, PERMUTE_BOX_WORDS);
SECTILE_WORDS(PermuteElementsWords, NoConstants, PERMUTE_ELEMENTS_WORDS);
SECTILE_WORDS(PermuteCopyWords, NoConstants, PERMUTE_COPY_WORDS);
SECTILE_WORDS(PermuteFusedBlockWords, NoConstants, PERMUTE_FUSED_BLOCK_WORDS);
SECTILE_WORDS(PermuteRaggedWords, RaggedConstants, PERMUTE_RAGGED_WORDS);
SECTILE_WORDS(PermuteRealignWords, NoConstants, PERMUTE_REALIGN_WORDS);
SECTILE_WORDS(PermuteRunsWords, NoConstants, PERMUTE_RUNS_WORDS);
SECTILE_WORDS(PermuteTableWords, InnerConstants, PERMUTE_TABLE_WORDS);
SECTILE_WORDS(PermuteTileWords, NoConstants, PERMUTE_TILE_WORDS);
SECTILE_WORDS(PermuteWordsWords, NoConstants, PERMUTE_WORDS_WORDS);

}  // namespace sectile::detail
