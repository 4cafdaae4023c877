// One problem from host memory to host memory: plan, prepare, upload, run, download.
#pragma once

#include "machine/machine.hpp"

#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace sectile::tools {

struct Ran {
  std::vector<std::byte> bytes;  // the destination, from its address to its last element
  Plan plan;
};

// `inputs`: what each operand of operands_of holds before, from its address on; nothing for a destination that is not
// read. Errors: those of planning and of the device; too_small, missing.
Result<Ran> run_problem(Machine& machine, const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                        const TunedChoices* tuned = nullptr);

}  // namespace sectile::tools
