// Random problems from a seed: case `index` of `seed` is the same on every machine.
#pragma once

#include <sectile/problem.hpp>

#include <cstdint>
#include <vector>

namespace sectile::reference {

// Always a valid problem. Most have fewer than 200,000 elements; one in some hundreds has more.
PermuteProblem generate_permute(std::uint64_t seed, std::uint64_t index);
// The same with an elementwise stage: every pair of types, every subset of its parts.
PermuteProblem generate_elementwise(std::uint64_t seed, std::uint64_t index);

// Always a valid problem, with at most some 10^7 multiplications, and with fewer than 10^6 nearly always: every layout,
// type, format, stride, batch and epilogue, sizes of 0 and 1, primes, those beside a tile's, skinny ones, long sums.
MatmulProblem generate_matmul(std::uint64_t seed, std::uint64_t index);

// Always a valid problem, with at most some 10^6 multiplications nearly always: every layout, filter, stride, dilation,
// padding, grouping, slice, type, prologue and epilogue, what plans as a matmul, few channels, small images, sizes of
// 0.
Conv2dProblem generate_conv2d(std::uint64_t seed, std::uint64_t index);

// A permute whose outermost rows, of the source or of the destination, lie so far apart that byte offsets pass 2^31.
PermuteProblem far_permute(DType type, std::vector<std::int64_t> shape, std::vector<int> axes, bool source);

}  // namespace sectile::reference
