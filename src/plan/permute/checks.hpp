// What a permute's numbers must be, whatever its axes or layouts are.
#pragma once

#include <sectile/problem.hpp>

namespace sectile::detail {

// Rank, shape, alignments and offsets.
Result<void> check_scalars(const PermuteProblem& p);
// One stride for each axis of either side.
Result<void> check_strides(const PermuteProblem& p, int dst_rank);
// The elementwise stage, but for the axes of its vectors.
Result<void> check_stage(const PermuteProblem& p, int dst_rank);

}  // namespace sectile::detail
