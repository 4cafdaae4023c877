// Matmuls that meet every pair of what decides the code that runs: kernel, types, transposition, ragged sides, parts of
// the epilogue, batches, splits of K, strides, alignment.
#pragma once

#include "cover_products.hpp"
#include "covering.hpp"

#include <sectile/problem.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::reference {

using CoveringMatmul = CoveringProduct<MatmulProblem>;

// Case `index` of `seed` is the same on every machine.
const std::vector<CoveringMatmul>& covering_matmuls(std::uint64_t seed, Accesses accesses);

// For the test of the covering.
CoverRules matmul_cover_rules(Accesses accesses);
std::vector<LevelRow> covering_matmul_rows(std::uint64_t seed, Accesses accesses);
std::string matmul_level_name(std::uint8_t factor, std::uint8_t level);

}  // namespace sectile::reference
