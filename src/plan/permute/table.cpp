// permute_table: boxes of up to six axes at any address, many of them by a workgroup, with a table in registers of
// where each stored element is in workgroup memory.
#include "table_banks.hpp"

#include "permute/permute_table.abi.h"

#include <algorithm>
#include <bit>

namespace sectile::detail {

namespace permute_table {
namespace {

// run_bytes: desired bytes of a run in the source; loads, stores: of an invocation, words of 16 bytes and accesses of
// 8; walk: most tiles of a workgroup on a CPU; resident: workgroups of a multiprocessor, by their registers, so that
// all walks run at once (CUDA as ptxas says; Vulkan as timed: H200, driver 580.159.04, 2026-11-28, three problems by
// the smaller row 1.06 to 1.11 times as fast with 4 as with 3, and 0.83 to 0.88 with 5); ahead: on Vulkan the next tile
// is loaded while one is stored (fetches_ahead()).
struct Row {
  std::uint32_t run_bytes, workgroup, loads, stores, walk = 0;
  std::uint32_t resident = 0, resident_cuda = 0;
  bool ahead = false;
  bool bytes = false;  // a CPU reads single bytes of workgroup memory
};
// clang-format off
constexpr Row kTable[] = {
    {.run_bytes = 128, .workgroup = 256, .loads = 6, .stores = 8, .resident = 2, .resident_cuda = 2},
    {.run_bytes = 64, .workgroup = 128, .loads = 5, .stores = 6, .resident = 4, .resident_cuda = 5,
     .ahead = true},
    {.run_bytes = 64, .workgroup = 64, .loads = 16, .stores = 24, .walk = 64, .ahead = true},
};
// lavapipe 26.1.6 on two Xeon cores, 2026-11-29, u8 4191x2193 axes=1,0: 0.049 to 0.056 of a copy, with words and shifts
// 0.067 to 0.080.
constexpr Row kRetired[] = {
    {.run_bytes = 64, .workgroup = 64, .loads = 16, .stores = 24, .walk = 64, .ahead = true, .bytes = true},
};
// clang-format on

constexpr const Row& row_of(std::uint32_t row) { return row_in(kTable, kRetired, row); }

constexpr std::uint32_t kAccess = 8, kWord = 16;  // bytes
constexpr std::int64_t kLongRun = 64;             // bytes, of a run that is kept whole
constexpr std::int64_t kLeastMib = 8;             // what is smaller is not worth pipelines of its own
constexpr std::uint64_t kMostTiles = 4096;        // of a walk
constexpr std::uint64_t kUsualTurns = 200;        // TableBanks, of a load

// Along which axis of a step a workgroup goes from tile to tile.
struct Route {
  std::uint32_t axis = 0, tiles = 1, end = 1;
};

// Accesses of a run at most, as the kernel counts them: of a destination row's first part, which begins anywhere and
// ends at a sector, and of its last one, which has all that is loaded. A tile with more than its table holds would be
// listed anew in two rounds, and the workgroups that have such tiles take several times as long as the others.
std::int64_t accesses_of_run(const PermuteContext& c, const RunBox& b) {
  const std::int64_t e = c.nest.element_bytes, own = b.own() * e, loaded = b.loaded() * e;
  const std::int64_t first = own + (is_cut(c, b) ? PERMUTE_SECTOR - e : 0) + kAccess - e;
  return (std::max(first, loaded) + kAccess - e) / kAccess;
}

// Positions that the kernel lists: those of a period, and an access more on either side.
std::int64_t listed_positions(const PermuteContext& c, const RunBox& b) {
  return (b.shared[b.last()] ? b.inner() : b.loaded()) + 2 * kAccess / c.nest.element_bytes;
}

// Of workgroup memory: a word of padding follows the rows of an access. A run's last access may have entries for what
// follows its last period.
std::int64_t words_of(const PermuteContext& c, const RunBox& b) {
  const std::int64_t e = c.nest.element_bytes, padding = e < kAccess ? b.rows * e / kAccess + 1 : 0;
  const std::int64_t period = b.shared[b.last()] ? axis_of(c, b.position[b.last()]).src_stride * e : 0;
  const std::int64_t after = period > 0 ? (kAccess / (e * b.inner()) + 1) * period / kWord + 1 : 0;
  return b.rows * row_loads(b, c.nest.element_bytes) + padding + after;
}

std::uint32_t shared_bytes(const Row& r) { return kWord * r.workgroup * r.loads; }

bool lists_positions(const PermuteContext& c, const Row& r, const RunBox& b) {
  return PERMUTE_TABLE_POSITION(listed_positions(c, b)) <= shared_bytes(r) / 4;
}

bool fits(const PermuteContext& c, const Row& r, const RunBox& b) {
  return words_of(c, b) <= std::int64_t{r.workgroup} * r.loads && lists_positions(c, r, b) &&
         accesses_of_run(c, b) * b.column_count() <= std::int64_t{r.workgroup} * r.stores;
}

// The least power of two whose multiples of `bytes` are multiples of `unit`, a power of two.
std::int64_t multiple_for(std::int64_t bytes, std::int64_t unit) {
  std::int64_t n = 1;
  while (n < unit && n * bytes % unit != 0) n *= 2;
  return n;
}

// Makes a part whole sectors, and whole words of the source, if it has more than one of them.
void align_part(const PermuteContext& c, RunBox& b) {
  if (!is_cut(c, b)) return;
  const std::int64_t e = c.nest.element_bytes, stride = axis_of(c, b.position[b.last()]).src_stride;
  const std::int64_t sectors = multiple_for(b.inner() * e, PERMUTE_SECTOR),
                     both = std::max(sectors, multiple_for(stride * e, kWord));
  for (const std::int64_t unit : {both, sectors})
    if (b.part >= unit) {
      cut_positions(c, b, b.part - b.part % unit);
      return;
    }
}

// Shrinks the box until it fits: the longer one of its runs first.
bool shrink(const PermuteContext& c, const Row& r, RunBox& b) {
  measure(c, b);
  while (!fits(c, r, b)) {
    const bool listed = lists_positions(c, r, b);
    if (!listed && b.shared[b.last()]) return false;
    const bool columns = listed && b.columns > 0 && b.column_count() > 1;
    if (columns && (b.column_count() >= b.own() || b.part == 1 || b.limits_last())) {
      for (int i = b.columns; i-- > 0;)  // the last that has more than one index
        if (reduce(b.column_size[static_cast<std::size_t>(i)])) break;
    } else if (b.part > 1 && !b.limits_last()) {
      // As much as is too much, and at least one index.
      const double share = std::min({static_cast<double>(r.workgroup * r.loads) / static_cast<double>(words_of(c, b)),
                                     static_cast<double>(shared_bytes(r) / 4) /
                                         static_cast<double>(PERMUTE_TABLE_POSITION(listed_positions(c, b))),
                                     static_cast<double>(r.workgroup * r.stores) /
                                         static_cast<double>(accesses_of_run(c, b) * b.column_count())});
      cut_positions(
          c, b,
          std::clamp<std::int64_t>(static_cast<std::int64_t>(share * static_cast<double>(b.part)), 1, b.part - 1));
      align_part(c, b);
    } else {
      return false;
    }
    measure(c, b);
  }
  return true;
}

// What a tile loads beyond its part is more than a quarter, and the axes before the last one make a run of some length.
bool mostly_halo(const PermuteContext& c, const RunBox& b) {
  return b.positions > 1 && is_cut(c, b) && 4 * (b.size[b.last()] - b.part) > b.part &&
         b.inner() * c.nest.element_bytes >= 2 * PERMUTE_SECTOR;
}

// More columns for a box that fills less than its row: a tile takes the same instructions however little it moves. The
// source's run is doubled as often as that fits, then made half as long again.
void fill(const PermuteContext& c, const Row& r, RunBox& b) {
  std::int64_t run_bytes = r.run_bytes;
  for (bool doubles = true; run_bytes < shared_bytes(r);) {
    const std::int64_t wanted = doubles ? 2 * run_bytes : run_bytes + run_bytes / 2;
    RunBox more = b;
    more.shared = {};
    more.columns = 0;
    more.column_size = {};
    choose_columns(c, wanted, more);
    measure(c, more);
    const bool fit = fits(c, r, more) && more.fits_words();
    if (fit && more.column_count() > b.column_count()) b = more;
    if (!doubles) return;
    if (fit)
      run_bytes = wanted;
    else
      doubles = false;
  }
}

bool build(const PermuteContext& c, const Row& r, RunBox& b, Refusal& refusal) {
  choose_positions(c, std::int64_t{r.workgroup} * r.stores * kAccess, b);
  if (b.positions == 0) return refusal.no("the destination is not contiguous along its innermost axis");
  align_part(c, b);
  if (mostly_halo(c, b)) leave_last(c, b);
  for (;;) {
    choose_columns(c, r.run_bytes, b);
    const bool fit = shrink(c, r, b);
    if (fit && !mostly_halo(c, b)) break;
    if (b.positions == 1)
      return refusal.no("a tile needs {} bytes of workgroup memory, the row has {}", kWord * words_of(c, b),
                        kWord * r.workgroup * r.loads);
    leave_last(c, b);
  }
  if (c.nest.write_bounds() != 0 && b.limited == 0)
    return refusal.no("a layout block that does not divide its axis is larger than a tile");
  if (!c.cpu()) fill(c, r, b);
  if (b.positions == 1 && b.columns == 0) return refusal.no("both runs are along the same axis");
  if (!b.fits_words()) return refusal.no("an axis of the tile has more than 65535 indices");
  return true;
}

constexpr int own_words(std::uint32_t inner) { return static_cast<int>(7 + 4 * inner); }

// The step takes the .wide variant.
bool wide(const PermuteContext& c, const RunBox& b) {
  return nearly_needs_offset64(c.nest) || exceeds_push(step_axes(c, b), own_words(inner_axes(b)));
}

// So many loads and stores of an invocation have no registers on a GPU.
bool for_cpus(const Row& r) { return r.stores > 8; }

// By the kernel without 64-bit offsets. H200, Vulkan, 2026-11-29, r64, fractions of a copy by words and shifts, and by
// bytes: u8 76344x111x10x2 NHWC to NCHW 0.54 and 0.64, 40x1568931x7 axes=2,1,0 0.53 and 0.55, 78083x122x7x5 NHWC to
// NCHW 0.51 and 0.58.
bool reads_bytes(const PermuteContext& c, const Row& r) {
  return c.nest.element_bytes == 1 && c.profile.workgroup8.value_or(false) && c.profile.int8.value_or(false) &&
         (!c.cpu() || r.bytes);
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = row_of(row);
  if (for_cpus(r) != c.cpu()) return refusal.no("a row for {} devices only", c.cpu() ? "GPU" : "CPU");
  if (r.bytes && !reads_bytes(c, r)) return refusal.no("needs elements of 1 byte, workgroup8 and int8");
  if (!has_run_boxes(c, refusal)) return false;
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (shared_bytes(r) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared_bytes(r), c.limits.workgroup_memory);
  RunBox box;
  return build(c, r, box, refusal) && has_offsets(c, wide(c, box), refusal);
}

RunBox built(const PermuteContext& c, std::uint32_t row) {
  RunBox b;
  Refusal ignored(false);
  build(c, row_of(row), b, ignored);
  return b;
}

// Instructions of an invocation, for a tile and for the table.
std::uint64_t tile_instructions(const PermuteContext& c, const Row& r) {
  return r.loads * 14 + r.stores * (8 + 5 * (kAccess / c.nest.element_bytes)) + 60;
}
std::uint64_t table_instructions(const PermuteContext& c, const Row& r) {
  return 240 + r.loads * 20 + r.stores * (50 + 10 * (kAccess / c.nest.element_bytes));
}

// The table, and the time of a tile and a half in which a walk's first words come and no others are stored (H200,
// 2026-11-29, f16 193x67x61x216 axes=0,2,3,1 in 772 walks for 236: CUDA 0.69 of a copy for 0.77, Vulkan 0.44 for 0.62).
std::uint64_t start_instructions(const PermuteContext& c, const Row& r) {
  return table_instructions(c, r) + tile_instructions(c, r) * 3 / 2;
}

// Workgroups of a multiprocessor.
std::uint32_t resident_of(const PermuteContext& c, const Row& r, std::uint32_t inner) {
  if (c.profile.api != Api::cuda) return r.resident;
  const bool few = PERMUTE_TABLE_FEW_REGISTERS(c.nest.element_bytes, inner, r.stores);
  return few ? r.resident_cuda : std::min(r.resident_cuda, 512 / r.workgroup);
}

// The next tile is loaded while one is stored, where registers are left for it and where it was timed: H200,
// 2026-11-28, CUDA 1.00 to 1.14 times as fast, the smaller row on Vulkan 1.03 to 1.15. ptxas spills for sm_100, RADV
// with 64-bit offsets.
bool fetches_ahead(const PermuteContext& c, const Row& r, bool offset64) {
  if (c.profile.api != Api::cuda) return r.ahead && !offset64;
  return c.profile.cuda_architecture == 90u;
}

// Walks along an axis, for each of the tiles that are a step's, and tiles of a walk. The least cost is best.
struct Walks {
  std::uint64_t walks = 1, tiles = 1, cost = ~std::uint64_t{0};
};

// On a CPU as few walks as have at most `walk` tiles. On a GPU those whose last wave ends first: all run at once, or
// two to four waves where that leaves fewer places for a workgroup idle.
Walks walks_of(const PermuteContext& c, const Row& r, std::uint32_t inner, std::uint64_t steps, std::uint64_t others) {
  Walks best;
  if (c.cpu()) {
    best.walks = ceil_div(steps, std::min<std::uint64_t>(steps, r.walk));
    best.tiles = ceil_div(steps, best.walks);
    best.cost = kMostTiles - best.tiles;
    return best;
  }
  const std::uint64_t places = resident_of(c, r, inner) * c.profile.multiprocessors.value_or(c.model.multiprocessors);
  for (std::uint64_t waves = 1; waves <= 4; ++waves) {
    Walks w;
    w.walks = std::clamp<std::uint64_t>(waves * places / others, ceil_div(steps, kMostTiles), steps);
    w.tiles = ceil_div(steps, w.walks);
    w.walks = ceil_div(steps, w.tiles);
    w.cost = ceil_div(w.walks * others, places) * (w.tiles * tile_instructions(c, r) + start_instructions(c, r));
    if (w.cost < best.cost) best = w;
  }
  return best;
}

// The best walk at whole words and sectors from tile to tile. Takes its tiles out of the step's workgroups.
Route choose_route(const PermuteContext& c, const Row& r, const RunBox& b, PermuteConfig& d) {
  const std::int64_t e = c.nest.element_bytes;
  Route route{.end = d.axis[0].count};
  std::uint64_t least = ~std::uint64_t{0};
  std::uint32_t count = d.axis[0].count;
  for (int a = 0; a < d.axes; ++a) {
    const StreamAxis& axis = d.axis[static_cast<std::size_t>(a)];
    const std::int64_t indices = a == 0 ? b.part : a == 1 ? column_part(b) : 1;
    const auto step = static_cast<std::uint64_t>(std::max(multiple_for(indices * axis.src_stride * e, kWord),
                                                          multiple_for(indices * axis.dst_stride * e, PERMUTE_SECTOR)));
    if (axis.count < 2 * step) continue;
    const Walks w = walks_of(c, r, inner_axes(b), ceil_div(axis.count, step), d.groups / axis.count * step);
    if (w.tiles == 1 || w.cost >= least) continue;
    least = w.cost;
    count = static_cast<std::uint32_t>(w.walks * step);
    route = {.axis = static_cast<std::uint32_t>(a), .tiles = static_cast<std::uint32_t>(w.tiles), .end = axis.count};
  }
  d.groups = d.groups / d.axis[route.axis].count * count;
  d.axis[route.axis].count = count;
  return route;
}

// The limit is in the kernel's own words.
Result<Step> make_unbounded_step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile) {
  Nest free = nest;
  free.bound = {};
  return make_step(config, free, profile);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = row_of(row);
  const RunBox b = built(c, row);
  const std::uint32_t e = c.nest.element_bytes, inner = inner_axes(b);
  PermuteConfig d;
  d.stem = "permute_table";
  d.element_bytes = e;
  d.offset64 = wide(c, b);
  if (reads_bytes(c, r) && !d.offset64) d.variant = "e1.bytes";
  d.workgroup = r.workgroup;
  d.least_axes = pushed_axes(own_words(inner));
  add_axes(c, b, d);
  const Route route = choose_route(c, r, b, d);
  const auto last = b.last();
  std::uint32_t bits = b.columns <= 1 ? PERMUTE_TABLE_CUT_FIRST : 0;
  for (std::size_t i = 0; i <= last; ++i)
    if (b.shared[i]) bits |= PERMUTE_TABLE_SHARED << (i == last ? 2 : i);  // the last one is the third
  // A CPU has no banks, and runs both layouts all the same: its drivers are what tests have.
  const TableBanks banks = table_banks(c, b, accesses_of_run(c, b));
  if (banks.scatters()) bits |= PERMUTE_TABLE_SCATTERED;
  d.bank_conflicts = c.cpu() ? kUsualTurns : banks.least();
  if (b.limits_inner()) bits |= PERMUTE_TABLE_LIMITED_INNER;
  if (b.limits_last()) bits |= PERMUTE_TABLE_LIMITED_LAST;
  const InnerAxes axes = inner_axes_of(c, b);
  d.set_own(
      PermuteTableWords{
          .part = U16x2{.x = static_cast<std::uint32_t>(b.part), .y = static_cast<std::uint32_t>(b.size[last])},
          .cut_extent = static_cast<std::uint32_t>(b.limits_last() ? b.limit : axis_of(c, b.position[last]).extent),
          .column_extent = column_extent(c, b),
          .staging = U16x2{.x = row_loads(b, e), .y = column_part(b)},
          .schedule = U8x2U16{.x = route.axis, .y = bits, .z = route.tiles},
          .walk_end = route.end,
          .source_elements = c.nest.src_span(),
          .inner_sizes = std::array{axes.sizes[0] | axes.column_sizes[0] << 16,
                                    (b.limits_inner() ? static_cast<std::uint32_t>(b.limit) : axes.sizes[1]) |
                                        axes.column_sizes[1] << 16},
          .position_src = axes.strides,
          .column_src = axes.column_src,
          .column_dst = axes.column_dst},
      InnerConstants{.kInner = inner});
  d.step = make_unbounded_step;
  d.workgroup_memory_bytes = shared_bytes(r);
  d.add_constant(PERMUTE_TABLE_SPEC_LOADS, r.loads);
  d.add_constant(PERMUTE_TABLE_SPEC_STORES, r.stores);
  d.add_constant(PERMUTE_TABLE_SPEC_INNER, inner);
  d.add_constant(PERMUTE_TABLE_SPEC_AHEAD, fetches_ahead(c, r, d.offset64) ? 1 : 0);
  return d;
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  const int s = c.nest.src_innermost();
  if (!c.cpu()) {
    // Long runs that are kept are permute_realign's. H200, Vulkan and CUDA, 2026-11-28, `calibrate --op permute --seed
    // 4650`, 4651, 4660, 4661: it was no slower on 12 of 13 problems with runs of 16 bytes and more, and another kernel
    // was best on the 13th. Runs of 19 bytes: CUDA 0.54 of a copy for 0.47, Vulkan 0.45 for 0.52.
    const bool kept = s == 0 && c.nest.axis[0].extent * c.nest.element_bytes >= kLongRun && c.nest.write_bounds() == 0;
    return last_resort_if(kept || c.below_mib(kLeastMib));
  }
  // lavapipe 26.1.6 on two Xeon cores, 2026-11-28, `sectile calibrate --device vulkan:1 --op permute --min-mb 8`: of 28
  // problems it was the best for 1.4 to 1.7 times the second, of ragged ones of 1 byte. Tables do not pay for small
  // ones, and permute_interleave and permute_runs are faster on short axes.
  const bool ragged = s > 0 && !is_aligned_transpose(c) && std::min(c.nest.axis[0].extent, axis_of(c, s).extent) >= 16;
  if (!ragged || c.nest.element_bytes > 2 || c.below_mib(8)) return Eligibility::last_resort;
  return last_resort_if(inner_axes(built(c, row)) != 0);  // a pipeline of its own for few problems
}

// Of a tile, with its share of the table.
PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = row_of(row);
  const RunBox b = built(c, row);
  PermuteConfig tiles;
  add_axes(c, b, tiles);
  const std::uint64_t positions = kAccess / c.nest.element_bytes, subgroups = r.workgroup / 32,
                      accesses = static_cast<std::uint64_t>(accesses_of_run(c, b) * b.column_count());
  PermuteEstimate estimate;
  estimate.groups = tiles.groups;
  estimate.addressing = Addressing::box;
  AccessCount& n = estimate.interior;
  estimate_tile(c, b, n);
  n.store_requests = ceil_div(accesses, 32);
  n.bank_conflicts = n.store_requests * positions * d.bank_conflicts / kUsualTurns;
  estimate.edge = estimate.interior;
  estimate.instructions = subgroups * (tile_instructions(c, r) +
                                       table_instructions(c, r) * d.groups / std::max<std::uint64_t>(tiles.groups, 1));
  return estimate;
}

std::string print_row(const Row& r) {
  return fmt::format("r{} l{} s{} wg{}{}", r.run_bytes, r.loads, r.stores, r.workgroup, r.bytes ? " bytes" : "");
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(row_of(row)); }

constexpr PermuteStrategy kStrategy = {.stem = "permute_table",
                                       .costs = CostTable::permute_table,
                                       .rows = std::size(kTable),
                                       .applicable = applicable,
                                       .make = make,
                                       .estimate = estimate,
                                       .eligibility = eligibility,
                                       .print = print,
                                       .retired = std::size(kRetired)};

}  // namespace
}  // namespace permute_table

const PermuteStrategy kTabled = permute_table::kStrategy;
std::vector<std::string> permute_table_rows() { return names_of(permute_table::kTable, permute_table::print_row); }

}  // namespace sectile::detail
