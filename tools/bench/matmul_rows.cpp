// The matrix multiplications that are timed.
#include "matmul.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sectile::tools {
namespace {

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

MatmulRow goal(MatmulProblem problem, double vulkan, double cuda) {
  MatmulRow row = matmul_row(problem);
  row.goal_vulkan = vulkan;
  row.goal_cuda = cuda;
  return row;
}

// targets.md's table, a size a row.
std::vector<MatmulRow> matmul_rows() {
  using enum DType;
  std::vector<MatmulRow> rows;
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

// tvm_gpu_gemm's ladder: C[m][n] = sum A[k][m] * B[k][n], each rung with one thing more than the one below.
MatmulRow ladder(std::int64_t n) {
  MatmulProblem p = of(DType::f32, n, n, n, false);
  p.transpose_a = true;
  MatmulRow row = matmul_row(p);
  const std::string tile = "matmul_simt 128x128x16 8x8 ";
  row.contenders = {{"planned", p, ""},
                    {"naive", p, "matmul_direct 1x1"},
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
std::vector<MatmulRow> dietcode_rows() {
  using enum DType;
  std::vector<MatmulRow> rows = {matmul_row(of(f32, 960, 2304, 770, true)), matmul_row(of(f16, 960, 2304, 770, true))};
  for (const DType type : {f32, f16})
    for (const std::int64_t t : {120, 128}) {
      MatmulProblem p = of(type, t, t, 64, true);
      p.batch = 192;
      rows.push_back(matmul_row(p));
    }
  for (MatmulRow& row : rows) row.twins = true;
  return rows;
}

// By the enumerations' order.
constexpr std::string_view kFormats[] = {"plain", "q8", "q4"}, kVectors[] = {"none", "row", "column"},
                           kActivations[] = {"none", "relu", "gelu", "gelu_tanh", "silu"};

}  // namespace

MatmulRow matmul_row(const MatmulProblem& problem) {
  MatmulRow row;
  row.name = print(Problem(problem));
  row.contenders = {{"planned", problem, ""}};
  return row;
}

std::optional<std::vector<MatmulRow>> matmul_preset(const std::string& name, bool large) {
  if (name == "matmul") return matmul_rows();
  if (name == "dietcode") return dietcode_rows();
  if (name == "gemm-ladder") return std::vector{ladder(large ? 16384 : 1024)};
  return std::nullopt;
}

// Every part of the problem by name, strides where they are not packed.
nlohmann::json matmul_rows_json(const std::vector<MatmulRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const MatmulRow& row : rows) {
    const MatmulProblem& p = row.contenders.front().problem;
    nlohmann::json object = {{"name", row.name},
                             {"problem", row.name},
                             {"operation", "matmul"},
                             {"type", name(p.type)},
                             {"a_type", name(p.a_type)},
                             {"b_type", name(p.b_type)},
                             {"b_format", kFormats[std::to_underlying(p.b_format)]},
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
                             {"bias", kVectors[std::to_underlying(p.bias)]},
                             {"scale", kVectors[std::to_underlying(p.scale)]},
                             {"activation", kActivations[std::to_underlying(p.activation)]},
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
    list.push_back(std::move(object));
  }
  return {{"rows", list}};
}

}  // namespace sectile::tools
