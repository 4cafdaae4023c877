// matmul_wgmma against the reference in double precision, on the host: all rows, clusters too.
#include "product_case.hpp"

#include "reference/generate.hpp"
#include "reference/matmul.hpp"

#include "support/scope.hpp"

#include "gemm/matmul_wgmma.abi.h"

#include <set>
#include <variant>

using namespace sectile;
using emulated::admissible;
using emulated::plan_by;
using emulated::Tally;

namespace {

using WgmmaCase = emulated::ProductCase<reference::MatmulDefinition>;

MatmulProblem wgmma_problem(const char* text) {
  const auto problem = parse_problem(text);
  REQUIRE_MESSAGE(problem.has_value(), text << ": " << problem.error().message());
  return std::get<MatmulProblem>(*problem);
}

// A device with few multiprocessors: a workgroup has several tiles, and its stages go round across their ends.
DeviceProfile hopper(std::uint32_t multiprocessors) {
  DeviceProfile profile = emulated::target("cuda:sm_90a");
  profile.multiprocessors = multiprocessors;
  return profile;
}

bool is_wgmma(const std::string& candidate) { return candidate.starts_with("matmul_wgmma "); }

// Every way of an operand into workgroup memory: tensor maps along and across K, copies of 16, 8 and 4 bytes, loads of
// 2 and 1, conversions, int8 that is turned; batches, edges, every part of an epilogue; K that ends inside a step, in
// the first one, and behind more steps than there are stages.
constexpr const char* kWgmmaProblems[] = {
    "matmul f16 nt 200x264x456 epi=bias+gelu_tanh",
    "matmul f16 nn 136x200x320 out=f32 beta=0.5",
    "matmul f16 tn 264x136x200 epi=scale.m+bias.m+silu+residual",
    "matmul bf16 tt 136x136x136 batch=2 alpha=0.5 beta=-1.25 c=d epi=relu",
    "matmul f16 nt 130x150x770",
    "matmul f16 nt 70x130x1800 epi=residual",
    "matmul f16 nn 131x197x259 epi=bias",
    "matmul f16 tt 94x142x122 batch=3 a.batch=0",
    "matmul f16 tn 132x68x60",
    "matmul bf16 nt 136x72x448 beta=1 epi=residual",
    "matmul bf16 nn 65x90x330 a=f32 b=f16 epi=bias",
    "matmul f16 tn 136x40x264 a=f32 pro=scale",
    "matmul f16 nt 40x48x8 pro=scale epi=scale",
    "matmul f16 nn 72x136x200 b=q8 epi=bias",
    "matmul f16 nt 40x148x300 b=q8",
    "matmul f16 nt 40x144x352 b=q4 epi=scale",
    "matmul f16 nt 33x37x45 b=q4 ldb=64 batch=2 b.batch=0",
    "matmul f16 nt 24x68x144 b=q4 ldb=160 batch=3 b.batch=224",
    "matmul i8 nt 136x272x784 epi=bias+residual+clamp:-3000:9000",
    "matmul i8 nn 144x80x528",
    "matmul i8 tn 140x132x396 out=f16 alpha=0.002 beta=0.5",
    "matmul i8 tt 144x130x400",
    "matmul i8 tt 131x135x137 out=bf16 alpha=0.01 epi=scale+bias+silu",
    "matmul i8 nt 37x141x1293 epi=bias+relu+residual",
    "matmul i8 nn 66x70x258 out=f32 alpha=0.001",
    "matmul f16 nt 5x200x2100 batch=2",
    "matmul f16 tn 17x72x4096",
    "matmul f16 nt 72x40x136 batch=2 a.batch=9796 epi=bias",
    "matmul f16 nt 72x136x72 batch=2 a.batch=0",
    "matmul f16 nt 72x136x72 batch=2 b.batch=0 epi=bias.m",
    // A through registers, B copied to its place: stages are waited for at the beginning.
    "matmul f16 nt 40x72x1290 pro=scale",
};

// A few steps of K of one tile by every row: each operand converted, across K too, and by narrow accesses.
constexpr const char* kLoadedBySmallTiles[] = {
    "matmul f16 nt 30x40x8 pro=scale",
    "matmul f16 tn 36x41x12 a=f32 b=q8",
    "matmul f16 nt 30x40x13 pro=scale b=q8",
    "matmul bf16 nt 21x70x141 b=q4 lda=144 ldb=160",
    // Turned int8 at no multiple of 4 bytes whose tiles' words are no power of two.
    "matmul i8 tt 99x9x129",
    // 4-bit weights for as many steps as go round the stages, whose scales begin inside words.
    "matmul bf16 tt 18x70x3110 lda=24 ldb=3168 b=q4 epi=residual",
};

}  // namespace

