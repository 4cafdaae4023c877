// permute_gather: boxes of up to six axes that have long runs in both operands, at any address: ragged transposes,
// short and odd inner axes, many axes.
#include "run_box.hpp"

#include "permute/permute_gather.abi.h"

#include <algorithm>
#include <bit>

namespace sectile::detail {

namespace permute_gather {
namespace {

// windows: of a destination run's part, a team's accesses each; run_bytes: desired bytes of a run in the source.
struct Row {
  std::uint32_t windows, run_bytes, workgroup, unroll;
};
// clang-format off
constexpr Row kTable[] = {
    {.windows = 1, .run_bytes = 96, .workgroup = 256, .unroll = 4},
    {.windows = 1, .run_bytes = 48, .workgroup = 256, .unroll = 4},
    {.windows = 2, .run_bytes = 112, .workgroup = 256, .unroll = 4},
    {.windows = 4, .run_bytes = 112, .workgroup = 256, .unroll = 4},
    {.windows = 1, .run_bytes = 112, .workgroup = 128, .unroll = 4},
    {.windows = 2, .run_bytes = 96, .workgroup = 128, .unroll = 4},
    {.windows = 1, .run_bytes = 48, .workgroup = 128, .unroll = 4},
    {.windows = 2, .run_bytes = 240, .workgroup = 256, .unroll = 4},
};
// clang-format on

constexpr std::uint32_t kTeam = 32;

struct Box : RunBox {
  std::uint32_t team = kTeam, windows = 1, sharing = 1;
  std::uint32_t pitch = 0, lane_rows = 1;  // words of a row; rows of a lane's positions
  bool turn = false;

