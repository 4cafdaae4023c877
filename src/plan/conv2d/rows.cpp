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

// A row of a matmul's table, for one of the problem's GEMMs.
struct At {
  const Conv2dGemm& gemm;
  std::uint32_t row;
};

// A GEMM that was refused has one row, which says why.
std::uint32_t rows_of(const Conv2dGemm& gemm, const GemmStrategy& rows) {
  return gemm.context ? rows.rows_for(*gemm.context) : 1;
}

// A strategy's rows and GEMMs.
struct Simt {
  static constexpr const char* kStem = "conv2d_simt";
  static constexpr CostTable kCosts = CostTable::conv2d_simt;
  static constexpr const GemmStrategy& kRows = kGemmSimt;
  static std::span<const Conv2dGemm* const> gemms(const Conv2dContext& c) { return c.of_simt; }
};
struct Coopmat {
  static constexpr const char* kStem = "conv2d_coopmat";
  static constexpr CostTable kCosts = CostTable::conv2d_coopmat;
  static constexpr const GemmStrategy& kRows = kGemmCoopmat;
  static std::span<const Conv2dGemm* const> gemms(const Conv2dContext& c) { return c.of_coopmat; }
};
struct Winograd {
  static constexpr const char* kStem = "conv2d_winograd";
  static constexpr CostTable kCosts = CostTable::conv2d_winograd;
  static constexpr const GemmStrategy& kRows = kGemmSimt;
  static std::span<const Conv2dGemm* const> gemms(const Conv2dContext& c) { return c.of_winograd; }
};

template <class Table>
At at(const Conv2dContext& c, std::uint32_t row) {
  for (const Conv2dGemm* gemm : Table::gemms(c)) {
    const std::uint32_t rows = rows_of(*gemm, Table::kRows);
    if (row < rows) return {*gemm, row};
    row -= rows;
  }
  std::unreachable();
}

template <class Table>
std::uint32_t count(const Conv2dContext& c) {
  std::uint32_t rows = 0;
  for (const Conv2dGemm* gemm : Table::gemms(c)) rows += rows_of(*gemm, Table::kRows);
  return rows;
}

template <class Table>
bool applicable(const Conv2dContext& c, std::uint32_t row, Refusal& refusal) {
  const auto [gemm, own] = at<Table>(c, row);
  if (!gemm.context) return refusal.no("{}", gemm.refusal);
  return Table::kRows.applicable(*gemm.context, own, refusal);
}

template <class Table>
Conv2dConfig make(const Conv2dContext& c, std::uint32_t row) {
  const auto [gemm, own] = at<Table>(c, row);
  const auto usable = [&](const GemmConfig& matmul) {
    const Conv2dConfig d = Conv2dGemmConfig{&gemm, &Table::kRows, own, matmul};
    const std::uint64_t sums = gemm_scratch_bytes(*gemm.context, matmul);
    const std::uint64_t scratch = sums == 0 ? gemm.scratch_bytes : aligned_scratch(gemm.scratch_bytes) + sums;
    if (scratch > c.options.max_scratch_bytes.value_or(scratch)) return false;
    if (c.options.kernels == nullptr) return true;
    const auto made = conv2d_steps(c, d);
    return !made || std::ranges::all_of(made->steps, [&](const Step& step) { return c.options.kernels->has(step); });
  };
  return Conv2dGemmConfig{&gemm, &Table::kRows, own, gemm_with_splits(*gemm.context, Table::kRows, own, usable)};
}

Conv2dContext::Estimate estimate(const Conv2dContext&, std::uint32_t, const Conv2dConfig& d) {
  return {std::get<Conv2dGemmConfig>(d).config.estimate.interior};
}

template <class Table>
Eligibility eligibility(const Conv2dContext& c, std::uint32_t row) {
  const auto [gemm, own] = at<Table>(c, row);
  if (gemm.simt_last_resort && &Table::kRows == &kGemmSimt) return Eligibility::last_resort;
  return gemm.context ? Table::kRows.eligibility(*gemm.context, own) : Eligibility::candidate;
}

// The matmul row's name.
template <class Table>
std::string short_print(const Conv2dContext& c, std::uint32_t row) {
  const auto [gemm, own] = at<Table>(c, row);
  return gemm.context ? Table::kRows.print(*gemm.context, own) : "any";
}

template <class Table>
std::string print(const Conv2dContext& c, std::uint32_t row) {
  return short_print<Table>(c, row) + at<Table>(c, row).gemm.suffix;
}

template <class Table>
constexpr Conv2dStrategy rows_as() {
  return {.stem = Table::kStem,
          .costs = Table::kCosts,
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
