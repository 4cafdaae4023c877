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

}  // namespace sectile::detail
