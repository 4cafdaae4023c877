// Convolution's CUDA kernels against the reference in double precision, on the host.
#include "product_case.hpp"

#include "reference/conv2d.hpp"
#include "reference/cover_conv2d.hpp"
#include "reference/generate.hpp"

#include "support/scope.hpp"

#include "conv2d/conv2d.abi.h"
#include "gemm/gemm.abi.h"

#include <optional>
#include <set>
#include <variant>

using namespace sectile;
using emulated::admissible;
using emulated::plan_by;
using emulated::Tally;

namespace {

using Conv2dCase = emulated::ProductCase<reference::Conv2dDefinition>;

Conv2dProblem conv2d_of(const char* text) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
  return std::get<Conv2dProblem>(*problem);
}

// Permutes before and after a convolution run on the host as well; the copy engine, which sm_90 has, does not.
DeviceProfile convolving_device() { return emulated::target("cuda:sm_80"); }
DeviceProfile without_dot() {
  DeviceProfile profile = convolving_device();
  profile.integer_dot_product = false;
  return profile;
}
DeviceProfile without_subgroups() {
  DeviceProfile profile = convolving_device();
  profile.required_subgroup_size = false;
  profile.min_subgroup_size.reset();
  profile.max_subgroup_size.reset();
  // As if workgroups had less memory together: tiles then have one buffer.
  profile.workgroup_memory_per_multiprocessor_bytes = profile.workgroup_memory_bytes;
  return profile;
}

bool runs_on_host(const Plan& plan) {
  return std::ranges::all_of(plan.steps,
                             [](const Step& step) { return emulated::find_kernel(step.kernel) != nullptr; });
}

// The problem by the kernels that every problem of its kind has, and by one in `every` of the tiles' rows.
void check_candidates(const Conv2dProblem& problem, const DeviceProfile& profile, std::uint64_t seed, Tally& tally,
                      std::size_t every, std::size_t from) {
  CAPTURE(print(Problem(problem)));
  Conv2dCase c(problem, seed);
  // Winograd's algorithm spreads an infinity.
  Conv2dCase ordinary(problem, reference::seed_without(seed, reference::DataKind::ends));
  const auto candidates = admissible(problem, profile);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const bool tile = candidates[i].find("_simt") != std::string::npos || candidates[i].starts_with("conv2d_winograd");
    if (tile && i % every != from % every) continue;
    CAPTURE(candidates[i]);
    const Plan plan = plan_by(problem, profile, candidates[i]);
    Conv2dCase& data = candidates[i].starts_with("conv2d_winograd") ? ordinary : c;
    if (runs_on_host(plan)) CHECK(data.run(plan, &tally) == "");
  }
}

std::uint64_t work_of(const Conv2dProblem& p) {
  const auto out = output_size(p);
  REQUIRE(out.has_value());
  return static_cast<std::uint64_t>(p.n * p.k * out->height * out->width * (p.c / p.groups) * p.r * p.s);
}

