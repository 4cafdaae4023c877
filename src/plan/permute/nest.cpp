#include "nest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace sectile::detail {

namespace {

std::uint32_t access_align(std::uint32_t promised, std::int64_t byte_offset) {
  if (byte_offset == 0) return promised;
  const auto low = std::uint64_t{1} << std::countr_zero(static_cast<std::uint64_t>(byte_offset));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(promised, low));
}

// A step of `outer` equals a whole run of `inner` in both operands, in the stage's vectors and in every bound.
bool mergeable(const Nest& nest, const NestAxis& outer, const NestAxis& inner) {
  if (outer.src_stride != inner.extent * inner.src_stride) return false;
  if (outer.dst_stride != inner.extent * inner.dst_stride) return false;
  if (outer.add_stride != inner.extent * inner.add_stride) return false;
  if (outer.scale_step != inner.extent * inner.scale_step || outer.bias_step != inner.extent * inner.bias_step)
    return false;
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b);
    if (outer.coef[i] != inner.extent * inner.coef[i]) return false;
  }
  return true;
}

void erase_axis(Nest& nest, int a) {
  for (int i = a; i + 1 < nest.rank; ++i)
    nest.axis[static_cast<std::size_t>(i)] = nest.axis[static_cast<std::size_t>(i) + 1];
  nest.rank -= 1;
}

void merge_neighbours(Nest& nest) {
  for (bool again = true; again;) {
    again = false;
    for (int o = 0; o < nest.rank && !again; ++o) {
      for (int i = 0; i < nest.rank && !again; ++i) {
        if (o == i) continue;
        auto& outer = nest.axis[static_cast<std::size_t>(o)];
        auto& inner = nest.axis[static_cast<std::size_t>(i)];
        if (!mergeable(nest, outer, inner)) continue;
        inner.extent *= outer.extent;
        erase_axis(nest, o);
        again = true;
      }
    }
  }
}

void sort_by_destination(Nest& nest) {
  // Destination strides differ because destination elements are distinct.
  std::sort(nest.axis.begin(), nest.axis.begin() + nest.rank,
            [](const NestAxis& a, const NestAxis& b) { return a.dst_stride < b.dst_stride; });
}

// A wide element is inside all limits or outside: each limit, and each step of another axis, is a whole number of them.
bool widens_bounds(const Nest& nest, std::int64_t factor) {
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b);
    const NestBound& bound = nest.bound[i];
    const std::int64_t step = nest.axis[0].coef[i] * factor;
    if (step == 0) continue;
    if ((bound.reads && bound.read_limit % step != 0) || (bound.writes && bound.write_limit % step != 0)) return false;
    for (int a = 1; a < nest.rank; ++a)
      if (nest.axis[static_cast<std::size_t>(a)].coef[i] % step != 0) return false;
  }
  return true;
}

// Divides each bound's coefficients by what they have in common: kernels for short axes want steps of 1.
void reduce_bounds(Nest& nest) {
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b);
    std::int64_t common = 0;
    for (int a = 0; a < nest.rank; ++a) common = std::gcd(common, nest.axis[static_cast<std::size_t>(a)].coef[i]);
    if (common <= 1) continue;
    for (int a = 0; a < nest.rank; ++a) nest.axis[static_cast<std::size_t>(a)].coef[i] /= common;
    // A multiple of `common` is below a limit exactly if it is below the next multiple.
    for (std::int64_t* limit : {&nest.bound[i].read_limit, &nest.bound[i].write_limit})
      if (*limit > 0) *limit = (*limit - 1) / common + 1;
  }
}

