// What the benchmarks move and multiply.
#pragma once

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sectile::tools {

// A copy of `bytes` as a problem: one that any plan carries out with 16 bytes an invocation.
PermuteProblem copy_problem(std::uint64_t bytes);

// Numbers from 0.5 to 1 with either sign, in any type: nothing overflows, and nothing is lost in a sum's rounding.
void fill_numbers(DType type, std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace sectile::tools
