// Random permute problems from a seed: case `index` of `seed` is the same on every machine.
#pragma once

#include <sectile/problem.hpp>

#include <cstdint>

namespace sectile::reference {

// Always a valid problem. Most have fewer than 200,000 elements; one in some hundreds has more.
PermuteProblem generate_permute(std::uint64_t seed, std::uint64_t index);

}  // namespace sectile::reference
