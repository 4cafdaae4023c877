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

// Which corrections and offsets the free tables have before.
enum class Corrections : std::uint8_t { none, known };  // all are 0; those of a class that was measured

// Adds to the corrections of the free tables, and to the offsets of their rows, what the samples of the part `fit` say.
// `rows`: what `model` points to. Other tables' samples count with the corrections that they have. How far what is
// added is drawn to 0 is chosen by problems held out, among a few values, and none at all.
RegressionResult fit_corrections(const Samples& samples, const detail::CostModel& model, detail::ClassRows& rows,
                                 const std::function<bool(detail::CostTable)>& free,
                                 Corrections from = Corrections::none);

// Solves A x = b for a symmetric positive definite A (row by row) in place; b becomes x.
void solve_cholesky(std::vector<double>& a, std::vector<double>& b);

}  // namespace sectile::tools
