// Rows that tests and benchmarks add to the planner's tables for a plan (PlanOptions::extra): ladders that show what each
// step of an optimization is worth, loops of a GPU on a CPU. They are fallback rows: taken only where they are forced.
#pragma once

#include "matmul/rows.hpp"

#include <span>

namespace sectile::detail {

struct ExtraRows {
  std::span<const SimtRow> matmul_simt;
  std::span<const CoopmatRow> matmul_coopmat;
};

}  // namespace sectile::detail
