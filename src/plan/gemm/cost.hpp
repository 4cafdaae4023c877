// A GEMM candidate's cost.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

// Workgroups that a multiprocessor holds at a time, by registers, workgroup memory and invocations; at least 1.
std::uint64_t gemm_occupancy(const GemmContext& c, const GemmConfig& d) noexcept;

// A candidate's cost in picoseconds; see cost.cpp.
std::int64_t gemm_cost(const GemmContext& c, const GemmConfig& d, const GemmEstimate& e);

}  // namespace sectile::detail
