// What the benchmarks move and multiply.
#pragma once

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace sectile::tools {

// A copy of `bytes` as a problem: one that any plan carries out with 16 bytes an invocation.
PermuteProblem copy_problem(std::uint64_t bytes);

// Of all operands, each once; 0 for a problem that is refused.
double operand_bytes_of(const Problem& problem);
// Products of two elements that make one of the result.
std::int64_t terms_of(const MatmulProblem& problem) noexcept;
std::int64_t terms_of(const Conv2dProblem& problem) noexcept;
// Two for each of these products, those with a convolution's padding among them; 0 for a convolution that is refused.
double operations_of(const MatmulProblem& problem);
double operations_of(const Conv2dProblem& problem);

// Numbers from 0.5 to 1 with either sign, in any type: nothing overflows, and nothing is lost in a sum's rounding.
void fill_numbers(DType type, std::span<std::byte> bytes, std::uint64_t seed);

}  // namespace sectile::tools
