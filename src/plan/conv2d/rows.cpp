// conv2d_simt and conv2d_coopmat: the rows of matmul_simt and matmul_coopmat, with the image as a gathered operand.
// conv2d_winograd: those of matmul_simt, with the operands that its transforms write.
#include "context.hpp"
#include "plan/gemm/split.hpp"
#include "plan/gemm/steps.hpp"
#include "steps.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace sectile::detail {

namespace {

// A row of a matmul's table, for one of the problem's products.
struct At {
  const Conv2dGemm& product;
  std::uint32_t row;
};

// A product that was refused has one row, which says why.
std::uint32_t rows_of(const Conv2dGemm& product, const GemmStrategy& rows) {
  return product.context ? rows.rows_for(*product.context) : 1;
}

// A strategy's rows and products.
struct Simt {
  static constexpr const char* kStem = "conv2d_simt";
  static constexpr const GemmStrategy& kRows = kGemmSimt;
  static std::span<const Conv2dGemm* const> products(const Conv2dContext& c) { return c.of_simt; }
};
struct Coopmat {
  static constexpr const char* kStem = "conv2d_coopmat";
  static constexpr const GemmStrategy& kRows = kGemmCoopmat;
  static std::span<const Conv2dGemm* const> products(const Conv2dContext& c) { return c.of_coopmat; }
};
struct Winograd {
  static constexpr const char* kStem = "conv2d_winograd";
  static constexpr const GemmStrategy& kRows = kGemmSimt;
  static std::span<const Conv2dGemm* const> products(const Conv2dContext& c) { return c.of_winograd; }
};

template <class Table>
At at(const Conv2dContext& c, std::uint32_t row) {
  for (const Conv2dGemm* product : Table::products(c)) {
    const std::uint32_t rows = rows_of(*product, Table::kRows);
    if (row < rows) return {*product, row};
    row -= rows;
  }
  std::unreachable();
}

template <class Table>
std::uint32_t count(const Conv2dContext& c) {
  std::uint32_t rows = 0;
  for (const Conv2dGemm* product : Table::products(c)) rows += rows_of(*product, Table::kRows);
  return rows;
}

template <class Table>
bool applicable(const Conv2dContext& c, std::uint32_t row, Refusal& refusal) {
  const auto [product, own] = at<Table>(c, row);
  if (!product.context) return refusal.no("{}", product.refusal);
  return Table::kRows.applicable(*product.context, own, refusal);
}

template <class Table>
Conv2dConfig make(const Conv2dContext& c, std::uint32_t row) {
  const auto [product, own] = at<Table>(c, row);
  const auto usable = [&](const GemmConfig& matmul) {
    const Conv2dConfig d = ProductConfig{&product, &Table::kRows, own, matmul};
    const std::uint64_t sums = gemm_scratch_bytes(*product.context, matmul);
    const std::uint64_t scratch = sums == 0 ? product.scratch_bytes : aligned_scratch(product.scratch_bytes) + sums;
    if (scratch > c.options.max_scratch_bytes.value_or(scratch)) return false;
    if (c.options.kernels == nullptr) return true;
    const auto made = conv2d_steps(c, d);
    return !made || std::ranges::all_of(made->steps, [&](const Step& step) { return c.options.kernels->has(step); });
  };
  return ProductConfig{&product, &Table::kRows, own, gemm_with_splits(*product.context, Table::kRows, own, usable)};
}

Conv2dContext::Estimate estimate(const Conv2dContext&, std::uint32_t, const Conv2dConfig& d) {
  return {std::get<ProductConfig>(d).gemm.estimate.interior};
}

template <class Table>
Eligibility eligibility(const Conv2dContext& c, std::uint32_t row) {
  const auto [product, own] = at<Table>(c, row);
  // Groups of one input channel are for conv2d_depthwise: a product of each group alone took 2 to 30 times as long on
  // an NVIDIA H100 (the 23 problems named in depthwise.cpp).
  if (c.problem.groups > 1 && c.problem.c == c.problem.groups) return Eligibility::last_resort;
  return last_resort_if((product.simt_last_resort && &Table::kRows == &kGemmSimt) ||
                        (product.context && Table::kRows.eligibility(*product.context, own) != Eligibility::candidate));
}

// The matmul row's name.
template <class Table>
std::string short_print(const Conv2dContext& c, std::uint32_t row) {
  const auto [product, own] = at<Table>(c, row);
  return product.context ? Table::kRows.print(*product.context, own) : "any";
}

template <class Table>
std::string print(const Conv2dContext& c, std::uint32_t row) {
  return short_print<Table>(c, row) + at<Table>(c, row).product.suffix;
}

template <class Table>
constexpr Conv2dStrategy rows_as() {
  return {.stem = Table::kStem,
          .rows = 0,
          .applicable = applicable<Table>,
          .make = make<Table>,
          .estimate = estimate,
          .eligibility = eligibility<Table>,
          .print = print<Table>,
          .extra = count<Table>,
          .short_print = short_print<Table>};
}

}  // namespace

const Conv2dStrategy kConv2dSimt = rows_as<Simt>();
const Conv2dStrategy kConv2dCoopmat = rows_as<Coopmat>();
const Conv2dStrategy kConv2dWinograd = rows_as<Winograd>();

}  // namespace sectile::detail
