// sectile matmul: multiplies two .npy files and applies an epilogue.
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/product.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace sectile::tools {
namespace {

struct MatmulOptions {
  ProductOptions product;
  std::string a, b;
  bool transpose_a = false, transpose_b = false;
};

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

Result<void> add_bias(MatmulProblem& p, const std::string& path, Inputs& inputs) {
  if (path.empty()) return {};
  const auto number = inputs.add_number("bias", path, p.out, p.n);
  if (!number) return std::unexpected(number.error());
  if (*number) {
    p.bias = PerAxis::column;
    return {};
  }
  const auto header = inputs.add_as("bias", path, p.out, "the result's: ");
  if (!header) return std::unexpected(header.error());
  const auto& shape = (*header)->shape;
  if (shape == std::vector{p.n} || shape == std::vector<std::int64_t>{1, p.n}) {
    p.bias = PerAxis::column;
  } else if (shape == std::vector<std::int64_t>{p.m, 1}) {
    p.bias = PerAxis::row;
  } else {
    return fail(ErrorKind::invalid_problem, path + ": shape", shape_text(shape),
                fmt::format("({},) for a value a column, ({}, 1) for one a row", p.n, p.m));
  }
  return {};
}

Result<void> add_c(MatmulProblem& p, const ProductOptions& options, Inputs& inputs) {
  if (options.c.empty()) return {};
  const auto header = inputs.add_as("c", options.c, p.out, "the result's: ");
  if (!header) return std::unexpected(header.error());
  const auto matrix = matrix_of(**header, options.c);
  if (!matrix) return std::unexpected(matrix.error());
  if (matrix->rows != p.m || matrix->columns != p.n || (matrix->batch != p.batch && matrix->batch != 1))
    return fail(ErrorKind::invalid_problem, options.c + ": shape", shape_text((*header)->shape),
                fmt::format("({}, {}), the result's", p.m, p.n));
  if (matrix->turned && p.m > 1 && p.n > 1)
    return fail(ErrorKind::unsupported, options.c + ": order", "Fortran order", "C order: numpy.ascontiguousarray");
  if (p.batch != 1 && matrix->batch == 1) p.c_batch = 0;
  return {};
}

Result<MatmulProblem> problem_of(const MatmulOptions& options, Inputs& inputs, std::vector<std::int64_t>& shape) {
  MatmulProblem p;
  std::array<Matrix, 2> matrices;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string& path = i == 0 ? options.a : options.b;
    const auto header = inputs.add(i == 0 ? "a" : "b", path);
    if (!header) return std::unexpected(header.error());
    const auto matrix = matrix_of(**header, path);
    if (!matrix) return std::unexpected(matrix.error());
    matrices[i] = *matrix;
  }
  if (auto set = set_types(p, options.product, inputs, p.a_type, p.b_type, options.a, options.b); !set)
    return std::unexpected(set.error());
  if (auto set = set_shape(p, options, matrices[0], matrices[1]); !set) return std::unexpected(set.error());
  if (auto added = add_c(p, options.product, inputs); !added) return std::unexpected(added.error());
  if (auto added = add_bias(p, options.product.bias, inputs); !added) return std::unexpected(added.error());
  if (auto valid = validate(p); !valid) return std::unexpected(valid.error());
  shape = {p.m, p.n};
  if (matrices[0].batched || matrices[1].batched) shape.insert(shape.begin(), p.batch);
  return p;
}

int run(const MatmulOptions& options) {
  const ProductOptions& product = options.product;
  if (auto place = check_place(product.out); !place) return report(place.error(), product.json);
  Inputs inputs;
  std::vector<std::int64_t> shape;
  const auto problem = problem_of(options, inputs, shape);
  if (!problem) return report(problem.error(), product.json);
  return run_product(product, *problem, inputs, problem->out, shape);
}

}  // namespace

Command add_matmul(CLI::App& parent) {
  auto options = std::make_shared<MatmulOptions>();
  CLI::App* app =
      parent.add_subcommand("matmul", "Multiply two .npy files: D = activation(alpha * A B + beta * C + bias)");
  app->add_option("a", options->a,
                  "A: a matrix, or a batch of matrices: f32, f16, bf16 (as V2), f64 (rounded), or integers that fit")
      ->required();
  app->add_option("b", options->b, "B: as A")->required();
  app->add_flag("--transpose-a", options->transpose_a, "The file has A transposed: K x M");
  app->add_flag("--transpose-b", options->transpose_b, "The file has B transposed: N x K");
  app->add_option("--bias", options->product.bias,
                  "Added to every row (N values), to every column (shape M, 1), or a number: to all");
  add_product_options(*app, options->product, "A and B");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
