// How permute_table's box lies in the banks of workgroup memory.
#pragma once

#include "run_box.hpp"

#include <cstdint>

namespace sectile::detail {

// Turns that loads of a subgroup's accesses take in workgroup memory, in hundredths of a turn for an element of each
// invocation: 100 where no bank holds two words of a load. Sampled.
struct TableBanks {
  std::uint64_t plain = 100, scattered = 100;  // PERMUTE_TABLE_SCATTERED
  bool scatters() const noexcept { return scattered < plain; }
  std::uint64_t least() const noexcept { return scatters() ? scattered : plain; }
};

// `run_accesses`: of 8 bytes, of a run of the destination.
TableBanks table_banks(const PermuteContext& c, const RunBox& b, std::int64_t run_accesses);

}  // namespace sectile::detail
