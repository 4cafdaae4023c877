// One permute from host memory to host memory: plan, prepare, upload, run, download.
#pragma once

#include "machine.hpp"

#include <sectile/plan.hpp>
#include <sectile/problem.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace sectile::tools {

struct Permuted {
  std::vector<std::byte> bytes;  // the destination, from its address to its last element
  Plan plan;
};

// `src` begins at the source's address. Errors: those of planning and of the device; too_small.
Result<Permuted> run_permute(Machine& machine, const PermuteProblem& problem, std::span<const std::byte> src);

}  // namespace sectile::tools
