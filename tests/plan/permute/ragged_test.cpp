// permute_ragged's packed tiles: whole pieces of the destination, and which problems have them.
#include "own_words.hpp"
#include "permute/permute_ragged.abi.h"
#include "plan/permute/kernel_words.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;

namespace {

constexpr const char* kRow = "permute_ragged e1 128x64 wg128 packed";

Plan packed(const std::string& text) { return test::planned(text, test::gpu(), {.force = kRow}); }

std::uint64_t tiles(const std::string& text) {
  const Step step = packed(text).steps.at(0);
  return std::uint64_t{step.grid[0]} * step.grid[1] * step.grid[2];
}

// Columns of a tile, by the kernel's own words.
std::uint32_t columns(const std::string& text) {
  const Step step = packed(text).steps.at(0);
  const detail::RaggedConstants constants{.kInner = test::constant_of(step, PERMUTE_RAGGED_SPEC_INNER), .kPacked = 1};
  return test::of_own_words(step, [&](auto own) { return detail::PermuteRaggedWordsReader{constants, own}.tile_s(); });
}

bool is_refused(const char* text) {
  return !make_plan(parse_problem(text).value(), test::gpu(), {.force = kRow}).has_value();
}

}  // namespace

TEST_CASE("packed tiles have whole pieces") {
  CHECK(tiles("permute u8 2x25x1000 axes=0,2,1") == 2 * 8);
  CHECK(columns("permute u8 2x25x1000 axes=0,2,1") == 128);
  CHECK(tiles("permute u8 3x56x78x34 axes=0,3,2,1") == 3 * 26);
  CHECK(columns("permute u8 3x56x78x34 axes=0,3,2,1") == 3 * 34);
  // Two axes have the pieces.
  CHECK(columns("permute u8 25x78x3x7 axes=3,2,1,0") == 6 * 21);
  // Four indices are two and two.
  CHECK(tiles("permute u8 3x56x4x34 axes=0,3,2,1") == 3 * 2);
  CHECK(columns("permute u8 3x56x4x34 axes=0,3,2,1") == 2 * 34);
  // D has two axes, so that S has one less.
  CHECK(columns("permute u8 8x3x50x11 axes=3,2,1,0") == 10 * 11);
  // The destination's rows follow each other along the source's innermost axis, which is short.
  CHECK(tiles("permute u8 56x7x78x34 axes=2,1,3,0") == 7 * 78);
}

TEST_CASE("packed tiles need rows that follow each other, and few pieces") {
  CHECK_FALSE(is_refused("permute u8 56x78x128 axes=2,1,0"));
  CHECK(is_refused("permute u8 56x78x129 axes=2,1,0"));
  CHECK(is_refused("permute u8 56x78x34 axes=2,1,0 dst.strides=4446x57x1"));
  CHECK(is_refused("permute u8 65x78x34 axes=2,1,0"));
  CHECK(is_refused("permute u8 7x78x34 axes=2,1,0"));
  // The source's rows do not follow each other along that axis.
  CHECK(is_refused("permute u8 56x78x34 axes=2,1,0 src.strides=2730x35x1"));
}

// Rows with gaps behind them are for another row, and for that alone.
TEST_CASE("short rows with gaps have tiles of their own") {
  const auto admits = [](const char* text, const char* row) {
    return make_plan(parse_problem(text).value(), test::gpu(), {.force = row}).has_value();
  };
  constexpr const char* kGaps = "permute_ragged e1 256x32 wg128 gaps";
  const char* const gaps = "permute u8 22x78x34 axes=2,1,0 dst.strides=1950x25x1 align=1";
  CHECK(admits(gaps, kGaps));
  CHECK_FALSE(admits(gaps, kRow));
  CHECK_FALSE(admits("permute u8 22x78x34 axes=2,1,0 align=1", kGaps));
  CHECK_FALSE(admits("permute u8 33x78x34 axes=2,1,0 dst.strides=2730x35x1 align=1", kGaps));  // too long
}

TEST_CASE("packed tiles end in zeros where a layout's only block does not divide its axis") {
  const Step step = packed("permute u8 2x11x9x23 layout=NCHW:NCHW32c").steps.at(0);
  const detail::RaggedConstants constants{.kInner = test::constant_of(step, PERMUTE_RAGGED_SPEC_INNER), .kPacked = 1};
  test::of_own_words(step, [&](auto own) {
    const detail::PermuteRaggedWordsReader words{constants, own};
    CHECK(words.limit_d() == 11);
    CHECK(words.extent_d() == 32);
    CHECK(words.source_elements() == 2 * 11 * 9 * 23);  // the source ends with its last channel
    return 0;
  });
  // The kernel knows no bound, and has no words of one.
  CHECK(test::constant_of(step, PERMUTE_SPEC_READ_BOUNDS) == 0);
  // Without a limit all of D is read.
  const Step whole = packed("permute u8 2x25x1000 axes=0,2,1").steps.at(0);
  const detail::RaggedConstants of_whole{.kInner = test::constant_of(whole, PERMUTE_RAGGED_SPEC_INNER), .kPacked = 1};
  CHECK(test::of_own_words(whole,
                           [&](auto own) { return detail::PermuteRaggedWordsReader{of_whole, own}.limit_d(); }) == 25);
  CHECK(is_refused("permute u8 2x43x9x23 layout=NCHW:NCHW32c"));                // the limit is along two axes
  CHECK(is_refused("permute u8 2x2x9x23x32 layout=NCHW32c:NHWC extent=C:43"));  // elements are not written
}
