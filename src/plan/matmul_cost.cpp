// What a matmul candidate costs, in picoseconds, in integers, from the profile alone.
#include "matmul.hpp"

#include <algorithm>

namespace sectile::detail {

std::uint32_t splits_to_fill(const MatmulContext& c, const MatmulDraft& d) noexcept {
  const std::uint64_t tiles = matmul_tiles(c, d) * static_cast<std::uint64_t>(c.problem.batch);
  const std::uint64_t held = std::uint64_t{c.profile.multiprocessors.value_or(c.cpu() ? 2 : 16)} * (c.cpu() ? 1 : 2);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(c.problem.k), d.tile_k);
  if (tiles * 2 > held) return 1;
  // A split of less than 8 steps spends its time starting and storing; 32 splits are as many as pay.
  const std::uint64_t splits = std::clamp<std::uint64_t>(held / tiles, 1, std::max<std::uint64_t>(1, std::min<std::uint64_t>(32, steps / 8)));
  // As few as share the steps alike: none is left without any.
  return static_cast<std::uint32_t>(ceil_div(steps, ceil_div(steps, splits)));
}

std::int64_t matmul_cost(const MatmulContext& c, const MatmulDraft& d, const MatmulEstimate& e) {
  const std::uint64_t groups = matmul_tiles(c, d) * d.splits * static_cast<std::uint64_t>(c.problem.batch);
  const std::uint64_t k = ceil_div(ceil_div(static_cast<std::uint64_t>(c.problem.k), d.splits), d.tile_k) * d.tile_k;
  const std::uint64_t macs = std::uint64_t{d.tile_m} * d.tile_n * k / std::max<std::uint32_t>(1, d.rate_permille) + 1;
  const std::uint64_t held = c.profile.multiprocessors.value_or(16);
  const std::uint64_t waves = ceil_div(groups, held);
  const std::uint64_t total = std::min<std::uint64_t>(waves * macs, std::uint64_t{1} << 40);
  return static_cast<std::int64_t>(total) * (1000 + e.bias_permille) / 10 + (d.splits > 1 ? 1000000 : 0);
}

}  // namespace sectile::detail