  // A lane's last positions may lie behind the rows. A word of padding follows a lane's rows.
  std::int64_t words() const { return (rows + lane_rows - 1) * pitch + (rows + lane_rows) / lane_rows + 1; }
};

constexpr std::uint32_t kAccess = 8;  // bytes of a lane's store
// Positions of the tile before a part's first sector, beside those of one access.
constexpr std::int64_t kSlack = PERMUTE_SECTOR - kAccess;
std::uint32_t positions_of_lane(std::uint32_t e) { return kAccess / e; }
std::uint32_t storing_lanes(std::uint32_t e, std::uint32_t team) { return positions_of_lane(e) > 1 ? team - 1 : team; }

std::uint32_t row_words(std::int64_t span, std::uint32_t e) {
  return static_cast<std::uint32_t>((span * e + (e < 4 ? 6 : 0)) / 4);
}

// Workgroup memory of a row of the table: the tile of a transpose. All boxes have this much, so they share pipelines.
std::uint32_t shared_words(const Row& r, std::uint32_t e, std::uint32_t team) {
  const std::uint32_t lane = positions_of_lane(e), positions = r.windows * team * lane;
  return (positions + lane - 1) * (row_words(r.run_bytes / e, e) | 1u) + positions / lane + 2;
}

// The columns that fit the table.
std::uint32_t most_columns(const Row& r, std::uint32_t e) { return r.run_bytes / e + 4; }
std::uint32_t shared_bytes(const Row& r, std::uint32_t e, std::uint32_t team) {
  return (4 * shared_words(r, e, team) + 15) / 16 * 16 + 16 * most_columns(r, e);
}

void measure_rows(const PermuteContext& c, Box& b) {
  measure(c, b);
  b.pitch = row_words(b.span, c.nest.element_bytes) | 1u;
  b.lane_rows = positions_of_lane(c.nest.element_bytes);
}

std::uint64_t lane_columns(const Box& b, std::uint32_t e) { return b.turn ? 4 / e : 1; }

// What a lane collects at once, of the columns.
std::uint64_t column_groups(const Box& b, std::uint32_t e) {
  std::uint64_t items = 1;
  for (int i = 0; i < b.columns; ++i) {
    const auto size = static_cast<std::uint64_t>(b.column_size[static_cast<std::size_t>(i)]);
    items *= i == 0 ? ceil_div(size, lane_columns(b, e)) : size;
  }
  return items;
}

// How many teams share a window's columns.
void schedule(const PermuteContext& c, const Row& r, Box& b) {
  const std::uint32_t e = c.nest.element_bytes, teams = r.workgroup / b.team;
  const auto bytes = static_cast<std::uint64_t>(b.part * b.inner() * e + (is_cut(c, b) ? kSlack : 0));
  b.windows = static_cast<std::uint32_t>(ceil_div(ceil_div(bytes, kAccess), storing_lanes(e, b.team)));
  const std::uint64_t items = column_groups(b, e);
  std::uint64_t least = ~std::uint64_t{0};
  for (std::uint32_t sharing = 1; sharing <= teams; sharing *= 2) {
    const std::uint64_t rounds = ceil_div(b.windows, teams / sharing) * (2 + ceil_div(items, sharing));
    if (rounds >= least) continue;
    least = rounds;
    b.sharing = sharing;
  }
}

// The step takes the .wide variant.
bool wide(const PermuteContext& c, const Box& b) {
  const auto inner = static_cast<int>(inner_axes(b));
  return c.offset64 || nearly_needs_offset64(c.nest) || exceeds_push(step_axes(c, b), inner == 0 ? 6 : 8 + 3 * inner);
}

bool build(const PermuteContext& c, const Row& r, Box& b, Refusal& refusal) {
  const std::uint32_t e = c.nest.element_bytes;
  b.team = std::min(kTeam, c.profile.subgroup_size.value_or(1));
  choose_positions(c, std::int64_t{r.windows} * storing_lanes(e, b.team) * kAccess, kSlack, b);
  if (b.positions == 0) return refusal.no("the destination is not contiguous along its innermost axis");
  choose_columns(c, r.run_bytes, b);
  measure_rows(c, b);
  b.turn = e < 4 && b.columns > 0 && axis_of(c, b.column[0]).src_stride == 1;
  const std::int64_t room = shared_words(r, e, b.team);
  const auto too_many = [&] { return column_groups(b, e) * lane_columns(b, e) > most_columns(r, e); };
  while (b.words() > room || too_many()) {
    if (b.columns > 0 && halve(b.column_size[static_cast<std::size_t>(b.columns - 1)])) {
      measure_rows(c, b);
      continue;
    }
    if (too_many() || b.part <= 1)
      return refusal.no("a tile needs {} bytes of workgroup memory, the row has {}", 4 * b.words(), 4 * room);
    cut_positions(c, b, (b.part + 1) / 2);
    measure_rows(c, b);
  }
  if (b.positions == 1 && b.columns <= 1 && b.shared[0]) return refusal.no("both runs are along the same axis");
  if (!b.fits_words()) return refusal.no("an axis of the tile has more than 65535 indices");
  schedule(c, r, b);
  return has_offsets(c, wide(c, b), refusal);
}

// What is smaller is not worth pipelines of its own.
constexpr std::int64_t kLeastMib = 8;

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = kTable[row];
  if (!has_run_boxes(c, 128, refusal)) return false;
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  const std::uint32_t size = known_subgroup_size(c.profile);
  if (size < 4) return refusal.no("needs subgroups of a known size, at least 4");
  if (r.workgroup % size != 0) return refusal.no("a workgroup of {} is not whole subgroups of {}", r.workgroup, size);
  const std::uint32_t shared = shared_bytes(r, c.nest.element_bytes, std::min(kTeam, size));
  if (shared > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared, c.limits.workgroup_memory);
  Box box;
  return build(c, r, box, refusal);
}

Box built(const PermuteContext& c, std::uint32_t row) {
  Box b;
  Refusal ignored(false);
  build(c, kTable[row], b, ignored);
  return b;
}

// 16-byte words of a row where a power of two is nearly all used.
std::uint32_t loads_of(const Box& b, std::uint32_t e, bool inner) {
  const auto loads = row_loads(b, e);
  const std::uint32_t power = std::bit_ceil(loads);
  return !inner && power <= 16 && loads * 4 >= power * 3 ? power : 0;
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Box b = built(c, row);
  const std::uint32_t e = c.nest.element_bytes;
  PermuteConfig d;
  d.stem = "permute_gather";
  d.element_bytes = e;
  d.offset64 = wide(c, b);
  d.workgroup = r.workgroup;
  if (c.profile.required_subgroup_size.value_or(false)) d.required_subgroup_size = c.profile.subgroup_size.value_or(0);
  add_axes(c, b, d);
  const std::uint32_t inner = inner_axes(b);
  const auto last = b.last();
  std::uint32_t bits = b.columns <= 1 ? PERMUTE_GATHER_CUT_FIRST : 0;
  for (std::size_t i = 0; i <= last; ++i)
    if (b.shared[i]) bits |= PERMUTE_GATHER_SHARED << (i == last ? 2 : i);  // the last one is the third
  const InnerAxes axes = inner_axes_of(c, b);
  d.set_own(PermuteGatherWords{.part = U16x2{.x = static_cast<std::uint32_t>(b.part),
                                             .y = static_cast<std::uint32_t>(b.size[last])},
                               .cut_extent = static_cast<std::uint32_t>(axis_of(c, b.position[last]).extent),
                               .column_extent = column_extent(c, b),
                               .staging = U16x2{.x = b.pitch, .y = column_part(b)},
                               .schedule = U8x2U16{.x = b.sharing, .y = bits, .z = b.windows},
                               .source_elements = c.nest.src_span(),
                               .position_sizes = axes.sizes[0] | axes.sizes[1] << 16,
                               .position_src = axes.strides,
                               .column_sizes = axes.column_sizes[0] | axes.column_sizes[1] << 16,
                               .column_src = axes.column_src,
                               .column_dst = axes.column_dst},
            GatherConstants{.kInner = inner});
  const std::uint32_t shared = shared_words(r, e, b.team);
  d.workgroup_memory_bytes = shared_bytes(r, e, b.team);
  d.add_constant(PERMUTE_GATHER_SPEC_UNROLL, r.unroll);
  d.add_constant(PERMUTE_GATHER_SPEC_SHARED_WORDS, shared);
  d.add_constant(PERMUTE_GATHER_SPEC_TEAM, b.team);
  d.add_constant(PERMUTE_GATHER_SPEC_TURN, b.turn ? 1 : 0);
  d.add_constant(PERMUTE_GATHER_SPEC_INNER, inner);
  d.add_constant(PERMUTE_GATHER_SPEC_COLUMNS, most_columns(r, e));
  d.add_constant(PERMUTE_GATHER_SPEC_LOADS, loads_of(b, e, inner != 0));
  return d;
}

// On a CPU workgroup memory is memory, and a shuffle many instructions (lavapipe, f32 819x419 axes=1,0: 0.015 of a
// copy).
Eligibility eligibility(const PermuteContext& c, std::uint32_t) {
  return last_resort_if(c.cpu() || c.below_mib(kLeastMib) || (c.nest.rank <= 3 && is_aligned_transpose(c)));
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const Box b = built(c, row);
  const std::uint32_t e = c.nest.element_bytes;
  const auto columns = static_cast<std::uint64_t>(b.column_count());
  PermuteEstimate estimate;
  estimate.groups = d.groups;
  estimate.addressing = Addressing::box;
  AccessCount& n = estimate.interior;
  estimate_tile(c, b, n);
  n.store_requests = b.windows * ceil_div(columns * b.team, 32);
  const std::uint64_t positions = positions_of_lane(e), at_once = b.turn ? 4 / e : 1;
  const std::uint64_t collected = b.windows * ceil_div(columns, at_once);
  n.bank_conflicts = std::ranges::contains(b.shared, true) ? 2 * collected * positions : 0;
  estimate.edge = estimate.interior;
  estimate.instructions = n.load_requests * 40 + collected * (positions * (b.turn ? 6 : 5) + 20 + at_once * 30) +
                          (r.workgroup / 32) * (150 + 20 * positions);
  return estimate;
}

std::string print_row(const Row& r) {
  return fmt::format("w{} r{} u{} wg{}", r.windows, r.run_bytes, r.unroll, r.workgroup);
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_GATHER_SPEC_TURN, "turn"}};

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
