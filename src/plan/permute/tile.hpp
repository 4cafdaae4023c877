// Rows of permute_tile and permute_block, and their access counts. Tests use this header too.
#pragma once

#include "strategy.hpp"

namespace sectile::detail {

// Shapes of a problem on a CPU device, by which rows of permute_block were measured: S is the longer axis; D is; both
// are at least 2048; both are, and the source's rows are a multiple of 4096 bytes apart, so that they share cache sets.
enum ShapeClass : std::uint32_t { kLongS = 1, kLongD = 2, kLarge = 4, kPaged = 8, kAnyShape = 15 };

struct TileRow {
  std::uint32_t element_bytes;
  std::uint32_t tile_s, tile_d;      // elements along the source's and the destination's innermost axis
  std::uint32_t vector_s, vector_d;  // elements of a load; rows transposed together in registers
  std::uint32_t store_bytes;
  std::uint32_t workgroup;
  std::uint32_t skew = 0;            // padding words after every vector_s staged rows; make() may choose another.
                                     // permute_block stages nothing: there 1 means consecutive lanes along D
  bool swap = false;                 // consecutive workgroups take tiles along D, where d_first() does not say it
  std::uint32_t group = 0;           // consecutive workgroups take squares of group x group tiles; 0: rows of tiles
  std::uint32_t shapes = kAnyShape;  // ShapeClass bits for which the row was measured fastest
  bool replaced = false;             // on a GPU: other rows serve as well, and share pipelines with fewer rows
};

// A tile's place in the problem.
struct TilePlace {
  std::int64_t s, d;            // first element
  std::int64_t size_s, size_d;  // elements inside the problem
};
// The accesses of the workgroup that moves this tile.
AccessCount count_tile(const PermuteContext& c, const TileRow& row, const TilePlace& place, bool staged, bool all);

// A workgroup's bank conflicts with a skew: passes over the banks beyond the minimum.
std::uint64_t tile_conflicts(const DeviceProfile& profile, const TileRow& row, std::uint32_t skew, bool all);

std::uint32_t tile_shared_bytes(const TileRow& row, std::uint32_t skew);

}  // namespace sectile::detail
