// What a workgroup's accesses touch all together.
#pragma once

#include "strategy.hpp"

#include <cstdint>

namespace sectile::detail {

// The source's loads of about so many elements that follow each other in the destination's order.
struct MergedLoads {
  std::uint64_t transactions = 0;  // after the L1 has merged requests that share them; an average over alignments
  std::uint64_t gap = 0;           // bytes that are loaded between two parts of 64 bytes, DRAM's burst; 0: they are not
                                   // loaded in parts
};
MergedLoads merged_loads(const PermuteContext& c, std::uint64_t elements);

// Whether what is loaded of a burst comes again for each of its parts: more is loaded in between than the L2 keeps.
// H200, 2026-11-29: u8 418778x34x31 axes=1,0,2 by permute_realign, runs of 31 bytes, has 0.37 of a copy, and 0.74 by
// permute_table, which loads neighbouring runs together; c128 with a gap of 8 MB and more 1.4 times the estimate of
// single transactions (25 problems of docs/figures/calibration), 0.95 with less.
inline bool loads_bursts_again(const MergedLoads& loads) { return loads.gap >= std::uint64_t{8} << 20; }

}  // namespace sectile::detail
