// permute_interleave: moves short axes around a long one in registers, as NHWC to NCHW and back, with or without padded
// channels. Without it these problems would need permute_box.
#include "strategy.hpp"

#include "permute/permute_interleave.abi.h"

#include <algorithm>
#include <optional>

namespace sectile::detail {

namespace permute_interleave {
namespace {

// step_bytes: bytes along the long axis P that an invocation moves of each stream. Accesses are as wide as the records
// of these steps allow. NVIDIA H200, driver 580.159.04, 2026-11-21, `sectile bench PROBLEM --all-candidates`, fractions
// of a copy for 4, 8 and 16 bytes: u8 128x448x640x3 NHWC->NCHW 0.943, 1.005, 0.989 (box 0.429); f16 64x3x448x640
// NCHW->NHWC 0.918, 0.998, 0.769; f32 32x4x512x512 NCHW->NHWC 0.983, 0.921, 0.646; i8 32x8x512x512 NCHW->NHWC 0.939,
// 0.666, 0.386. lavapipe: 16 bytes, photo u8 NHWC->NCHW 0.472 of a copy (box 0.077).
struct Row {
  std::uint32_t step_bytes, workgroup;
  bool replaced = false;  // on a GPU, by the other row of that width
};
// clang-format off
constexpr Row kTable[] = {
    {.step_bytes = 16, .workgroup = 128},
    {.step_bytes = 8, .workgroup = 128},
    {.step_bytes = 4, .workgroup = 256},
    {.step_bytes = 16, .workgroup = 64, .replaced = true},
    {.step_bytes = 16, .workgroup = 256, .replaced = true},
    {.step_bytes = 8, .workgroup = 256, .replaced = true},
    {.step_bytes = 4, .workgroup = 128, .replaced = true},
};
// clang-format on

// Longer records suit permute_tile.
constexpr std::int64_t kMaxRun = 8;
// Record lengths are specialized, so each number of channels needs its own pipeline. Smaller problems are not worth
// one.
constexpr std::int64_t kLeastElements = 1 << 20, kLeastElementsCpu = 1 << 17;

struct Interleave {
  int p = -1, a = -1, c = -1;  // long axis; innermost in the destination, in the source
  bool swap = true;
  std::uint32_t sources = 1, src_run = 1, targets = 1, dst_run = 1;
};

// The number of an axis' elements that are read (written), if each bound depends on one axis only.
struct Limit {
  std::int64_t read, write;
};
Limit limit_of(const Nest& nest, int a) {
  const auto& axis = nest.axis[static_cast<std::size_t>(a)];
  Limit limit{axis.extent, axis.extent};
  for (int b = 0; b < nest.bounds; ++b) {
    const auto& bound = nest.bound[static_cast<std::size_t>(b)];
    if (axis.coef[static_cast<std::size_t>(b)] == 0) continue;
    if (bound.reads) limit.read = std::min(limit.read, bound.read_limit);
    if (bound.writes) limit.write = std::min(limit.write, bound.write_limit);
  }
  return limit;
}

// Each bound that can be reached depends on one axis only, which is one of the two, with coefficient 1.
bool bounds_only_on(const Nest& nest, int first, int second) {
  for (int b = 0; b < nest.bounds; ++b) {
    const auto i = static_cast<std::size_t>(b);
    if (!nest.bound[i].reads && !nest.bound[i].writes) continue;
    int axes = 0;
    for (int a = 0; a < nest.rank; ++a) {
      const auto coef = nest.axis[static_cast<std::size_t>(a)].coef[i];
      if (coef == 0) continue;
      if (coef != 1 || (a != first && a != second)) return false;
      ++axes;
    }
    if (axes > 1) return false;
  }
  return true;
}

int axis_with(const Nest& nest, bool source, int except) {
  for (int a = 0; a < nest.rank; ++a) {
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    if (a != except && (source ? axis.src_stride : axis.dst_stride) == 1) return a;
  }
  return -1;
}

// The interleave with p as the long axis, if the nest is one.
std::optional<Interleave> interleave_around(const Nest& nest, int p) {
  const auto& axis = nest.axis[static_cast<std::size_t>(p)];
  const std::int64_t src_run = axis.src_stride, dst_run = axis.dst_stride;
  if (src_run < 1 || dst_run < 1 || src_run > kMaxRun || dst_run > kMaxRun || src_run * dst_run < 2)
    return std::nullopt;
  Interleave w{.p = p, .a = axis_with(nest, false, p), .c = axis_with(nest, true, p)};
  if ((src_run > 1) != (w.c >= 0) || (dst_run > 1) != (w.a >= 0) || !bounds_only_on(nest, w.a, w.c))
    return std::nullopt;
  w.swap = w.a != w.c;
  // Records must have no gaps: the kernel reads and writes whole records.
  if (w.c >= 0 && limit_of(nest, w.c).read != src_run) return std::nullopt;
  if (w.a >= 0 && limit_of(nest, w.a).write != dst_run) return std::nullopt;
  w.src_run = static_cast<std::uint32_t>(src_run);
  w.dst_run = static_cast<std::uint32_t>(dst_run);
  if (!w.swap) return w;
  const auto sources = w.a >= 0 ? limit_of(nest, w.a).read : 1, targets = w.c >= 0 ? limit_of(nest, w.c).write : 1;
  if (sources < 1 || targets < 1 || sources > kMaxRun || targets > kMaxRun) return std::nullopt;
  w.sources = static_cast<std::uint32_t>(sources);
  w.targets = static_cast<std::uint32_t>(targets);
  return w;
}

std::optional<Interleave> interleave_of(const Nest& nest) {
  std::optional<Interleave> best;
  for (int p = 0; p < nest.rank; ++p)
    if (const auto w = interleave_around(nest, p);
        w &&
        (!best || nest.axis[static_cast<std::size_t>(p)].extent > nest.axis[static_cast<std::size_t>(best->p)].extent))
      best = w;
  return best;
}

// The widest access, at most 16 bytes, that records of `bytes` and all strides and addresses allow; 0 if below 4.
std::uint32_t access_of(const Nest& nest, const Interleave& w, Side side, std::uint64_t bytes) {
  const int whole = side == Side::src ? w.c : w.a;
  const std::uint32_t along = 1u << w.p | (whole >= 0 ? 1u << whole : 0);
  const std::uint64_t widest = std::min<std::uint64_t>({16, bytes & (~bytes + 1), nest.alignment(side, along)});
  return widest < 4 ? 0 : static_cast<std::uint32_t>(widest);
}

struct Widths {
  std::uint32_t steps, load, store;
};
Widths widths_of(const Nest& nest, const Interleave& w, const Row& r) {
  const auto steps = r.step_bytes / nest.element_bytes;
  return {steps, access_of(nest, w, Side::src, std::uint64_t{r.step_bytes} * w.src_run),
          access_of(nest, w, Side::dst, std::uint64_t{r.step_bytes} * w.dst_run)};
}

// The step's axes: the first two are the kernel's, and then come all that are not the interleave's.
int step_axes(const PermuteContext& c, const Interleave& w) {
  const int own = 1 + (w.a >= 0 ? 1 : 0) + (w.c >= 0 && w.c != w.a ? 1 : 0);
  return 2 + c.nest.rank - own;
}

// The step takes the .wide variant. The kernel has no words of its own.
bool wide(const PermuteContext& c, const Interleave& w) { return takes_wide(c, step_axes(c, w), 0); }

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Row& r = kTable[row];
  if (c.nest.element_bytes > 8 || r.step_bytes < c.nest.element_bytes)
    return refusal.no("elements have {} bytes, the row takes at most {}", c.nest.element_bytes,
                      std::min(r.step_bytes, 8u));
  const auto w = interleave_of(c.nest);
  if (!w) return refusal.no("the moving axes are not a long one and short ones of at most {} elements", kMaxRun);
  const auto words = w->sources * w->src_run * r.step_bytes / 4;
  if (words > PERMUTE_INTERLEAVE_MAX_WORDS)
    return refusal.no("an invocation would hold {} words, at most {}", words, PERMUTE_INTERLEAVE_MAX_WORDS);
  if (r.workgroup > c.limits.workgroup_invocations)
    return refusal.no("workgroup of {} invocations, the device allows {}", r.workgroup, c.limits.workgroup_invocations);
  const Widths widths = widths_of(c.nest, *w, r);
  const auto extent = c.nest.axis[static_cast<std::size_t>(w->p)].extent;
  if (extent % widths.steps != 0)
    return refusal.no("the long axis has {} elements, not a multiple of {}", extent, widths.steps);
  if (widths.load == 0 || widths.store == 0)
    return refusal.no("records are not aligned to 4 bytes in the {}", widths.load == 0 ? "source" : "destination");
  return has_offsets(c, wide(c, *w), refusal);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Interleave w = interleave_of(c.nest).value_or(Interleave{});
  const auto& nest = c.nest;
  const auto axis_at = [&](int a) { return a >= 0 ? nest.axis[static_cast<std::size_t>(a)] : NestAxis{}; };
  const Widths widths = widths_of(nest, w, r);
  PermuteConfig d;
  d.stem = "permute_interleave";
  d.element_bytes = nest.element_bytes;
  d.offset64 = wide(c, w);
  d.least_axes = pushed_class(step_axes(c, w), 0, nest.checked_bounds());
  d.workgroup = r.workgroup;
  auto p = axis_at(w.p);
  const auto blocks = static_cast<std::uint32_t>(p.extent / widths.steps);
  p.src_stride *= widths.steps;
  p.dst_stride *= widths.steps;
  d.add_axis(p, blocks);
  d.add_axis({1, w.swap ? axis_at(w.a).src_stride : 0, w.swap ? axis_at(w.c).dst_stride : 0, {}}, 1);
  std::uint64_t ids = blocks;
  for (int a = 0; a < nest.rank; ++a) {
    if (a == w.p || a == w.a || a == w.c) continue;
    d.add_axis(axis_at(a), static_cast<std::uint32_t>(axis_at(a).extent));
    ids *= static_cast<std::uint64_t>(axis_at(a).extent);
  }
  d.groups = ceil_div(ids, r.workgroup);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_STEPS, widths.steps);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_SOURCES, w.sources);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_SRC_RUN, w.src_run);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_TARGETS, w.targets);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_DST_RUN, w.dst_run);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_SWAP, w.swap ? 1 : 0);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_LOAD_BYTES, widths.load);
  d.add_constant(PERMUTE_INTERLEAVE_SPEC_STORE_BYTES, widths.store);
  return d;
}