// Joins elements along the innermost axis to the widest element, at most 16 bytes, that divides everything. What reads
// nothing has no source that could be in the way.
void widen(Nest& nest) {
  if (nest.rank == 0) return;
  const NestAxis& inner = nest.axis[0];
  const bool zeros = nest.reads_nothing();
  if ((!zeros && inner.src_stride != 1) || inner.dst_stride != 1) return;
  std::int64_t factor = 16 / nest.element_bytes;
  const std::uint32_t widest = std::min(zeros ? 16 : nest.alignment(Side::src, 1), nest.alignment(Side::dst, 1));
  const auto fits = [&](std::int64_t f) {
    return inner.extent % f == 0 && f * nest.element_bytes <= widest && widens_bounds(nest, f);
  };
  while (factor > 1 && !fits(factor)) factor /= 2;
  if (factor == 1) return;
  nest.element_bytes *= static_cast<std::uint32_t>(factor);
  nest.dst_element_bytes = nest.element_bytes;
  nest.axis[0].extent /= factor;
  for (std::int64_t& coef : nest.axis[0].coef) coef *= factor;
  for (int a = 1; a < nest.rank; ++a) {
    nest.axis[static_cast<std::size_t>(a)].src_stride /= factor;
    nest.axis[static_cast<std::size_t>(a)].dst_stride /= factor;
  }
  if (nest.axis[0].extent == 1) erase_axis(nest, 0);
  merge_neighbours(nest);
  reduce_bounds(nest);
}

// Marks the limits that the sums can reach.
void note_bounds(Nest& nest) {
  for (int b = 0; b < nest.bounds; ++b) {
    std::int64_t most = 0;
    for (int a = 0; a < nest.rank; ++a) {
      const auto& axis = nest.axis[static_cast<std::size_t>(a)];
      most += (axis.extent - 1) * axis.coef[static_cast<std::size_t>(b)];
    }
    auto& bound = nest.bound[static_cast<std::size_t>(b)];
    bound.reads = most >= bound.read_limit;
    bound.writes = most >= bound.write_limit;
  }
}

}  // namespace

std::int64_t Nest::elements() const {
  std::int64_t n = 1;
  for (int a = 0; a < rank; ++a) n *= axis[static_cast<std::size_t>(a)].extent;
  return n;
}

std::uint32_t Nest::src_access_align() const { return access_align(src_align, src_byte_offset); }
std::uint32_t Nest::dst_access_align() const { return access_align(dst_align, dst_byte_offset); }

std::uint32_t Nest::add_access_align() const { return access_align(dst_align, stage.add_byte_offset); }

std::int64_t Nest::stride(Side side, int a) const {
  const NestAxis& own = axis[static_cast<std::size_t>(a)];
  return side == Side::src ? own.src_stride : side == Side::dst ? own.dst_stride : own.add_stride;
}

std::uint32_t Nest::alignment(Side side, std::uint32_t along) const {
  const std::uint32_t bytes = side == Side::src ? element_bytes : dst_element_bytes;
  std::uint64_t all = 128 | (side == Side::src   ? src_access_align()
                             : side == Side::dst ? dst_access_align()
                                                 : add_access_align());
  for (int a = 0; a < rank; ++a)
    if ((along >> a & 1) == 0) all |= static_cast<std::uint64_t>(stride(side, a)) * bytes;
  return static_cast<std::uint32_t>(all & (~all + 1));
}

namespace {

std::int64_t span_of(const Nest& nest, std::int64_t NestAxis::* stride) {
  std::int64_t last = 0;
  for (int a = 0; a < nest.rank; ++a) {
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    last += (axis.extent - 1) * axis.*stride;
  }
  return last + 1;
}

}  // namespace

std::int64_t Nest::src_span() const { return span_of(*this, &NestAxis::src_stride); }
std::int64_t Nest::dst_span() const { return span_of(*this, &NestAxis::dst_stride); }
std::int64_t Nest::add_span() const { return span_of(*this, &NestAxis::add_stride); }
std::int64_t Nest::scale_span() const { return span_of(*this, &NestAxis::scale_step); }
std::int64_t Nest::bias_span() const { return span_of(*this, &NestAxis::bias_step); }

int Nest::src_innermost() const {
  int best = -1;
  for (int a = 0; a < rank; ++a) {
    const auto stride = axis[static_cast<std::size_t>(a)].src_stride;
    if (stride != 0 && (best < 0 || stride < axis[static_cast<std::size_t>(best)].src_stride)) best = a;
  }
  return best;
}

std::uint32_t Nest::read_bounds() const {
  std::uint32_t n = 0;
  for (int b = 0; b < bounds; ++b)
    if (bound[static_cast<std::size_t>(b)].reads) n = static_cast<std::uint32_t>(b) + 1;
  return n;
}

