#include "draw.hpp"

#include "base/hash.hpp"
#include "reference/random.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>

namespace sectile::tools {

std::vector<std::size_t> draw_candidates(std::span<const Candidate> candidates, std::size_t most,
                                         const RowCounts& measured, std::uint64_t seed, std::string_view problem) {
  std::vector<std::size_t> drawn, others, random;
  std::int64_t round = 0;
  const auto fits = [&](std::size_t i) { return candidates[i].cost <= kLongestRound - round; };
  const auto take = [&](std::size_t i) {
    drawn.push_back(i);
    round += std::min(candidates[i].cost, kLongestRound - round);
  };
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].chosen)
      take(i);
    else if (candidates[i].refusal.empty())
      others.push_back(i);
  }
  std::ranges::stable_sort(others, {}, [&](std::size_t i) { return candidates[i].cost; });
  for (const std::size_t i : others) {
    if (2 * drawn.size() < most && fits(i))
      take(i);
    else
      random.push_back(i);
  }
  const std::uint64_t text = std::strtoull(detail::hash128(problem).substr(0, 16).c_str(), nullptr, 16);
  reference::Random numbers(reference::mix(seed) ^ text);
  reference::shuffle(random, numbers);
  std::ranges::stable_sort(random, {}, [&](std::size_t i) {
    const auto found = measured.find(row_name(candidates[i].name));
    return found == measured.end() ? 0 : found->second;
  });
  std::set<std::string_view> kernels;
  const auto kernel = [&](std::size_t i) {
    const std::string_view name = candidates[i].name;
    return name.substr(0, name.find(' '));
  };
  for (const std::size_t i : drawn) kernels.insert(kernel(i));
  for (const bool new_kernel : {true, false})
    for (const std::size_t i : random) {
      const bool taken = std::ranges::find(drawn, i) != drawn.end();
      if (taken || drawn.size() >= most || !fits(i) || (new_kernel && !kernels.insert(kernel(i)).second)) continue;
      take(i);
    }
  return drawn;
}

}  // namespace sectile::tools
