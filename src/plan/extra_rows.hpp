// Rows that tests and benchmarks add to the planner's tables: ladders, which add one optimization
// at a time, and a GPU's loops on a CPU. The planner takes them only if they are forced.
#pragma once

#include "gemm/rows.hpp"

#include <sectile/planner.hpp>

#include <span>

namespace sectile::detail {

struct ExtraRows {
  std::span<const ExtraSimtRow> matmul_simt;
  std::span<const CoopmatRow> matmul_coopmat;
  bool retired = false;  // also the rows that have left the tables (Strategy::retired)
};

// make_plan() with these rows besides.
Result<Plan> make_plan_with(const ExtraRows& extra, const Problem& problem, const DeviceProfile& profile,
                            const PlanOptions& options);

}  // namespace sectile::detail
