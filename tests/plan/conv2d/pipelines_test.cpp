// How many pipelines convolutions need: what is pushed, and PlanOptions::few_pipelines.
#include "plan/helpers.hpp"
#include "reference/random.hpp"
#include "support/scope.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <string>
#include <tuple>
#include <vector>

using namespace sectile;
using test::add_pipelines;
using test::Pipeline;
using test::planned;

namespace {

std::string listed(const std::set<Pipeline>& all) {
  std::string text;
  for (const auto& [kernel, constants, subgroup] : all) {
    text += fmt::format("\n  {}.{}", kernel.stem, kernel.variant);
    for (const Constant& constant : constants) text += fmt::format(" {}={}", constant.id, constant.value);
  }
  return text;
}

// Filters of 3x3 with every stride and padding that networks use, plain and with bias and relu; 32 to 1280 channels,
// images of 7 to 128 rows, both by their logarithms.
std::vector<std::string> random_convolutions(const std::string& type, const std::string& layout, std::size_t count) {
  reference::Random random(29);
  const auto octaves = [&](std::int64_t least, std::int64_t octave) {
    return random.between(least << random.between(0, octave), least << octave);
  };
  std::vector<std::string> problems;
  while (problems.size() < count) {
    const std::int64_t n = std::int64_t{1} << random.between(0, 4), c = 8 * octaves(4, 5), k = 8 * octaves(4, 5),
                       h = octaves(7, 4), w = random.between(0, 1) == 0 ? h : octaves(7, 4);
    if (n * c * k * h * w > std::int64_t{30'000'000'000}) continue;
    problems.push_back(fmt::format("conv2d {} {} {}x{}x{}x{} k={} r=3x3 s={} p={}{}{}", type, layout, n, c, h, w, k,
                                   random.between(0, 3) == 0 ? 2 : 1, random.between(0, 3) == 0 ? 0 : 1,
                                   layout == "nhwc" ? " weights=krsc" : "",
                                   random.between(0, 1) == 0 ? " epi=bias+relu" : ""));
  }
  return problems;
}

}  // namespace

TEST_CASE("a hundred convolutions need at most twelve pipelines where few are asked for") {
  const std::size_t count = test::scope<std::size_t>(100, 100, 20);
  for (const char* target : {"nvidia-hopper", "amd-rdna3", "intel-xe2", "lavapipe", "cuda:sm_90a"}) {
    const auto profile = builtin_target(target);
    REQUIRE(profile.has_value());
    for (const auto& [type, layout] :
         {std::pair{"f32", "nhwc"}, std::pair{"f32", "nchw"}, std::pair{"f16", "nhwc"}, std::pair{"f16", "nchw"},
          std::pair{"bf16", "nhwc"}, std::pair{"i8", "nhwc"}, std::pair{"f16", "nchw8c"}}) {
      std::set<Pipeline> all;
      std::size_t steps = 0;
      for (const std::string& text : random_convolutions(type, layout, count)) {
        const Plan plan = planned(text, *profile, {.few_pipelines = true});
        add_pipelines(plan, all);
        steps += plan.steps.size();
      }
      CHECK_MESSAGE(all.size() <= 12, fmt::format("{} {} {}: {}{}", target, type, layout, all.size(), listed(all)));
      CHECK(!all.empty());
      CHECK(steps >= count);
    }
  }
}

TEST_CASE("sizes, strides and padding are pushed, with few pipelines bias and relu too") {
  // Those of the products of convolutions that begin and end so, by the first one's candidate.
  const auto pipelines = [](const DeviceProfile& profile, const std::string& first, const std::string& last, bool few,
                            const std::vector<std::string>& problems) {
    std::string force;
    std::set<Pipeline> all;
    for (const std::string& problem : problems) {
      const Plan plan =
          planned(fmt::format("{}{}{}", first, problem, last), profile, {.force = force, .few_pipelines = few});
      if (force.empty()) force = plan.choice.candidate;
      add_pipelines(plan, all);
    }
    std::erase_if(all, [](const Pipeline& p) { return !std::get<0>(p).stem.starts_with("conv2d"); });
    return all;
  };
  struct Layout {
    const char *first, *last;
  };
  for (const char* target : {"nvidia-hopper", "cuda:sm_90a"}) {
    const auto profile = builtin_target(target);
    REQUIRE(profile.has_value());
    for (const Layout& layout : {Layout{"conv2d f16 nhwc ", " weights=krsc"}, Layout{"conv2d f32 nchw ", " exact=1"}}) {
      // Tiles come in bands where there are many, and K is split where the tiles leave multiprocessors idle.
      const auto sizes = pipelines(*profile, layout.first, layout.last, false,
                                   {"2x320x64x64 k=320 r=3x3 p=1", "2x640x56x56 k=960 r=3x3 p=1,2,1,0 s=2,1 alpha=0.5",
                                    "5x640x128x128 k=640 r=3x3 s=2"});
      CHECK_MESSAGE(sizes.size() <= 3, listed(sizes));
      const auto epilogues =
          pipelines(*profile, layout.first, layout.last, true,
                    {"2x320x64x64 k=320 r=3x3 p=1", "2x320x64x64 k=320 r=3x3 p=1 epi=bias",
                     "2x320x64x64 k=320 r=3x3 p=1 epi=relu", "1x320x64x64 k=320 r=3x3 p=1 alpha=0.5 epi=bias+relu",
                     "3x648x57x43 k=968 r=3x3 p=1,2,1,0 s=2,1 epi=bias+relu"});
      CHECK_MESSAGE(epilogues.size() <= 2, listed(epilogues));  // a row that splits K has a second one
    }
  }
}

TEST_CASE("few pipelines are part of a plan's id and text, and of the cached planner") {
  const auto profile = builtin_target("nvidia-hopper");
  REQUIRE(profile.has_value());
  const std::string text = "conv2d f16 nchw 2x72x57x43 k=88 r=3x3 p=1 epi=bias+relu";
  const Plan plain = planned(text, *profile), few = planned(text, *profile, {.few_pipelines = true});
  CHECK(!plain.choice.few_pipelines);
  CHECK(few.choice.few_pipelines);
  CHECK(few.id != plain.id);
  CHECK(few.steps != plain.steps);
  const auto again = plan_from_json(to_json(few), *profile);
  REQUIRE_MESSAGE(again.has_value(), again.error().message());
  CHECK(*again == few);
  Planner planner(*profile, nullptr, nullptr, Planner::kMostPlans, {}, true);
  const auto cached = planner.plan(few.problem);
  REQUIRE(cached.has_value());
  CHECK(**cached == few);
}
