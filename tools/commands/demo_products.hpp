// The demo's products: a photograph's colours through a matrix, and its channels through filters, both checked against
// double precision.
#pragma once

#include "cli/picture.hpp"
#include "machine/machine.hpp"

#include "reference/products.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace sectile::tools {

struct MadePicture {
  std::string name, what;  // "sepia"; what was made of the photograph
  std::string problem, plan;
  double worst = 0;  // largest distance from double precision, in units of the tolerance: below 1
};

// Each writes OUT/NAME.png for each of its pictures. Errors: those of the device and of files; device where an element
// is wrong.
Result<std::vector<MadePicture>> colour_photograph(Machine& machine, const Picture& photo, const std::string& out);
Result<std::vector<MadePicture>> filter_photograph(Machine& machine, const Picture& photo, const std::string& out);

// ---- What both use

std::vector<float> as_floats(std::span<const std::byte> bytes);  // 0 to 255
std::byte as_byte(float value);                                  // rounded and saturated

struct CheckedValues {
  std::vector<float> values;
  std::string plan;
  double worst = 0;  // as MadePicture's
};
// Runs a problem of f32 on operands by name. `want`: the result's elements, which lie at `places`.
Result<CheckedValues> run_compared(Machine& machine, const Problem& problem, const reference::ProductData& data,
                                   const reference::ProductPlaces& places,
                                   std::span<const reference::ProductElement> want);

}  // namespace sectile::tools
