// The names of all strategies' rows, for classes of devices.
#include "conv2d/context.hpp"
#include "cost/numbers.hpp"
#include "gemm/context.hpp"
#include "permute/strategy.hpp"

#include <utility>

namespace sectile::detail {

namespace {

struct Table {
  std::string_view stem;
  bool rates;
  std::vector<std::string> rows;
};

std::vector<std::string> gathered_coopmat_rows() {
  std::vector<std::string> rows = matmul_coopmat_rows(), taps = coopmat_tap_rows();
  rows.insert(rows.end(), taps.begin(), taps.end());
  return rows;
}

// In the order of CostTable.
const std::array<Table, kCostTables>& tables() {
  static const std::array<Table, kCostTables> all = {{
      {"permute_copy", false, permute_copy_rows()},
      {"permute_rows", false, permute_rows_rows()},
      {"permute_realign", false, permute_realign_rows()},
      {"permute_elements", false, permute_elements_rows()},
      {"permute_tile", false, permute_tile_rows()},
      {"permute_block", false, permute_block_rows()},
      {"permute_ragged", false, permute_ragged_rows()},
      {"permute_gather", false, permute_gather_rows()},
      {"permute_table", false, permute_table_rows()},
      {"permute_runs", false, permute_runs_rows()},
      {"permute_interleave", false, permute_interleave_rows()},
      {"permute_tma", false, permute_tma_rows()},
      {"permute_box", false, permute_box_rows()},
      {"permute_words", false, permute_words_rows()},
      {"permute_fused", false, permute_fused_rows()},
      {"permute_fused_block", false, permute_fused_block_rows()},
      {"permute_fused_ragged", false, permute_fused_ragged_rows()},
      {"matmul_coopmat", true, matmul_coopmat_rows()},
      {"matmul_coopmat2", true, matmul_coopmat2_rows()},
      {"matmul_mma", true, matmul_mma_rows()},
      {"matmul_wgmma", true, matmul_wgmma_rows()},
      {"matmul_simt", true, matmul_simt_rows()},
      {"matvec", true, matvec_rows()},
      {"matmul_direct", true, matmul_direct_rows()},
      {"conv2d_coopmat", true, gathered_coopmat_rows()},
      {"conv2d_simt", true, matmul_simt_rows()},
      {"conv2d_winograd", false, {}},  // its GEMM is one of matmul_simt
      {"conv2d_depthwise", true, conv2d_depthwise_rows()},
      {"conv2d_lanes", true, conv2d_lanes_rows()},
      {"conv2d_direct", true, conv2d_direct_rows()},
  }};
  return all;
}

const Table& table_of(CostTable table) { return tables()[std::to_underlying(table)]; }

}  // namespace

const std::vector<std::string>& cost_rows(CostTable table) { return table_of(table).rows; }
std::string_view stem_of(CostTable table) noexcept { return table_of(table).stem; }
bool has_rates(CostTable table) noexcept { return table_of(table).rates; }

ClassRows::ClassRows() {
  for (std::size_t i = 0; i < kCostTables; ++i) rows[i].resize(tables()[i].rows.size());
}

}  // namespace sectile::detail
