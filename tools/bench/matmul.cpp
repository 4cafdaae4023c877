// A matmul's part of the benchmark: rows that are compared with each other and with rivals.
#include "matmul.hpp"

#include "cli/words.hpp"
#include "product.hpp"

#include "gemm/gemm.abi.h"
#include "reference/matmul.hpp"

#include <sectile/planner.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace sectile::tools {
namespace {

// A candidate with a twin " checked", for problems whose planned tile has none.
constexpr const char* kTwinTile = "matmul_simt 128x128x8 8x8";

BenchRow named(const MatmulProblem& problem) { return {.name = print(Problem(problem)), .problem = problem}; }

// The tile of a plan's first step, as its constants say.
std::uint32_t constant_of(const Plan& plan, std::uint32_t id) {
  for (const Constant& constant : plan.steps.at(0).constants)
    if (constant.id == id) return constant.value;
  return 1;
}

// The same pipeline where nothing is ragged.
MatmulProblem rounded_up(const MatmulProblem& problem, const Plan& plan) {
  MatmulProblem p = problem;
  p.m = round_up(p.m, constant_of(plan, GEMM_SPEC_TILE_M));
  p.n = round_up(p.n, constant_of(plan, GEMM_SPEC_TILE_N));
  p.k = round_up(p.k, constant_of(plan, GEMM_SPEC_TILE_K));
  return p;
}

// The planned tile and its twin that checks bounds where it computes, each also where nothing is ragged. The tile is
// the planned one, or one that has a twin.
std::vector<Contender> twins_of(const MatmulProblem& p, const Plan& chosen, const DeviceProfile& profile) {
  const auto mine = std::ranges::find(chosen.candidates, true, &Candidate::chosen);
  if (mine == chosen.candidates.end()) return {};
  std::vector<Contender> twins = {{"planned, rounded up", rounded_up(p, chosen), mine->name}};
  std::string base = kTwinTile;
  for (const Candidate& candidate : chosen.candidates)
    if (candidate.name == mine->name + " checked" && candidate.refusal.empty()) base = mine->name;
  if (base != mine->name) {
    twins.push_back({"local padding", p, base});
    if (const auto plan = make_plan(p, profile, {.force = base}))
      twins.push_back({"local padding, rounded up", rounded_up(p, *plan), base});
  }
  twins.push_back({"checks in the compute stage", p, base + " checked"});
  return twins;
}

MatmulProblem of(DType type, std::int64_t m, std::int64_t n, std::int64_t k, bool nt) {
  MatmulProblem p;
  const bool integer = type == DType::i8;
  p.type = p.a_type = p.b_type = type;
  p.acc = p.out = integer ? DType::i32 : type;
  if (!integer) p.acc = DType::f32;
  p.m = m;
  p.n = n;
  p.k = k;
  p.transpose_b = nt;
  return p;
}

BenchRow goal(const MatmulProblem& problem, double vulkan, double cuda) {
  BenchRow row = named(problem);
  row.goal_vulkan = vulkan;
  row.goal_cuda = cuda;
  return row;
}

// targets.md's table, a size a row.
std::vector<BenchRow> matmul_rows() {
  using enum DType;
  std::vector<BenchRow> rows;
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) rows.push_back(goal(of(f32, n, n, n, false), 1.0, 1.0));
  for (const DType type : {f16, bf16})
    for (const std::int64_t n : {1024, 2048, 4096, 8192}) rows.push_back(goal(of(type, n, n, n, false), 0.42, 0.97));
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) {
    MatmulProblem p = of(f16, n, n, n, false);
    p.acc = f16;
    rows.push_back(goal(p, 0.50, 0));
  }
  for (const std::int64_t n : {1024, 2048, 4096, 8192}) rows.push_back(goal(of(i8, n, n, n, true), 0.50, 0.95));
  rows.push_back(goal(of(f32, 960, 2304, 770, true), 1.1, 1.2));
  rows.push_back(goal(of(f16, 960, 2304, 770, true), 1.3, 2.0));
  for (const std::int64_t t : {120, 128}) {
    MatmulProblem p = of(f32, t, t, 64, true);
    p.batch = 192;
    rows.push_back(goal(p, 1.5, 1.8));
  }
  for (const std::int64_t m : {1, 16}) rows.push_back(goal(of(f16, m, 4096, 4096, true), 1.5, 1.7));
  return rows;
}

// What the matrix unit is held against on CUDA: large squares in both orders of B, int8, one ragged layer, and layers
// whose bias goes before an activation or a residual. The goals are the least of PyTorch's rate that CUDA is to reach.
std::vector<BenchRow> units_rows() {
  using enum DType;
  std::vector<BenchRow> rows;
  for (const DType type : {f16, bf16})
    for (const std::int64_t n : {1024, 2048, 4096, 8192})
      for (const bool nt : {false, true}) rows.push_back(goal(of(type, n, n, n, nt), 0, n == 1024 ? 0.80 : 0.90));
  rows.push_back(goal(of(i8, 4096, 4096, 4096, true), 0, 0.80));
  rows.push_back(goal(of(f16, 960, 2304, 770, true), 0, 1.4));
  for (const auto& [m, n, k] : {std::array{4096, 4096, 4096}, {1000, 4096, 4096}, {256, 768, 2304}}) {
    MatmulProblem p = of(f16, m, n, k, true);
    p.bias = PerAxis::column;
    p.activation = Activation::gelu;
    rows.push_back(goal(p, 0, 0.9));
    p.activation = Activation::none;
    p.residual = true;
    rows.push_back(goal(p, 0, 0.9));
  }
  return rows;
}

