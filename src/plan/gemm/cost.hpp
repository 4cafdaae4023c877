// A GEMM candidate's cost.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

// Workgroups of so many invocations that a multiprocessor of the device holds at a time; at least 1.
std::uint64_t gemm_occupancy(const GemmContext& c, const Staging& staging, std::uint32_t workgroup) noexcept;

// Clusters of matmul_wgmma that so many multiprocessors hold at a time, one workgroup each.
std::uint64_t clusters_at_once(const CostModel& model, const GemmConfig& d, std::uint64_t multiprocessors);

// A candidate's cost in picoseconds with a model's numbers, without a correction; see cost.cpp.
std::int64_t gemm_cost(const GemmContext& c, const CostModel& model, const GemmConfig& d);

// The same with the correction of a table: the config's own, or that of the convolution that it computes.
std::int64_t corrected_gemm_cost(const GemmContext& c, const CostModel& model, CostTable table, const GemmConfig& d);

// Whether a row's cost is at least `cost` in any case: made() is without an estimate, which takes most of a choice's
// time, and what an estimate counts only adds to the cost.
bool gemm_costs_at_least(const GemmContext& c, CostTable table, const GemmConfig& made, std::int64_t cost);

// What a correction of it is fitted to.
Features gemm_features(const GemmContext& c, const GemmConfig& d, std::int64_t cost);

}  // namespace sectile::detail
