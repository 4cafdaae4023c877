// What the planner claims of a convolution's accesses (Candidate::interior) against what the emulated kernels do in the
// place that the claim speaks of: the middle of the first image. See accesses_test.cpp and matmul_accesses_test.cpp.
#include "product_accesses.hpp"

#include "support/scope.hpp"

#include "conv2d/conv2d.abi.h"
#include "conv2d/conv2d_depthwise.abi.h"
#include "gemm/gemm.abi.h"

#include <set>
#include <variant>

using namespace sectile;
using namespace sectile::emulated;

namespace {

constexpr std::string_view kConv2dCompared[] = {"conv2d_simt", "conv2d_winograd", "conv2d_depthwise", "conv2d_direct"};
// Their kernels are GLSL alone.
constexpr std::string_view kConv2dWithoutKernel[] = {"conv2d_coopmat", "conv2d_lanes"};

// A convolution and its output's size.
struct Convolution {
  explicit Convolution(const std::string& text) : problem(*parse_problem(text)) {
    const auto size = output_size(conv2d());
    REQUIRE(size.has_value());
    out = *size;
  }
  const Conv2dProblem& conv2d() const { return std::get<Conv2dProblem>(problem); }
  std::uint64_t middle() const { return static_cast<std::uint64_t>(out.height / 2 * out.width); }  // its pixel

