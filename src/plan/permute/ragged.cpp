// permute_ragged: transposes rows that begin at any address in both operands.
#include "ragged.hpp"

#include "permute/permute_ragged.abi.h"

#include <algorithm>
#include <bit>

namespace sectile::detail {

namespace permute_ragged {
namespace {

// lanes: invocations side by side along D. What bounds a row on an H200 (ncu, and what its Vulkan driver compiles): a
// multiprocessor's L1, the L2 that gives a run's first and last sector to two tiles, and on Vulkan some 52 KiB of
// workgroup memory for all workgroups of a multiprocessor. So tiles have few bytes for each invocation, all invocations
// the same number of blocks, and runs of 128 bytes where 20 KiB are little.
struct Row {
  std::uint32_t element_bytes, tile_d, run_bytes, workgroup, lanes;
  bool packed = false, gaps = false;  // gaps: packed, and the destination's rows have gaps behind them
  std::uint8_t gpus = kAll;           // on which it competes

  static constexpr std::uint8_t kVulkan = 1, kCuda = 2, kAll = kVulkan | kCuda;
};
// clang-format off
constexpr Row kTable[] = {
    {.element_bytes = 1, .tile_d = 192, .run_bytes = 32, .workgroup = 128, .lanes = 4, .gpus = 0},
    {.element_bytes = 1, .tile_d = 192, .run_bytes = 48, .workgroup = 192, .lanes = 4},
    {.element_bytes = 1, .tile_d = 128, .run_bytes = 96, .workgroup = 256, .lanes = 8},
    {.element_bytes = 1, .tile_d = 128, .run_bytes = 128, .workgroup = 320, .lanes = 8, .gpus = 0},
    {.element_bytes = 1, .tile_d = 64, .run_bytes = 128, .workgroup = 128, .lanes = 1, .packed = true,
     .gpus = Row::kCuda},
    {.element_bytes = 1, .tile_d = 128, .run_bytes = 128, .workgroup = 256, .lanes = 1, .packed = true,
     .gpus = Row::kCuda},
    {.element_bytes = 1, .tile_d = 32, .run_bytes = 256, .workgroup = 128, .lanes = 1, .packed = true, .gaps = true},
    {.element_bytes = 2, .tile_d = 32, .run_bytes = 128, .workgroup = 128, .lanes = 1, .packed = true, .gpus = 0},
    {.element_bytes = 2, .tile_d = 32, .run_bytes = 128, .workgroup = 128, .lanes = 1, .packed = true, .gaps = true},
    {.element_bytes = 2, .tile_d = 112, .run_bytes = 48, .workgroup = 96, .lanes = 4, .gpus = 0},
    {.element_bytes = 2, .tile_d = 112, .run_bytes = 64, .workgroup = 128, .lanes = 4, .gpus = Row::kVulkan},
    {.element_bytes = 2, .tile_d = 112, .run_bytes = 96, .workgroup = 192, .lanes = 4, .gpus = Row::kCuda},
    {.element_bytes = 4, .tile_d = 56, .run_bytes = 128, .workgroup = 128, .lanes = 4},
    {.element_bytes = 4, .tile_d = 112, .run_bytes = 128, .workgroup = 256, .lanes = 8, .gpus = Row::kCuda},
    {.element_bytes = 4, .tile_d = 16, .run_bytes = 256, .workgroup = 128, .lanes = 1, .packed = true},
    {.element_bytes = 4, .tile_d = 32, .run_bytes = 128, .workgroup = 128, .lanes = 1, .packed = true, .gpus = 0},
    {.element_bytes = 4, .tile_d = 16, .run_bytes = 256, .workgroup = 128, .lanes = 1, .packed = true, .gaps = true},
    {.element_bytes = 8, .tile_d = 32, .run_bytes = 128, .workgroup = 128, .lanes = 8},
};
// clang-format on
// All invocations store the same number of times.
static_assert(std::ranges::all_of(kTable, [](const Row& r) {
  return r.tile_d * r.element_bytes % (8 * r.lanes) == 0 && r.run_bytes % 16 == 0;
}));

std::uint32_t tile_rows(const Row& r) { return PERMUTE_RAGGED_ROWS(r.tile_d, r.element_bytes, r.packed); }
std::uint32_t shared_bytes(const Row& r) {
  return 4 * PERMUTE_RAGGED_SHARED_WORDS(tile_rows(r), r.run_bytes, r.element_bytes, r.packed);
}

// Indices of a run's inner axes: for S, pieces of a packed tile.
std::int64_t inner_extent(const Nest& nest, const AxisRun& run) {
  return run.extent / nest.axis[static_cast<std::size_t>(run.outer())].extent;
}

std::uint32_t row_columns(const Row& r) { return r.run_bytes / r.element_bytes; }

// The row's packed tiles have all of D and whole pieces, in each of which the destination's rows follow each other,
// with gaps or without.
bool packs(const Nest& nest, const Row& r, const RaggedRuns& runs) {
  const std::int64_t pitch = nest.axis[static_cast<std::size_t>(runs.s.outer())].dst_stride;
  const bool follows = r.gaps ? destination_row(nest).elements == runs.d.extent && pitch > runs.d.extent
                              : pitch == runs.d.extent && pitch * r.element_bytes >= 8;
  return runs.d.extent <= r.tile_d && follows && inner_extent(nest, runs.s) <= row_columns(r);
}

// The same for the row. A packed tile has as many axes of D as it can, and S ends with the axis along which the
// destination's rows follow each other. Where there is none, the row is refused.
RaggedRuns runs_of(const Nest& nest, const Row& r) {
  RaggedRuns chosen = ragged_runs(nest);
  if (!r.packed || (chosen.s.axes == 1 && packs(nest, r, chosen))) return chosen;
  RaggedRuns runs;
  const bool one_axis = nest.read_bounds() != 0;  // the limit is of axis 0
  for (int a = 0; a >= 0 && a != nest.src_innermost(); a = one_axis ? -1 : next_of(nest, Side::dst, runs.d)) {
    runs.d.add(nest, a);
    runs.s = {};
    for (int b = nest.src_innermost(); b >= 0 && !runs.d.has(b); b = next_of(nest, Side::src, runs.s)) {
      runs.s.add(nest, b);
      if (packs(nest, r, runs)) chosen = runs;
    }
  }
  return chosen;
}

// Columns of a tile. Tiles of several pieces have equally many indices of S's outermost axis, as far as they can.
std::uint32_t tile_columns(const Nest& nest, const Row& r, const RaggedRuns& runs) {
  const std::int64_t pieces = inner_extent(nest, runs.s);
  if (!r.packed) return row_columns(r);
  if (pieces == 1) return static_cast<std::uint32_t>(std::min<std::int64_t>(row_columns(r), runs.s.extent));
  const auto outer = static_cast<std::uint64_t>(runs.s.extent / pieces);
  const std::uint64_t most = row_columns(r) / static_cast<std::uint64_t>(pieces);
  return static_cast<std::uint32_t>(ceil_div(outer, ceil_div(outer, most)) * static_cast<std::uint64_t>(pieces));
}

// What the kernel is made for: at least one where narrow tiles mostly have one, so that all share a pipeline.
std::uint32_t inner_axes(const Row& r, const RaggedRuns& runs) {
  return std::max(runs.inner_axes(), r.run_bytes <= 64 || r.packed ? 1u : 0u);
}

// A packed tile's indices of D from a limit on are zeros.
bool has_limit_of_d(const Nest& nest, Refusal& refusal) {
  if (nest.write_bounds() != 0 || nest.read_bounds() > 1) return needs_no_bounds(nest, refusal);
  if (nest.read_bounds() == 0) return true;
  if (nest.reads_nothing()) return refusal.no("there are zeros alone");
  for (int a = 1; a < nest.rank; ++a)
    if (nest.axis[static_cast<std::size_t>(a)].coef[0] != 0)
      return refusal.no("a layout block that does not divide its axis is not along the destination's innermost axis");
  return true;
}

// The step takes the .wide variant.
bool wide(const PermuteContext& c, const Row& r, const RaggedRuns& runs) {
  const int axes = c.nest.rank - runs.d.axes - runs.s.axes + 2;
  return c.offset64 || nearly_needs_offset64(c.nest) ||
         exceeds_push(axes, ragged_own_words(r.packed, inner_axes(r, runs)));
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Row& r = kTable[row];
  const Nest& nest = c.nest;
  if (nest.element_bytes != r.element_bytes)
    return refusal.no("elements have {} bytes, the row is for {}", nest.element_bytes, r.element_bytes);
  // H200, 2026-11-28, 41 problems whose candidates were all timed: without it the choices take 1.017 times the best's
  // time on Vulkan, with it 1.014, and 1.18 and 1.01 on CUDA (31 problems). Vulkan's two modules are 25 KB.
  if (r.element_bytes == 8 && c.profile.api != Api::cuda)
    return refusal.no("on Vulkan permute_tile is as fast for elements of 8 bytes");
  if (r.packed ? !has_limit_of_d(nest, refusal) : !needs_no_bounds(nest, refusal)) return false;
  if (!is_ragged_transpose(nest, refusal)) return false;
  const RaggedRuns runs = runs_of(nest, r);
  if (!has_extents(runs, refusal)) return false;
  if (r.packed) {
    const std::int64_t extent = runs.d.extent;
    if (extent > r.tile_d || (!r.gaps && extent * r.element_bytes < 8))
      return refusal.no("a row of the destination has {} elements, a packed tile 8 bytes to {} elements", extent,
                        r.tile_d);
    if (!packs(nest, r, runs))
      return refusal.no(
          "the destination's rows follow each other with{} along no axis with at most {} columns an index",
          r.gaps ? " gaps" : "out gaps", row_columns(r));
  }
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (shared_bytes(r) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared_bytes(r), c.limits.workgroup_memory);
  if (!has_offsets(c, wide(c, r, runs), refusal)) return false;
  return stores_elements(c, refusal);
}

// The kernel's own words have the limit. Those of a bound would be many.
Result<Step> make_unbounded_step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile) {
  Nest unbounded = nest;
  unbounded.bounds = 0;
  return make_step(config, unbounded, profile);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Nest& nest = c.nest;
  const RaggedRuns runs = runs_of(nest, r);
  const std::uint32_t inner = inner_axes(r, runs);
  PermuteConfig d;
  d.least_axes = pushed_axes(ragged_own_words(r.packed, inner));
  d.stem = "permute_ragged";
  d.step = make_unbounded_step;
  d.element_bytes = r.element_bytes;
  d.offset64 = wide(c, r, runs);
  d.workgroup = r.workgroup;
  add_ragged_tiles(d, nest, runs,
                   {.tile_d = r.tile_d, .columns = tile_columns(nest, r, runs), .inner = inner, .packed = r.packed});
  d.add_constant(PERMUTE_RAGGED_SPEC_TILE_D, r.tile_d);
  d.add_constant(PERMUTE_RAGGED_SPEC_RUN_BYTES, r.run_bytes);
  d.add_constant(PERMUTE_RAGGED_SPEC_LANES_D, r.lanes);
  d.add_constant(PERMUTE_RAGGED_SPEC_PACKED, r.gaps ? PERMUTE_RAGGED_GAPS : r.packed ? 1 : 0);
  d.add_constant(PERMUTE_RAGGED_SPEC_INNER, inner);
  d.workgroup_memory_bytes = shared_bytes(r);
  return d;
}

bool fills_tiles(const PermuteContext& c, const Row& r) {
  if (r.packed || c.nest.src_innermost() <= 0) return true;  // the latter is refused anyway
  return fills_ragged_tiles(runs_of(c.nest, r), r.tile_d, row_columns(r), r.element_bytes);
}

// On a CPU workgroup memory is memory, and single elements of 2 bytes and more are as fast in blocks. lavapipe 26.1.6
// on two Xeon cores, 2026-11-29, u8 8191x8193 axes=1,0: runs of 32 bytes 67 to 71 ms, of 48 to 128 bytes 72 to 121,
// permute_table 97 to 154, blocks of single bytes 116, NumPy 249.
Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  // On a GPU other rows serve as well, and some are chosen where they are slower. H200, 2026-11-29, problems that
  // `calibrate --op permute` measured: choices of bytes are worth 1.067 times the best's time on CUDA (383 problems)
  // and 1.097 on Vulkan (439) with runs of 48 and 96 bytes, 1.073 with 32 and 128 on CUDA, 1.101 with 96 alone on
  // Vulkan, 1.063 and 1.101 with all four. (Some of those times are of earlier kernels.) f16 1.037 and 1.029, with all
  // rows 1.038 and 1.029; f32 1.033 and 1.032, with all the same.
  const Row& r = kTable[row];
  const std::uint8_t api = c.profile.api == Api::cuda ? Row::kCuda : Row::kVulkan;
  // By other kernels each element of such a row is a write of its own, or several writes share a sector.
  if (r.gaps) return last_resort_if(c.cpu() || c.below_mib(kLeastRaggedMib) || c.nest.read_bounds() != 0);
  // With a limit little else serves, and nothing that is fast.
  if (c.nest.read_bounds() != 0)
    return last_resort_if(c.cpu() || c.below_mib(1) || 2 * c.nest.axis[0].extent < r.tile_d);
  const bool replaced = c.cpu() ? r.run_bytes != 32 : (r.gpus & api) == 0;
  return last_resort_if(replaced || c.below_mib(kLeastRaggedMib) || !fills_tiles(c, r) ||
                        (is_aligned_transpose(c) && ragged_runs(c.nest).inner_axes() == 0));
}

// A packed tile whose rows have gaps: each sector that a row has a part of is read and written, and is as a rule a
// request of its own.
void count_gaps(const PermuteContext& c, const Row& r, const RaggedRuns& runs, std::uint64_t columns,
                PermuteEstimate& estimate) {
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(32), e = r.element_bytes;
  const auto d = static_cast<std::uint64_t>(runs.d.extent);
  const auto pitch = static_cast<std::uint64_t>(c.nest.axis[static_cast<std::size_t>(runs.s.outer())].dst_stride);
  const bool shares = pitch <= 2 * d;
  const std::uint64_t counted = shares ? pitch : std::bit_ceil(d);
  const std::uint64_t sectors = columns * (shares ? pitch * e : d * e + transaction - e) / transaction;
  AccessCount& n = estimate.interior;
  n.store_transactions = 2 * sectors + 1;
  n.ideal_store_transactions = ceil_div(columns * d * e, transaction);
  n.store_requests = ceil_div(columns * counted, 32);
  n.bank_conflicts = 0;
  const std::uint64_t subgroups = ceil_div(r.workgroup, 32);
  estimate.instructions = subgroups * 200 + n.load_requests * 25 + n.store_requests * 16;
}

// A row's words of the source begin and end anywhere in a sector. Only a packed tile's part of the destination depends
// on the problem; each of its pieces shares a sector with the next tile's.
PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(c.cpu() ? 64 : 32), e = r.element_bytes;
  const RaggedRuns runs = runs_of(c.nest, r);
  const std::uint64_t rows = tile_rows(r), subgroups = ceil_div(r.workgroup, 32);
  const std::uint64_t columns = tile_columns(c.nest, r, runs), run_bytes = columns * e;
  const std::uint64_t pieces = r.packed ? static_cast<std::uint64_t>(inner_extent(c.nest, runs.s)) : 0;
  const std::uint64_t own = run_bytes * (r.packed ? static_cast<std::uint64_t>(runs.d.extent) : r.tile_d);
  PermuteEstimate estimate;
  estimate.groups = d.groups;
  estimate.addressing = Addressing::staged;
  AccessCount& n = estimate.interior;
  const auto read_rows = static_cast<std::uint64_t>(c.nest.read_bounds() != 0 ? limit_of_d(c.nest) : runs.d.extent);
  n.load_transactions = (r.packed ? read_rows : rows) * ceil_div(run_bytes + transaction - 1, transaction);
  n.ideal_load_transactions = n.ideal_store_transactions = ceil_div(own, transaction);
  n.store_transactions = n.ideal_store_transactions + pieces;
  const std::uint64_t block = e < 4 ? 4 / e : 1, loads = block * ceil_div(rows * r.run_bytes / 16, block * r.workgroup);
  n.load_requests = 2 * loads * subgroups;
  // Each piece but the first has an access more.
  n.store_requests = ceil_div(own / 8 + std::max<std::uint64_t>(pieces, 1) - 1, 32);
  // Loads of a word from columns whose first sector begins elsewhere: two wait for each other.
  n.bank_conflicts = e < 4 && !r.packed ? 3 * n.store_requests : 0;
  if (r.gaps) count_gaps(c, r, runs, columns, estimate);
  estimate.edge = estimate.interior;
  if (r.gaps) return estimate;
  const std::uint64_t store = (e < 4 ? 18 : 10) + (r.packed ? 30 : 0) + (pieces > 1 ? 15 : 0);
  estimate.instructions = subgroups * (100 + loads * (e < 4 ? 60 : 40)) + n.store_requests * store;
  return estimate;
}

