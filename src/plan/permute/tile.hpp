// Rows of permute_tile and permute_block, and their access patterns; tests look at them too.
#pragma once

#include "strategy.hpp"

namespace sectile::detail {

// Which problems a row of blocks was measured best for, on CPU devices: where S or D is the longer axis, where both
// are long, and where then the source's rows lie whole pages apart, so that they share cache sets.
enum Suits : std::uint32_t { kLongS = 1, kLongD = 2, kLarge = 4, kPaged = 8, kAnyShape = 15 };

struct TileRow {
  std::uint32_t element_bytes;
  std::uint32_t tile_s, tile_d;        // elements along the source's and the destination's innermost axis
  std::uint32_t vector_s, vector_d;    // elements a load; rows that are turned together
  std::uint32_t store_bytes;
  std::uint32_t workgroup;
  std::uint32_t skew = 0;              // words after every vector_s staged rows; the walk may choose another.
                                       // Of a block, which staged nothing: 1 where lanes walk along D
  bool swap = false;                   // ids walk the tiles along D first
  std::uint32_t group = 0;             // ids walk squares of so many tiles a side, where sizes divide; 0: rows of them
  std::int64_t bias_permille = 0;      // measured, see the table
  bool fallback = false;               // there to be measured
  std::uint32_t suits = kAnyShape;
};

// Counts of one workgroup of a tile whose first element is at the given index along S and D.
struct TilePlace {
  std::int64_t s, d;                   // first element
  std::int64_t size_s, size_d;         // elements inside the problem
};
AccessCount count_tile(const PermuteContext& c, const TileRow& row, const TilePlace& place, bool staged, bool all);

// Passes over workgroup memory beyond the least, of one workgroup, for a skew.
std::uint64_t tile_conflicts(const DeviceProfile& profile, const TileRow& row, std::uint32_t skew, bool all);

std::uint32_t tile_shared_bytes(const TileRow& row, std::uint32_t skew);

}  // namespace sectile::detail
