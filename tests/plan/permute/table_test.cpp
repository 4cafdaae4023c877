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

OwnWords words_of(const Step& step) {
  const std::size_t begin = 2 * 8 + std::size_t{test::constant_of(step, PERMUTE_SPEC_AXES)} * 16 + 4;
  const std::uint32_t inner_axes = test::constant_of(step, PERMUTE_TABLE_SPEC_INNER);
  OwnWords words;
  const std::size_t size = offsetof(OwnWords, inner_sizes) + inner_axes * std::size_t{4};
  REQUIRE(step.push.size() >= begin + size);
  std::memcpy(&words, step.push.data() + begin, size);
  return words;
}

Tile tile_of(const Step& step) {
  const std::uint32_t inner_axes = test::constant_of(step, PERMUTE_TABLE_SPEC_INNER);
  const OwnWords words = words_of(step);
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

// One step, so that no sector is written twice: an edge of one channel would leave a byte of each row to itself.
TEST_CASE("blocks that do not divide their axis are moved in one step") {
  struct Case {
    const char* text;
    std::uint8_t bit;
    std::uint32_t positions;  // that the words name
  };
  for (const Case& c :
       {Case{"permute u8 15x3x68x698x32 layout=NCHW32c:NHWC extent=C:65", PERMUTE_TABLE_LIMITED_INNER, 65},
        Case{"permute u8 25193x4x38x11x8 layout=NCHW8c:NCHW extent=C:26", PERMUTE_TABLE_LIMITED_LAST, 26 * 418}}) {
    INFO(std::string(c.text));
    const Plan plan = test::planned(c.text, test::gpu(), {.force = "permute_table"});
    REQUIRE(plan.steps.size() == 1);
    const OwnWords words = words_of(plan.steps[0]);
    CHECK((words.bits & (PERMUTE_TABLE_LIMITED_INNER | PERMUTE_TABLE_LIMITED_LAST)) == c.bit);
    const bool inner = c.bit == PERMUTE_TABLE_LIMITED_INNER;
    CHECK((inner ? words.inner_sizes[1] & 0xffff : words.extent) == c.positions);
    CHECK(test::constant_of(plan.steps[0], PERMUTE_SPEC_WRITE_BOUNDS) == 0);
  }
  // Zeros that are stored, or blocks that a tile cannot hold, are not the kernel's.
  for (const char* text :
       {"permute u8 3x65x7x9 layout=NCHW:NCHW32c", "permute u8 3x2x701x703x32 layout=NCHW32c:NCHW extent=C:35"})
    CHECK_FALSE(make_plan(*parse_problem(text), test::gpu(), {.force = "permute_table"}));
}

// Consecutive positions 8 bytes apart meet one bank in four; rows of an odd number of words do not.
TEST_CASE("words of a row change places where strides are powers of two") {
  const auto bits = [](const char* text) {
    return words_of(test::planned(text, test::gpu(), {.force = "permute_table r64 l5 s6 wg128"}).steps.at(0)).bits;
  };
  CHECK((bits("permute u8 211156x260x8 axes=0,2,1") & PERMUTE_TABLE_SCATTERED) != 0);
  CHECK((bits("permute u8 4099x57 axes=1,0") & PERMUTE_TABLE_SCATTERED) == 0);
}

TEST_CASE("sectors are asked for where short rows have gaps") {
  DeviceProfile nvidia = test::gpu(), other = test::gpu();
  nvidia.vendor = "nvidia";
  other.vendor = "amd";
  const auto asks = [](const char* text, const DeviceProfile& profile) {
    const Step step = test::planned(text, profile, {.force = "permute_rows u4 wg256"}).steps.at(0);
    const std::size_t axes = test::constant_of(step, PERMUTE_SPEC_AXES);
    std::uint32_t shifts = 0;
    REQUIRE(step.push.size() >= 2 * 8 + axes * 16 + sizeof shifts);
    std::memcpy(&shifts, step.push.data() + 2 * 8 + axes * 16, sizeof shifts);
    return (shifts & PERMUTE_GAPS) != 0;
  };
  const char* const gaps = "permute u8 37x29x120 axes=1,0,2 dst.strides=4847x131x1 align=1";
  CHECK(asks(gaps, nvidia));
  CHECK_FALSE(asks(gaps, other));
  CHECK_FALSE(asks("permute u8 37x29x120 axes=1,0,2 align=1", nvidia));
  CHECK_FALSE(asks("permute u8 37x29x128 axes=1,0,2 dst.strides=5920x160x1 align=32", nvidia));     // whole sectors
  CHECK_FALSE(asks("permute u8 37x29x9000 axes=1,0,2 dst.strides=333407x9011x1 align=1", nvidia));  // long rows
}
