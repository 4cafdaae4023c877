// Kernels without .long variants: steps whose words are not all pushed take the .wide one, and other kernels serve
// devices that have no 64-bit integers for it.
#include "plan/helpers.hpp"
#include "plan/permute/kernel_parameters.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using namespace sectile;

namespace {

struct Case {
  std::string_view stem, pushed, longer;  // problems with as many axes as are pushed, and with one more
};
constexpr Case kCases[] = {
    {"permute_box", "permute f32 8x2x3x2x8 axes=4,3,2,1,0", "permute f32 8x2x3x2x5x8 axes=5,4,3,2,1,0"},
    // Three axes and four with a bound, whose coefficients and limits are words too.
    {"permute_box", "permute f16 1x15x70x5 layout=NCHW:NCHW8c", "permute f16 3x15x70x5 layout=NCHW:NCHW8c"},
    {"permute_tile", "permute f32 8x2x3x2x5x8 axes=5,4,3,2,1,0", "permute f32 8x2x3x2x5x2x8 axes=6,5,4,3,2,1,0"},
    {"permute_runs", "permute u8 8x2x3x2x5x9x3 axes=5,4,3,2,1,0,6", "permute u8 8x2x3x2x5x2x9x3 axes=6,5,4,3,2,1,0,7"},
    {"permute_interleave", "permute f32 2x3x2x5x64x3 axes=3,2,1,0,5,4",
     "permute f32 2x3x2x5x2x64x3 axes=4,3,2,1,0,6,5"},
    {"permute_realign", "permute u8 2x3x2x5x65 axes=3,2,1,0,4", "permute u8 2x3x2x5x2x65 axes=4,3,2,1,0,5"},
};

Step forced(std::string_view stem, std::string_view text, const DeviceProfile& profile = test::gpu()) {
  const Plan plan = test::planned(std::string(text), profile, {.force = std::string(stem)});
  REQUIRE(plan.steps.size() == 1);
  CHECK(plan.steps[0].kernel.stem == stem);
  return plan.steps[0];
}

DeviceProfile without_int64() {
  auto profile = test::gpu();
  profile.int64 = false;
  return profile;
}

}  // namespace

TEST_CASE("a step takes the wide variant where its words are not all pushed") {
  for (const Case& c : kCases) {
    CAPTURE(c.stem);
    CAPTURE(c.longer);
    CHECK(forced(c.stem, c.pushed).kernel.variant.find('.') == std::string::npos);
    CHECK(forced(c.stem, c.longer).kernel.variant.ends_with(".wide"));
  }
}

TEST_CASE("without 64-bit integers another kernel has the words that are not pushed") {
  const auto profile = without_int64();
  for (const Case& c : kCases) {
    CAPTURE(c.stem);
    CAPTURE(c.longer);
    CHECK(forced(c.stem, c.pushed, profile).kernel.variant.find('.') == std::string::npos);
    const std::string text(c.longer);
    CHECK_FALSE(make_plan(*parse_problem(text), profile, {.force = std::string(c.stem)}).has_value());
    for (const auto& device : {profile, test::words_only()})
      for (const Step& step : test::planned(text, device).steps) CHECK_FALSE(step.kernel.variant.ends_with(".wide"));
  }
}

TEST_CASE("permute_block leaves what is wide to other kernels") {
  CHECK(forced("permute_block", "permute f32 8x2x3x2x5x8 axes=5,4,3,2,1,0").kernel.variant == "e4");
  const std::string longer = "permute f32 8x2x3x2x5x2x8 axes=6,5,4,3,2,1,0";
  const auto refused = make_plan(*parse_problem(longer), test::gpu(), {.force = "permute_block"});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message().find("no .wide variant") != std::string::npos);
  CHECK(test::planned(longer, test::cpu()).steps.size() == 1);
}

TEST_CASE("a step is made for fewer axes than its class where only so its words are pushed") {
  // Own words as permute_box has them, of problems with no bound and with one.
  CHECK(detail::pushed_class(3, 7, 0) == 5);
  CHECK(detail::pushed_class(3, 7, 1) == 3);
  CHECK(detail::pushed_class(4, 7, 1) == 5);
  CHECK(detail::pushed_class(6, 7, 0) == 6);
  CHECK_FALSE(detail::exceeds_push(3, 7, 1));
  CHECK(detail::exceeds_push(4, 7, 1));
}