std::uint32_t Nest::write_bounds() const {
  std::uint32_t n = 0;
  for (int b = 0; b < bounds; ++b)
    if (bound[static_cast<std::size_t>(b)].writes) n = static_cast<std::uint32_t>(b) + 1;
  return n;
}

std::uint32_t Nest::checked_bounds() const { return std::max(read_bounds(), write_bounds()); }

// Sums are never negative, so no element is below a limit of 0 or less.
bool Nest::reads_nothing() const {
  return std::any_of(bound.begin(), bound.begin() + bounds, [](const NestBound& b) { return b.read_limit <= 0; });
}
bool Nest::writes_nothing() const {
  return std::any_of(bound.begin(), bound.begin() + bounds, [](const NestBound& b) { return b.write_limit <= 0; });
}

bool Nest::contiguous_copy() const {
  if (stage.present) return false;
  if (read_bounds() != 0 || write_bounds() != 0) return false;
  return rank == 0 || (rank == 1 && axis[0].src_stride == 1 && axis[0].dst_stride == 1);
}

namespace {

// `nest` comes with element sizes, alignment and stage; the loops supply the rest.
Nest canonical_of(const LoopNest& loops, Nest nest) {
  nest.src_byte_offset = loops.src_offset * nest.element_bytes;
  nest.dst_byte_offset = loops.dst_offset * nest.dst_element_bytes;
  nest.bounds = static_cast<int>(loops.bounds.size());
  for (std::size_t b = 0; b < loops.bounds.size(); ++b)
    nest.bound[b] = {loops.bounds[b].read_limit, loops.bounds[b].write_limit, false, false};
  for (std::size_t a = 0; a < loops.axes.size(); ++a) {
    if (loops.axes[a].extent == 1) continue;
    auto& axis = nest.axis[static_cast<std::size_t>(nest.rank++)];
    const LoopAxis& loop = loops.axes[a];
    axis = {loop.extent, loop.src_stride, loop.dst_stride, {}, loop.add_stride, loop.scale_step, loop.bias_step};
    for (std::size_t b = 0; b < loops.bounds.size(); ++b) axis.coef[b] = loops.bounds[b].coef[a];
  }
  merge_neighbours(nest);
  sort_by_destination(nest);
  note_bounds(nest);
  if (!nest.stage.present) widen(nest);
  return nest;
}

}  // namespace

Nest canonical(const LoopNest& loops, std::uint32_t element_bytes, std::uint32_t src_align, std::uint32_t dst_align) {
  Nest nest;
  nest.element_bytes = nest.dst_element_bytes = element_bytes;
  nest.src_align = src_align;
  nest.dst_align = dst_align;
  return canonical_of(loops, nest);
}

Nest canonical(const LoopNest& loops, const PermuteProblem& problem) {
  if (!has_stage(problem)) return canonical(loops, size_bytes(problem.type), problem.src_align, problem.dst_align);
  const ElementwiseStage& stage = problem.stage;
  Nest nest;
  nest.element_bytes = size_bytes(problem.type);
  nest.dst_element_bytes = size_bytes(out_type(problem));
  nest.src_align = problem.src_align;
  nest.dst_align = problem.dst_align;
  nest.stage = {.present = true,
                .out = out_type(problem),
                .type = problem.type,
                .alpha = stage.alpha,
                .scale = !stage.scale.empty(),
                .bias = !stage.bias.empty(),
                .add = stage.add,
                .activation = activation_words(stage)};
  return canonical_of(loops, nest);
}

DestinationRow destination_row(const Nest& nest) {
  DestinationRow row;
  for (; row.axes < nest.rank; ++row.axes) {
    const NestAxis& axis = nest.axis[static_cast<std::size_t>(row.axes)];
    if (axis.dst_stride != row.elements) break;
    row.elements *= axis.extent;
    row.along |= 1u << row.axes;
  }
  return row;
}

RunSegment run_segment(const Nest& nest, std::int64_t pitch, std::int64_t most) {
  RunSegment s;
  bool open = true;
  for (int a = 1; a < nest.rank; ++a) {
    const NestAxis& axis = nest.axis[static_cast<std::size_t>(a)];
    const std::int64_t elements = pitch * s.runs;
    open = open && axis.dst_stride == elements && elements * axis.extent < most;
    (open ? s.runs : s.count) *= axis.extent;
  }
  return s;
}

