// Rows that tests and benchmarks add to the planner's tables (PlanOptions::extra): ladders, which add one optimization
// at a time, and a GPU's loops on a CPU. They are fallback rows: the planner takes them only if they are forced.
#pragma once

#include "gemm/rows.hpp"

#include <span>

namespace sectile::detail {

struct ExtraRows {
  std::span<const SimtRow> matmul_simt;
  std::span<const CoopmatRow> matmul_coopmat;
};

}  // namespace sectile::detail
