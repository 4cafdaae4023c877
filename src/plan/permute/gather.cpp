// permute_gather: boxes of up to six axes that have long runs in both operands, at any address: ragged transposes,
// short and odd inner axes, many axes.
#include "strategy.hpp"

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
constexpr int kMostAxes = 3;  // of a run's
constexpr std::int64_t kMostSize = 65535;

struct Box {
  int positions = 0, columns = 0;
  std::array<int, kMostAxes> position{}, column{};            // nest axes, innermost first
  std::array<std::int64_t, kMostAxes> size{}, column_size{};  // indices that a tile loads, columns of a tile
  std::array<bool, kMostAxes> shared{};                       // a position axis that belongs to a run of the source
  std::int64_t part = 1;                                      // indices of the last position axis of a part
  std::uint32_t team = kTeam, windows = 1, sharing = 1;
  std::int64_t rows = 1, span = 1;         // of workgroup memory; elements of each
  std::uint32_t pitch = 0, lane_rows = 1;  // words of a row; rows of a lane's positions
  bool turn = false;

  std::int64_t inner() const {  // positions of an index of the last position axis
    std::int64_t n = 1;
    for (int i = 0; i + 1 < positions; ++i) n *= size[static_cast<std::size_t>(i)];
    return n;
  }
  std::int64_t column_count() const {
    std::int64_t n = 1;
    for (int i = 0; i < columns; ++i) n *= column_size[static_cast<std::size_t>(i)];
    return n;
  }
  // A lane's last positions may lie behind the rows. A word of padding follows a lane's rows.
  std::int64_t words() const { return (rows + lane_rows - 1) * pitch + (rows + lane_rows) / lane_rows + 1; }
};

constexpr std::uint32_t kAccess = 8;  // bytes of a lane's store
// Positions of the tile before a part's first sector, beside those of one access.
constexpr std::int64_t kSlack = PERMUTE_SECTOR - kAccess;
std::uint32_t positions_of_lane(std::uint32_t e) { return kAccess / e; }
std::uint32_t storing_lanes(std::uint32_t e, std::uint32_t team) { return positions_of_lane(e) > 1 ? team - 1 : team; }

const NestAxis& axis_of(const PermuteContext& c, int a) { return c.nest.axis[static_cast<std::size_t>(a)]; }

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

// Equal pieces of at most `most`.
std::int64_t even_piece(std::int64_t extent, std::int64_t most) {
  const auto pieces = ceil_div(static_cast<std::uint64_t>(extent), static_cast<std::uint64_t>(most));
  return static_cast<std::int64_t>(ceil_div(static_cast<std::uint64_t>(extent), pieces));
}

// Parts of `part` indices of the last position axis. A tile loads as many more as a sector can begin after a part.
void cut_positions(const PermuteContext& c, Box& b, std::int64_t part) {
  const auto last = static_cast<std::size_t>(b.positions - 1);
  const std::uint32_t e = c.nest.element_bytes;
  const auto halo = ceil_div(PERMUTE_SECTOR - e, static_cast<std::uint64_t>(b.inner()) * e);
  b.part = part;
  b.size[last] = std::min(axis_of(c, b.position[last]).extent, part + static_cast<std::int64_t>(halo));
}

bool is_cut(const PermuteContext& c, const Box& b) {
  return b.part < axis_of(c, b.position[static_cast<std::size_t>(b.positions - 1)]).extent;
}

// The position axes: the destination's inner axes as far as they are contiguous and fit the windows; the last may be
// cut.
void choose_positions(const PermuteContext& c, const Row& r, Box& b) {
  const std::int64_t e = c.nest.element_bytes;
  const std::int64_t room = std::int64_t{r.windows} * storing_lanes(c.nest.element_bytes, b.team) * kAccess;
  std::int64_t run = 1;
  for (int a = 0; a < c.nest.rank && b.positions < kMostAxes; ++a) {
    const NestAxis& axis = axis_of(c, a);
    if (axis.dst_stride != run) break;
    const auto i = static_cast<std::size_t>(b.positions);
    b.position[i] = a;
    ++b.positions;
    if (run * axis.extent * e <= room) {
      b.part = b.size[i] = axis.extent;
      run *= axis.extent;
      continue;
    }
    const std::int64_t most = (room - kSlack) / (run * e);
    if (most < 1) {  // the axes before this one fill the windows
      --b.positions;
      break;
    }
    cut_positions(c, b, even_piece(axis.extent, most));
    break;
  }
}