std::string print_row(const Row& r) {
  const std::string kind = r.gaps ? "gaps" : r.packed ? "packed" : fmt::format("d{}", r.lanes);
  return ragged_row_name(r.element_bytes, r.run_bytes, r.tile_d, r.workgroup, kind);
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_RAGGED_SPEC_RUN_BYTES, "run"}, {PERMUTE_RAGGED_SPEC_TILE_D, "tile"}};

constexpr PermuteStrategy kStrategy = {"permute_ragged",
                                       CostTable::permute_ragged,
                                       std::size(kTable),
                                       applicable,
                                       make,
                                       estimate,
                                       eligibility,
                                       print,
                                       kNamed};

}  // namespace
}  // namespace permute_ragged

namespace {

// Up to so many tiles along S are neighbours: then a row of the source is read at once. H200, 2026-11-28: u8 131731x275
// 0.61 to 0.67 of a copy on CUDA, 12347x6421 0.77 to 0.75.
constexpr std::uint64_t kMostNeighbours = 16;

}  // namespace

std::string ragged_row_name(std::uint32_t element_bytes, std::uint32_t run_bytes, std::uint32_t tile_d,
                            std::uint32_t workgroup, std::string_view kind) {
  return fmt::format("e{} {}x{} wg{} {}", element_bytes, run_bytes, tile_d, workgroup, kind);
}

