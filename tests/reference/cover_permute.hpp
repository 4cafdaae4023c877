// Permutes that meet every pair of what the generator's draws differ in: type, rank, order of the axes or kind of
// layout, strides, alignments, offsets, ragged sides, the run that stays together, parts of the stage, size.
#pragma once

#include <sectile/problem.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::reference {

struct CoveringPermute {
  PermuteProblem problem;
  std::string candidate;  // a stem that is to run it; empty: whatever is chosen, and another
};

// Case `index` of `seed`: first the covering ones, then random ones.
CoveringPermute covering_permute(std::uint64_t seed, std::uint64_t index);
std::span<const CoveringPermute> covering_permutes(std::uint64_t seed);

// A level a factor, and a number for each pair of factors' levels.
std::vector<std::uint8_t> permute_levels(const PermuteProblem& problem);
std::vector<std::uint32_t> permute_pairs(const PermuteProblem& problem);

}  // namespace sectile::reference
