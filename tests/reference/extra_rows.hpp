// Rows that only tests and benchmarks use.
#pragma once

#include <sectile/planner.hpp>

namespace sectile::detail {
struct ExtraRows;
}

namespace sectile::reference {

// matmul_simt: the ladder of tvm_gpu_gemm, each rung one optimization more than the one before (" staged" to "
// banded"), three tiles with their bounds checked in the compute stage (" checked"), as DietCode's rivals do, and a
// tile with " one buffer", as a GPU's may have, for CPUs, whose own tiles have two.
// matmul_coopmat: small tiles that run every loop of a GPU on a CPU, and slice-K there.
const detail::ExtraRows& extra_rows();

// make_plan() with them.
Result<Plan> plan_with_extra_rows(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options);

// A matmul by a row of matmul_simt that stages each step as it is fetched, without a prefetch. It is none of the extra
// rows: what runs each of those would run it too.
Result<Plan> plan_by_fetched_row(const Problem& problem, const DeviceProfile& profile);

}  // namespace sectile::reference
