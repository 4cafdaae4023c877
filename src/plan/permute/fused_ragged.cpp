// permute_fused_ragged: a permute with an elementwise stage whose rows begin at any address in both operands.
// permute_ragged's tiles.
#include "fused.hpp"
#include "ragged.hpp"

#include "permute/permute_fused_ragged.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace permute_fused_ragged {
namespace {

// lanes: invocations side by side along D, whose accesses fill a sector. Runs of 16 and 32 bytes are for short rows of
// the source, packed tiles for short rows of the destination. Accesses of one kind of result, or of several, divide a
// tile.
struct Row {
  std::uint32_t element_bytes, tile_d, run_bytes, workgroup, lanes;
  bool packed = false;
};
// clang-format off
constexpr Row kTable[] = {
    {.element_bytes = 1, .tile_d = 128, .run_bytes = 96, .workgroup = 256, .lanes = 8},
    {.element_bytes = 1, .tile_d = 256, .run_bytes = 32, .workgroup = 160, .lanes = 16},
    {.element_bytes = 1, .tile_d = 512, .run_bytes = 16, .workgroup = 160, .lanes = 32},
    {.element_bytes = 1, .tile_d = 64, .run_bytes = 128, .workgroup = 128, .lanes = 1, .packed = true},
    {.element_bytes = 1, .tile_d = 16, .run_bytes = 512, .workgroup = 128, .lanes = 1, .packed = true},
    {.element_bytes = 2, .tile_d = 112, .run_bytes = 64, .workgroup = 128, .lanes = 4},
    {.element_bytes = 2, .tile_d = 96, .run_bytes = 64, .workgroup = 128, .lanes = 4},
    {.element_bytes = 2, .tile_d = 128, .run_bytes = 32, .workgroup = 160, .lanes = 16},
    {.element_bytes = 2, .tile_d = 256, .run_bytes = 16, .workgroup = 160, .lanes = 32},
    {.element_bytes = 2, .tile_d = 64, .run_bytes = 128, .workgroup = 256, .lanes = 1, .packed = true},
    {.element_bytes = 2, .tile_d = 16, .run_bytes = 512, .workgroup = 128, .lanes = 1, .packed = true},
    {.element_bytes = 4, .tile_d = 56, .run_bytes = 128, .workgroup = 128, .lanes = 4},
    {.element_bytes = 4, .tile_d = 64, .run_bytes = 128, .workgroup = 128, .lanes = 8},
    {.element_bytes = 4, .tile_d = 64, .run_bytes = 32, .workgroup = 160, .lanes = 16},
    {.element_bytes = 4, .tile_d = 128, .run_bytes = 16, .workgroup = 160, .lanes = 32},
    {.element_bytes = 4, .tile_d = 32, .run_bytes = 128, .workgroup = 128, .lanes = 1, .packed = true},
    {.element_bytes = 4, .tile_d = 16, .run_bytes = 256, .workgroup = 128, .lanes = 1, .packed = true},
};
// clang-format on

// Elements of an access of the destination.
std::uint32_t access_of(const Nest& nest) {
  return PERMUTE_FUSED_RAGGED_ACCESS(nest.element_bytes, nest.dst_element_bytes);
}

std::uint32_t tile_rows(const Nest& nest, const Row& r) {
  return PERMUTE_RAGGED_ROWS(r.tile_d, nest.dst_element_bytes, r.packed);
}
std::uint32_t shared_bytes(const Nest& nest, const Row& r) {
  return 4 * PERMUTE_RAGGED_SHARED_WORDS(tile_rows(nest, r), r.run_bytes, r.element_bytes, r.packed);
}

// A term's index moves by the same step from each index of a run to the next.
bool is_even(const Nest& nest, const AxisRun& run) {
  const auto axis_of = [&](int i) {
    return nest.axis[static_cast<std::size_t>(run.axis[static_cast<std::size_t>(i)])];
  };
  const NestAxis first = axis_of(0);
  std::int64_t below = 1;
  for (int i = 0; i < run.axes; ++i) {
    const NestAxis axis = axis_of(i);
    if (nest.stage.scale && axis.scale_step != below * first.scale_step) return false;
    if (nest.stage.bias && axis.bias_step != below * first.bias_step) return false;
    if (nest.stage.add && axis.add_stride != below * first.add_stride) return false;
    below *= axis.extent;
  }
  return true;
}

// permute_ragged's, or a single axis where a term does not move evenly along those, or the tile is packed.
RaggedRuns runs_of(const Nest& nest, const Row& r) {
  RaggedRuns runs = ragged_runs(nest);
  for (AxisRun* run : {&runs.d, &runs.s}) {
    if (!r.packed && is_even(nest, *run)) continue;
    AxisRun single;
    single.add(nest, run->axis[0]);
    *run = single;
  }
  return runs;
}

std::uint32_t columns_of(const Row& r) { return r.run_bytes / r.element_bytes; }

std::uint32_t stage_of(const Nest& nest) { return fused_stage(nest, nest.src_innermost(), 0); }

// The step takes the .wide variant: there is no .long one.
bool wide(const PermuteContext& c, const Row& r, const RaggedRuns& runs) {
  const int axes = axis_class(c.nest.rank - runs.d.axes - runs.s.axes + 2, true);
  const PermuteConstants constants{.kAxes = static_cast<std::uint32_t>(axes), .kStage = stage_of(c.nest)};
  const std::uint32_t words = size_of<PermuteFusedFirstWords>(constants) +
                              constants.kAxes * size_of<PermuteAxisWords>() + size_of<PermuteShiftWords>(constants) +
                              static_cast<std::uint32_t>(ragged_own_words(r.packed, runs.inner_axes())) +
                              size_of<PermuteFusedLastWords>(constants);
  return c.offset64 || nearly_needs_offset64(c.nest) || words > PERMUTE_PUSH_WORDS;
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = kTable[row];
  const Nest& nest = c.nest;
  if (!nest.stage.present) return refusal.no("the problem has no elementwise stage");
  if (nest.element_bytes != r.element_bytes)
    return refusal.no("elements have {} bytes, the row is for {}", nest.element_bytes, r.element_bytes);
  if (r.tile_d % (access_of(nest) * r.lanes) != 0)
    return refusal.no("accesses of {} elements do not divide the tile among its invocations", access_of(nest));
  if (nest.rank < 2) return refusal.no("the kernel needs two moving axes");
  if (!needs_no_bounds(nest, refusal) || !is_ragged_transpose(nest, refusal)) return false;
  const RaggedRuns runs = runs_of(nest, r);
  if (!has_extents(runs, refusal)) return false;
  if (r.packed &&
      (runs.d.extent > r.tile_d || nest.axis[static_cast<std::size_t>(runs.s.outer())].dst_stride != runs.d.extent))
    return refusal.no(
        "a packed tile is for rows of the destination of at most {} elements that follow each other along "
        "the source's innermost axis",
        r.tile_d);
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (shared_bytes(nest, r) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared_bytes(nest, r),
                      c.limits.workgroup_memory);
  if (!has_offsets(c, wide(c, r, runs), refusal)) return false;
  if (!c.profile.storage8.value_or(false) || !c.profile.storage16.value_or(false))
    return refusal.no("needs accesses of 1 and 2 bytes, which the device lacks");
  return true;
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Nest& nest = c.nest;
  const RaggedRuns runs = runs_of(nest, r);
  PermuteConfig d;
  d.stem = "permute_fused_ragged";
  d.element_bytes = r.element_bytes;
  d.offset64 = wide(c, r, runs);
  d.workgroup = r.workgroup;
  d.stage = stage_of(nest);
  add_ragged_tiles(d, nest, runs,
                   {.tile_d = r.tile_d, .columns = columns_of(r), .inner = runs.inner_axes(), .packed = r.packed});
  // A term's steps are those of an index of a run.
  const auto from_inner = [&](StreamAxis& axis, const AxisRun& run) {
    const NestAxis& inner = nest.axis[static_cast<std::size_t>(run.axis[0])];
    axis.add_stride = inner.add_stride;
    axis.scale_step = inner.scale_step;
    axis.bias_step = inner.bias_step;
  };
  from_inner(d.axis[0], runs.d);
  from_inner(d.axis[1], runs.s);
  add_fused_constants(d, nest, {});
  d.add_constant(PERMUTE_FUSED_RAGGED_SPEC_TILE_D, r.tile_d);
  d.add_constant(PERMUTE_FUSED_RAGGED_SPEC_RUN_BYTES, r.run_bytes);
  d.add_constant(PERMUTE_FUSED_RAGGED_SPEC_LANES_D, r.lanes);
  d.add_constant(PERMUTE_FUSED_RAGGED_SPEC_INNER, runs.inner_axes());
  d.add_constant(PERMUTE_FUSED_RAGGED_SPEC_PACKED, r.packed ? 1 : 0);
  d.workgroup_memory_bytes = shared_bytes(nest, r);
  return d;
}

// Rows for short axes take them whole. What a tile has beside the problem costs loads that the L1 serves.
bool fills_tiles(const Nest& nest, const Row& r) {
  const RaggedRuns runs = runs_of(nest, r);
  if (r.packed) return 6 * runs.d.extent >= r.tile_d;
  if (r.run_bytes <= 32)
    return runs.s.extent <= columns_of(r) && 6 * runs.s.extent >= columns_of(r) && runs.d.extent >= r.tile_d;
  return fills_ragged_tiles(runs, r.tile_d, columns_of(r), r.element_bytes);
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  if (c.nest.src_innermost() <= 0) return Eligibility::last_resort;  // refused anyway
  return last_resort_if(c.cpu() || c.below_mib(kLeastRaggedMib) || !fills_tiles(c.nest, kTable[row]));
}

// As permute_ragged's. Each element is computed, and a term is loaded for it.
PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const Nest& nest = c.nest;
  const RaggedRuns runs = runs_of(nest, r);
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(c.cpu() ? 64 : 32), e = r.element_bytes;
  const std::uint64_t rows = tile_rows(nest, r), subgroups = ceil_div(r.workgroup, 32);
  const auto inside = [](std::int64_t extent, std::uint64_t tile) {
    return std::min(static_cast<std::uint64_t>(extent), tile);
  };
  const std::uint64_t columns = inside(runs.s.extent, columns_of(r)), own_d = inside(runs.d.extent, r.tile_d);
  const std::uint64_t elements = columns * own_d, out = elements * nest.dst_element_bytes;
  PermuteEstimate estimate;
  estimate.groups = d.groups;
  estimate.addressing = Addressing::staged;
  AccessCount& n = estimate.interior;
  const std::uint64_t row_bytes = columns * e;
  // Rows that follow each other in the source share sectors.
  const bool follow = nest.axis[static_cast<std::size_t>(runs.d.axis[0])].src_stride == runs.s.extent;
  const std::uint64_t loaded = r.packed ? own_d : rows;
  n.load_transactions = follow ? ceil_div(loaded * row_bytes, transaction) + 1
                               : loaded * ceil_div(row_bytes + transaction - 1, transaction);
  n.ideal_load_transactions = ceil_div(elements * e, transaction);
  n.ideal_store_transactions = ceil_div(out, transaction);
  n.store_transactions = n.ideal_store_transactions + (r.packed ? 1 : 0);
  const std::uint64_t block = e < 4 ? 4 / e : 1, loads = block * ceil_div(rows * r.run_bytes / 16, block * r.workgroup);
  n.load_requests = 2 * loads * subgroups;
  n.store_requests = ceil_div(elements / access_of(nest), 32);
  n.bank_conflicts = e < 4 && !r.packed ? 3 * n.store_requests : 0;
  std::uint64_t of_element = r.packed ? 15 : 5;
  if (nest.stage.add) {
    n.load_requests += ceil_div(elements, 32);
    n.load_transactions += ceil_div(out, transaction);
    n.ideal_load_transactions += ceil_div(out, transaction);
    of_element += 6;
  }
  if ((d.stage & PERMUTE_FUSED_SCALE_D) != 0) of_element += 4;
  if ((d.stage & PERMUTE_FUSED_BIAS_D) != 0) of_element += 4;
  estimate.edge = estimate.interior;
  estimate.instructions = subgroups * (100 + loads * (e < 4 ? 60 : 40)) + n.store_requests * (e < 4 ? 18 : 10) +
                          ceil_div(elements, 32) * of_element;
  return estimate;
}

std::string print_row(const Row& r) {
  return ragged_row_name(r.element_bytes, r.run_bytes, r.tile_d, r.workgroup,
                         r.packed ? "packed" : fmt::format("d{}", r.lanes));
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_FUSED_RAGGED_SPEC_RUN_BYTES, "run"},
                                    {PERMUTE_FUSED_RAGGED_SPEC_TILE_D, "tile"}};

constexpr PermuteStrategy kStrategy = {"permute_fused_ragged",
                                       CostTable::permute_fused_ragged,
                                       std::size(kTable),
                                       applicable,
                                       make,
                                       estimate,
                                       eligibility,
                                       print,
                                       kNamed};

}  // namespace
}  // namespace permute_fused_ragged

const PermuteStrategy kFusedRagged = permute_fused_ragged::kStrategy;
std::vector<std::string> permute_fused_ragged_rows() {
  return names_of(permute_fused_ragged::kTable, permute_fused_ragged::print_row);
}

}  // namespace sectile::detail
