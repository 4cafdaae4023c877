// The fit of a class's numbers: coordinate descent in integers, so that the same measurements give the same numbers
// with any compiler.
#pragma once

#include "samples.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sectile::tools {

// A number that is fitted.
struct FittedNumber {
  std::string name;  // as in the class's file
  std::uint32_t* value = nullptr;
  std::uint32_t least = 1, most = 1u << 30;
  // Which samples depend on it: those of a row, or (none) all of these tables.
  std::vector<detail::CostTable> tables = {};
  bool of_row = false;
  detail::CostTable row_table = {};
  std::uint32_t row = 0;
};

// The sum over the problems of the weighted error of the logarithms of the costs: mostly of the candidates of a problem
// against each other, which choices rest on, and a little of all of them together.
struct SearchResult {
  std::int64_t before = 0, after = 0;  // the sum
  std::size_t evaluations = 0;
};

// Changes the numbers, which `model` and its rows hold, until no step of any of them makes the sum less. Only samples
// of the part `fit` count.
SearchResult search(const Samples& samples, const detail::CostModel& model, std::vector<FittedNumber>& numbers);

}  // namespace sectile::tools