// The column axes: the source's inner axes until its run has the desired bytes.
void choose_columns(const PermuteContext& c, const Row& r, Box& b) {
  const std::int64_t target = std::max<std::int64_t>(1, r.run_bytes / c.nest.element_bytes);
  std::array<int, kMaxRank> order{};
  for (int a = 0; a < c.nest.rank; ++a) order[static_cast<std::size_t>(a)] = a;
  std::sort(order.begin(), order.begin() + c.nest.rank,
            [&](int x, int y) { return axis_of(c, x).src_stride < axis_of(c, y).src_stride; });
  b.span = 1;
  for (int k = 0; k < c.nest.rank && b.span < target; ++k) {
    const int a = order[static_cast<std::size_t>(k)];
    const NestAxis& axis = axis_of(c, a);
    // A gap of up to a half is read along.
    if (axis.src_stride < b.span || axis.src_stride > b.span + b.span / 2) break;
    int place = -1;
    for (int i = 0; i < b.positions; ++i)
      if (b.position[static_cast<std::size_t>(i)] == a) place = i;
    if (place >= 0) {
      const auto i = static_cast<std::size_t>(place);
      b.shared[i] = true;
      b.span += (b.size[i] - 1) * axis.src_stride;
      if (place + 1 == b.positions && b.part != axis.extent) break;  // it is cut
      continue;
    }
    if (b.columns == kMostAxes) break;
    const auto i = static_cast<std::size_t>(b.columns++);
    b.column[i] = a;
    const std::int64_t wanted = std::max<std::int64_t>(1, target / axis.src_stride);
    if (axis.extent <= wanted) {
      b.column_size[i] = axis.extent;
      b.span += (axis.extent - 1) * axis.src_stride;
      continue;
    }
    b.column_size[i] = even_piece(axis.extent, wanted);
    b.span += (b.column_size[i] - 1) * axis.src_stride;
    break;
  }
}

