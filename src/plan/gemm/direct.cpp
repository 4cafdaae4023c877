// matmul_direct: register tiles loaded from global memory without staging. It serves small matmuls on CPU devices, and
// every matmul that no other kernel supports.
#include "context.hpp"
#include "split.hpp"

#include "gemm/matmul_direct.abi.h"

namespace sectile::detail {

namespace matmul_direct {
namespace {

struct Row {
  std::uint32_t rows, columns;  // an invocation's part of the result
  std::uint32_t lanes = 0;      // invocations along N; 0: the subgroup size
  std::uint32_t groups = 1;     // invocations along M
  std::uint32_t tile_k;         // K between two updates of the addresses
  bool cpu = false;             // for CPU devices only
};
// clang-format off
constexpr Row kTable[] = {
    {.rows = 8, .columns = 4, .tile_k = 64, .cpu = true},
    {.rows = 4, .columns = 4, .tile_k = 64, .cpu = true},
    {.rows = 4, .columns = 8, .tile_k = 64, .cpu = true},
    {.rows = 8, .columns = 2, .tile_k = 64, .cpu = true},
    {.rows = 1, .columns = 8, .tile_k = 64, .cpu = true},
    {.rows = 1, .columns = 1, .lanes = 128, .tile_k = 32},
    {.rows = 1, .columns = 1, .lanes = 16, .groups = 16, .tile_k = 32},
    // Supports strides of any size: each step of K updates the addresses.
    {.rows = 1, .columns = 1, .lanes = 128, .tile_k = 1},
};
// clang-format on

std::uint32_t lanes_of(const GemmContext& c, const Row& r) {
  return r.lanes != 0 ? r.lanes : c.profile.subgroup_size.value_or(8);
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  GemmConfig d;
  d.stem = "matmul_direct";
  d.base = c.integer() ? "i8" : "f32";
  const std::uint32_t lanes = lanes_of(c, r);
  d.workgroup = lanes * r.groups;
  d.tile_m = r.rows * r.groups;
  d.tile_n = r.columns * lanes;
  // Two 4-bit elements share a byte, so a step of K has at least two.
  d.tile_k = c.b_type == SECTILE_TYPE_Q4 ? std::max(r.tile_k, 2u) : r.tile_k;
  const bool offset64 = r.tile_k == 1;
  if (offset64) d.span_m = d.span_n = d.span_k = 1;
  d.width_a = d.width_b = d.width_d = d.run_d = 1;
  d.add(MATMUL_DIRECT_SPEC_ROWS, r.rows);
  d.add(MATMUL_DIRECT_SPEC_COLUMNS, r.columns);
  d.add(MATMUL_DIRECT_SPEC_OFFSET64, offset64 ? 1 : 0);
  // An element of each row and column, and the offset of its next one.
  d.staging.registers.accumulators = r.rows * r.columns;
  d.staging.registers.fragments = 2 * (r.rows + r.columns);
  d.table = CostTable::matmul_direct;
  d.row = row;
  if (r.cpu) d.splits = splits_to_fill(c, d);
  return d;
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = kTable[row];
  if (r.cpu && !c.cpu()) return refusal.no("a row for CPU devices only");
  return gemm_fits(c, make(c, row), refusal);
}

// A subgroup's loads for one K at the start of both operands. They differ from those of other workgroups only by the
// alignment of the first row.
AccessCount count_step(const GemmContext& c, const Row& r) {
  Walk walk(c.profile);
  Request request;
  const auto& p = c.gemm;
  const std::uint32_t lanes = lanes_of(c, r), bytes_a = type_bytes(c.a_type), bytes_b = type_bytes(c.b_type);
  const auto load = [&](std::uint32_t bytes, auto&& element) {
    request.bytes = bytes;
    for (std::uint32_t l = 0; l < walk.lanes(); ++l)
      request.address[l] = l < lanes * r.groups ? element(l) * bytes : Request::kInactive;
    walk.load(request, ceil_div(std::uint64_t{lanes} * r.groups, walk.lanes()));
  };
  for (std::uint32_t i = 0; i < r.rows; ++i)
    load(bytes_a,
         [&](std::uint32_t l) { return (std::int64_t{l / lanes} * r.rows + i) * (p.transpose_a ? 1 : c.gemm.at.lda); });
  for (std::uint32_t j = 0; j < r.columns; ++j)
    load(bytes_b, [&](std::uint32_t l) {
      return (std::int64_t{l % lanes} + std::int64_t{j} * lanes) * (p.transpose_b ? c.gemm.at.ldb : 1);
    });
  return walk.count();
}

Eligibility eligibility(const GemmContext&, std::uint32_t) { return Eligibility::candidate; }

GemmEstimate estimate(const GemmContext& c, std::uint32_t row, const GemmConfig&) {
  GemmEstimate e;
  e.interior = count_step(c, kTable[row]);
  return e;
}

std::string print_row(const Row& r) {
  std::string text = fmt::format("{}x{}", r.rows, r.columns);
  if (r.groups > 1) text += fmt::format(" tile {}x{}", r.rows * r.groups, r.columns * r.lanes);
  if (r.tile_k == 1) text += " far";
  return text;
}
std::string print(const GemmContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr GemmStrategy kStrategy = {
    "matmul_direct", CostTable::matmul_direct, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace matmul_direct

const GemmStrategy kGemmDirect = matmul_direct::kStrategy;
std::vector<std::string> matmul_direct_rows() { return names_of(matmul_direct::kTable, matmul_direct::print_row); }

}  // namespace sectile::detail