  Problem problem;
  ImageSize out;
};

// ---- products: conv2d_simt, and winograd's

std::uint64_t tiles(std::int64_t size, std::uint64_t tile) {
  return (static_cast<std::uint64_t>(size) + tile - 1) / tile;
}

// The workgroup whose tile has the image's middle pixel, along the other side the first; winograd's: the first.
std::uint64_t group_of_middle(const Convolution& c, const Step& step) {
  if (step.kernel.stem != "conv2d_simt") return 0;
  const bool is_b = constant_of(step, CONV2D_SPEC_IMAGE_SIDE) != 0;
  const auto& p = c.conv2d();
  const std::int64_t pixels = c.out.height * c.out.width, channels = p.k / p.groups;
  const std::uint64_t tile_m = constant_of(step, GEMM_SPEC_TILE_M), tile_n = constant_of(step, GEMM_SPEC_TILE_N);
  const std::uint64_t tiles_m = tiles(is_b ? channels : p.n * pixels, tile_m),
                      tiles_n = tiles(is_b ? pixels : channels, tile_n);
  // Neither splits of K nor images in one matrix's columns: the tiles are all that there is.
  const std::int64_t batches = is_b ? p.n : p.groups;
  REQUIRE(std::uint64_t{step.grid[0]} * step.grid[1] * step.grid[2] ==
          tiles_m * tiles_n * static_cast<std::uint64_t>(batches));
  REQUIRE(c.middle() % (is_b ? tile_n : tile_m) == 0);
  const std::uint64_t m = is_b ? 0 : c.middle() / tile_m, n = is_b ? c.middle() / tile_n : 0;
  const std::uint64_t order = constant_of(step, GEMM_SPEC_GROUP_M);
  if (order <= 1) return m * tiles_n + n;
  const std::uint64_t band = m / order, rows = std::min(tiles_m - band * order, order);
  return band * order * tiles_n + n * rows + m % order;
}

// The step of K that the claim speaks of: along channels that of the filter's middle, where a step of any table begins.
std::uint32_t step_of_middle(const Conv2dProblem& p, const Step& step) {
  constexpr std::int64_t kMostStep = 256;
  if (step.kernel.stem != "conv2d_simt" || constant_of(step, CONV2D_SPEC_ORDER) != CONV2D_ORDER_RSC) return 0;
  const std::int64_t channels = p.c / p.groups, first = p.r * p.s / 2 * channels / kMostStep * kMostStep;
  if (first + kMostStep > p.r * p.s * channels) return 0;
  return static_cast<std::uint32_t>(first) / constant_of(step, GEMM_SPEC_TILE_K);
}

// How many barriers an invocation has passed where it loads a step of that number.
std::uint32_t barriers_before(const Step& step, std::uint32_t number) {
  if (constant_of(step, MATMUL_SIMT_SPEC_PREFETCH) == 0) return 2 * number;
  if (constant_of(step, MATMUL_SIMT_SPEC_STAGES) == 2 || number == 0) return number;
  return 2 * number - 1;
}

// The loads of that step, and the use of workgroup memory as in any.
std::vector<Access> step_of_product(const Convolution& c, const Plan& plan, const Step& step) {
  const Operands operands(plan);
  const Window window = window_of(step);
  const std::uint32_t loading = barriers_before(step, step_of_middle(c.conv2d(), step));
  std::vector<Access> accesses;
  const std::string failure =
      trace(step, operands.operands(), group_of_middle(c, step), accesses, std::max(window.last, loading));
  CHECK_MESSAGE(failure.empty(), failure);
  std::erase_if(accesses, [&](const Access& access) {
    if (access.kind == Access::Kind::workgroup) return access.barriers < window.first || access.barriers > window.last;
    return access.kind == Access::Kind::store || access.barriers != loading || !operands.multiplied(access);
  });
  return accesses;
}

// ---- conv2d_depthwise and conv2d_direct: one input of each output, and the first of its stores

// The image's loads and the destination's stores of one workgroup: of the first input that lies at the output's own
// place (its row and column times the stride), and of the first output. `channels`: loads and stores that belong
// together; `number`: of that input, among those of an invocation that has them all.
std::vector<Access> own_input(const Plan& plan, const Step& step, std::uint64_t group, std::uint32_t number,
                              std::uint32_t loads, std::uint32_t stores) {
  const Operands operands(plan);
  std::vector<Access> accesses;
  const std::string failure = trace(step, operands.operands(), group, accesses);
  CHECK_MESSAGE(failure.empty(), failure);
  const auto& x = plan.operands.at(0);
  REQUIRE(x.name == "x");
  const auto begin = reinterpret_cast<std::uintptr_t>(operands.operands()[0].address);
  std::map<std::uint32_t, std::vector<Access>> loaded;
  std::map<std::uint32_t, std::uint32_t> stored;
  std::vector<Access> kept;
  for (const Access& access : accesses) {
    if (access.kind == Access::Kind::store) {
      if (stored[access.invocation]++ < stores) kept.push_back(access);
    } else if (access.address >= begin && access.address < begin + x.bytes) {
      loaded[access.invocation].push_back(access);
    }
  }
  const auto most =
      std::ranges::max_element(loaded, {}, [](const auto& invocation) { return invocation.second.size(); });
  REQUIRE(most != loaded.end());
  REQUIRE(most->second.size() >= number + loads);
  std::set<std::uint64_t> instructions;
  for (std::uint32_t i = 0; i < loads; ++i) instructions.insert(most->second[number + i].instruction);
  CHECK(instructions.size() == loads);
  for (const auto& [invocation, its] : loaded)
    for (const Access& access : its)
      if (instructions.contains(access.instruction)) kept.push_back(access);
  return kept;
}

std::vector<Access> input_of_depthwise(const Convolution& c, const Plan& plan, const Step& step) {
  const auto& p = c.conv2d();
  const std::int64_t strip = constant_of(step, CONV2D_DEPTHWISE_SPEC_STRIP),
                     channels = constant_of(step, CONV2D_DEPTHWISE_SPEC_CHANNELS);
  const std::int64_t loads = channels / constant_of(step, GEMM_SPEC_WIDTH_A),
                     stores = channels / constant_of(step, GEMM_SPEC_WIDTH_D);
  const std::int64_t chunks = p.x_layout == ImageLayout::nhwc ? p.k / channels : 1;
  const std::int64_t item = c.out.height / 2 * ((c.out.width + strip - 1) / strip) * chunks;
  REQUIRE(item % step.workgroup[0] == 0);
  REQUIRE(p.dilation_w == 1);
  REQUIRE(p.stride_w <= 2);
  const std::int64_t columns = (strip - 1) * p.stride_w + p.s;
  const std::int64_t number = (p.pad_top * columns + p.pad_left) * loads;
  return own_input(plan, step, static_cast<std::uint64_t>(item) / step.workgroup[0], static_cast<std::uint32_t>(number),
                   static_cast<std::uint32_t>(loads), static_cast<std::uint32_t>(stores));
}

std::vector<Access> input_of_direct(const Convolution& c, const Plan& plan, const Step& step) {
  const auto& p = c.conv2d();
  const std::uint64_t inner = p.y_layout == ImageLayout::nhwc     ? static_cast<std::uint64_t>(p.k)
                              : p.y_layout == ImageLayout::nchw   ? 1
                              : p.y_layout == ImageLayout::nchw4c ? 4
                                                                  : 8;
  REQUIRE(c.middle() * inner % step.workgroup[0] == 0);
  const std::int64_t number = (p.pad_top * p.s + p.pad_left) * (p.c / p.groups);
  return own_input(plan, step, c.middle() * inner / step.workgroup[0], static_cast<std::uint32_t>(number), 1, 1);
}

// ---- claims

// The step that a claim speaks of: a convolution may have others before it.
const Step& claimed_step(const Plan& plan, std::string_view stem) {
  const std::string_view kernel = stem == "conv2d_winograd" ? "matmul_simt" : stem;
  const auto found =
      std::ranges::find(plan.steps, kernel, [](const Step& step) { return std::string_view(step.kernel.stem); });
  REQUIRE(found != plan.steps.end());
  return *found;
}

std::vector<Access> claimed_accesses(const Convolution& c, const Plan& plan, std::string_view stem) {
  const Step& step = claimed_step(plan, stem);
  if (stem == "conv2d_depthwise") return input_of_depthwise(c, plan, step);
  if (stem == "conv2d_direct") return input_of_direct(c, plan, step);
  return step_of_product(c, plan, step);
}

AccessCount first_of(const Step& step, std::vector<Access> accesses, const DeviceProfile& profile) {
  const bool product = step.kernel.stem.ends_with("_simt");
  const std::uint32_t loading = product ? constant_of(step, MATMUL_SIMT_SPEC_FETCHERS) : step.workgroup[0];
  return count_of_first(std::move(accesses), profile, step.workgroup[0], loading);
}

// As promise() of matmul_accesses_test.cpp.
Claims conv2d_promise(std::string_view stem, const Conv2dProblem& p, bool first) {
  if (stem == "conv2d_depthwise" || stem == "conv2d_direct") {
    // Other subgroups' rows of the image begin elsewhere in a transaction.
    if (first) return {};
    return {within(stem == "conv2d_direct" ? 450 : 120), {}, {}, {}, {}, {}, {}};
  }
  // Invocations without an item load the last one again; others' rows begin elsewhere in a transaction.
  if (!first) return {within(940), {}, {}, {}, {}, {}, within(1000)};
  // An item of int8 has four runs, the first of which stands for all: along pixels others begin elsewhere.
  const bool runs = p.type == DType::i8 && p.x_layout == ImageLayout::nchw;
  return {runs ? within(150) : Claim{}, {}, {}, {}, {}, {}, {}};
}

// Claims that are wrong, with what all subgroups do: a row fails when either changes.
struct Conv2dDeviation {
  const char* why;
  const char* problem;
  const char* candidate;
  AccessCount claimed, found;  // in the order of AccessCount
};
constexpr Conv2dDeviation kConv2dDeviations[] = {
    {"output channels beyond the last are it again",
     "conv2d f32 nhwc 1x64x34x34 k=64 r=3x3 weights=krsc",
     "conv2d_simt 64x128x8 8x8",
     {192, 0, 192, 0, 12, 0, 0},
     {132, 0, 192, 0, 12, 0, 0}},
    {"rows of the image begin elsewhere in a transaction than the middle one does",
     "conv2d i8 nchw 1x64x34x34 k=256 r=3x3",
     "conv2d_direct wg128",
     {4, 16, 4, 16, 4, 4, 0},
     {7, 16, 4, 16, 4, 4, 0}},
};

// One multiprocessor, so that no sum is split.
std::vector<DeviceProfile> conv2d_profiles() {
  DeviceProfile cuda = emulated::target("cuda:sm_90a");
  cuda.multiprocessors = 1;
  DeviceProfile cpu = cuda;  // rows for CPU devices
  cpu.kind = DeviceKind::cpu;
  cpu.required_subgroup_size = false;
  cpu.min_subgroup_size.reset();
  cpu.max_subgroup_size.reset();
  cpu.integer_dot_product = false;
  return {cuda, cpu};
}

// Outputs of 32x32, so that the middle one begins a tile of any row.
constexpr const char* kClaimed[] = {
    "conv2d f32 nhwc 1x64x34x34 k=256 r=3x3 weights=krsc",
    "conv2d f32 nhwc 2x64x32x32 k=256 r=3x3 p=1 weights=krsc",
    "conv2d f32 nhwc 1x64x34x34 k=256 r=3x3 weights=rsck",
    "conv2d f32 nhwc 1x64x34x34 k=256 r=3x3",
    "conv2d f32 nchw 1x64x34x34 k=256 r=3x3",
    "conv2d f32 nchw 1x64x32x32 k=256 r=3x3 p=1",
    "conv2d f32 nchw 1x24x66x65 k=256 r=4x3 s=2 weights=krsc",
    "conv2d f32 nhwc 1x6x36x34 k=256 r=5x3 weights=krsc",
    "conv2d f32 nchw4c 1x64x34x34 k=256 r=3x3 weights=krsc",
    "conv2d f16 nhwc 1x64x34x34 k=256 r=3x3 weights=krsc",
    "conv2d f16 nchw 1x64x34x34 k=256 r=3x3",
    "conv2d f16 nhwc 2x32x34x34 k=256 r=3x3 g=2 weights=krsc",
    "conv2d bf16 nhwc 1x128x36x36 k=256 r=3x3 d=2 weights=krsc x=f32",
    "conv2d i8 nhwc 1x64x34x34 k=256 r=3x3 weights=krsc",
    "conv2d i8 nchw 1x64x34x34 k=256 r=3x3",
};
constexpr const char* kClaimedDepthwise[] = {
    "conv2d f32 nhwc 1x64x34x34 k=64 r=3x3 g=64 weights=rsck",
    "conv2d f32 nhwc 2x64x32x32 k=64 r=3x3 p=1 g=64 weights=rsck",
    "conv2d f16 nhwc 1x64x67x67 k=64 r=5x5 s=2 p=0 g=64 weights=rsck",
    "conv2d f16 nhwc 1x32x34x34 k=64 r=3x3 g=32",
    "conv2d f32 nchw 1x8x66x66 k=8 r=3x3 g=8",
    "conv2d f16 nchw 1x8x64x64 k=8 r=3x3 p=1 g=8",
    "conv2d i8 nhwc 1x64x34x34 k=64 r=3x3 g=64 weights=rsck",
};

}  // namespace

