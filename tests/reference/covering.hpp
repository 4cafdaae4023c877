// Pairwise covering arrays: few rows of levels, one a factor, in which every pair of levels of two factors occurs in
// some row. (Cohen, Dalal, Fredman, Patton: "The AETG system", 1997: greedy, with random candidates.)
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sectile::reference {

// A level a factor; kUnset in a row that is not complete yet.
using LevelRow = std::vector<std::uint8_t>;
inline constexpr std::uint8_t kUnset = 0xff;

struct CoverRules {
  std::vector<std::uint8_t> levels;  // how many each factor has
  // Whether the levels that are set exclude each other. A row without clash may have no completion without one.
  std::function<bool(const LevelRow&)> clash;
  std::function<bool(const LevelRow&)> valid;     // what only a complete row shows; none: all are
  std::function<unsigned(const LevelRow&)> cost;  // at least 1; cheap rows are preferred
};

struct LevelPair {
  std::uint8_t first = 0, first_level = 0, second = 0, second_level = 0;  // first < second
  friend bool operator==(const LevelPair&, const LevelPair&) = default;
};

// Rows, the same on every machine. Pairs for which no valid row was found are left out; see random_row for a test that
// none of them has one.
std::vector<LevelRow> covering_rows(const CoverRules& rules, std::uint64_t seed);

// A valid row drawn at random that agrees with `fixed` where that is set; empty where `tries` draws give none.
LevelRow random_row(const CoverRules& rules, const LevelRow& fixed, std::uint64_t seed, int tries);

// The pairs of all levels that no row has.
std::vector<LevelPair> uncovered(const CoverRules& rules, std::span<const LevelRow> rows);

}  // namespace sectile::reference
