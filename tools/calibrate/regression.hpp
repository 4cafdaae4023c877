// The fit of corrections: ridge regression of what the formulas leave over.
#pragma once

#include "samples.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sectile::tools {

struct RegressionResult {
  double shrinkage = 0;         // that was chosen by problems held out; 0: no correction was better
  double error = 0, plain = 0;  // of problems held out, with and without corrections: root mean square of log2
};

// Sets the corrections of the free tables, and the offsets of their rows, that the samples of the part `fit` have.
// `rows`: what `model` points to, 0 in those. Other tables' samples count with the corrections that they have. How far
// numbers are drawn to 0 is chosen by problems held out, among a few values, and none at all.
RegressionResult fit_corrections(const Samples& samples, const detail::CostModel& model, detail::ClassRows& rows,
                                 const std::function<bool(detail::CostTable)>& free);

// Solves A x = b for a symmetric positive definite A (row by row) in place; b becomes x.
void solve_cholesky(std::vector<double>& a, std::vector<double>& b);

}  // namespace sectile::tools