TEST_CASE("every row of matmul_wgmma comes out right") {
  // Of a problem's candidates one in so many, others for each problem; of the small ones also rows that have not run.
  const std::size_t every = test::scope<std::size_t>(1, 5, 24), most = test::scope<std::size_t>(120, 60, 40);
  Tally tally;
  std::set<std::string> rows, all;
  std::size_t turn = 0, problems = 0, rows_run = 0;
  const auto check = [&](const MatmulProblem& problem, std::size_t of) {
    CAPTURE(print(Problem(problem)));
    const DeviceProfile profile = hopper(static_cast<std::uint32_t>(1 + problems % 3));
    std::unique_ptr<WgmmaCase> c;
    for (const std::string& candidate : admissible(problem, profile)) {
      if (!is_wgmma(candidate)) continue;
      all.insert(candidate);
      if (turn++ % of != 0 && (problems < std::size(kWgmmaProblems) || rows.contains(candidate))) continue;
      CAPTURE(candidate);
      if (!c) c = std::make_unique<WgmmaCase>(problem, problems);
      emulated::set_order(static_cast<unsigned>(rows_run++));
      CHECK(c->run(plan_by(problem, profile, candidate), &tally) == "");
      rows.insert(candidate);
    }
    ++problems;
  };
  for (const char* text : kWgmmaProblems) check(wgmma_problem(text), every);
  // The invocations' loads are divided otherwise for each tile.
  for (const char* text : kLoadedBySmallTiles) check(wgmma_problem(text), 1);
  for (std::uint64_t index = 0; problems < most; ++index) {
    const MatmulProblem problem = reference::generate_matmul(78, index);
    const std::int64_t work = problem.batch * problem.m * problem.n * problem.k;
    if (work == 0 || work > 200000 || problem.alpha == 0 || problem.type == DType::f32) continue;
    check(problem, 4 * every);
  }
  emulated::set_order(0);
  CHECK(tally.missing("matmul_wgmma") == "");
  CHECK(rows == all);
  MESSAGE(problems << " problems, " << rows.size() << " of " << all.size() << " rows, " << tally.runs()
                   << " kernels run");
}

// A line's scales of a step of 64, 128 and 256 of K are 4, 8 and 16 bytes: one access where all begin at multiples of
// that, words otherwise.
TEST_CASE("4-bit weights' scales are copied whole where they are aligned") {
  const MatmulProblem problem = wgmma_problem("matmul f16 nt 18x72x3584 b=q4 epi=bias");
  for (const std::uint32_t align : {4u, 8u, 16u})
    for (const char* row :
         {"matmul_wgmma 256x128 2x64 swapped", "matmul_wgmma 64x64 2x64 swapped slice-k=2",
          "matmul_wgmma 16x64 2x64 swapped cluster=1x1x2 slice-k=2", "matmul_wgmma 16x64 3x64 swapped slice-k=3"}) {
      CAPTURE(align);
      CAPTURE(std::string(row));
      WgmmaCase c(problem, align, [](const std::string&, std::span<std::byte>) {}, align);
      CHECK(c.run(plan_by(problem, hopper(2), row), nullptr) == "");
    }
}

// A workgroup whose sums lie where its stages were has one tile of one split.
TEST_CASE("slices of a split of K come out right") {
  WgmmaCase c(wgmma_problem("matmul f16 nt 16x64x8192 b=q4 epi=bias"), 1);
  for (const char* row : {"matmul_wgmma 64x64 2x64 swapped slice-k=2", "matmul_wgmma 16x64 3x64 swapped slice-k=3"}) {
    CAPTURE(std::string(row));
    const Plan plan = plan_by(c.problem(), hopper(2), row);
    CHECK(plan.steps.size() == 2);
    CHECK(c.run(plan, nullptr) == "");
  }
}

// A plan or an emulation that is wrong so that it would do harm on a GPU.
TEST_CASE("emulation sees what is wrong with matmul_wgmma") {
  const auto wrong = [](const char* text, const char* candidate, const auto& spoil, std::string_view what) {
    CAPTURE(std::string(text));
    CAPTURE(std::string(what));
    WgmmaCase c(wgmma_problem(text), 3);
    Plan plan = plan_by(c.problem(), hopper(2), candidate);
    REQUIRE(c.run(plan, nullptr) == "");
    spoil(plan.steps.at(0));
    CHECK_MESSAGE(c.run(plan, nullptr).contains(what), c.run(plan, nullptr));
  };
  const auto constant = [](Step& step, std::uint32_t id) -> std::uint32_t& {
    return std::ranges::find(step.constants, id, &Constant::id)->value;
  };
  constexpr const char *kMapped = "matmul f16 nt 72x136x320", *kLoaded = "matmul f16 nt 72x136x770";
  constexpr const char *kRow = "matmul_wgmma 64x128 1x64", *kPair = "matmul_wgmma 64x128 1x64 cluster=1x1x2";
  wrong(kMapped, kPair, [](Step& s) { s.workgroup_memory_bytes -= 16; }, "workgroup memory is overrun");
  wrong(kMapped, kRow, [&](Step& s) { ++constant(s, MATMUL_WGMMA_SPEC_STAGES); }, "workgroup memory is overrun");
  wrong(
      kLoaded, kRow, [&](Step& s) { constant(s, MATMUL_WGMMA_SPEC_AHEAD) = constant(s, MATMUL_WGMMA_SPEC_STAGES); },
      "wait for a phase that does not come");
  wrong(kMapped, kRow, [](Step& s) { s.tensor_maps[0].box[1] /= 2; }, "wait for a phase that does not come");
  wrong(kMapped, kRow, [](Step& s) { s.tensor_maps[0].dims[1] += 8; }, "reads outside the step's ranges");
  wrong(kMapped, kRow, [](Step& s) { s.tensor_maps[1].byte_offset += 8; }, "not aligned to 16 bytes");
  wrong(kMapped, kRow, [](Step& s) { s.tensor_maps[1].swizzle_bytes = 64; }, "this form is not emulated");
  wrong(kMapped, kRow, [](Step& s) { s.tensor_maps.pop_back(); }, "another number of tensor maps");
  wrong(kMapped, kPair, [](Step& s) { s.cluster = kNoCluster; }, "a cluster has no such workgroup");
}
