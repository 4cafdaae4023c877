// sectile matmul: multiplies two .npy files and applies an epilogue.
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/run_problem.hpp"
#include "cli/tuned.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {
namespace {

struct MatmulOptions {
  std::string a, b, c, bias, out, device, tuned;
  std::string type, acc, out_type, activation;
  std::optional<float> beta;
  float alpha = 1;
  bool transpose_a = false, transpose_b = false, json = false;
};

// The files of a problem's operands, by operand name.
struct Inputs {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  std::span<const std::byte> of(const std::string& name) const {
    for (const auto& [key, array] : arrays)
      if (key == name) return array.data;
    return {};
  }
};

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

// NumPy has no name for bf16. Plain 16-bit elements are read as bf16, since a matmul has no other use for them.
DType element_type(const NpyHeader& header) {
  const DType type = header.dtype();
  return type == DType::b16 ? DType::bf16 : type;
}

// A file as a batch of matrices.
struct Matrix {
  std::int64_t batch = 1, rows = 0, columns = 0;
  bool batched = false;
  bool turned = false;  // the file is in Fortran order: it has the transpose, row by row
};

Result<Matrix> matrix_of(const NpyHeader& header, const std::string& path) {
  const auto& shape = header.shape;
  if (shape.size() != 2 && shape.size() != 3)
    return fail(ErrorKind::invalid_problem, path + ": shape", shape_text(shape),
                "a matrix, or batches of one: 2 or 3 axes");
  if (header.fortran_order && shape.size() == 3)
    return fail(ErrorKind::unsupported, path + ": order", "Fortran order of 3 axes",
                "C order: numpy.ascontiguousarray");
  const std::size_t first = shape.size() - 2;
  return Matrix{first == 1 ? shape[0] : 1, shape[first], shape[first + 1], first == 1, header.fortran_order};
}

Result<DType> type_option(const std::string& text, DType otherwise) {
  return text.empty() ? Result<DType>(otherwise) : parse_dtype(text);
}

Result<void> set_activation(MatmulProblem& problem, const std::string& word) {
  if (word.empty() || word == "none") return {};
  constexpr std::array<std::pair<std::string_view, Activation>, 4> kWords = {{{"relu", Activation::relu},
                                                                              {"gelu", Activation::gelu},
                                                                              {"gelu_tanh", Activation::gelu_tanh},
                                                                              {"silu", Activation::silu}}};
  const auto found = std::ranges::find(kWords, word, &std::pair<std::string_view, Activation>::first);
  if (found == kWords.end())
    return fail(ErrorKind::invalid_problem, "activation", word, "none, relu, gelu, gelu_tanh or silu");
  problem.activation = found->second;
  return {};
}

Result<void> set_types(MatmulProblem& p, const MatmulOptions& options, const NpyHeader& a, const NpyHeader& b) {
  p.a_type = element_type(a);
  p.b_type = element_type(b);
  const auto type = type_option(options.type, p.a_type);
  if (!type) return std::unexpected(type.error());
  p.type = *type;
  const bool integer = p.type == DType::i8;
  const auto acc = type_option(options.acc, integer ? DType::i32 : DType::f32);
  if (!acc) return std::unexpected(acc.error());
  p.acc = *acc;
  const auto out = type_option(options.out_type, integer ? DType::i32 : p.type);
  if (!out) return std::unexpected(out.error());
  p.out = *out;
  return {};
}

Result<void> set_shape(MatmulProblem& p, const MatmulOptions& options, const Matrix& a, const Matrix& b) {
  p.transpose_a = options.transpose_a != a.turned;
  p.transpose_b = options.transpose_b != b.turned;
  p.m = options.transpose_a ? a.columns : a.rows;
  p.k = options.transpose_a ? a.rows : a.columns;
  p.n = options.transpose_b ? b.rows : b.columns;
  const std::int64_t k = options.transpose_b ? b.columns : b.rows;
  if (k != p.k)
    return fail(ErrorKind::invalid_problem, "K", fmt::format("{} in A, {} in B", p.k, k),
                "as many columns in A as rows in B");
  if (a.batch != b.batch && a.batch != 1 && b.batch != 1)
    return fail(ErrorKind::invalid_problem, "batch", fmt::format("{} in A, {} in B", a.batch, b.batch),
                "the same, or 1");
  p.batch = a.batch == 1 ? b.batch : a.batch;
  if (p.batch != 1 && a.batch == 1) p.a_batch = 0;
  if (p.batch != 1 && b.batch == 1) p.b_batch = 0;
  return {};
}

// A file whose elements must have the result's type.
Result<NpyArray> read_like_result(const std::string& path, const MatmulProblem& p) {
  auto array = read_npy(path);
  if (!array) return array;
  if (element_type(array->header) != p.out)
    return fail(ErrorKind::invalid_problem, path + ": type", array->header.descr, "the result's: " + npy_descr(p.out));
  return array;
}

Result<void> add_bias(MatmulProblem& p, const std::string& path, Inputs& inputs) {
  if (path.empty()) return {};
  auto array = read_like_result(path, p);
  if (!array) return std::unexpected(array.error());
  const auto& shape = array->header.shape;
  if (shape == std::vector{p.n} || shape == std::vector<std::int64_t>{1, p.n}) {
    p.bias = PerAxis::column;
  } else if (shape == std::vector<std::int64_t>{p.m, 1}) {
    p.bias = PerAxis::row;
  } else {
    return fail(ErrorKind::invalid_problem, path + ": shape", shape_text(shape),
                fmt::format("({},) for a value a column, ({}, 1) for one a row", p.n, p.m));
  }
  inputs.arrays.emplace_back("bias", std::move(*array));
  return {};
}

Result<void> add_c(MatmulProblem& p, const MatmulOptions& options, Inputs& inputs) {
  if (options.c.empty()) {
    if (options.beta.value_or(0) != 0)
      return fail(ErrorKind::missing, "C", fmt::format("beta {}", *options.beta), "--c C.npy");
    return {};
  }
  p.beta = options.beta.value_or(1);
  auto array = read_like_result(options.c, p);
  if (!array) return std::unexpected(array.error());
  const auto matrix = matrix_of(array->header, options.c);
  if (!matrix) return std::unexpected(matrix.error());
  if (matrix->rows != p.m || matrix->columns != p.n || (matrix->batch != p.batch && matrix->batch != 1))
    return fail(ErrorKind::invalid_problem, options.c + ": shape", shape_text(array->header.shape),
                fmt::format("({}, {}), the result's", p.m, p.n));
  if (matrix->turned && p.m > 1 && p.n > 1)
    return fail(ErrorKind::unsupported, options.c + ": order", "Fortran order", "C order: numpy.ascontiguousarray");
  if (p.batch != 1 && matrix->batch == 1) p.c_batch = 0;
  if (p.beta != 0) inputs.arrays.emplace_back("c", std::move(*array));
  return {};
}

Result<MatmulProblem> problem_of(const MatmulOptions& options, Inputs& inputs, std::vector<std::int64_t>& shape) {
  MatmulProblem p;
  std::array<Matrix, 2> matrices;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& path = i == 0 ? options.a : options.b;
    auto array = read_npy(path);
    if (!array) return std::unexpected(array.error());
    const auto matrix = matrix_of(array->header, path);
    if (!matrix) return std::unexpected(matrix.error());
    matrices[i] = *matrix;
    inputs.arrays.emplace_back(i == 0 ? "a" : "b", std::move(*array));
  }
  if (auto set = set_types(p, options, inputs.arrays[0].second.header, inputs.arrays[1].second.header); !set)
    return std::unexpected(set.error());
  if (auto set = set_shape(p, options, matrices[0], matrices[1]); !set) return std::unexpected(set.error());
  p.alpha = options.alpha;
  if (auto set = set_activation(p, options.activation); !set) return std::unexpected(set.error());
  if (auto added = add_c(p, options, inputs); !added) return std::unexpected(added.error());
  if (auto added = add_bias(p, options.bias, inputs); !added) return std::unexpected(added.error());
  if (auto valid = validate(p); !valid) return std::unexpected(valid.error());
  shape = {p.m, p.n};
  if (matrices[0].batched || matrices[1].batched) shape.insert(shape.begin(), p.batch);
  return p;
}

