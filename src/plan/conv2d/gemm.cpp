// conv2d_simt and conv2d_coopmat: the rows of matmul_simt and matmul_coopmat, with the image as a gathered operand.
#include "context.hpp"

#include <algorithm>
#include <utility>

namespace sectile::detail {

namespace {

// A row of a matmul's table, for one of the problem's products.
struct At {
  const Conv2dProduct& product;
  std::uint32_t row;
};

// A product that was refused has one row, which says why.
std::uint32_t rows_of(const Conv2dProduct& product, const MatmulStrategy& rows) {
  return product.context ? rows.rows_for(*product.context) : 1;
}

template <const MatmulStrategy& kRows>
std::span<const Conv2dProduct* const> products(const Conv2dContext& c) {
  return &kRows == &kMatmulSimt ? c.of_simt : c.of_coopmat;
}

template <const MatmulStrategy& kRows>
At at(const Conv2dContext& c, std::uint32_t row) {
  for (const Conv2dProduct* product : products<kRows>(c)) {
    const std::uint32_t rows = rows_of(*product, kRows);
    if (row < rows) return {*product, row};
    row -= rows;
  }
  std::unreachable();
}

template <const MatmulStrategy& kRows>
std::uint32_t count(const Conv2dContext& c) {
  std::uint32_t rows = 0;
  for (const Conv2dProduct* product : products<kRows>(c)) rows += rows_of(*product, kRows);
  return rows;
}

template <const MatmulStrategy& kRows>
bool applicable(const Conv2dContext& c, std::uint32_t row, Refusal& refusal) {
  const auto [product, own] = at<kRows>(c, row);
  if (!product.context) return refusal.no("{}", product.refusal);
  return kRows.applicable(*product.context, own, refusal);
}

template <const MatmulStrategy& kRows>
Conv2dConfig make(const Conv2dContext& c, std::uint32_t row) {
  const auto [product, own] = at<kRows>(c, row);
  const auto usable = [&](const EstimatedMatmul& matmul) {
    const Conv2dConfig d{matmul, &product, 0, &kRows, own};
    const std::uint64_t sums = matmul_scratch_bytes(*product.context, matmul);
    const std::uint64_t scratch = sums == 0 ? product.scratch_bytes : aligned_scratch(product.scratch_bytes) + sums;
    if (scratch > c.options.max_scratch_bytes.value_or(scratch)) return false;
    if (c.options.kernels == nullptr) return true;
    const auto made = conv2d_steps(c, d);
    return !made || std::ranges::all_of(made->steps, [&](const Step& step) { return c.options.kernels->has(step); });
  };
  return {matmul_with_splits(*product.context, kRows, own, usable), &product, 0, &kRows, own};
}

Conv2dContext::Estimate estimate(const Conv2dContext&, std::uint32_t, const Conv2dConfig& d) {
  return {d.estimate.interior};
}

template <const MatmulStrategy& kRows>
bool fallback(const Conv2dContext& c, std::uint32_t row) {
  const auto [product, own] = at<kRows>(c, row);
  // Groups of one input channel are for conv2d_depthwise: a product of each group alone took 2 to 30 times as long on
  // an NVIDIA H100 (the 23 problems named in depthwise.cpp).
  if (c.problem.groups > 1 && c.problem.c == c.problem.groups) return true;
  return (product.simt_fallback && &kRows == &kMatmulSimt) ||
         (product.context && kRows.fallback(*product.context, own));
}

// The matmul row's name.
template <const MatmulStrategy& kRows>
std::string short_print(const Conv2dContext& c, std::uint32_t row) {
  const auto [product, own] = at<kRows>(c, row);
  return product.context ? kRows.print(*product.context, own) : "any";
}

template <const MatmulStrategy& kRows>
std::string print(const Conv2dContext& c, std::uint32_t row) {
  return short_print<kRows>(c, row) + at<kRows>(c, row).product.suffix;
}

template <const MatmulStrategy& kRows>
constexpr Conv2dStrategy rows_as(const char* stem) {
  return {.stem = stem,
          .rows = 0,
          .applicable = applicable<kRows>,
          .make = make<kRows>,
          .estimate = estimate,
          .fallback = fallback<kRows>,
          .print = print<kRows>,
          .extra = count<kRows>,
          .short_print = short_print<kRows>};
}

}  // namespace

const Conv2dStrategy kConv2dSimt = rows_as<kMatmulSimt>("conv2d_simt");
const Conv2dStrategy kConv2dCoopmat = rows_as<kMatmulCoopmat>("conv2d_coopmat");

}  // namespace sectile::detail