// tvm_gpu_gemm's ladder: C[m][n] = sum A[k][m] * B[k][n], each rung with one thing more than the one below.
BenchRow ladder(std::int64_t n) {
  MatmulProblem p = of(DType::f32, n, n, n, false);
  p.transpose_a = true;
  BenchRow row = named(p);
  const std::string tile = "matmul_simt 128x128x16 8x8 ";
  row.contenders = {{"naive", p, "matmul_direct 1x1"},
                    {"workgroup tile", p, "matmul_direct 1x1 tile 16x16"},
                    {"K-step staging", p, tile + "staged"},
                    {"cooperative fetch", p, tile + "cooperative"},
                    {"conflict-free stores", p, tile + "conflict-free"},
                    {"strided invocation tile", p, tile + "strided"},
                    {"16-byte global loads", p, tile + "wide loads"},
                    {"16-byte workgroup loads", p, tile + "wide fragments"},
                    {"double buffer", p, tile + "double buffer"},
                    {"workgroup order", p, tile + "banded"}};
  return row;
}

// DietCode's dense layer (16 x 60 tokens) and its batched product, T = 120 beside 128.
std::vector<BenchRow> dietcode_rows() {
  using enum DType;
  std::vector<BenchRow> rows = {named(of(f32, 960, 2304, 770, true)), named(of(f16, 960, 2304, 770, true))};
  for (const DType type : {f32, f16})
    for (const std::int64_t t : {120, 128}) {
      MatmulProblem p = of(type, t, t, 64, true);
      p.batch = 192;
      rows.push_back(named(p));
    }
  for (BenchRow& row : rows)
    row.more = [problem = std::get<MatmulProblem>(row.problem)](const Plan& chosen, const DeviceProfile& profile) {
      return twins_of(problem, chosen, profile);
    };
  return rows;
}

class BenchMatmul final : public BenchProduct<MatmulProblem, reference::MatmulDefinition> {
 public:
  std::int64_t terms(const MatmulProblem& problem) const override { return terms_of(problem); }
  double operations(const MatmulProblem& problem) const override { return operations_of(problem); }
  std::vector<std::string_view> presets() const override {
    return {"matmul", "matmul-units", "gemm-ladder", "dietcode"};
  }

  // `large`: the ladder at n = 16384.
  std::optional<std::vector<BenchRow>> preset(std::string_view name, bool large) const override {
    if (name == "matmul") return matmul_rows();
    if (name == "matmul-units") return units_rows();
    if (name == "dietcode") return dietcode_rows();
    if (name == "gemm-ladder") return std::vector{ladder(large ? 16384 : 1024)};
    return std::nullopt;
  }

  // Every part of the problem by name, strides where they are not packed.
  nlohmann::json describe(const Problem& problem) const override {
    const auto& p = std::get<MatmulProblem>(problem);
    nlohmann::json object = {{"operation", "matmul"},
                             {"type", name(p.type)},
                             {"a_type", name(p.a_type)},
                             {"b_type", name(p.b_type)},
                             {"b_format", word_of(p.b_format)},
                             {"acc", name(p.acc)},
                             {"out", name(p.out)},
                             {"m", p.m},
                             {"n", p.n},
                             {"k", p.k},
                             {"batch", p.batch},
                             {"transpose_a", p.transpose_a},
                             {"transpose_b", p.transpose_b},
                             {"alpha", p.alpha},
                             {"beta", p.beta},
                             {"c_is_d", p.c_is_d},
                             {"bias", word_of(p.bias)},
                             {"scale", word_of(p.scale)},
                             {"activation", word_of(detail::activation_words(p))},
                             {"residual", p.residual},
                             {"a_scale", p.a_scale}};
    const auto given = [&](const char* key, std::int64_t value, std::int64_t left_out) {
      if (value != left_out) object[key] = value;
    };
    given("lda", p.lda, 0);
    given("ldb", p.ldb, 0);
    given("ldc", p.ldc, 0);
    given("ldd", p.ldd, 0);
    given("ldr", p.ldr, 0);
    given("a_batch", p.a_batch, MatmulProblem::kPacked);
    given("b_batch", p.b_batch, MatmulProblem::kPacked);
    given("c_batch", p.c_batch, MatmulProblem::kPacked);
    given("d_batch", p.d_batch, MatmulProblem::kPacked);
    given("r_batch", p.r_batch, MatmulProblem::kPacked);
    return object;
  }

  std::span<const SweepClass> sweep_classes() const override { return matmul_classes(); }
  std::span<const std::string_view> sweep_types() const override { return matmul_types(); }
  std::uint64_t sweep_stream() const override { return 2; }
  std::optional<Drawn> draw(const SweepOptions& options, char letter, std::string_view type,
                            reference::Random& random) const override {
    return draw_matmul(letter, type, most_operations(options), kMostDrawnBytes, random);
  }
};

}  // namespace

const BenchOperation& bench_operation(std::type_identity<MatmulProblem>) {
  static const BenchMatmul operation;
  return operation;
}

}  // namespace sectile::tools
