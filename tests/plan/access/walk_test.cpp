// The access walk's counts, compared with counts made by hand.
#include "plan/access/walk.hpp"
#include "plan/permute/box.hpp"
#include "plan/permute/tile.hpp"
#include "plan/profiles.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

using namespace sectile;
using namespace sectile::detail;

namespace {

Request lanes(std::uint32_t bytes, std::int64_t stride, std::int64_t first = 0) {
  Request r;
  r.bytes = bytes;
  for (std::int64_t l = 0; l < 32; ++l) r.address[static_cast<std::size_t>(l)] = first + l * stride;
  return r;
}

std::uint64_t conflicts(const Request& r) {
  Walk walk(test::gpu());
  walk.shared(r);
  return walk.count().bank_conflicts;
}

}  // namespace

TEST_CASE("transactions of contiguous and strided loads") {
  Walk walk(test::gpu());
  walk.load(lanes(4, 4));  // 128 contiguous bytes
  CHECK(walk.count().load_transactions == 4);
  CHECK(walk.count().ideal_load_transactions == 4);
  walk.load(lanes(4, 4, 4));  // the same, shifted by one word: a fifth transaction
  CHECK(walk.count().load_transactions == 9);
  walk.load(lanes(4, 4096));  // a column
  CHECK(walk.count().load_transactions == 9 + 32);
  walk.load(lanes(16, 16));  // 512 contiguous bytes
  CHECK(walk.count().load_transactions == 9 + 32 + 16);
  CHECK(walk.count().load_requests == 4);
  walk.store(lanes(2, 2), 10);
  CHECK(walk.count().store_transactions == 20);
  CHECK(walk.count().store_requests == 10);
}

TEST_CASE("bank conflicts by hand") {
  CHECK(conflicts(lanes(4, 4)) == 0);
  CHECK(conflicts(lanes(4, 8)) == 1);     // every second bank, two words each
  CHECK(conflicts(lanes(4, 128)) == 31);  // one bank
  CHECK(conflicts(lanes(4, 132)) == 0);   // the padded column
  CHECK(conflicts(lanes(4, 0)) == 0);     // a broadcast
  CHECK(conflicts(lanes(8, 8)) == 0);     // two halves, each all banks once
  CHECK(conflicts(lanes(16, 16)) == 0);
  CHECK(conflicts(lanes(8, 256)) == 2 * 15);  // each half: sixteen lanes on the same two banks
}

TEST_CASE("padded tile has no conflicts and unpadded one is counted right") {
  const TileRow row{4, 32, 32, 1, 1, 4, 128, 1, false, 0, 0};
  CHECK(tile_conflicts(test::gpu(), row, 1, true) == 0);
  // Without padding each of the 32 staged columns is in one bank: 31 extra passes per subgroup store.
  CHECK(tile_conflicts(test::gpu(), row, 0, true) == 32 * 31);
  CHECK(tile_shared_bytes(row, 1) >= 32 * 33 * 4);
}

// But for the tile of bytes that stores 16 of them at a time.
TEST_CASE("chosen tiles have no bank conflicts") {
  for (const char* text : {"permute f32 8192x8192 axes=1,0", "permute f16 8192x8192 axes=1,0",
                           "permute i8 8192x8192 axes=1,0", "permute f64 4096x4096 axes=1,0",
                           "permute c128 2048x2048 axes=1,0", "permute f16 1x384x512x128 axes=0,3,1,2"}) {
    const auto plan = make_plan(*parse_problem(text), test::gpu(), {.explain = true});
    REQUIRE(plan.has_value());
    int tiles = 0;
    for (const auto& c : plan->candidates) {
      if (!c.chosen) continue;
      ++tiles;
      if (c.name == "permute_tile 64x64 v4x4 s16 wg128") continue;
      CHECK_MESSAGE(c.interior.bank_conflicts == 0, text << ": " << c.name << " has " << c.interior.bank_conflicts);
    }
    CHECK(tiles > 0);
  }
}

TEST_CASE("sampled counts stand for the whole") {
  const auto problem = *parse_problem("permute f32 64x1024x512 axes=0,2,1");
  const auto whole = make_plan(problem, test::gpu(), {.explain = true});
  REQUIRE(whole.has_value());
  const auto quick = make_plan(problem, test::gpu());
  REQUIRE(quick.has_value());
  CHECK(print(*whole) == print(*quick));
  for (const auto& c : whole->candidates)
    if (c.chosen) {
      CHECK(c.interior.load_transactions == c.interior.ideal_load_transactions);
      CHECK(c.interior.store_transactions == c.interior.ideal_store_transactions);
    }
}
