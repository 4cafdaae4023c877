// What the planner claims of one step of K of a matmul's workgroup (Candidate::interior) against what the emulated
// kernel does in its first tile and step: where the walk starts. See accesses_test.cpp.
#include "product_accesses.hpp"

#include "support/scope.hpp"

#include "gemm/matmul_direct.abi.h"
#include "gemm/matmul_simt.abi.h"

#include <set>
#include <tuple>

using namespace sectile;
using namespace sectile::emulated;

namespace {

constexpr std::string_view kCompared[] = {"matmul_direct", "matmul_simt", "matvec"};
// Their products are the matrix unit's, and their kernels GLSL alone.
constexpr std::string_view kWithoutKernel[] = {"matmul_coopmat", "matmul_coopmat2"};
// mma_accesses_test.cpp has the first. The second's operands mostly come by copies of boxes, which are no accesses.
constexpr std::string_view kElsewhere[] = {"matmul_mma", "matmul_wgmma"};

// What a claim promises, fields as in kFields. `first`: of the first subgroup's accesses, as if all subgroups did the
// same, which is what the walk counts; else of all.
Claims promise(std::string_view stem, std::string_view text, bool first) {
  const bool aligned = text.find("256x256") != std::string_view::npos,
             bytes = text.find(" i8 ") != std::string_view::npos;
  if (stem == "matmul_simt") {
    // An item of int8 has up to four rows, the first of which stands for all: where rows do not begin with a
    // transaction, others touch more.
    if (first) return {aligned || !bytes ? Claim{} : within(312), {}, {}, {}, {}, {}, {}};
    // Invocations without an item load the last one again, all from one transaction; others' rows begin elsewhere in
    // one.
    return {within(940), {}, {}, {}, {}, {}, within(1000)};
  }
  // The thin operand's loads are those of as many invocations as it has runs; the others load its last run again.
  if (stem == "matvec") return {first ? within(167) : within(171), {}, within(167), {}, within(100), {}, {}};
  return {};
}

// A lane that reads words again before the next barrier has them in registers.
void drop_repeats(std::vector<Access>& accesses) {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::uint32_t>> seen;
  std::erase_if(accesses, [&](const Access& a) {
    return a.kind == Access::Kind::workgroup && !seen.insert({a.invocation, a.barriers, a.address, a.bytes}).second;
  });
}

// What the first workgroup does in a step of K: loads of A and B alone where not `scales`; without matvec's staging of
// the thin operand where not `staging`.
std::vector<Access> step_of_k(const Plan& plan, bool scales = false, bool staging = false) {
  const Step& step = plan.steps.at(0);
  const Operands operands(plan);
  Window window = window_of(step);
  if (staging) ++window.last;
  std::vector<Access> accesses;
  const std::string failure = trace(step, operands.operands(), 0, accesses, window.last);
  CHECK_MESSAGE(failure.empty(), failure);
  // matmul_direct has no barriers: its first loads are one step's.
  const bool direct = step.kernel.stem == "matmul_direct";
  const std::uint32_t most =
      direct ? constant_of(step, MATMUL_DIRECT_SPEC_ROWS) + constant_of(step, MATMUL_DIRECT_SPEC_COLUMNS) : ~0u;
  std::map<std::uint32_t, std::uint32_t> loads;  // by invocation
  std::erase_if(accesses, [&](const Access& access) {
    if (access.kind == Access::Kind::workgroup) return access.barriers < window.first;
    if (access.kind == Access::Kind::store || access.barriers > 0) return true;
    return !(scales || operands.multiplied(access)) || loads[access.invocation]++ >= most;
  });
  if (step.kernel.stem == "matvec" && !staging) drop_repeats(accesses);
  return accesses;
}

// Claims that are wrong, with what all subgroups do: a row fails when either changes.
struct MatmulDeviation {
  const char* why;
  const char* problem;
  const char* candidate;
  bool scales, staging;        // counted in: loads that are not of A and B; matvec's staging
  AccessCount claimed, found;  // in the order of AccessCount
};
constexpr MatmulDeviation kMatmulDeviations[] = {
    {"invocations without an item load the last one again",
     "matmul f16 nt 256x256x416",
     "matmul_simt 128x128x8 8x8",
     false,
     false,
     {512, 0, 256, 0, 16, 0, 0},
     {264, 0, 256, 0, 16, 0, 0}},
    {"rows beyond the result are its last one again",
     "matmul f32 nn 1x512x416",
     "matmul_simt 128x128x8 8x8",
     false,
     false,
     {256, 0, 256, 0, 16, 0, 0},
     {136, 0, 256, 0, 16, 0, 0}},
    {"scales are left out",
     "matmul f16 nn 256x256x416 b=q8",
     "matmul_simt 64x64x16 4x8",
     true,
     false,
     {96, 0, 96, 0, 8, 0, 64},
     {352, 0, 224, 0, 40, 0, 64}},
    {"staging of the thin operand is left out",
     "matmul f16 nt 13x4096x8192",
     "matvec 16 by 32 4x1",
     false,
     true,
     {512, 0, 512, 0, 32, 0, 512},
     {512, 0, 512, 0, 32, 0, 2944}},
};

std::vector<DeviceProfile> profiles() {
  const DeviceProfile cuda = emulated::target("cuda:sm_90a");
  DeviceProfile cpu = cuda;  // rows for CPU devices
  cpu.kind = DeviceKind::cpu;
  cpu.required_subgroup_size = false;
  cpu.min_subgroup_size.reset();
  cpu.max_subgroup_size.reset();
  cpu.integer_dot_product = false;
  return {cuda, cpu};
}

}  // namespace

