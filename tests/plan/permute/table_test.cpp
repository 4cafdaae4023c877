// permute_table's boxes: the accesses of every tile fit the table that a workgroup lists once.
#include "permute/permute_table.abi.h"
#include "plan/helpers.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

using namespace sectile;

namespace {

// The kernel's own words, which follow two addresses, four words an axis and the shifts (permute_table.abi.h).
struct OwnWords {
  std::uint16_t part = 0, loaded = 0;  // indices of the last position axis
  std::uint32_t extent = 0, column_extent = 0;
  std::uint16_t row_loads = 0, columns = 0;
  std::uint8_t walk_axis = 0, bits = 0;
  std::uint16_t tiles = 0;
  std::uint32_t walk_end = 0, source_elements = 0;
  std::uint32_t inner_sizes[2] = {};
};

// A tile: elements of a run that are its own and that are loaded, whether the run is cut, and its runs.
struct Tile {
  std::uint32_t own = 0, loaded = 0;
  bool cut = false;
  std::uint32_t columns = 0;
};

Tile tile_of(const Step& step) {
  const std::size_t begin = 2 * 8 + std::size_t{test::constant_of(step, PERMUTE_SPEC_AXES)} * 16 + 4;
  const std::uint32_t inner_axes = test::constant_of(step, PERMUTE_TABLE_SPEC_INNER);
  OwnWords words;
  const std::size_t size = offsetof(OwnWords, inner_sizes) + inner_axes * std::size_t{4};
  REQUIRE(step.push.size() >= begin + size);
  std::memcpy(&words, step.push.data() + begin, size);
  Tile tile{.own = words.part, .loaded = words.loaded, .cut = words.part < words.extent, .columns = words.columns};
  for (std::uint32_t i = 0; i < inner_axes; ++i) {
    tile.own *= words.inner_sizes[i] & 0xffff;
    tile.loaded *= words.inner_sizes[i] & 0xffff;
    if (i > 0 || (words.bits & PERMUTE_TABLE_CUT_FIRST) == 0) tile.columns *= words.inner_sizes[i] >> 16;
  }
  return tile;
}

}  // namespace

TEST_CASE("the first part of a destination row fits a workgroup's table") {
  struct Case {
    const char* text;
    std::uint32_t bytes;
  };
  for (const Case& c : {Case{"permute u8 320x1474304 axes=1,0", 1},
                        {"permute u8 731x3575 axes=1,0", 1},
                        {"permute u8 4099x57 axes=1,0", 1},
                        {"permute f16 576x52224 axes=1,0", 2},
                        {"permute f16 642x41353 axes=1,0", 2},
                        {"permute f32 907x3001 axes=1,0", 4},
                        {"permute f64 258x512 axes=1,0", 8},
                        {"permute u8 287x873x25x7 axes=1,2,0,3", 1},
                        {"permute u8 6225x2x1165x3 axes=0,3,2,1", 1}})
    for (const char* const row : {"permute_table r64 l5 s6 wg128", "permute_table r128 l6 s8 wg256"}) {
      const Plan plan = test::planned(c.text, test::gpu(), {.force = row});
      const Step& step = plan.steps.at(0);
      const Tile tile = tile_of(step);
      INFO(std::string(c.text) << " by " << std::string(row) << ": " << tile.own << " of " << tile.loaded
                               << " elements, columns " << tile.columns);
      // From any byte of an access to any byte of a sector, as the kernel counts.
      const std::uint32_t positions = 8 / c.bytes, sector = 32 / c.bytes;
      const std::uint32_t first = tile.own + (tile.cut ? sector - 1 : 0) + positions - 1;
      const std::uint32_t accesses = (std::max(first, tile.loaded) + positions - 1) / positions;
      const std::uint32_t most = test::constant_of(step, PERMUTE_TABLE_SPEC_STORES) * step.workgroup[0];
      CHECK(accesses * tile.columns <= most);
      CHECK(tile.own / positions * tile.columns >= most / 4);  // and much of the table is filled
    }
}

// NHWC to NCHW with 3 channels, at any address: both runs are along the same axis and yet both are long.
TEST_CASE("records of a few bytes become planes at any address") {
  const Plan plan = test::planned("permute u8 4x1001x1001x3 layout=NHWC:NCHW", test::gpu(), {.force = "permute_table"});
  CHECK(plan.steps.at(0).kernel.stem == "permute_table");
  CHECK(tile_of(plan.steps.at(0)).columns == 3);
}
