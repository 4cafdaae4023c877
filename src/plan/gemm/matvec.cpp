// matvec: matmuls in which A has up to 16 rows or B up to 16 columns. Reading the other operand once takes most of the
// time.
#include "context.hpp"
#include "split.hpp"

#include "gemm/matvec.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace matvec {
namespace {

constexpr std::uint32_t kWorkgroup = 128;

// skinny: rows (or columns) of the skinny operand. Sizes in between are padded, so that there are few pipelines.
// If the thick operand is contiguous along K: rows of an invocation, invocations that share a row, loads in flight.
// If it is contiguous across K (`_across`): adjacent invocations, loads in flight.
struct Row {
  std::uint32_t skinny, rows, lanes, rounds, lanes_across, rounds_across;
};
// 1x4096x4096, us, NVIDIA H200, driver 580.159.04, 2026-11-22: f16 4x2 13.9, 2x4 13.1, 1x4 15.5, 1x8 17.9, 2x2 13.6,
// 4x4 13.4, a whole workgroup to a row (4x2) 15.7; f32 21.2, 19.4, 19.2, 22.9, 20.4, 20.1 and 23.0.
// clang-format off
constexpr Row kTable[] = {
    {.skinny = 1, .rows = 2, .lanes = 32, .rounds = 4, .lanes_across = 16, .rounds_across = 8},
    {.skinny = 1, .rows = 4, .lanes = 32, .rounds = 4, .lanes_across = 16, .rounds_across = 8},
    {.skinny = 1, .rows = 4, .lanes = 128, .rounds = 2, .lanes_across = 32, .rounds_across = 8},
    {.skinny = 4, .rows = 4, .lanes = 32, .rounds = 1, .lanes_across = 16, .rounds_across = 8},
    {.skinny = 16, .rows = 4, .lanes = 32, .rounds = 1, .lanes_across = 16, .rounds_across = 4},
};
// clang-format on
constexpr std::uint32_t kMostSkinny = 16;

// A is the skinny operand, otherwise B is.
bool skinny_a(const GemmContext& c) { return c.gemm.m <= c.gemm.n; }

// The thick operand is contiguous along K.
bool along_k(const GemmContext& c) { return skinny_a(c) ? c.gemm.transpose_b : !c.gemm.transpose_a; }

// The subgroup size if full subgroups of a known size share a row, otherwise 0.
std::uint32_t subgroup_of(const GemmContext& c, const Row& r) {
  const std::uint32_t size = known_subgroup_size(c.profile);
  if (size < 4) return 0;
  return along_k(c) && r.lanes % size == 0 ? size : 0;
}

// Whether an invocation's runs of a row are a block of 32 4-bit weights, which one access loads. The operand may end
// with K, inside a block.
bool by_blocks(const GemmContext& c, const Row& r) {
  return c.profile.api == Api::cuda && skinny_a(c) && c.b_type == SECTILE_TYPE_Q4 && c.width_b == 8 && r.rounds == 4 &&
         c.gemm.b_align % 16 == 0 && c.gemm.k % 32 == 0;
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const bool side_a = skinny_a(c), along = along_k(c);
  GemmConfig d;
  d.stem = "matvec";
  d.workgroup = kWorkgroup;
  const std::uint32_t subgroup = subgroup_of(c, r);
  d.base = std::string(c.integer() ? "i8" : "f32") + (subgroup != 0 ? ".subgroup" : "");
  if (c.profile.required_subgroup_size.value_or(false)) d.required_subgroup_size = subgroup;
  d.width_a = c.width_a;
  d.width_b = c.width_b;
  auto& run = side_a ? d.width_b : d.width_a;
  if (!along && r.skinny == kMostSkinny) run = std::min(run, 4u);
  auto& skinny_run = side_a ? d.width_a : d.width_b;
  skinny_run = std::min(skinny_run, 8u);
  const std::uint32_t lanes = along ? r.lanes : r.lanes_across, rounds = along ? r.rounds : r.rounds_across;
  const std::uint32_t across = along ? kWorkgroup / lanes * r.rows : lanes * run;
  d.tile_m = side_a ? r.skinny : across;
  d.tile_n = side_a ? across : r.skinny;
  d.tile_k = along ? lanes * run * rounds : kWorkgroup / lanes * rounds;
  d.run_d = std::min(4u, d.tile_n);
  d.width_d = d.access_of_d(c.width_d);
  Staging& staging = d.staging;
  HeldRegisters& registers = staging.registers;
  registers.accumulators = (along ? r.rows : run) * r.skinny;
  // The thick operand goes from memory to registers. The result's sums are added up in turns of sixteen.
  const bool blocks = by_blocks(c, r);
  const std::uint32_t piece = blocks ? d.tile_k / 32 * MATVEC_BLOCK_WORDS : d.tile_k;
  (side_a ? staging.a : staging.b) = {.rows = r.skinny, .k = piece, .along_k = along};
  staging.sums_bytes = 4 * std::min(registers.accumulators, 16u) * kWorkgroup;
  staging.result_bytes = 4 * d.tile_m * d.tile_n;
  d.add(MATVEC_SPEC_SIDE, side_a ? 0 : 1);
  d.add(MATVEC_SPEC_ROWS, along ? r.rows : 1);
  d.add(MATVEC_SPEC_LANES, lanes);
  d.add(MATVEC_SPEC_ROUNDS, rounds);
  if (blocks) d.add(MATVEC_SPEC_BLOCKS, 1);
  // The thick operand's runs of two steps, up to 16 bytes each, and a step's first ones unpacked.
  const std::uint32_t held = along ? r.rows : 1;
  const LoadedRuns skinny{.runs = (r.skinny * d.tile_k + skinny_run - 1) / skinny_run,
                          .invocations = kWorkgroup,
                          .registers = std::max(1u, skinny_run * type_bytes(side_a ? c.a_type : c.b_type) / 4)};
  registers.in_flight = 2 * rounds * held * 4 + skinny.held();
  registers.fragments = held * 8;
  d.table = CostTable::matvec;
  d.row = row;
  d.splits = splits_to_fill(c, d);
  return d;
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  const auto skinny = std::min(c.gemm.m, c.gemm.n);
  if (skinny > kMostSkinny) return refusal.no("M and N are both greater than {}", kMostSkinny);
  const auto fits = std::ranges::find_if(kTable, [&](const Row& r) { return r.skinny >= skinny; });
  const Row& r = kTable[row];
  if (r.skinny != fits->skinny)
    return refusal.no("the skinny operand has {} rows, the table's rows for {} serve it", skinny, fits->skinny);
  // `rows` counts only along K. Across K the table's first two rows are the same kernel.
  if (r.skinny == 1 && r.rows == 4 && r.lanes == 32 && !along_k(c))
    return refusal.no("the same kernel as the previous row");
  // RADV 26.1.6 spills 49 registers on navi31. matmul_simt serves these problems.
  if (r.skinny == kMostSkinny && c.b_type == SECTILE_TYPE_Q4)
    return refusal.no("does not unpack 4-bit elements for {} rows", kMostSkinny);
  return gemm_fits(c, make(c, row), refusal);
}

Eligibility eligibility(const GemmContext&, std::uint32_t) { return Eligibility::candidate; }

// The accesses of one step of K: loads of the thick and the skinny operand, and reads of the staged skinny operand.
GemmEstimate estimate(const GemmContext& c, std::uint32_t row, const GemmConfig& d) {
  const Row& r = kTable[row];
  const bool side_a = skinny_a(c), along = along_k(c);
  const std::uint32_t type = side_a ? c.b_type : c.a_type, run = side_a ? d.width_b : d.width_a;
  const std::int64_t ld = side_a ? c.gemm.at.ldb : c.gemm.at.lda, nibble = type == SECTILE_TYPE_Q4 ? 2 : 1;
  const std::int64_t bytes = type_bytes(type);
  const std::uint32_t lanes = along ? r.lanes : r.lanes_across, rounds = along ? r.rounds : r.rounds_across;
  const bool blocks = by_blocks(c, r);
  const std::uint32_t loaded = blocks ? rounds * run : run;  // by an access
  Walk walk(c.profile);
  Request from;
  from.bytes = static_cast<std::uint32_t>(std::max<std::int64_t>(1, loaded * bytes / nibble));
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    const std::int64_t inner = std::int64_t{l % lanes} * loaded, outer = l / lanes;
    from.address[l] = (outer * (along ? r.rows : 1) * ld + inner) * bytes / nibble;
  }
  const std::uint64_t subgroups = ceil_div(kWorkgroup, walk.lanes());
  walk.load(from, subgroups * (blocks ? 1 : rounds) * (along ? r.rows : 1));
  Request skinny;
  const std::uint32_t skinny_bytes = type_bytes(side_a ? c.a_type : c.b_type),
                      skinny_run = side_a ? d.width_a : d.width_b;
  skinny.bytes = skinny_bytes * skinny_run;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) skinny.address[l] = std::int64_t{l} * skinny.bytes;
  walk.load(skinny, ceil_div(std::uint64_t{r.skinny} * d.tile_k, std::uint64_t{walk.lanes()} * skinny_run));
  Request read;
  read.bytes = run >= 4 || !along ? 16 : 4;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l)
    read.address[l] = 4 * (blocks  ? std::int64_t{l % lanes} * MATVEC_BLOCK_WORDS
                           : along ? std::int64_t{l % lanes} * run
                                   : std::int64_t{l / lanes} * r.skinny);
  walk.shared(read,
              subgroups * rounds * (along ? std::uint64_t{r.skinny} * std::max(1u, run / 4) : ceil_div(r.skinny, 4)));
  GemmEstimate e;
  e.interior = walk.count();
  return e;
}

std::string print_row(const Row& r) { return fmt::format("{} by {} {}x{}", r.skinny, r.lanes, r.rows, r.rounds); }
std::string print(const GemmContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr GemmStrategy kStrategy = {"matvec", CostTable::matvec, std::size(kTable), applicable,
                                    make,     estimate,          eligibility,       print};

}  // namespace
}  // namespace matvec

const GemmStrategy kGemmMatvec = matvec::kStrategy;
std::vector<std::string> matvec_rows() { return names_of(matvec::kTable, matvec::print_row); }

}  // namespace sectile::detail
