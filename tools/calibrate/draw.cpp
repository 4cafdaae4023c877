#include "draw.hpp"

#include "base/hash.hpp"
#include "reference/random.hpp"

#include <algorithm>
#include <cstdlib>

namespace sectile::tools {

std::vector<std::size_t> draw_candidates(std::span<const Candidate> candidates, std::size_t most,
                                         const RowCounts& measured, std::uint64_t seed, std::string_view problem) {
  std::vector<std::size_t> drawn, others;
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (candidates[i].refusal.empty()) (candidates[i].chosen ? drawn : others).push_back(i);
  std::ranges::stable_sort(others, {}, [&](std::size_t i) { return candidates[i].cost; });
  const std::size_t cheap = std::max(drawn.size(), std::min(drawn.size() + others.size(), (most + 1) / 2));
  const auto rest = others.begin() + static_cast<std::ptrdiff_t>(cheap - drawn.size());
  std::vector<std::size_t> random(rest, others.end());
  drawn.insert(drawn.end(), others.begin(), rest);
  const std::uint64_t text = std::strtoull(detail::hash128(problem).substr(0, 16).c_str(), nullptr, 16);
  reference::Random numbers(reference::mix(seed) ^ text);
  reference::shuffle(random, numbers);
  std::ranges::stable_sort(random, {}, [&](std::size_t i) {
    const auto found = measured.find(row_name(candidates[i].name));
    return found == measured.end() ? 0 : found->second;
  });
  for (const std::size_t i : random)
    if (drawn.size() < most) drawn.push_back(i);
  return drawn;
}

}  // namespace sectile::tools