// One row of each width is enough on a GPU: without the others 1,829 problems lose nothing by choice (H200, 2026-11-28,
// `calibrate --op permute`).
Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  return last_resort_if(c.nest.elements() < (c.cpu() ? kLeastElementsCpu : kLeastElements) ||
                        (!c.cpu() && kTable[row].replaced));
}

// From the table's measurements: if a lane's stores are more than 24 bytes apart, cache lines are written in parts;
// fewer than 8 bytes per stream cost a little; short axes on both sides cost a lot (3x1048576x7 f16: 0.711, permute_box
// 0.741).
void charge(const Row& r, const Interleave& w, PermuteEstimate& e) {
  if (r.step_bytes > 4 && w.dst_run * r.step_bytes > 24)
    e.surcharges.add({.gpu = &PermuteGpuCost::split_lines_permille});
  if (r.step_bytes == 4 && w.dst_run * 8 <= 24) e.surcharges.add({.gpu = &PermuteGpuCost::short_step_permille});
  if (w.sources > 1 && w.targets > 1) e.surcharges.add({.gpu = &PermuteGpuCost::two_short_permille});
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const Interleave w = interleave_of(c.nest).value_or(Interleave{});
  const Widths widths = widths_of(c.nest, w, r);
  // The lanes of a request are one record apart. The requests of one stream share lines, which the L1 merges.
  Walk walk(c.profile), merged(c.profile);
  const std::uint64_t subgroups = ceil_div(r.workgroup, walk.lanes());
  const auto count = [&](bool source) {
    const std::uint32_t record = (source ? w.src_run : w.dst_run) * r.step_bytes,
                        width = source ? widths.load : widths.store;
    const std::uint64_t streams = source ? w.sources : w.targets;
    const std::int64_t base = source ? c.nest.src_byte_offset : c.nest.dst_byte_offset;
    Request request;
    for (std::uint32_t at = 0; at < record; at += width) {
      request.bytes = width;
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) request.address[l] = base + std::int64_t{l} * record + at;
      source ? walk.load(request, subgroups * streams) : walk.store(request, subgroups * streams);
    }
    request.bytes = record;
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) request.address[l] = base + std::int64_t{l} * record;
    source ? merged.load(request, subgroups * streams) : merged.store(request, subgroups * streams);
  };
  count(true);
  count(false);
  PermuteEstimate e;
  e.groups = d.groups;
  e.interior = walk.count();
  e.memory_transactions = merged.count().load_transactions + merged.count().store_transactions;
  if (c.explain) e.edge = e.interior;
  const std::uint64_t words = std::uint64_t{w.targets} * w.dst_run * r.step_bytes / 4;
  e.instructions = (e.interior.load_requests + e.interior.store_requests) * 4 +
                   subgroups * (60 + words * (c.nest.element_bytes < 4 ? 8 / c.nest.element_bytes : 1));
  charge(r, w, e);
  return e;
}

std::string print_row(const Row& r) { return fmt::format("p{} wg{}", r.step_bytes, r.workgroup); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_INTERLEAVE_SPEC_STEPS, "steps"},
                                    {PERMUTE_INTERLEAVE_SPEC_SOURCES, "from"},
                                    {PERMUTE_INTERLEAVE_SPEC_SRC_RUN, "from"},
                                    {PERMUTE_INTERLEAVE_SPEC_TARGETS, "to"},
                                    {PERMUTE_INTERLEAVE_SPEC_DST_RUN, "to"}};

constexpr PermuteStrategy kStrategy = {"permute_interleave",
                                       CostTable::permute_interleave,
                                       std::size(kTable),
                                       applicable,
                                       make,
                                       estimate,
                                       eligibility,
                                       print,
                                       kNamed};

}  // namespace
}  // namespace permute_interleave

const PermuteStrategy kInterleave = permute_interleave::kStrategy;
std::vector<std::string> permute_interleave_rows() {
  return names_of(permute_interleave::kTable, permute_interleave::print_row);
}

}  // namespace sectile::detail
