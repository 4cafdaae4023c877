// Permutes as a part of another operation's plan.
#include "plan/permute/between.hpp"

#include <doctest/doctest.h>

#include <array>
#include <string>
#include <variant>

using namespace sectile;

TEST_CASE("a permute between two parts takes the first admissible candidate of those preferred, else the cheapest") {
  const DeviceProfile profile = builtin_target("cuda:sm_90a").value();
  const auto problem = std::get<PermuteProblem>(parse_problem("permute f16 512x384 axes=1,0").value());
  const std::uint64_t bytes = 512 * 384 * 2;
  const detail::OperandSlice from{"src", 2, 1024, bytes, 16}, to{"dst", 5, 256, bytes, 16};
  const auto steps = [&](std::span<const char* const> preferred) {
    auto made = detail::permute_between(profile, {}, problem, from, to, preferred);
    REQUIRE_MESSAGE(made.has_value(), made.error().message());
    CHECK(made->cost > 0);
    return std::move(made->steps);
  };
  const char *const none = "permute_copy u1 wg256", *const tile = "permute_tile 32x64 v1x2 s4 wg128";
  const auto cheapest = steps({}), tiled = steps(std::array{tile});
  CHECK(cheapest != tiled);
  CHECK(tiled.front().kernel.stem == "permute_tile");
  CHECK(steps(std::array{none}) == cheapest);
  CHECK(steps(std::array{none, tile}) == tiled);
  CHECK(steps(std::array{tile, none}) == tiled);
  for (const AccessRange& access : cheapest.front().accesses) {
    CHECK(access.operand == (access.write ? 5u : 2u));
    CHECK(access.begin == (access.write ? 256 : 1024));
    CHECK(access.end == access.begin + bytes);
  }
}
