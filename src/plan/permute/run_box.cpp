#include "run_box.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

constexpr std::int64_t kMostKept = 1024;  // bytes of a run that is kept whole

// Equal pieces of at most `most`.
std::int64_t even_piece(std::int64_t extent, std::int64_t most) {
  const auto pieces = ceil_div(static_cast<std::uint64_t>(extent), static_cast<std::uint64_t>(most));
  return static_cast<std::int64_t>(ceil_div(static_cast<std::uint64_t>(extent), pieces));
}

std::size_t last_column(const RunBox& b) { return static_cast<std::size_t>(b.columns - 1); }

// A limit of the destination alone, on two axes that follow each other there: the last one of them, and how many
// positions the destination has until its end.
struct Limit {
  int last = 0;
  std::int64_t positions = 0;  // 0: there is none
};
Limit limit_of(const Nest& nest) {
  if (nest.write_bounds() != 1 || nest.read_bounds() > 1) return {};
  if (nest.bound[0].read_limit < nest.bound[0].write_limit) return {};  // zeros are stored too
  int first = -1, last = -1, axes = 0;
  for (int a = 0; a < nest.rank; ++a) {
    const NestAxis& axis = nest.axis[static_cast<std::size_t>(a)];
    if (axis.coef[0] == 0) continue;
    ++axes;
    (axis.coef[0] == 1 ? first : last) = a;
  }
  if (axes != 2 || first < 0 || last != first + 1) return {};
  const NestAxis &inside = nest.axis[static_cast<std::size_t>(first)],
                 &block = nest.axis[static_cast<std::size_t>(last)];
  if (block.coef[0] != inside.extent || block.dst_stride != inside.dst_stride * inside.extent) return {};
  return {last, nest.bound[0].write_limit * inside.dst_stride};
}

}  // namespace

bool RunBox::fits_words() const {
  const auto fits = [](std::int64_t n) { return n <= 65535; };
  return std::ranges::all_of(size, fits) && std::ranges::all_of(column_size, fits);
}

void cut_positions(const PermuteContext& c, RunBox& b, std::int64_t part) {
  const std::uint32_t e = c.nest.element_bytes;
  const auto halo = ceil_div(PERMUTE_SECTOR - e, static_cast<std::uint64_t>(b.inner()) * e);
  b.part = part;
  b.size[b.last()] = std::min(axis_of(c, b.position[b.last()]).extent, part + static_cast<std::int64_t>(halo));
}

bool is_cut(const PermuteContext& c, const RunBox& b) { return b.part < axis_of(c, b.position[b.last()]).extent; }

void choose_positions(const PermuteContext& c, std::int64_t room, RunBox& b) {
  const std::int64_t e = c.nest.element_bytes;
  const Limit limit = limit_of(c.nest);
  std::int64_t run = 1;
  for (int a = 0; a < c.nest.rank && b.positions < RunBox::kMostAxes; ++a) {
    const NestAxis& axis = axis_of(c, a);
    if (axis.dst_stride != run) break;
    const auto i = static_cast<std::size_t>(b.positions);
    b.position[i] = a;
    ++b.positions;
    const bool is_end = limit.positions != 0 && a == limit.last;
    const std::int64_t whole = is_end ? limit.positions : run * axis.extent;
    if (whole * e <= room) {
      b.part = b.size[i] = axis.extent;
      run = whole;
      if (is_end) {
        b.limited = b.positions;
        b.limit = whole;
      }
      continue;
    }
    if (limit.positions != 0 && axis.coef[0] != 0) {  // is not cut
      --b.positions;
      break;
    }
    const std::int64_t most = (room - (PERMUTE_SECTOR - e)) / (run * e);
    if (most < 1) {  // the axes before this one fill the room
      --b.positions;
      break;
    }
    cut_positions(c, b, even_piece(axis.extent, most));
    break;
  }
}

void leave_last(const PermuteContext& c, RunBox& b) {
  if (b.limits_last()) b.limited = 0;
  b.size[b.last()] = 0;
  --b.positions;
  b.part = b.size[b.last()] = axis_of(c, b.position[b.last()]).extent;
  b.shared = {};
  b.columns = 0;
  b.column_size = {};
}