int run(const MatmulOptions& options) {
  if (auto place = check_place(options.out); !place) return report(place.error(), options.json);
  Inputs inputs;
  std::vector<std::int64_t> shape;
  const auto problem = problem_of(options, inputs, shape);
  if (!problem) return report(problem.error(), options.json);
  const auto operands = operands_of(*problem);
  if (!operands) return report(operands.error(), options.json);
  std::vector<std::span<const std::byte>> bytes;
  for (const OperandSpec& operand : *operands) bytes.push_back(inputs.of(operand.name));
  return run_to_file({options.out, options.device, options.tuned, options.json}, *problem, bytes,
                     npy_descr(problem->out), shape);
}

}  // namespace

Command add_matmul(CLI::App& parent) {
  auto options = std::make_shared<MatmulOptions>();
  CLI::App* app =
      parent.add_subcommand("matmul", "Multiply two .npy files: D = activation(alpha * A B + beta * C + bias)");
  app->add_option("a", options->a, "A: a matrix, or a batch of matrices, of f32, f16, int8 or bf16 (as V2)")
      ->required();
  app->add_option("b", options->b, "B: as A")->required();
  app->add_flag("--transpose-a", options->transpose_a, "The file has A transposed: K x M");
  app->add_flag("--transpose-b", options->transpose_b, "The file has B transposed: N x K");
  app->add_option("--bias", options->bias, "Added to every row (N values), or to every column (shape M, 1)");
  app->add_option("--c", options->c, "C, of the result's shape; beta is then 1 by default");
  app->add_option("--alpha", options->alpha, "Factor of the product")->capture_default_str()->check(finite_number());
  app->add_option("--beta", options->beta, "Factor of C")->check(finite_number());
  app->add_option("--activation", options->activation, "none, relu, gelu, gelu_tanh or silu");
  app->add_option("--type", options->type, "Type that A and B are rounded to: f32, f16, bf16 or i8 (default: A's)");
  app->add_option("--acc", options->acc, "Type of the sums: f32, f16 (for f16) or i32 (for i8)");
  app->add_option("--out-type", options->out_type,
                  "Type of the result, the bias and C: f32, f16, bf16, or i32 (for i8)");
  app->add_option("-o,--out,--output", options->out, "The .npy file to write")->required();
  app->add_option("--device", options->device, kDeviceHelp);
  app->add_option("--tuned", options->tuned, kTunedHelp);
  app->add_flag("--json", options->json, "Print what was done as JSON");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