// What follows from the axes' sizes.
void measure(const PermuteContext& c, Box& b) {
  const std::uint32_t e = c.nest.element_bytes;
  b.rows = 1;
  b.span = 1;
  for (int i = 0; i < b.positions; ++i) {
    const auto k = static_cast<std::size_t>(i);
    if (b.shared[k])
      b.span += (b.size[k] - 1) * axis_of(c, b.position[k]).src_stride;
    else
      b.rows *= b.size[k];
  }
  for (int i = 0; i < b.columns; ++i) {
    const auto k = static_cast<std::size_t>(i);
    b.span += (b.column_size[k] - 1) * axis_of(c, b.column[k]).src_stride;
  }
  b.pitch = row_words(b.span, e) | 1u;
  b.lane_rows = positions_of_lane(e);
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

bool halve(std::int64_t& size) {
  if (size <= 1) return false;
  size = (size + 1) / 2;
  return true;
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

// Position axes, and column axes, that are not the last. The only column axis stands among them too.
std::uint32_t inner_axes(const Box& b) {
  const int positions = b.positions - 1, columns = std::max(b.columns - 1, positions > 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::max(positions, columns));
}

// The axes of a step: these numbers fit the push constants.
int least_axes(std::uint32_t inner) { return inner == 0 ? 5 : inner == 1 ? 4 : 3; }

// The step takes the .wide variant.
bool wide(const PermuteContext& c, const Box& b) {
  const auto inner = static_cast<int>(inner_axes(b));
  const int axes = c.nest.rank - b.positions - b.columns + 2, own = inner == 0 ? 6 : 8 + 3 * inner;
  return c.offset64 || nearly_needs_offset64(c.nest) || exceeds_push(std::max(axes, least_axes(inner_axes(b))), own);
}

bool build(const PermuteContext& c, const Row& r, Box& b, Refusal& refusal) {
  const std::uint32_t e = c.nest.element_bytes;
  b.team = std::min(kTeam, c.profile.subgroup_size.value_or(1));
  choose_positions(c, r, b);
  if (b.positions == 0) return refusal.no("the destination is not contiguous along its innermost axis");
  choose_columns(c, r, b);
  measure(c, b);
  b.turn = e < 4 && b.columns > 0 && axis_of(c, b.column[0]).src_stride == 1;
  const std::int64_t room = shared_words(r, e, b.team);
  const auto too_many = [&] { return column_groups(b, e) * lane_columns(b, e) > most_columns(r, e); };
  while (b.words() > room || too_many()) {
    if (b.columns > 0 && halve(b.column_size[static_cast<std::size_t>(b.columns - 1)])) {
      measure(c, b);
      continue;
    }
    if (too_many() || b.part <= 1)
      return refusal.no("a tile needs {} bytes of workgroup memory, the row has {}", 4 * b.words(), 4 * room);
    cut_positions(c, b, (b.part + 1) / 2);
    measure(c, b);
  }
  if (b.positions == 1 && b.columns <= 1 && b.shared[0]) return refusal.no("both runs are along the same axis");
  for (int i = 0; i < kMostAxes; ++i)
    if (b.size[static_cast<std::size_t>(i)] > kMostSize || b.column_size[static_cast<std::size_t>(i)] > kMostSize)
      return refusal.no("an axis of the tile has more than {} indices", kMostSize);
  schedule(c, r, b);
  return has_offsets(c, wide(c, b), refusal);
}

// What is smaller is not worth pipelines of its own.
constexpr std::int64_t kLeastMib = 8;

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Nest& nest = c.nest;
  const Row& r = kTable[row];
  if (nest.rank < 2) return refusal.no("nothing moves");
  if (nest.element_bytes > 8) return refusal.no("an element of 16 bytes already fills an access");
  if (!needs_no_bounds(nest, refusal)) return false;
  if (nest.axis[0].dst_stride != 1) return refusal.no("the destination is not contiguous along its innermost axis");
  const int s = nest.src_innermost();
  if (s < 0 || axis_of(c, s).src_stride != 1)
    return refusal.no("the source is not contiguous along its innermost axis");
  if (s == 0 && nest.axis[0].extent * nest.element_bytes > 128)
    return refusal.no("runs of {} bytes need no workgroup memory", nest.axis[0].extent * nest.element_bytes);
  for (int a = 0; a < nest.rank; ++a)
    if (axis_of(c, a).src_stride == 0) return refusal.no("the source is read more than once");
  if (nest.src_span() * nest.element_bytes < 32) return refusal.no("the source has fewer than 32 bytes");
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  const std::uint32_t size = known_subgroup_size(c.profile);
  if (size < 4) return refusal.no("needs subgroups of a known size, at least 4");
  if (r.workgroup % size != 0) return refusal.no("a workgroup of {} is not whole subgroups of {}", r.workgroup, size);
  const std::uint32_t shared = shared_bytes(r, nest.element_bytes, std::min(kTeam, size));
  if (shared > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared, c.limits.workgroup_memory);
  Box box;
  return stores_elements(c, refusal) && build(c, r, box, refusal);
}

Box built(const PermuteContext& c, std::uint32_t row) {
  Box b;
  Refusal ignored(false);
  build(c, kTable[row], b, ignored);
  return b;
}

std::uint32_t row_loads(const Box& b, std::uint32_t e) {  // words of 16 bytes of a row, at any address
  return static_cast<std::uint32_t>((b.span * e + 31 - e) / 16);
}

// The same where a power of two is nearly all used.
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
  std::array<bool, kMaxRank> boxed{};
  d.groups = 1;
  const auto add = [&](const NestAxis& axis, std::uint64_t count) {
    d.add_axis(axis, static_cast<std::uint32_t>(count));
    d.groups *= count;
  };
  const auto tiles = [&](std::int64_t extent, std::int64_t part) {
    return ceil_div(static_cast<std::uint64_t>(extent), static_cast<std::uint64_t>(part));
  };
  const auto last = static_cast<std::size_t>(b.positions - 1);
  const NestAxis& cut = axis_of(c, b.position[last]);
  const NestAxis column = b.columns > 0 ? axis_of(c, b.column[static_cast<std::size_t>(b.columns - 1)]) : NestAxis{};
  const std::int64_t column_part = b.columns > 0 ? b.column_size[static_cast<std::size_t>(b.columns - 1)] : 1;
  add(cut, tiles(cut.extent, b.part));
  add(column, tiles(column.extent, column_part));
  for (int i = 0; i < b.positions; ++i) boxed[static_cast<std::size_t>(b.position[static_cast<std::size_t>(i)])] = true;
  for (int i = 0; i < b.columns; ++i) boxed[static_cast<std::size_t>(b.column[static_cast<std::size_t>(i)])] = true;
  for (int a = 0; a < c.nest.rank; ++a)
    if (!boxed[static_cast<std::size_t>(a)]) add(axis_of(c, a), static_cast<std::uint64_t>(axis_of(c, a).extent));
  const std::uint32_t inner = inner_axes(b);
  std::uint32_t bits = 0;
  // Axes that are not there have size 1; the last position axis is the third one.
  std::array<std::uint32_t, 2> sizes{1, 1}, column_sizes{1, 1};
  std::array<std::int64_t, 2> strides{}, column_src{}, column_dst{};
  for (std::size_t i = 0; i <= last; ++i) {
    if (b.shared[i]) bits |= PERMUTE_GATHER_SHARED << (i == last ? 2 : i);
    if (i == last) break;
    sizes[i] = static_cast<std::uint32_t>(b.size[i]);
    strides[i] = axis_of(c, b.position[i]).src_stride;
  }
  if (b.columns <= 1) bits |= PERMUTE_GATHER_CUT_FIRST;
  for (int i = 0; i < std::max(1, b.columns - 1) && i < b.columns; ++i) {
    const auto k = static_cast<std::size_t>(i);
    column_sizes[k] = static_cast<std::uint32_t>(b.column_size[k]);
    column_src[k] = axis_of(c, b.column[k]).src_stride;
    column_dst[k] = axis_of(c, b.column[k]).dst_stride;
  }
  d.least_axes = least_axes(inner);
  d.set_own(PermuteGatherWords{.part = U16x2{.x = static_cast<std::uint32_t>(b.part),
                                             .y = static_cast<std::uint32_t>(b.size[last])},
                               .cut_extent = static_cast<std::uint32_t>(cut.extent),
                               .column_extent = static_cast<std::uint32_t>(column.extent),
                               .staging = U16x2{.x = b.pitch, .y = static_cast<std::uint32_t>(column_part)},
                               .schedule = U8x2U16{.x = b.sharing, .y = bits, .z = b.windows},
                               .source_elements = c.nest.src_span(),
                               .position_sizes = sizes[0] | sizes[1] << 16,
                               .position_src = strides,
                               .column_sizes = column_sizes[0] | column_sizes[1] << 16,
                               .column_src = column_src,
                               .column_dst = column_dst},
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
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(c.cpu() ? 64 : 32), lanes = 32;
  const auto rows = static_cast<std::uint64_t>(b.rows), columns = static_cast<std::uint64_t>(b.column_count());
  const auto span = static_cast<std::uint64_t>(b.span) * e;
  const auto part = static_cast<std::uint64_t>(b.part * b.inner()) * e;
  PermuteEstimate estimate;
  estimate.groups = d.groups;
  estimate.addressing = Addressing::box;
  AccessCount& n = estimate.interior;
  n.load_transactions = rows * ceil_div(span + transaction - 1, transaction);
  n.store_transactions = columns * (ceil_div(part, transaction) + (is_cut(c, b) ? 0 : 1));
  n.ideal_load_transactions = n.ideal_store_transactions = ceil_div(part * columns, transaction);
  n.load_requests = ceil_div(rows * ceil_div(span + 31 - e, 16), lanes);
  n.store_requests = b.windows * ceil_div(columns * b.team, lanes);
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