int next_of(const Nest& nest, Side side, const AxisRun& run) {
  if (run.axes == AxisRun::kMostAxes) return -1;
  for (int a = 0; a < nest.rank; ++a)
    if (nest.stride(side, a) == run.extent && !run.has(a)) return a;
  return -1;
}

RaggedRuns ragged_runs(const Nest& nest) {
  constexpr std::int64_t kLong = 256;  // bytes
  RaggedRuns runs;
  runs.d.add(nest, 0);
  runs.s.add(nest, nest.src_innermost());
  for (;;) {
    const auto next = [&](const AxisRun& run, Side side, const AxisRun& other) {
      if (run.extent * nest.element_bytes >= kLong) return -1;
      const int a = next_of(nest, side, run);
      return other.has(a) ? -1 : a;
    };
    const int d = next(runs.d, Side::dst, runs.s), s = next(runs.s, Side::src, runs.d);
    if (d < 0 && s < 0) return runs;
    if (s < 0 || (d >= 0 && runs.d.extent <= runs.s.extent))
      runs.d.add(nest, d);
    else
      runs.s.add(nest, s);
  }
}

// H200, 2026-11-28, 1,829 problems whose candidates were all timed: no choice is lost where tiles are filled by 3/5 and
// more. Bytes have little else that is fast: with a half, choices of 1,247 problems are worth 1.035 and 1.044 (CUDA,
// Vulkan) in place of 1.042 and 1.052 (u8 5x14x46x3x3x15x35x21 axes=3,0,4,7,5,2,6,1 0.52 of a copy for 0.19 on CUDA).
// For f32 32x16x24x20x36x18 axes=5,3,1,0,2,4 it is 0.76 for 0.90.
bool fills_ragged_tiles(const RaggedRuns& runs, std::int64_t tile_d, std::int64_t tile_s, std::uint32_t element_bytes) {
  const auto filled = [](std::int64_t extent, std::int64_t tile) {  // in percent
    const std::int64_t tiles = std::max<std::int64_t>(1, (extent + tile - 1) / tile);
    return 100 * extent / (tiles * tile);
  };
  return filled(runs.d.extent, tile_d) * filled(runs.s.extent, tile_s) >= (element_bytes == 1 ? 5000 : 6000);
}

