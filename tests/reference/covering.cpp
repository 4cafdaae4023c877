#include "covering.hpp"

#include "random.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sectile::reference {
namespace {

constexpr int kCandidates = 200, kTries = 100;

// Which pairs have occurred.
class Pairs {
 public:
  explicit Pairs(const CoverRules& rules) : levels_(rules.levels) {
    first_.push_back(0);
    for (const auto count : levels_) first_.push_back(first_.back() + count);
    seen_.resize(first_.back() * first_.back(), 0);
  }

  std::size_t add(const LevelRow& row) {
    std::size_t fresh = 0;
    each(row, [&](std::size_t at) {
      fresh += seen_[at] != 0 ? 0 : 1;
      seen_[at] = 1;
    });
    return fresh;
  }
  std::size_t fresh(const LevelRow& row) const {
    std::size_t count = 0;
    const std::uint8_t* seen = seen_.data();
    each(row, [&](std::size_t at) { count += seen[at] != 0 ? 0 : 1; });
    return count;
  }
  std::vector<LevelPair> missing() const {
    std::vector<LevelPair> out;
    const auto factors = static_cast<std::uint8_t>(levels_.size());
    for (std::uint8_t i = 0; i < factors; ++i)
      for (auto j = static_cast<std::uint8_t>(i + 1); j < factors; ++j)
        for (std::uint8_t a = 0; a < levels_[i]; ++a)
          for (std::uint8_t b = 0; b < levels_[j]; ++b)
            if (seen_[index(i, a, j, b)] == 0) out.push_back({i, a, j, b});
    return out;
  }
  bool has(const LevelPair& p) const { return seen_[index(p.first, p.first_level, p.second, p.second_level)] != 0; }

 private:
  std::size_t index(std::size_t i, std::size_t a, std::size_t j, std::size_t b) const {
    return (first_[i] + a) * first_.back() + first_[j] + b;
  }
  template <class Visit>
  void each(const LevelRow& row, Visit&& visit) const {
    for (std::size_t i = 0; i < row.size(); ++i)
      for (std::size_t j = i + 1; j < row.size(); ++j) visit(index(i, row[i], j, row[j]));
  }

  std::vector<std::uint8_t> levels_;
  std::vector<std::size_t> first_;
  std::vector<std::uint8_t> seen_;  // of bytes: a sanitizer build asks often, and inlines nothing
};

// Sets what is not set yet, factor by factor in random order, without a clash; empty where a factor has no level left.
LevelRow complete(const CoverRules& rules, LevelRow row, Random& random) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  shuffle(order, random);
  for (const std::size_t factor : order) {
    if (row[factor] != kUnset) continue;
    std::vector<std::uint8_t> levels(rules.levels[factor]);
    std::iota(levels.begin(), levels.end(), std::uint8_t{0});
    shuffle(levels, random);
    const auto fits = [&](std::uint8_t level) {
      row[factor] = level;
      return !rules.clash(row);
    };
    if (std::ranges::find_if(levels, fits) == levels.end()) return {};
  }
  return !rules.valid || rules.valid(row) ? row : LevelRow();
}

}  // namespace

LevelRow random_row(const CoverRules& rules, const LevelRow& fixed, std::uint64_t seed, int tries) {
  if (rules.clash(fixed)) return {};
  Random random(seed);
  for (int i = 0; i < tries; ++i)
    if (LevelRow row = complete(rules, fixed, random); !row.empty()) return row;
  return {};
}

std::vector<LevelRow> covering_rows(const CoverRules& rules, std::uint64_t seed) {
  Pairs pairs(rules);
  std::vector<LevelPair> open = pairs.missing();
  Random random(seed);
  shuffle(open, random);
  std::vector<LevelRow> rows;
  // Each row is made around an open pair; of several that can be, the one with the most open pairs for its cost.
  while (!open.empty()) {
    const LevelPair pair = open.back();
    LevelRow fixed(rules.levels.size(), kUnset), best;
    fixed[pair.first] = pair.first_level;
    fixed[pair.second] = pair.second_level;
    std::size_t most = 0;
    for (int i = 0; i < kCandidates; ++i) {
      LevelRow row = random_row(rules, fixed, random.next(), kTries);
      if (row.empty()) break;
      const std::size_t score = 1000 * pairs.fresh(row) / rules.cost(row);
      if (best.empty() || score > most) {
        most = score;
        best = std::move(row);
      }
    }
    if (best.empty()) {
      open.pop_back();
      continue;
    }
    pairs.add(best);
    rows.push_back(std::move(best));
    std::erase_if(open, [&](const LevelPair& p) { return pairs.has(p); });
  }
  return rows;
}

std::vector<LevelPair> uncovered(const CoverRules& rules, std::span<const LevelRow> rows) {
  Pairs pairs(rules);
  for (const LevelRow& row : rows) pairs.add(row);
  return pairs.missing();
}

}  // namespace sectile::reference
