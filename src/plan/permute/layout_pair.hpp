// A permute by layouts: each letter's axes on both sides, and the loops that visit both layouts.
#pragma once

#include "layout.hpp"

namespace sectile::detail {

// The axes of one letter in the source or the destination, outermost first: the upper-case axis, then its blocks from
// left to right. A step along an axis advances the letter's index by the axis' weight.
struct Chain {
  int count = 0;
  std::array<int, kMaxRank> axis{};
  std::array<std::int64_t, kMaxRank> weight{};
};

class LayoutPair {
 public:
  explicit LayoutPair(const PermuteProblem& problem) : p_(problem) {}

  // Reads both layouts, and fills the geometry's letters, destination rank and shape.
  Result<void> shape(Geometry& g);
  // Fills the geometry's loops; strides are known. `scale` and `bias` are the letters of the stage's vectors, -1: none.
  Result<void> loops(Geometry& g, int scale, int bias) const;

 private:
  Result<void> check_extents() const;
  Result<void> add_letter(Geometry& g, int outer);

  const PermuteProblem& p_;
  Layout src_, dst_;
  std::array<Chain, kMaxRank> src_chain_{}, dst_chain_{};  // by letter
};

// The number of a letter, -1 if there is none.
int letter_index(const Geometry& g, char name);

}  // namespace sectile::detail