std::int64_t limit_of_d(const Nest& nest) {
  if (nest.read_bounds() == 0) return nest.axis[0].extent;
  const std::int64_t coefficient = nest.axis[0].coef[0];
  return std::min(nest.axis[0].extent, (nest.bound[0].read_limit + coefficient - 1) / coefficient);
}

std::int64_t ragged_source(const Nest& nest) {
  Nest read = nest;
  read.axis[0].extent = limit_of_d(nest);
  return read.src_span();
}

bool is_ragged_transpose(const Nest& nest, Refusal& refusal) {
  const int s = nest.src_innermost();
  if (s <= 0) return refusal.no("source and destination have the same innermost axis");
  if (nest.axis[0].dst_stride != 1 || nest.axis[static_cast<std::size_t>(s)].src_stride != 1)
    return refusal.no("an operand is not contiguous along its innermost axis");
  if (ragged_source(nest) * nest.element_bytes < 32) return refusal.no("the source has fewer than 32 bytes");
  return true;
}

bool has_extents(const RaggedRuns& runs, Refusal& refusal) {
  return std::max(runs.d.extent, runs.s.extent) < std::int64_t{1} << 31 || refusal.no("a run has 2^31 elements");
}

void add_ragged_tiles(PermuteConfig& d, const Nest& nest, const RaggedRuns& runs, const RaggedTile& tile) {
  d.groups = 1;
  const auto axis_of = [&](int a) { return nest.axis[static_cast<std::size_t>(a)]; };
  const auto add = [&](const NestAxis& axis, std::uint64_t count) {
    d.add_axis(axis, static_cast<std::uint32_t>(count));
    d.groups *= count;
  };
  const auto tiles = [](const AxisRun& run, std::uint32_t indices) {
    return ceil_div(static_cast<std::uint64_t>(run.extent), indices);
  };
  add(axis_of(runs.d.outer()), tiles(runs.d, tile.tile_d));
  add(axis_of(runs.s.outer()), tiles(runs.s, tile.columns));
  for (int a = 0; a < nest.rank; ++a)
    if (!runs.d.has(a) && !runs.s.has(a)) add(axis_of(a), static_cast<std::uint64_t>(axis_of(a).extent));
  constexpr std::size_t kInner = AxisRun::kMostAxes - 1;
  std::array<std::uint32_t, kInner> sizes{}, multiplier_d{}, multiplier_s{};
  std::array<std::int64_t, kInner> inner_src{}, inner_dst{};
  for (std::size_t i = 0; i < tile.inner; ++i) {
    const auto inside = [&](const AxisRun& run) {
      return static_cast<int>(i) + 1 < run.axes ? axis_of(run.axis[i]) : NestAxis{};
    };
    const NestAxis in_d = inside(runs.d), in_s = inside(runs.s);
    const auto size_d = static_cast<std::uint32_t>(in_d.extent), size_s = static_cast<std::uint32_t>(in_s.extent);
    sizes[i] = size_d | size_s << 16;
    multiplier_d[i] = small_multiplier(size_d);
    multiplier_s[i] = small_multiplier(size_s);
    inner_src[i] = in_d.src_stride;
    inner_dst[i] = in_s.dst_stride;
  }
  d.set_own(PermuteRaggedWords{.extent_d = static_cast<std::uint32_t>(runs.d.extent),
                               .extent_s = static_cast<std::uint32_t>(runs.s.extent),
                               .s_first = d.axis[1].count <= kMostNeighbours ? 1u : 0u,
                               .source_elements = ragged_source(nest),
                               .tile_s = tile.columns,
                               .limit_d = static_cast<std::uint32_t>(nest.read_bounds() != 0 ? limit_of_d(nest)
                                                                                             : runs.d.extent),
                               .inner_sizes = sizes,
                               .multiplier_d = multiplier_d,
                               .multiplier_s = multiplier_s,
                               .inner_src = inner_src,
                               .inner_dst = inner_dst},
            RaggedConstants{.kInner = tile.inner, .kPacked = tile.packed ? 1u : 0u});
}

const PermuteStrategy kRagged = permute_ragged::kStrategy;
std::vector<std::string> permute_ragged_rows() { return names_of(permute_ragged::kTable, permute_ragged::print_row); }

}  // namespace sectile::detail