TEST_CASE("claims of matmuls are what kernels do") {
  std::map<std::string, std::size_t> compared;
  std::size_t turn = 0;
  const auto compare = [&](const std::string& text, const DeviceProfile& profile, std::size_t every,
                           std::string_view only = "") {
    CAPTURE(text);
    const auto problem = parse_problem(text);
    REQUIRE_MESSAGE(problem.has_value(), problem.error().message());
    const auto plan = make_plan(*problem, profile, {.explain = true});
    REQUIRE(plan.has_value());
    for (const Candidate& candidate : plan->candidates) {
      const std::string stem = stem_of(candidate);
      if (!candidate.refusal.empty() || std::ranges::find(kCompared, stem) == std::end(kCompared) ||
          packs(candidate.name) || !stem.starts_with(only) || turn++ % every != 0)
        continue;
      CAPTURE(candidate.name);
      const Plan forced = plan_by(*problem, profile, candidate.name);
      const auto accesses = step_of_k(forced);
      ++compared[stem];
      const Step& step = forced.steps[0];
      const std::uint32_t fetchers =
          stem == "matmul_simt" ? constant_of(step, MATMUL_SIMT_SPEC_FETCHERS) : step.workgroup[0];
      const auto first = count_of_first(accesses, profile, step.workgroup[0], fetchers),
                 all = count_of(accesses, profile);
      auto wrong = disagreement(promise(stem, text, true), candidate.interior, first);
      CHECK_MESSAGE(wrong.empty(), "first subgroup: " << wrong);
      wrong = disagreement(promise(stem, text, false), candidate.interior, all);
      CHECK_MESSAGE(wrong.empty(), "all: " << wrong);
    }
  };
  const std::size_t every = test::scope<std::size_t>(1, 5, 41);
  for (const DeviceProfile& profile : profiles()) {
    for (const char* type : {"f32", "f16", "bf16", "i8"})
      for (const char* layout : {"nn", "nt", "tn", "tt"})
        for (const char* size : {"256x256x416", "270x290x417", "258x260x420"})
          compare(fmt::format("matmul {} {} {}", type, layout, size), profile, every);
    for (const char* text : {"matmul f16 nn 256x256x416 b=q8", "matmul f16 nt 256x256x416 b=q4",
                             "matmul f32 nn 256x256x416 a=f16 pro=scale"})
      compare(text, profile, every);
    for (const char* text : {"matmul f32 nt 1x4096x8192", "matmul f16 nt 1x4096x8192", "matmul f32 nn 1x4096x8192",
                             "matmul f16 nn 3x4096x8192", "matmul f32 tn 4096x4x8192", "matmul f16 nt 13x4096x8192",
                             "matmul i8 nt 1x4096x8192", "matmul i8 nn 9x4096x8192", "matmul f16 nt 1x4096x8192 b=q4",
                             "matmul f32 nt 1x4097x8191", "matmul bf16 nn 2x4098x8194"})
      compare(text, profile, 1, "matvec");
  }
  for (const std::string_view stem : kCompared) CHECK(compared[std::string(stem)] >= 8);
}

TEST_CASE("claims of matmuls that are wrong stay as they are") {
  const DeviceProfile profile = profiles().front();
  for (const MatmulDeviation& row : kMatmulDeviations) {
    CAPTURE(std::string(row.why));
    CHECK(row.claimed != row.found);
    const Problem problem = *parse_problem(row.problem);
    const std::string claims = disagreement({}, claim_of(problem, profile, row.candidate).interior, row.claimed);
    CHECK_MESSAGE(claims.empty(), "the claim is another: " << claims);
    const auto found = count_of(step_of_k(plan_by(problem, profile, row.candidate), row.scales, row.staging), profile);
    const std::string finds = disagreement({}, row.found, found);
    CHECK_MESSAGE(finds.empty(), "the kernel does otherwise: " << finds);
  }
}

// Every strategy of matmuls is compared here or listed as one that cannot be.
TEST_CASE("every matmul strategy is emulated or listed") {
  std::set<std::string> stems;
  const auto plan = make_plan(*parse_problem("matmul f16 nt 256x256x416"), profiles().front(), {.explain = true});
  REQUIRE(plan.has_value());
  for (const Candidate& candidate : plan->candidates) stems.insert(stem_of(candidate));
  for (const std::string& stem : stems) {
    CAPTURE(stem);
    if (std::ranges::find(kElsewhere, stem) != std::end(kElsewhere)) continue;
    const bool emulated = std::ranges::any_of(kernels(), [&](const KernelRow& row) { return row.stem == stem; });
    CHECK(emulated == (std::ranges::find(kCompared, stem) != std::end(kCompared)));
    CHECK(emulated != (std::ranges::find(kWithoutKernel, stem) != std::end(kWithoutKernel)));
  }
  CHECK(stems.size() == std::size(kCompared) + std::size(kWithoutKernel) + std::size(kElsewhere));
}
