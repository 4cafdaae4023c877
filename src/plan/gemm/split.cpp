// The order of tiles, splits of K, and a tail that is split.
#include "split.hpp"
#include "cost.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace sectile::detail {

std::uint32_t group_of_tiles(const GemmContext& c, const GemmConfig& d) noexcept {
  const std::uint64_t wave = 2 * std::uint64_t{c.profile.multiprocessors.value_or(c.model.multiprocessors_to_fill)};
  return gemm_tiles(c, d) >= 2 * wave ? 8 : 1;
}

void use_few_pipelines(GemmConfig& d, ShapeGeneric generic) noexcept {
  d.group_m = 8;
  d.can_tail = false;
  if (generic == ShapeGeneric::kSplit) return;
  d.can_split = false;
  d.splits = 1;
}

namespace {

// The number of splits of K, at most `wanted`. A split has at least 8 steps, because shorter ones spend their time on
// start and stores. More than 32 splits are not faster. The steps are shared evenly, so that no split is empty.
std::uint32_t even_splits(std::uint64_t steps, std::uint64_t wanted) {
  const std::uint64_t splits = std::max<std::uint64_t>(1, std::min<std::uint64_t>({wanted, steps / 8, 32}));
  return static_cast<std::uint32_t>(ceil_div(steps, ceil_div(steps, splits)));
}

}  // namespace

std::uint32_t splits_to_fill(const GemmContext& c, const GemmConfig& d, std::uint32_t each) noexcept {
  const std::uint64_t tiles = gemm_tiles(c, d) * gemm_batches(c);
  const std::uint64_t resident = std::uint64_t{c.profile.multiprocessors.value_or(
                                     c.cpu() ? c.model.multiprocessors : c.model.multiprocessors_to_fill)} *
                                 (c.cpu() ? 1 : each);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(c.gemm.k), d.tile_k);
  if (tiles * 2 > resident) return 1;
  return even_splits(steps, resident / tiles);
}

std::uint32_t splits_to_balance(const GemmContext& c, const GemmConfig& d, std::uint32_t most) noexcept {
  const std::uint64_t wave = c.profile.multiprocessors.value_or(0);
  if (!d.can_split || c.cpu() || wave == 0) return 1;
  const std::uint64_t tiles = gemm_tiles(c, d) * gemm_batches(c);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(c.gemm.k), d.tile_k);
  std::uint64_t best = 1, waves = ceil_div(tiles, wave);  // of `best` splits
  if (waves > most) return 1;                             // less than one part of `most` could be gained
  for (std::uint64_t splits = 2; splits <= most; ++splits) {
    const std::uint64_t own = ceil_div(tiles * splits, wave);
    if (own * best < waves * splits) best = splits, waves = own;
  }
  return even_splits(steps, best);
}

bool tail_to_fill(const GemmContext& c, GemmConfig& d) noexcept {
  const auto& p = c.gemm;
  const std::uint64_t wave = c.profile.multiprocessors.value_or(0);  // 0: unknown, so the tail is unknown too
  if (!d.can_tail || gemm_batches(c) != 1 || wave == 0) return false;
  const std::uint64_t tiles = gemm_tiles(c, d),
                      across = ceil_div(static_cast<std::uint64_t>(gemm_columns(c)), d.tile_n);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(p.k), d.tile_k);
  if (tiles <= wave || tiles % wave == 0) return false;
  const std::uint64_t rows = ceil_div(tiles % wave, across);
  if (rows * across >= tiles) return false;
  const std::uint32_t splits = even_splits(steps, wave / (rows * across));
  if (splits < 2) return false;
  const std::uint64_t whole = (tiles / across - rows) * d.tile_m;
  d.splits = 1;
  d.tail_rows = static_cast<std::uint32_t>(static_cast<std::uint64_t>(p.m) - whole);
  d.tail_splits = splits;
  return true;
}

// The costs are compared without corrections, so that two rows of one shape get the same splits.
GemmConfig with_best_splits(const GemmContext& c, const GemmConfig& config,
                            const std::function<bool(const GemmConfig&)>& usable) {
  GemmConfig best = config, split = config, tail = config;
  const bool has_tail = tail_to_fill(c, tail);
  const std::array balanced{splits_to_balance(c, best, 4), splits_to_balance(c, best, 8)};
  if (best.splits <= 1 && balanced[0] <= 1 && balanced[1] <= 1 && !has_tail) return best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  const auto consider = [&](const GemmConfig& config) {
    const std::int64_t cost = gemm_cost(c, c.model, config);
    if (cost >= least || !usable(config)) return;
    least = cost;
    best = config;
  };
  for (; split.splits > 1; split.splits /= 2) consider(split);
  consider(split);
  for (const std::uint32_t splits : balanced) {
    split.splits = splits;
    if (splits > 1) consider(split);
  }
  if (has_tail) consider(tail);
  if (least == std::numeric_limits<std::int64_t>::max()) best.splits = 1;
  return best;
}

GemmConfig gemm_with_splits(const GemmContext& c, const GemmStrategy& s, std::uint32_t row,
                            const std::function<bool(const GemmConfig&)>& usable) {
  GemmConfig config = s.make(c, row);
  config.estimate = s.estimate(c, row, config);
  return with_best_splits(c, config, usable);
}

}  // namespace sectile::detail