// Every layout of images and weights, every type, strides, dilation and padding of every side, groups with and without
// a multiplier, slices, each part of the prologue and of the epilogue, splits of the sum, filters of one element, of
// many, and larger than the image.
constexpr const char* kConvolutions[] = {
    "conv2d f32 nhwc 1x8x9x10 k=12 r=3x3 p=1",
    "conv2d f32 nhwc 2x16x8x7 k=20 r=3x3 p=1 weights=krsc epi=bias+relu",
    "conv2d f32 nhwc 2x32x6x7 k=24 r=3x3 s=2 p=0,1,1,0 weights=krsc",
    "conv2d f32 nhwc 1x5x9x8 k=7 r=2x3 s=2,1 d=1,2 p=1,2,0,3 weights=rsck epi=bias+gelu+residual",
    "conv2d f32 nchw 2x6x9x11 k=20 r=3x3 p=1 epi=bias+relu",
    "conv2d f32 nchw 1x7x10x13 k=9 r=3x5 s=1,2 d=2,1 p=3,1 weights=rsck beta=0.5 epi=scale+silu",
    "conv2d f32 nchw 3x4x6x6 k=8 r=3x3 p=1 weights=krsc beta=-1.25 c=y alpha=0.5 epi=residual",
    "conv2d f32 nchw 1x3x17x19 k=16 r=7x7 s=2 p=3 epi=bias+relu",
    "conv2d f32 nhwc 1x3x17x19 k=16 r=7x7 s=2 p=3 weights=krsc epi=bias",
    "conv2d f16 nhwc 2x16x7x9 k=24 r=3x3 p=1 weights=krsc epi=bias+gelu_tanh",
    "conv2d f16 nchw 2x10x7x9 k=18 r=3x3 p=1 epi=bias",
    "conv2d bf16 nhwc 1x24x8x8 k=16 r=3x3 d=2 p=2 weights=krsc x=f32 out=f32",
    "conv2d bf16 nchw:nhwc 2x8x6x7 k=16 r=3x3 p=1",
    "conv2d f16 nhwc:nchw 2x16x6x7 k=12 r=3x3 p=1 weights=krsc pro=scale+bias+relu",
    "conv2d f32 nhwc 2x16x6x7 k=16 r=3x3 p=1 g=2 weights=krsc pro=scale+bias+relu epi=scale+bias+relu",
    "conv2d f32 nchw 2x6x7x8 k=8 r=3x3 p=1 pro=bias+relu",
    "conv2d f32 nchw 1x5x7x8 k=8 r=3x3 p=2,0 g=1 pro=scale",
    "conv2d f32 nchw4c 1x16x7x6 k=12 r=3x3 p=1 epi=bias",
    "conv2d f16 nchw8c 2x24x6x5 k=20 r=3x3 p=1 weights=krsc epi=bias+relu",
    "conv2d f32 nchw4c:nchw 2x10x6x5 k=7 r=3x3 p=1 weights=krsc",
    "conv2d f32 nhwc:nchw8c 1x6x6x5 k=11 r=3x2 p=1",
    "conv2d f32 nhwc 1x12x8x8 k=24 r=3x3 p=1 g=3 epi=bias+relu",
    "conv2d f32 nchw 2x12x7x6 k=8 r=3x3 p=1 g=4 weights=rsck epi=bias",
    "conv2d f32 nhwc:nchw 2x7x5x8 k=9 r=3x3 p=1 weights=rsck x=f16 pro=scale+bias+relu epi=bias+relu",
    "conv2d f32 nchw:nhwc 2x5x6x7 k=7 r=3x3 p=2,1,0,3 weights=krsc w=bf16 out=f16 beta=0.5 epi=scale+residual",
    "conv2d i8 nhwc 1x16x8x9 k=20 r=3x3 p=1 weights=krsc",
    "conv2d i8 nchw 2x6x8x9 k=12 r=3x3 s=2 p=1 epi=bias+relu+residual",
    "conv2d i8 nhwc 2x10x6x7 k=12 r=3x3 p=1 weights=krsc out=f32 alpha=0.001 epi=scale+bias+silu",
    "conv2d i8 nhwc 1x9x6x7 k=9 r=3x3 p=1 weights=rsck out=f16 alpha=0.002",
    "conv2d f16 nhwc 1x16x6x7 k=16 r=3x3 p=1 w=q8 weights=krsc epi=bias",
    "conv2d f32 nhwc 1x8x7x7 k=8 r=3x3 p=1 x.pitch=12 y.pitch=20 weights=krsc",
    "conv2d f32 nchw 3x8x5x7 k=8 r=3x3 p=1 x.pitch=500 y.pitch=700",
    "conv2d f32 nhwc 1x128x5x5 k=16 r=3x3 p=1 weights=krsc epi=bias+relu",
    "conv2d f16 nchw 2x96x4x4 k=16 r=3x3 p=1 epi=bias",
    "conv2d f32 nhwc 2x24x7x9 k=20 r=1 epi=bias+relu",
    "conv2d f16 nchw 2x24x7x9 k=20 r=1 epi=bias+residual",
    "conv2d f32 nhwc 2x16x7x9 k=20 r=1 s=2 epi=bias",
    "conv2d f32 nhwc 1x24x6x7 k=20 r=1 g=2 epi=bias+relu",
    "conv2d f32 nhwc 1x4x2x3 k=4 r=5x4 p=3",
    "conv2d f32 nchw 1x2x6x40 k=4 r=1x31 p=0,15",
    "conv2d f32 nchw 1x2x6x40 k=4 r=3x33 p=1,16",
    "conv2d f32 nhwc 1x0x6x7 k=5 r=3x3 p=1 epi=bias+relu",
    "conv2d f32 nchw 2x8x6x10 k=8 r=3x3 p=1 g=8 epi=bias",
    "conv2d f16 nhwc 2x16x7x9 k=16 r=3x3 p=1 g=16 weights=rsck epi=bias+relu",
    "conv2d f32 nhwc 1x6x7x9 k=12 r=5x3 s=2 p=2 g=6 pro=scale+bias",
    "conv2d i8 nhwc 1x8x7x9 k=8 r=3x3 s=1,3 d=2 p=1 g=8",
};

}  // namespace