TEST_CASE("claims of convolutions are what kernels do") {
  std::map<std::string, std::size_t> compared;
  std::size_t turn = 0;
  const auto compare = [&](const std::string& text, const DeviceProfile& profile, std::size_t every,
                           std::string_view only) {
    CAPTURE(text);
    const Convolution c(text);
    const auto plan = make_plan(c.problem, profile, {.explain = true});
    REQUIRE_MESSAGE(plan.has_value(), plan.error().message());
    for (const Candidate& candidate : plan->candidates) {
      const std::string stem = stem_of(candidate);
      if (!candidate.refusal.empty() || std::ranges::find(kConv2dCompared, stem) == std::end(kConv2dCompared) ||
          !stem.starts_with(only) || turn++ % every != 0)
        continue;
      CAPTURE(candidate.name);
      const Plan forced = plan_by(c.problem, profile, candidate.name);
      const auto accesses = claimed_accesses(c, forced, stem);
      ++compared[stem];
      auto wrong = disagreement(conv2d_promise(stem, c.conv2d(), true), candidate.interior,
                                first_of(claimed_step(forced, stem), accesses, profile));
      CHECK_MESSAGE(wrong.empty(), "first subgroup: " << wrong);
      wrong = disagreement(conv2d_promise(stem, c.conv2d(), false), candidate.interior, count_of(accesses, profile));
      CHECK_MESSAGE(wrong.empty(), "all: " << wrong);
    }
  };
  const std::size_t every = test::scope<std::size_t>(1, 3, 20);
  for (const DeviceProfile& profile : conv2d_profiles()) {
    for (const char* text : kClaimed) compare(text, profile, every, "");
    for (const char* text : kClaimedDepthwise) compare(text, profile, 1, "conv2d_d");
  }
  for (const std::string_view stem : kConv2dCompared) CHECK(compared[std::string(stem)] >= 8);
}

