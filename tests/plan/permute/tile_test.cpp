// Where tiles of rows that begin anywhere leave sectors to be finished later, other kernels are chosen.
#include "plan/helpers.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;

TEST_CASE("tiles along S first are not chosen where they share sectors over long rows") {
  const auto hopper = test::profile_of_target("nvidia-hopper");
  const auto chosen = [&](const char* text) { return test::planned(text, hopper).steps.at(0).kernel.stem; };
  CHECK(chosen("permute f16 642x41353 axes=1,0") == "permute_ragged");
  CHECK(chosen("permute f64 119x52x2465x1 axes=1,2,0,3") == "permute_table");
  // Rows that begin at sectors share none.
  CHECK(chosen("permute f16 640x41344 axes=1,0") == "permute_tile");
}