// Three tiles of rows are a wave of two multiprocessors and a tail, which begins inside the second image.
TEST_CASE("the tail wave of an image that is A comes out right") {
  DeviceProfile profile = emulated::target("lavapipe");
  profile.multiprocessors = 2;
  const Conv2dProblem problem =
      conv2d_of("conv2d f32 nhwc 2x128x5x9 k=24 r=3x3 p=1 weights=krsc epi=bias+relu+residual");
  const Plan plan = plan_by(problem, profile, "conv2d_simt 32x32x16 4x4");
  REQUIRE(plan.steps.size() == 3);
  Conv2dCase c(problem, 3);
  CHECK(c.run(plan, nullptr) == "");
}

// Each image a little apart from the one before it; a last part that computes an image once more; a split sum.
TEST_CASE("images in parts come out right") {
  struct InParts {
    const char* text;
    std::uint64_t scratch;
    std::size_t steps;
  };
  for (const auto& [text, scratch, steps] :
       {InParts{"conv2d f32 nchw 3x6x5x7 k=7 r=3x3 p=1 x.pitch=211 y.pitch=247 r.pitch=251 epi=bias+residual", 16384,
                10},
        InParts{"conv2d f32 nhwc 3x8x6x5 k=8 r=3x3 p=1 beta=0.5 c=y", 16384, 10},
        InParts{"conv2d f32 nhwc 5x8x6x5 k=8 r=3x3 p=1 x=f16 out=bf16 x.pitch=8 y.pitch=10", 29000, 10},
        InParts{"conv2d f32 nchw 2x1536x3x3 k=4 r=3x3 p=1", 900000, 9}}) {
    CAPTURE(text);
    const Conv2dProblem problem = conv2d_of(text);
    PlanOptions options;
    options.force = "conv2d_winograd 32x32x16 4x4";
    options.max_scratch_bytes = scratch;
    const auto plan = make_plan(problem, convolving_device(), options);
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    CHECK_MESSAGE(plan->steps.size() == steps, plan->operands.back().bytes);
    Conv2dCase c(problem, reference::seed_without(3, reference::DataKind::ends));
    CHECK(c.run(*plan, nullptr) == "");
  }
}

TEST_CASE("every candidate of convolutions comes out right") {
  const DeviceProfile profiles[] = {convolving_device(), without_dot(), without_subgroups()};
  // Of the tiles' rows one in so many, others for each problem.
  const std::size_t every = test::scope<std::size_t>(2, 9, 30), most = test::scope<std::size_t>(400, 90, 60);
  Tally tally;
  std::size_t problems = 0;
  const auto check = [&](const Conv2dProblem& problem) {
    check_candidates(problem, profiles[0], problems, tally, every, problems);
    if (problem.type == DType::i8) check_candidates(problem, profiles[1], problems, tally, every, problems);
    ++problems;
  };
  for (const char* text : kConvolutions) check(conv2d_of(text));
  for (std::uint64_t index = 0; problems < most; ++index) {
    const Conv2dProblem problem = reference::generate_conv2d(7, index);
    if (problem.n != 0 && problem.k != 0 && work_of(problem) <= 100000) check(problem);
  }
  // Kernels that serve all sizes: no step is uniform, rows of the result are stored element by element.
  for (const char* text : kConvolutions) {
    CAPTURE(std::string(text));
    Conv2dCase c(conv2d_of(text), problems);
    const auto plan = make_plan(conv2d_of(text), profiles[0], {.few_pipelines = true});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    if (runs_on_host(*plan)) CHECK(c.run(*plan, &tally) == "");
  }
  CHECK(tally.missing("conv2d") == "");
  MESSAGE(problems << " problems, " << tally.runs() << " kernels run");
}