TEST_CASE("claims of convolutions that are wrong stay as they are") {
  const DeviceProfile profile = conv2d_profiles().front();
  for (const Conv2dDeviation& row : kConv2dDeviations) {
    CAPTURE(std::string(row.why));
    CHECK(row.claimed != row.found);
    const Convolution c(row.problem);
    const Candidate candidate = claim_of(c.problem, profile, row.candidate);
    const std::string claims = disagreement({}, candidate.interior, row.claimed);
    CHECK_MESSAGE(claims.empty(), "the claim is another: " << claims);
    const auto found =
        count_of(claimed_accesses(c, plan_by(c.problem, profile, row.candidate), stem_of(candidate)), profile);
    const std::string finds = disagreement({}, row.found, found);
    CHECK_MESSAGE(finds.empty(), "the kernel does otherwise: " << finds);
  }
}

// Every strategy of convolutions is compared here or listed as one that cannot be.
TEST_CASE("every convolution strategy is emulated or listed") {
  std::set<std::string> stems;
  for (const char* text : {"conv2d f16 nhwc 1x64x34x34 k=64 r=3x3", "conv2d f32 nchw 1x8x66x66 k=8 r=3x3 g=8"}) {
    const auto plan = make_plan(*parse_problem(text), conv2d_profiles().front(), {.explain = true});
    REQUIRE(plan.has_value());
    for (const Candidate& candidate : plan->candidates) stems.insert(stem_of(candidate));
  }
  for (const std::string& stem : stems) {
    CAPTURE(stem);
    const bool emulated =
        std::ranges::any_of(kernels(), [&](const KernelRow& row) { return row.stem.starts_with(stem); });
    CHECK(emulated == (std::ranges::find(kConv2dCompared, stem) != std::end(kConv2dCompared)));
    CHECK(emulated != (std::ranges::find(kConv2dWithoutKernel, stem) != std::end(kConv2dWithoutKernel)));
  }
  CHECK(stems.size() == std::size(kConv2dCompared) + std::size(kConv2dWithoutKernel));
}
