// Convolutions that meet every pair of what decides the code that runs: kernel, types, layouts, filter, stride,
// dilation, padding, groups, ragged sides, splits of the sum, prologue, parts of the epilogue, batches, slices,
// alignment. Sums and epilogues are matmul's code, which cover_matmul.hpp meets with more kernels.
#pragma once

#include "cover_products.hpp"
#include "covering.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::reference {

using CoveringConv2d = CoveringProduct<Conv2dProblem>;

// Case `index` of `seed` is the same on every machine.
const std::vector<CoveringConv2d>& covering_conv2ds(std::uint64_t seed, Accesses accesses);

// For the test of the covering.
CoverRules conv2d_cover_rules(Accesses accesses);
std::vector<LevelRow> covering_conv2d_rows(std::uint64_t seed, Accesses accesses);
std::string conv2d_level_name(std::uint8_t factor, std::uint8_t level);

}  // namespace sectile::reference
