// What these tests share: the GPUs that are not here, and problems that between them reach every stem.
#pragma once

#include "tools/run_command.hpp"
#include "vulkan/helpers.hpp"

#include "support/noop.hpp"

#include <string>
#include <vector>

namespace sectile::test {

// RADV's RDNA3 and RDNA4, ANV's Alchemist twice (the second is a device that no quirk takes the matrices from) and
// Battlemage.
std::vector<NoopGpu> driver_gpus();

// False, and the test says why, where the driver or its shim is not here; a failure where SECTILE_REQUIRE holds "noop".
bool present(const NoopGpu& gpu);

// Runs one of this program's test cases in a process that has this GPU alone.
Ran run_noop(const NoopGpu& gpu, const std::vector<std::string>& variables, const std::string& test_case);

std::vector<Problem> problems();

// Convolutions that choose every kernel there is for them. Their rows are matmuls' with another fetch.
std::vector<Problem> convolutions();

}  // namespace sectile::test
