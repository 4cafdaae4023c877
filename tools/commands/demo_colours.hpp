// The demo's matrix products: a photograph's colours through a matrix, checked against double precision.
#pragma once

#include "cli/picture.hpp"
#include "machine/machine.hpp"

#include <string>
#include <vector>

namespace sectile::tools {

struct Coloured {
  std::string name, what;  // "sepia"; what was made of the photograph
  std::string problem, plan;
  double worst = 0;  // largest distance from double precision, in units of the tolerance: below 1
};

// Writes OUT/NAME.png for each. Errors: those of the device and of files; device where an element is wrong.
Result<std::vector<Coloured>> colour_photograph(Machine& machine, const Picture& photo, const std::string& out);

}  // namespace sectile::tools
