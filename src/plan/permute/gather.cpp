// permute_gather: ragged transposes on CUDA, by asynchronous copies to workgroup memory.
#include "ragged.hpp"
#include "strategy.hpp"

#include "permute/permute_gather.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace permute_gather {
namespace {

// words: of 16 bytes, of a row of the tile; lanes: invocations side by side along D. Copies need no registers, so tiles
// are as large as leave 2048 invocations resident. H200, driver 580.159.04, CUDA 13.0, 2026-11-29, a program of its own
// (docs/lab/2026-11.md), fractions of a copy: f16 8191x8193 0.90 with 16 words, 0.87 with 8, 0.89 with 20; sectors of
// 128 bytes a store 0.90, of 64 0.85; f32 1223x16621 0.90, 0.84 with 8 words; with two tiles under way 0.80.
struct Row {
  std::uint32_t element_bytes, tile_d, words, workgroup, lanes;
};
// clang-format off
constexpr Row kTable[] = {
    {.element_bytes = 1, .tile_d = 128, .words = 16, .workgroup = 512, .lanes = 16},
    {.element_bytes = 2, .tile_d = 128, .words = 16, .workgroup = 512, .lanes = 16},
    {.element_bytes = 4, .tile_d = 64, .words = 16, .workgroup = 512, .lanes = 16},
};
// clang-format on
// All invocations store the same number of times.
static_assert(std::ranges::all_of(kTable,
                                  [](const Row& r) { return r.tile_d * r.element_bytes % (8 * r.lanes) == 0; }));

std::uint32_t tile_rows(const Row& r) { return PERMUTE_GATHER_ROWS(r.tile_d, r.element_bytes); }
std::uint32_t shared_bytes(const Row& r) { return PERMUTE_GATHER_SHARED_BYTES(tile_rows(r), r.words, r.element_bytes); }
std::uint32_t most_columns(const Row& r) { return 16 * (r.words - 1) / r.element_bytes; }

// Columns of a tile: all tiles have equally many, as far as they can.
std::uint32_t tile_columns(const Row& r, const RaggedRuns& runs) {
  const auto extent = static_cast<std::uint64_t>(runs.s.extent);
  return static_cast<std::uint32_t>(ceil_div(extent, ceil_div(extent, most_columns(r))));
}

// What the kernel is made for: at least one, so that most problems share a pipeline.
std::uint32_t inner_axes(const RaggedRuns& runs) { return std::max(runs.inner_axes(), 1u); }

bool wide(const PermuteContext& c, const RaggedRuns& runs) {
  const int axes = c.nest.rank - runs.d.axes - runs.s.axes + 2;
  return c.offset64 || nearly_needs_offset64(c.nest) || exceeds_push(axes, ragged_own_words(true, inner_axes(runs)));
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Row& r = kTable[row];
  if (c.profile.api != Api::cuda || !c.profile.async_copy.value_or(false))
    return refusal.no("the device has no asynchronous copies to workgroup memory");
  if (c.nest.element_bytes != r.element_bytes)
    return refusal.no("elements have {} bytes, the row is for {}", c.nest.element_bytes, r.element_bytes);
  if (!needs_no_bounds(c.nest, refusal) || !is_ragged_transpose(c.nest, refusal)) return false;
  const RaggedRuns runs = ragged_runs(c.nest);
  if (!has_extents(runs, refusal)) return false;
  if (runs.d.axes > 1)
    return refusal.no("the destination's innermost axis has {} elements, and the next ones follow it",
                      c.nest.axis[0].extent);
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (shared_bytes(r) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared_bytes(r), c.limits.workgroup_memory);
  return has_offsets(c, wide(c, runs), refusal) && stores_elements(c, refusal);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const RaggedRuns runs = ragged_runs(c.nest);
  const std::uint32_t inner = inner_axes(runs);
  PermuteConfig d;
  d.least_axes = pushed_axes(ragged_own_words(true, inner));
  d.stem = "permute_gather";
  d.element_bytes = r.element_bytes;
  d.offset64 = wide(c, runs);
  d.workgroup = r.workgroup;
  add_ragged_tiles(d, c.nest, runs,
                   {.tile_d = r.tile_d, .columns = tile_columns(r, runs), .inner = inner, .packed = true});
  d.add_constant(PERMUTE_GATHER_SPEC_TILE_D, r.tile_d);
  d.add_constant(PERMUTE_GATHER_SPEC_WORDS, r.words);
  d.add_constant(PERMUTE_GATHER_SPEC_LANES_D, r.lanes);
  d.add_constant(PERMUTE_GATHER_SPEC_INNER, inner);
  d.workgroup_memory_bytes = shared_bytes(r);
  return d;
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  if (c.nest.src_innermost() <= 0) return Eligibility::candidate;  // refused anyway
  const Row& r = kTable[row];
  const RaggedRuns runs = ragged_runs(c.nest);
  return last_resort_if(c.below_mib(kLeastRaggedMib) ||
                        !fills_ragged_tiles(runs, r.tile_d, tile_columns(r, runs), r.element_bytes) ||
                        (is_aligned_transpose(c) && runs.inner_axes() == 0));
}

// Invocations along D whose elements are in the same bank, at most.
std::uint64_t turns(const Nest& nest, const Row& r) {
  const auto stride = static_cast<std::uint32_t>(nest.axis[0].src_stride * r.element_bytes);
  const std::uint32_t groups = PERMUTE_GATHER_GROUPS(r.element_bytes), rows = 8 / r.element_bytes / groups;
  const std::uint32_t step = PERMUTE_GATHER_ROW(r.words, r.element_bytes, stride) * rows;
  std::array<std::uint8_t, 32> lanes{};
  for (std::uint32_t i = 0; i < r.lanes; ++i) ++lanes[i * step / 4 % 32];
  return *std::ranges::max_element(lanes);
}

// Resident workgroups load at once and then store at once, until they are no longer in step: the first ones take
// longer.
std::uint64_t with_first_ones(const PermuteContext& c, const Row& r, std::uint64_t groups) {
  const std::uint64_t resident = std::uint64_t{c.profile.multiprocessors.value_or(1)} * (2048 / r.workgroup);
  return groups + resident * 3 / 5;
}

// A row's words of the source begin and end anywhere in a sector; rows of the destination are stored in whole sectors.
PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(32), e = r.element_bytes;
  const RaggedRuns runs = ragged_runs(c.nest);
  const std::uint64_t rows = tile_rows(r), subgroups = ceil_div(r.workgroup, 32), columns = tile_columns(r, runs);
  const std::uint64_t run_bytes = columns * e, own = run_bytes * r.tile_d;
  PermuteEstimate estimate;
  estimate.groups = with_first_ones(c, r, d.groups);
  estimate.addressing = Addressing::staged;
  AccessCount& n = estimate.interior;
  n.load_transactions = rows * ceil_div(run_bytes + transaction - 1, transaction);
  n.ideal_load_transactions = n.ideal_store_transactions = ceil_div(own, transaction);
  // The ends of the destination's rows share sectors.
  n.store_transactions = n.ideal_store_transactions + ceil_div(2 * columns, d.axis[0].count);
  const std::uint64_t loads = ceil_div(rows * r.words, r.workgroup);
  n.load_requests = loads * subgroups;
  n.store_requests = ceil_div(own / 8, 32);
  n.bank_conflicts = (turns(c.nest, r) - 1) * 8 / e * n.store_requests;
  estimate.edge = estimate.interior;
  estimate.instructions = subgroups * (100 + loads * 20) + n.store_requests * (15 + 40 / e);
  return estimate;
}

std::string print_row(const Row& r) {
  return ragged_row_name(r.element_bytes, 16 * (r.words - 1), r.tile_d, r.workgroup, fmt::format("d{}", r.lanes));
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_GATHER_SPEC_WORDS, "words"}, {PERMUTE_GATHER_SPEC_TILE_D, "tile"}};

constexpr PermuteStrategy kStrategy = {"permute_gather",
                                       CostTable::permute_gather,
                                       std::size(kTable),
                                       applicable,
                                       make,
                                       estimate,
                                       eligibility,
                                       print,
                                       kNamed};

}  // namespace
}  // namespace permute_gather

const PermuteStrategy kGather = permute_gather::kStrategy;
std::vector<std::string> permute_gather_rows() { return names_of(permute_gather::kTable, permute_gather::print_row); }

}  // namespace sectile::detail