Nest part_of(const Nest& nest, int axis, std::int64_t first, std::int64_t extent) {
  Nest part = nest;
  auto& cut = part.axis[static_cast<std::size_t>(axis)];
  part.src_byte_offset += first * cut.src_stride * nest.element_bytes;
  part.dst_byte_offset += first * cut.dst_stride * nest.dst_element_bytes;
  part.stage.add_byte_offset += first * cut.add_stride * nest.dst_element_bytes;
  part.stage.scale_byte_offset += first * cut.scale_step * 4;
  part.stage.bias_byte_offset += first * cut.bias_step * 4;
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b);
    part.bound[i].read_limit -= first * cut.coef[i];
    part.bound[i].write_limit -= first * cut.coef[i];
  }
  // A part entirely in the padding reads nothing. The offsets for its reads would point past the operands.
  if (part.reads_nothing()) part.src_byte_offset = part.stage.scale_byte_offset = part.stage.bias_byte_offset = 0;
  cut.extent = extent;
  if (extent == 1) erase_axis(part, axis);
  note_bounds(part);
  return part;
}

Cut cut_of(const Nest& nest) {
  Cut best;
  double most = -1;  // share of the nest
  const bool zeros = nest.reads_nothing();
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b);
    const NestBound& bound = nest.bound[i];
    const bool reads = bound.reads && !zeros;
    if (!reads && !bound.writes) continue;
    const std::int64_t limit = !reads          ? bound.write_limit
                               : !bound.writes ? bound.read_limit
                                               : std::min(bound.read_limit, bound.write_limit);
    int outer = 0;  // the axis that comes nearest to the limit by one step
    std::int64_t sum = 0;
    for (int a = 0; a < nest.rank; ++a) {
      const NestAxis& axis = nest.axis[static_cast<std::size_t>(a)];
      sum += (axis.extent - 1) * axis.coef[i];
      if (axis.coef[i] > nest.axis[static_cast<std::size_t>(outer)].coef[i]) outer = a;
    }
    const NestAxis& axis = nest.axis[static_cast<std::size_t>(outer)];
    const std::int64_t room = limit - 1 - (sum - (axis.extent - 1) * axis.coef[i]);
    // Where each index reaches the limit, the first one alone is not past it wholly.
    const std::int64_t extent = room < 0 ? 1 : room / axis.coef[i] + 1;
    const double share = room < 0 ? 0 : static_cast<double>(extent) / static_cast<double>(axis.extent);
    if (share > most) best = {.axis = outer, .extent = extent};
    most = std::max(most, share);
  }
  return best;
}

Nest simplified(Nest nest) {
  const bool zeros = nest.reads_nothing();
  int kept = 0;
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b), k = static_cast<std::size_t>(kept);
    if (!nest.bound[i].writes && (zeros || !nest.bound[i].reads)) continue;
    nest.bound[k] = nest.bound[i];
    for (NestAxis& axis : nest.axis) axis.coef[k] = axis.coef[i];
    ++kept;
  }
  for (auto b = static_cast<std::size_t>(kept); b < nest.bound.size(); ++b) {
    nest.bound[b] = {};
    for (NestAxis& axis : nest.axis) axis.coef[b] = 0;
  }
  nest.bounds = kept;
  if (zeros) {
    // No element is below a limit of 0. Without the source's strides axes merge that are neighbours in the destination.
    if (kept == 0) nest.bound[static_cast<std::size_t>(nest.bounds++)].write_limit = 1;
    for (NestBound& bound : nest.bound) bound.read_limit = 0;
    for (NestAxis& axis : nest.axis) axis.src_stride = 0;
  }
  merge_neighbours(nest);
  sort_by_destination(nest);
  note_bounds(nest);
  if (!nest.stage.present) widen(nest);
  return nest;
}

std::string print(const Nest& nest) {
  std::string text;
  for (int a = nest.rank - 1; a >= 0; --a) {
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    text += fmt::format("{}({}>{}){}", axis.extent, axis.src_stride, axis.dst_stride, a > 0 ? "x" : "");
  }
  return text.empty() ? fmt::format("1 element of {} bytes", nest.element_bytes)
                      : fmt::format("{} of {} bytes", text, nest.element_bytes);
}

}  // namespace sectile::detail
