// permute_gather: how wide its tiles are, how its rows lie in workgroup memory, and what it refuses.
#include "own_words.hpp"
#include "permute/permute_gather.abi.h"
#include "plan/permute/kernel_words.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace sectile;

namespace {

DeviceProfile with_async_copy() {
  DeviceProfile profile = test::gpu();
  profile.api = Api::cuda;
  profile.async_copy = true;
  return profile;
}

std::string gather_row(const std::string& text) {
  return text.starts_with("permute u8")    ? "permute_gather e1 240x128 wg512 d16"
         : text.starts_with("permute f16") ? "permute_gather e2 240x128 wg512 d16"
                                           : "permute_gather e4 240x64 wg512 d16";
}
Result<Plan> gathered(const std::string& text, const DeviceProfile& profile = with_async_copy()) {
  return make_plan(parse_problem(text).value(), profile, {.force = gather_row(text)});
}

std::uint32_t gathered_columns(const std::string& text) {
  const Step step = gathered(text).value().steps.at(0);
  const detail::RaggedConstants constants{.kInner = test::constant_of(step, PERMUTE_GATHER_SPEC_INNER), .kPacked = 1};
  return test::of_own_words(step, [&](auto own) { return detail::PermuteRaggedWordsReader{constants, own}.tile_s(); });
}

}  // namespace

TEST_CASE("tiles that are copied as they lie have equally many columns") {
  CHECK(gathered_columns("permute u8 1000x240 axes=1,0") == 240);
  CHECK(gathered_columns("permute u8 1000x241 axes=1,0") == 121);
  CHECK(gathered_columns("permute f16 1000x517 axes=1,0") == 104);
  CHECK(gathered_columns("permute f32 1000x59 axes=1,0") == 59);
  const Step step = gathered("permute f16 1000x517 axes=1,0").value().steps.at(0);
  CHECK(step.grid[0] * step.grid[1] * step.grid[2] == 8 * 5);
}

// Rows keep their address modulo 16: each group's rows are as far apart as in the source.
TEST_CASE("rows in workgroup memory keep their phase and do not overlap") {
  for (const std::uint32_t bytes : {1u, 2u, 4u})
    for (std::uint32_t stride = bytes; stride < 200; stride += bytes) {
      const std::uint32_t words = 16, rows = PERMUTE_GATHER_ROWS(64u, bytes), groups = PERMUTE_GATHER_GROUPS(bytes);
      const std::uint32_t row = PERMUTE_GATHER_ROW(words, bytes, stride),
                          group = PERMUTE_GATHER_GROUP(rows, words, bytes, stride);
      CAPTURE(bytes);
      CAPTURE(stride);
      CHECK(row % 16 == stride * groups % 16);
      CHECK(row >= 16 * words);
      CHECK(group % 16 == stride % 16);
      CHECK(group >= rows / groups * row);
      // From the last row's last word on, whose access may read a word more.
      CHECK(15 + (groups - 1) * group + (rows / groups - 1) * row + 16 * words <=
            PERMUTE_GATHER_SHARED_BYTES(rows, words, bytes));
    }
}

TEST_CASE("permute_gather needs asynchronous copies and one axis of the destination") {
  CHECK(gathered("permute f16 1000x517 axes=1,0").has_value());
  DeviceProfile profile = with_async_copy();
  profile.async_copy = false;
  CHECK_FALSE(gathered("permute f16 1000x517 axes=1,0", profile).has_value());
  CHECK_FALSE(gathered("permute f16 1000x517 axes=1,0", test::gpu()).has_value());
  CHECK_FALSE(gathered("permute u8 29x7x133 axes=2,1,0").has_value());
  CHECK_FALSE(gathered("permute u8 2x11x9x23 layout=NCHW:NCHW32c").has_value());
}
