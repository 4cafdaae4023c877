// What data a check gives a problem.
#include "check/operation.hpp"
#include "reference/products.hpp"

#include <sectile/planner.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

using namespace sectile;
using namespace sectile::tools;
using reference::DataKind;
using reference::ProductDataSet;

namespace {

Problem problem_of(const std::string& text) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), text);
  return *problem;
}

}  // namespace

TEST_CASE("products and convolutions have numbers at the ends of their types, once, where they are asked for") {
  for (const char* text : {"matmul f16 nn 8x8x8", "matmul i8 nn 8x8x8", "conv2d f32 nhwc 1x8x8x8 k=8 r=3x3"}) {
    const Problem problem = problem_of(text);
    const auto checked = check_operation(problem).checked(problem);
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (const bool every : {true, false})
        for (const bool ends : {true, false}) {
          const auto sets = checked->data_sets(seed, every, ends);
          const auto of = [&](DataKind kind) {
            return std::ranges::count_if(sets, [&](std::uint64_t one) { return ProductDataSet(one).kind == kind; });
          };
          CHECK(of(DataKind::ends) == (ends ? 1 : 0));
          CHECK(of(DataKind::coarse) + of(DataKind::fine) == (every ? 2 : 1));
          if (every) CHECK(of(DataKind::coarse) == 1);
        }
  }
}

TEST_CASE("only a plan that may transform its image is kept from numbers at the ends") {
  const DeviceProfile profile = builtin_target("amd-rdna3").value();
  const Problem winograd = problem_of("conv2d f32 nchw 2x64x32x32 k=64 r=3x3 p=1");
  const Problem strided = problem_of("conv2d f32 nchw 2x64x32x32 k=64 r=3x3 p=1 s=2");
  const Problem exact = problem_of("conv2d f32 nchw 2x64x32x32 k=64 r=3x3 p=1 exact=1");
  const auto mixes = [&](const Problem& problem, const std::string& force) {
    if (force.empty()) return check_operation(problem).mixes_inputs(problem, nullptr);
    const auto plan = make_plan(problem, profile, {.force = force});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    return check_operation(problem).mixes_inputs(problem, &*plan);
  };
  CHECK(mixes(winograd, "conv2d_winograd"));
  CHECK_FALSE(mixes(winograd, "conv2d_simt"));
  CHECK_FALSE(mixes(strided, "conv2d_simt"));
  CHECK(mixes(winograd, ""));
  CHECK_FALSE(mixes(exact, ""));
  CHECK_FALSE(mixes(problem_of("matmul f32 nn 8x8x8"), ""));
  CHECK_FALSE(mixes(problem_of("permute f32 8x8 axes=1,0"), ""));
}
