// The part of a problem that reaches no limit of its blocks.
#include "plan/permute/layout.hpp"
#include "plan/permute/nest.hpp"

#include <sectile/problem.hpp>

#include <doctest/doctest.h>

#include <string_view>

using namespace sectile;

namespace {

detail::Nest nest_of(std::string_view text) {
  const auto problem = std::get<PermuteProblem>(parse_problem(text).value());
  return detail::canonical(*detail::loop_nest(problem), problem);
}

std::uint32_t limits(const detail::Nest& nest) { return nest.read_bounds() + nest.write_bounds(); }

// The nest is cut where one more index of the axis would reach the limit.
void check_cut(const detail::Nest& nest, std::int64_t extent) {
  const detail::Interior interior = detail::interior_of(nest);
  CHECK(interior.extent == extent);
  CHECK(limits(detail::part_of(nest, interior.axis, 0, extent)) < limits(nest));
  CHECK(limits(detail::part_of(nest, interior.axis, 0, extent + 1)) == limits(nest));
}

}  // namespace

TEST_CASE("whole blocks are the interior") {
  check_cut(nest_of("permute u8 2x53x6x8 layout=NCHW:NCHW4c"), 13);                  // zeros are written
  check_cut(nest_of("permute u8 2x14x6x8x4 layout=NCHW4c:NCHW extent=C:53"), 13);    // nothing is written
  check_cut(nest_of("permute f16 3x7x5x9x8 layout=NCHW8c:NCHW32c extent=C:51"), 1);  // both
}

TEST_CASE("of two limits the one that leaves more comes first") {
  const detail::Nest nest = nest_of("permute u8 13x33x3x3x4x8 layout=OIHW4i8o:OIHW extent=I:131,O:99");
  check_cut(nest, 32);
  const detail::Interior interior = detail::interior_of(nest);
  check_cut(detail::part_of(nest, interior.axis, 0, 32), 12);
}

TEST_CASE("there is no interior where each index is cut, nor without limits") {
  CHECK(detail::interior_of(nest_of("permute u8 2x3x6x8 layout=NCHW:NCHW4c")).extent == 0);
  CHECK(detail::interior_of(nest_of("permute u8 2x52x6x8 layout=NCHW:NCHW4c")).extent == 0);
}

TEST_CASE("elements widen where no limit is left") {
  const detail::Nest nest = nest_of("permute u8 2x6x8x53 layout=NHWC:NCHW4c align=4");
  CHECK(nest.element_bytes == 1);
  const detail::Interior interior = detail::interior_of(nest);
  REQUIRE(interior.extent == 13);
  const detail::Nest whole = nest_of("permute u8 2x6x8x52 layout=NHWC:NCHW4c");
  CHECK(whole.element_bytes == 4);
  // Rows of 53 bytes keep bytes, those of 56 do not.
  CHECK(detail::without_bounds(detail::part_of(nest, interior.axis, 0, 13)).element_bytes == 1);
  const detail::Nest padded = nest_of("permute u8 2x6x8x53 layout=NHWC:NCHW4c src.strides=2688x448x56x1 align=4");
  const detail::Nest inner = detail::without_bounds(detail::part_of(padded, detail::interior_of(padded).axis, 0, 13));
  CHECK(inner.element_bytes == 4);
  CHECK(inner.bounds == 0);
}

TEST_CASE("elements widen where a limit is a whole number of them") {
  const auto bytes = [](std::string_view text) { return nest_of(text).element_bytes; };
  CHECK(bytes("permute u8 2x6x8x56 layout=NHWC:NCHW32c") == 8);
  CHECK(bytes("permute u8 2x6x8x52 layout=NHWC:NCHW32c") == 4);
  CHECK(bytes("permute u8 2x6x8x54 layout=NHWC:NCHW32c") == 2);
  CHECK(bytes("permute u8 2x6x8x55 layout=NHWC:NCHW32c") == 1);
  CHECK(bytes("permute f16 2x15x6x8x4 layout=NCHW4c:NCHW16c extent=C:60") == 8);
  CHECK(bytes("permute f16 2x15x6x8x4 layout=NCHW4c:NCHW16c extent=C:58") == 4);
  CHECK(bytes("permute f16 2x15x6x8x4 layout=NCHW4c:NCHW16c extent=C:57") == 2);
  CHECK(bytes("permute f16 2x2x6x8x32 layout=NCHW32c:NHWC extent=C:60") == 8);
  const detail::Nest nest = nest_of("permute u8 2x6x8x56 layout=NHWC:NCHW32c");
  CHECK(nest.bound[0].read_limit == 7);
  CHECK(nest.axis[0].coef[0] == 1);
  CHECK(limits(nest) == 1);
}
