// Which elements permute_elements counts: those of segments, runs that are as far apart as the first two.
#include "plan/helpers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;

namespace {

Step step_of_elements(const std::string& text, const std::string& row = "u32 wg64") {
  return test::planned(text, test::gpu(), {.force = "permute_elements " + row}).steps.at(0);
}
std::uint32_t parts(const std::string& text) { return step_of_elements(text).grid[0]; }

}  // namespace

TEST_CASE("segments of short runs are cut into parts that begin at sectors") {
  // A part has 2048 elements, of which the first one's begin before the segment, wherever that is in a sector.
  CHECK(parts("permute u8 64x2x15 axes=1,0,2 align=1") == 1);
  CHECK(parts("permute u8 63x2x16 axes=1,0,2 align=1") == 1);
  CHECK(parts("permute u8 64x2x16 axes=1,0,2 align=1") == 2);
  // Gaps count, and one after each two runs makes 64 segments.
  CHECK(parts("permute u8 64x2x16 axes=1,0,2 dst.strides=2048x32x1 align=1") == 3);
  CHECK(parts("permute u8 64x2x15 axes=0,1,2 dst.strides=33x16x1 align=1") == 64);
}

TEST_CASE("parts of short runs have as many elements by each row, and list runs by their pitch") {
  const std::string text = "permute u8 512x8x15 axes=1,0,2 align=1";
  CHECK(step_of_elements(text, "u32 wg64").grid[0] == 31);
  CHECK(step_of_elements(text, "u16 wg128").grid[0] == 31);
  CHECK(step_of_elements(text, "u8 wg256").grid[0] == 31);
  CHECK(step_of_elements("permute u8 512x8x15 axes=1,0,2 align=1").workgroup_memory_bytes == 4 * (2048 / 2 + 2));
  CHECK(step_of_elements("permute u8 512x8x16 axes=1,0,2 align=1").workgroup_memory_bytes == 4 * (2048 / 16 + 2));
}
