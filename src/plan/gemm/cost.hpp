// A GEMM candidate's cost.
#pragma once

#include "context.hpp"

#include <cstdint>

namespace sectile::detail {

// Workgroups of so many invocations that a multiprocessor of the device holds at a time; at least 1.
std::uint64_t gemm_occupancy(const GemmContext& c, const Staging& staging, std::uint32_t workgroup) noexcept;

// A candidate's cost in picoseconds; see cost.cpp.
std::int64_t gemm_cost(const GemmContext& c, const GemmConfig& d, const GemmEstimate& e);

}  // namespace sectile::detail
