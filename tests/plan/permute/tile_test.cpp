// Where rows of the destination begin anywhere, tiles follow each other so that shared sectors are finished soon.
#include "own_words.hpp"
#include "plan/permute/kernel_words.hpp"

#include <doctest/doctest.h>

using namespace sectile;

namespace {

bool is_d_first(const char* text, const char* row) {
  const Step step = test::planned(text, test::gpu(), {.force = row}).steps.at(0);
  return test::of_own_words(step, [](auto own) { return detail::PermuteTileWordsReader{{}, own}.d_first() != 0; });
}

}  // namespace

TEST_CASE("tiles follow each other along D where they share sectors of the destination") {
  CHECK(is_d_first("permute f64 189x85174 axes=1,0", "permute_tile 32x32 v1x1 s8 wg128"));
  CHECK(is_d_first("permute f64 23885x439 axes=1,0", "permute_tile 32x32 v1x1 s8 wg128"));
  CHECK(is_d_first("permute f32 84942x343 axes=1,0", "permute_tile 32x32 v1x1 s4 wg256"));
  // Tiles of 64 bytes along S read the source in pieces then, so rows of the destination have to be the shorter ones.
  CHECK(is_d_first("permute f16 642x41353 axes=1,0", "permute_tile 32x64 v1x2 s4 wg128"));
  CHECK_FALSE(is_d_first("permute f16 438846x293 axes=1,0", "permute_tile 32x64 v1x2 s4 wg128"));
  CHECK(is_d_first("permute u8 108x1038152 axes=1,0", "permute_tile 64x64 v4x4 s4 wg128"));
  // Rows that begin at sectors share none: the row of the table says it.
  CHECK_FALSE(is_d_first("permute u8 128x1038152 axes=1,0", "permute_tile 64x64 v4x4 s4 wg128"));
  CHECK(is_d_first("permute f16 8192x4096 axes=1,0", "permute_tile 64x32 v4x4 s8 wg64 swap"));
}
