// Runs one problem on data in host memory, to memory or to a file: plan, prepare, upload, run, download.
#pragma once

#include "convert.hpp"
#include "machine/machine.hpp"

#include <sectile/plan.hpp>
#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sectile::tools {

struct Ran {
  std::vector<std::byte> bytes;  // the destination, from its address to its last element
  Plan plan;
};

// `inputs`: the content of each operand of operands_of, from its address on; empty for a destination that is not read.
// Errors: those of planning and of the device; too_small, missing.
Result<Ran> run_problem(Machine& machine, const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                        const TunedChoices* tuned = nullptr);

// Where a command's result goes, and how it is made.
struct ResultFile {
  std::string path, device;
  std::string device_class, tuned;  // files: of what work costs, of measured choices; may be empty
  bool json = false;                // what was done as JSON on standard output; otherwise a line on standard error
  Notes notes = {};                 // what the user is told beside
};
// Runs a problem, writes its result as a .npy file of that type and shape, and says what was done; the exit code. Where
// the result has no element no device is opened.
int run_to_file(const ResultFile& file, const Problem& problem, std::span<const std::span<const std::byte>> inputs,
                const std::string& descr, const std::vector<std::int64_t>& shape);

}  // namespace sectile::tools
