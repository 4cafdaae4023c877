// How a GEMM's work is divided beyond its tiles: their order, splits of K, and a tail that is split.
#pragma once

#include "context.hpp"

#include <cstdint>
#include <functional>

namespace sectile::detail {

// GemmConfig::group_m: 8 where there are several waves of workgroups, else 1.
std::uint32_t group_of_tiles(const GemmContext& c, const GemmConfig& d) noexcept;

// With PlanOptions::few_pipelines: fixes what else would differ from problem to problem.
void use_few_pipelines(GemmConfig& d, ShapeGeneric generic) noexcept;

// Split-K: the number of parts of K with which each multiprocessor of a GPU has `each` workgroups; 1 if the tiles
// already fill the device.
std::uint32_t splits_to_fill(const GemmContext& c, const GemmConfig& d, std::uint32_t each = 2) noexcept;

// Split-K: the number of parts of K, at most `most`, with which the multiprocessor that computes most of the workgroups
// has the least to do. 160 tiles on 132 multiprocessors take as long as two tiles one after another; in 3 parts, as
// 4 thirds. 1 if no number is better, or if the device's multiprocessors are not known.
std::uint32_t splits_to_balance(const GemmContext& c, const GemmConfig& d, std::uint32_t most) noexcept;

// If the tail wave would leave multiprocessors idle, splits its rows of tiles along K, so that it becomes a wave of
// shorter workgroups (stream-K's "data-parallel plus" in two dispatches: Osama et al., "Stream-K", PPoPP 2023). Returns
// false if there is nothing to split.
bool tail_to_fill(const GemmContext& c, GemmConfig& d) noexcept;

// A config with the splits of K that cost least by its estimate: see gemm_with_splits.
GemmConfig with_best_splits(const GemmContext& c, const GemmConfig& config,
                            const std::function<bool(const GemmConfig&)>& usable);

// The strategy's config with the splits of K that cost least. The strategy gives the most; fewer, none, or a split tail
// may cost less. Only configs that are `usable` are considered: a pack may lack the kernels of some, and scratch may be
// limited. The one without splits is returned if none is.
GemmConfig gemm_with_splits(const GemmContext& c, const GemmStrategy& s, std::uint32_t row,
                            const std::function<bool(const GemmConfig&)>& usable);

}  // namespace sectile::detail