void choose_columns(const PermuteContext& c, std::int64_t run_bytes, RunBox& b) {
  const std::int64_t target = std::max<std::int64_t>(1, run_bytes / c.nest.element_bytes);
  std::array<int, kMaxRank> order{};
  for (int a = 0; a < c.nest.rank; ++a) order[static_cast<std::size_t>(a)] = a;
  std::sort(order.begin(), order.begin() + c.nest.rank,
            [&](int x, int y) { return axis_of(c, x).src_stride < axis_of(c, y).src_stride; });
  b.span = 1;
  for (int k = 0; k < c.nest.rank; ++k) {
    const int a = order[static_cast<std::size_t>(k)];
    const NestAxis& axis = axis_of(c, a);
    // A gap of up to a half is read along.
    if (axis.src_stride < b.span || axis.src_stride > b.span + b.span / 2) break;
    int place = -1;
    for (int i = 0; i < b.positions; ++i)
      if (b.position[static_cast<std::size_t>(i)] == a) place = i;
    // A longer run costs columns, but not where the next axis is the tile's as it is: its rows are one then.
    if (b.span >= target && (place < 0 || axis.src_stride != b.span)) break;
    if (place >= 0) {
      const auto i = static_cast<std::size_t>(place);
      b.shared[i] = true;
      b.span += (b.size[i] - 1) * axis.src_stride;
      if (i == b.last() && b.part != axis.extent) break;  // it is cut
      continue;
    }
    if (b.columns == RunBox::kMostAxes) break;
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

void measure(const PermuteContext& c, RunBox& b) {
  b.rows = 1;
  b.span = 1;
  for (std::size_t i = 0; i <= b.last(); ++i) {
    if (b.shared[i])
      b.span += (b.size[i] - 1) * axis_of(c, b.position[i]).src_stride;
    else
      b.rows *= b.size[i];
  }
  for (int i = 0; i < b.columns; ++i) {
    const auto k = static_cast<std::size_t>(i);
    b.span += (b.column_size[k] - 1) * axis_of(c, b.column[k]).src_stride;
  }
}

bool reduce(std::int64_t& size) {
  if (size <= 1) return false;
  size -= std::max<std::int64_t>(1, size / 4);
  return true;
}

std::uint32_t row_loads(const RunBox& b, std::uint32_t e) {
  return static_cast<std::uint32_t>((b.span * e + 31 - e) / 16);
}

std::uint32_t inner_axes(const RunBox& b) {
  const int positions = b.positions - 1, columns = std::max(b.columns - 1, positions > 0 ? 1 : 0);
  return static_cast<std::uint32_t>(std::max(positions, columns));
}

int step_axes(const PermuteContext& c, const RunBox& b) { return c.nest.rank - b.positions - b.columns + 2; }

bool has_run_boxes(const PermuteContext& c, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Nest& nest = c.nest;
  if (nest.rank < 2) return refusal.no("nothing moves");
  if (nest.element_bytes > 8) return refusal.no("an element of 16 bytes already fills an access");
  if (nest.read_bounds() + nest.write_bounds() != 0 && limit_of(nest).positions == 0)
    return needs_no_bounds(nest, refusal);
  if (nest.axis[0].dst_stride != 1) return refusal.no("the destination is not contiguous along its innermost axis");
  const int s = nest.src_innermost();
  if (s < 0 || axis_of(c, s).src_stride != 1)
    return refusal.no("the source is not contiguous along its innermost axis");
  if (s == 0 && nest.axis[0].extent * nest.element_bytes > kMostKept)
    return refusal.no("runs of {} bytes need no workgroup memory", nest.axis[0].extent * nest.element_bytes);
  for (int a = 0; a < nest.rank; ++a)
    if (axis_of(c, a).src_stride == 0) return refusal.no("the source is read more than once");
  if (nest.src_span() * nest.element_bytes < 32) return refusal.no("the source has fewer than 32 bytes");
  return stores_elements(c, refusal);
}

std::uint32_t column_extent(const PermuteContext& c, const RunBox& b) {
  return b.columns > 0 ? static_cast<std::uint32_t>(axis_of(c, b.column[last_column(b)]).extent) : 1;
}
std::uint32_t column_part(const RunBox& b) {
  return b.columns > 0 ? static_cast<std::uint32_t>(b.column_size[last_column(b)]) : 1;
}

void add_axes(const PermuteContext& c, const RunBox& b, PermuteConfig& d) {
  d.groups = 1;
  const auto add = [&](const NestAxis& axis, std::uint64_t count) {
    d.add_axis(axis, static_cast<std::uint32_t>(count));
    d.groups *= count;
  };
  const auto tiles = [&](std::int64_t extent, std::int64_t part) {
    return ceil_div(static_cast<std::uint64_t>(extent), static_cast<std::uint64_t>(part));
  };
  const NestAxis& cut = axis_of(c, b.position[b.last()]);
  add(cut, tiles(cut.extent, b.part));
  const NestAxis column = b.columns > 0 ? axis_of(c, b.column[last_column(b)]) : NestAxis{};
  add(column, tiles(column.extent, column_part(b)));
  std::array<bool, kMaxRank> boxed{};
  for (std::size_t i = 0; i <= b.last(); ++i) boxed[static_cast<std::size_t>(b.position[i])] = true;
  for (int i = 0; i < b.columns; ++i) boxed[static_cast<std::size_t>(b.column[static_cast<std::size_t>(i)])] = true;
  for (int a = 0; a < c.nest.rank; ++a)
    if (!boxed[static_cast<std::size_t>(a)]) add(axis_of(c, a), static_cast<std::uint64_t>(axis_of(c, a).extent));
}

InnerAxes inner_axes_of(const PermuteContext& c, const RunBox& b) {
  InnerAxes inner;
  for (std::size_t i = 0; i < b.last(); ++i) {
    inner.sizes[i] = static_cast<std::uint32_t>(b.size[i]);
    inner.strides[i] = axis_of(c, b.position[i]).src_stride;
  }
  for (int i = 0; i < std::max(1, b.columns - 1) && i < b.columns; ++i) {
    const auto k = static_cast<std::size_t>(i);
    inner.column_sizes[k] = static_cast<std::uint32_t>(b.column_size[k]);
    inner.column_src[k] = axis_of(c, b.column[k]).src_stride;
    inner.column_dst[k] = axis_of(c, b.column[k]).dst_stride;
  }
  return inner;
}

void estimate_tile(const PermuteContext& c, const RunBox& b, AccessCount& n) {
  const std::uint32_t e = c.nest.element_bytes;
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(c.cpu() ? 64 : 32);
  const auto rows = static_cast<std::uint64_t>(b.rows), columns = static_cast<std::uint64_t>(b.column_count());
  const auto span = static_cast<std::uint64_t>(b.span) * e;
  const auto part = static_cast<std::uint64_t>(b.own()) * e;
  n.load_transactions = rows * ceil_div(span + transaction - 1, transaction);
  n.store_transactions = columns * (ceil_div(part, transaction) + (is_cut(c, b) ? 0 : 1));
  n.ideal_load_transactions = n.ideal_store_transactions = ceil_div(part * columns, transaction);
  n.load_requests = ceil_div(rows * ceil_div(span + 31 - e, 16), 32);
}

}  // namespace sectile::detail
