// The part of a problem that reaches no limit of its blocks.
#include "plan/helpers.hpp"
#include "plan/permute/layout.hpp"
#include "plan/permute/nest.hpp"

#include "permute/permute.abi.h"

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

// The first part of a nest that is cut.
detail::Nest first_of(const detail::Nest& nest) {
  const detail::Cut cut = detail::cut_of(nest);
  return detail::part_of(nest, cut.axis, 0, cut.extent);
}

// The other part.
detail::Nest rest_of(const detail::Nest& nest) {
  const detail::Cut cut = detail::cut_of(nest);
  const std::int64_t extent = nest.axis[static_cast<std::size_t>(cut.axis)].extent;
  return detail::part_of(nest, cut.axis, cut.extent, extent - cut.extent);
}

// The nest is cut where one more index of the axis would reach the limit.
void check_cut(const detail::Nest& nest, std::int64_t extent) {
  const detail::Cut cut = detail::cut_of(nest);
  CHECK(cut.extent == extent);
  CHECK(limits(first_of(nest)) < limits(nest));
  CHECK(limits(detail::part_of(nest, cut.axis, 0, extent + 1)) == limits(nest));
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
  check_cut(first_of(nest), 12);
}

TEST_CASE("the last block is cut where its data end") {
  const detail::Nest nest = nest_of("permute u8 2x3x6x8 layout=NCHW:NCHW4c");
  check_cut(nest, 3);
  CHECK(detail::simplified(first_of(nest)).bounds == 0);
  CHECK(rest_of(nest).reads_nothing());
  const detail::Nest source = rest_of(nest_of("permute u8 2x14x6x8x4 layout=NCHW4c:NCHW extent=C:55"));
  check_cut(source, 3);
  CHECK(rest_of(source).writes_nothing());
  CHECK(detail::cut_of(nest_of("permute u8 2x52x6x8 layout=NCHW:NCHW4c")).extent == 0);
}

// A block of the destination has several of the source: whole ones, one that is cut, and some without data.
TEST_CASE("the block that has the limit is cut out") {
  const detail::Nest nest = nest_of("permute u8 3x7x5x9x8 layout=NCHW8c:NCHW32c extent=C:51");
  const detail::Nest edge = rest_of(nest);
  check_cut(edge, 2);
  const detail::Nest past = rest_of(edge);
  CHECK(detail::cut_of(past).extent == 1);
  CHECK_FALSE(past.reads_nothing());
  CHECK(rest_of(past).reads_nothing());
  check_cut(first_of(past), 3);
}

TEST_CASE("zeros have no source") {
  const detail::Nest nest = nest_of("permute u8 3x7x5x9x8 layout=NCHW8c:NCHW32c extent=C:36");
  const detail::Nest zeros = detail::simplified(rest_of(rest_of(rest_of(nest))));
  REQUIRE(zeros.reads_nothing());
  CHECK(zeros.src_span() == 1);
  CHECK(zeros.src_byte_offset == 0);
  CHECK(zeros.write_bounds() == 0);
  // 24 of 32 bytes: the source's blocks are neighbours in the destination
  CHECK(detail::print(zeros) == "3(0>360)x45(0>4)x3(0>1) of 8 bytes");
}

TEST_CASE("elements widen where no limit is left") {
  const detail::Nest nest = nest_of("permute u8 2x6x8x53 layout=NHWC:NCHW4c align=4");
  CHECK(nest.element_bytes == 1);
  REQUIRE(detail::cut_of(nest).extent == 13);
  const detail::Nest whole = nest_of("permute u8 2x6x8x52 layout=NHWC:NCHW4c");
  CHECK(whole.element_bytes == 4);
  // Rows of 53 bytes keep bytes, those of 56 do not.
  CHECK(detail::simplified(first_of(nest)).element_bytes == 1);
  const detail::Nest padded = nest_of("permute u8 2x6x8x53 layout=NHWC:NCHW4c src.strides=2688x448x56x1 align=4");
  const detail::Nest inner = detail::simplified(first_of(padded));
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

namespace {

// "d" for each step that moves data without a bound, "b" for one with a bound, "0" for one that writes only zeros.
std::string parts_of(const std::string& text) {
  const Plan plan = test::planned(text, test::profile_of_target("nvidia-hopper"));
  std::string parts;
  for (const Step& step : plan.steps) {
    const auto has = [&](std::uint32_t id) {
      const auto at = std::ranges::find(step.constants, id, &Constant::id);
      return at != step.constants.end() && at->value != 0;
    };
    const bool bounded = has(PERMUTE_SPEC_READ_BOUNDS) || has(PERMUTE_SPEC_WRITE_BOUNDS);
    const auto& source = step.accesses.at(0);
    parts += source.begin == 0 && source.end <= 16 ? '0' : bounded ? 'b' : 'd';
  }
  return parts;
}

}  // namespace

TEST_CASE("data and zeros are steps of their own where that is less work") {
  // Past the limit nothing is written: no part has a bound.
  CHECK(parts_of("permute u8 16x9x160x240x32 layout=NCHW32c:NCHW extent=C:257") == "dd");
  CHECK(parts_of("permute f32 16x9x160x240x32 layout=NCHW32c:NCHW extent=C:257") == "dd");
  // 511 zeros of 512
  CHECK(parts_of("permute u8 16x513x50x50 layout=NCHW:NCHW512c") == "dd0");
  // Rows are short: data and zeros of one share sectors, and are one step.
  CHECK(parts_of("permute u8 16x65x100x100 layout=NCHW:NCHW64c").size() == 2);
  // The zeros share sectors with data.
  CHECK(parts_of("permute u8 16x160x240x285 layout=NHWC:NCHW32c") == "db");
  // What is small is one step.
  CHECK(parts_of("permute u8 1x65x100x100 layout=NCHW:NCHW64c").size() == 1);
}
