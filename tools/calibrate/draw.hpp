// Which problems a calibration deals, and which candidates of each it measures.
#pragma once

#include "raw.hpp"

#include <sectile/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {

inline constexpr std::uint64_t kFitSeed = 4500;

// The seed of a part's sweep. The check's problems are none that were fitted.
constexpr std::uint64_t part_seed(RawPart part, std::uint64_t seed) noexcept {
  return part == RawPart::fit ? seed : seed + 1;
}

struct Deal {
  RawPart part = RawPart::fit;
  std::uint64_t index = 0;  // of the case in its part's sweep
};

// One in six is to check. The first of these is the second problem: a run that is cut short has both parts.
constexpr Deal deal_at(std::uint64_t position) noexcept {
  constexpr std::uint64_t kEvery = 6;
  return position % kEvery == 1 ? Deal{RawPart::check, position / kEvery}
                                : Deal{RawPart::fit, position - (position + kEvery - 2) / kEvery};
}

using RowCounts = std::map<std::string, std::size_t, std::less<>>;  // how often each row was measured, by row_name

// Picoseconds that one run of all candidates of a problem may take together, by their estimates. Each runs some ten
// times, and what does not fit is measured in smaller problems.
inline constexpr std::int64_t kLongestRound = 200'000'000'000;

// Indices of the candidates to measure, at most `most`: the planner's choice first; the cheapest by estimate, until
// they are half of them; then others at random, one of each kernel that is not among them, and those whose row was
// measured least often first. Refused ones are never among them, nor those that do not fit into kLongestRound. The same
// for the same arguments.
std::vector<std::size_t> draw_candidates(std::span<const Candidate> candidates, std::size_t most,
                                         const RowCounts& measured, std::uint64_t seed, std::string_view problem);

}  // namespace sectile::tools
