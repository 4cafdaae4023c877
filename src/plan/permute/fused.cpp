// permute_fused: a permute with an elementwise stage. Each invocation computes a run along the destination's innermost
// axis. It supports every problem with a stage.
#include "fused.hpp"
#include "plan/type_code.hpp"

#include <algorithm>
#include <bit>

namespace sectile::detail {

namespace {

// Whether a bound depends on an axis: a run along it may cross the bound.
bool bounded_along(const Nest& nest, int a) {
  const auto bounds = nest.checked_bounds();
  for (std::uint32_t b = 0; b < bounds; ++b)
    if (nest.axis[static_cast<std::size_t>(a)].coef[b] != 0) return true;
  return false;
}

// Whether accesses of `width` elements are aligned to their size at every index of the axes other than the given two.
bool aligned_to(const Nest& nest, Side side, std::uint32_t width, int axis, int other) {
  const std::uint32_t bytes = side == Side::src ? nest.element_bytes : nest.dst_element_bytes;
  return width * bytes <= 16 && nest.alignment(side, 1u << axis | 1u << other) >= width * bytes;
}

}  // namespace

namespace permute_fused {
namespace {

struct Row {
  std::uint32_t workgroup, vector;  // `vector`: maximum elements of a run
};
// clang-format off
constexpr Row kTable[] = {
    {.workgroup = 128, .vector = 8},
    {.workgroup = 256, .vector = 4},
    {.workgroup = 256, .vector = 1},
    {.workgroup = 64, .vector = 8},
};
// clang-format on

struct Run {
  std::uint32_t vector = 1;
  FusedWidths widths;
};

Run run_of(const Nest& nest, std::uint32_t row) {
  Run run;
  if (nest.rank == 0) return run;
  run.vector = kTable[row].vector;
  while (nest.axis[0].extent % run.vector != 0) run.vector /= 2;
  run.widths = {fused_width(nest, Side::src, 0, run.vector), fused_width(nest, Side::dst, 0, run.vector),
                nest.stage.add ? fused_width(nest, Side::add, 0, run.vector) : 1};
  return run;
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!c.nest.stage.present) return refusal.no("the problem has no elementwise stage");
  if (kTable[row].workgroup > c.limits.workgroup_invocations)
    return refusal.no("workgroup of {} invocations, the device allows {}", kTable[row].workgroup,
                      c.limits.workgroup_invocations);
  return true;
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Run run = run_of(c.nest, row);
  PermuteConfig d;
  d.stem = "permute_fused";
  d.element_bytes = c.nest.dst_element_bytes;
  d.variant = fused_variant(c, run.widths);
  d.offset64 = c.offset64;
  d.workgroup = kTable[row].workgroup;
  d.stage = fused_stage(c.nest, c.nest.rank > 0 ? 0 : -1, -1);
  add_fused_constants(d, c.nest, run.widths);
  d.add_constant(PERMUTE_FUSED_SPEC_VECTOR, run.vector);
  for (int a = 0; a < c.nest.rank; ++a) {
    NestAxis axis = c.nest.axis[static_cast<std::size_t>(a)];
    if (a == 0) {
      axis.extent /= run.vector;
      for (std::int64_t* step : {&axis.src_stride, &axis.dst_stride, &axis.add_stride, &axis.scale_step,
                                 &axis.bias_step, &axis.coef[0], &axis.coef[1]})
        *step *= run.vector;
    }
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
  }
  d.groups = ceil_div(static_cast<std::uint64_t>(c.nest.elements()) / run.vector, d.workgroup);
  return d;
}

// A subgroup's access at element i of each run; `first` is the subgroup's first run.
void request_at(const PermuteContext& c, const Run& run, const Walk& walk, std::int64_t first, std::uint32_t i,
                Side side, Request& request) {
  const auto bytes = static_cast<std::int64_t>(side == Side::src ? c.nest.element_bytes : c.nest.dst_element_bytes);
  const auto runs = c.nest.elements() / run.vector;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    std::int64_t id = first + l;
    request.address[l] = Request::kInactive;
    if (id >= runs) continue;
    std::int64_t at = side == Side::src   ? c.nest.src_byte_offset
                      : side == Side::dst ? c.nest.dst_byte_offset
                                          : c.nest.stage.add_byte_offset;
    for (int a = 0; a < c.nest.rank; ++a) {
      const std::int64_t extent = c.nest.axis[static_cast<std::size_t>(a)].extent / (a == 0 ? run.vector : 1);
      const std::int64_t digit = id % extent * (a == 0 ? run.vector : 1) + (a == 0 ? i : 0);
      id /= extent;
      at += digit * c.nest.stride(side, a) * bytes;
    }
    request.address[l] = at;
  }
}

AccessCount count_group(const PermuteContext& c, std::uint32_t row, std::uint64_t group) {
  const Run run = run_of(c.nest, row);
  Walk walk(c.profile);
  const auto& r = kTable[row];
  const auto first = static_cast<std::int64_t>(group * r.workgroup);
  const std::uint64_t subgroups = ceil_div(r.workgroup, walk.lanes());
  Request request;
  const auto walk_side = [&](Side side, std::uint32_t width, std::uint32_t element) {
    request.bytes = width * element;
    for (std::uint32_t i = 0; i < run.vector; i += width) {
      request_at(c, run, walk, first, i, side, request);
      side == Side::dst ? walk.store(request, subgroups) : walk.load(request, subgroups);
    }
  };
  walk_side(Side::src, run.widths.load, c.nest.element_bytes);
  if (c.nest.stage.add) walk_side(Side::add, run.widths.add, c.nest.dst_element_bytes);
  walk_side(Side::dst, run.widths.store, c.nest.dst_element_bytes);
  return walk.count();
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  return last_resort_if(c.limits.workgroup_invocations >= 256 && row == 3);
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  PermuteEstimate e;
  e.groups = d.groups;
  e.interior = count_group(c, row, d.groups / 2);
  if (c.explain) e.edge = count_group(c, row, d.groups - 1);
  const std::uint64_t subgroups = ceil_div(kTable[row].workgroup, c.profile.subgroup_size.value_or(32));
  e.instructions =
      (e.interior.load_requests + e.interior.store_requests) * 8 +
      subgroups * static_cast<std::uint64_t>(20 + 8 * c.nest.rank + 6 * static_cast<int>(run_of(c.nest, row).vector));
  return e;
}

std::string print_row(const Row& r) { return fmt::format("v{} wg{}", r.vector, r.workgroup); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_FUSED_SPEC_VECTOR, "vector"}};

constexpr PermuteStrategy kStrategy = {
    "permute_fused", CostTable::permute_fused, std::size(kTable), applicable, make, estimate, eligibility, print,
    kNamed};

}  // namespace
}  // namespace permute_fused

const PermuteStrategy kFused = permute_fused::kStrategy;
std::vector<std::string> permute_fused_rows() { return names_of(permute_fused::kTable, permute_fused::print_row); }

std::uint32_t fused_width(const Nest& nest, Side side, int axis, std::uint32_t most) {
  if (bounded_along(nest, axis) || nest.stride(side, axis) != 1) return 1;
  std::uint32_t width = std::bit_floor(most);
  // `most` is not a power of two if a block spans a whole short axis.
  while (width > 1 && (most % width != 0 || nest.axis[static_cast<std::size_t>(axis)].extent % width != 0 ||
                       !aligned_to(nest, side, width, axis, axis)))
    width /= 2;
  return width;
}

std::uint32_t fused_joined_width(const Nest& nest, Side side, int record, int along, std::uint32_t count) {
  const auto& short_axis = nest.axis[static_cast<std::size_t>(record)];
  if (bounded_along(nest, record) || bounded_along(nest, along) || nest.stride(side, record) != 1 ||
      nest.stride(side, along) != short_axis.extent ||
      nest.axis[static_cast<std::size_t>(along)].extent * short_axis.extent % count != 0)
    return 1;
  std::uint32_t width = 8;  // the kernels' maximum
  while (width > 1 && (count % width != 0 || !aligned_to(nest, side, width, record, along))) width /= 2;
  return width;
}

const char* fused_variant(const PermuteContext& c, const FusedWidths& widths) {
  const std::uint32_t src = c.nest.element_bytes, dst = c.nest.dst_element_bytes;
  const bool words = widths.load * src >= 4 && widths.store * dst >= 4 && (!c.nest.stage.add || widths.add * dst >= 4);
  if (words) return "word";
  return c.profile.storage8.value_or(false) && c.profile.storage16.value_or(false) ? "narrow" : "split";
}

std::uint32_t fused_stage(const Nest& nest, int axis_s, int axis_d) {
  const NestStage& s = nest.stage;
  std::uint32_t bits = (s.alpha != 1 ? PERMUTE_FUSED_ALPHA : 0) | (s.scale ? PERMUTE_FUSED_SCALE : 0) |
                       (s.bias ? PERMUTE_FUSED_BIAS : 0) | (s.add ? PERMUTE_FUSED_ADD : 0);
  bits |= static_cast<std::uint32_t>(s.activation.which) << PERMUTE_FUSED_ACTIVATION_SHIFT;
  bits |= (s.activation.last ? PERMUTE_FUSED_ACTIVATION_LAST : 0) | (s.alpha == 0 ? PERMUTE_FUSED_ZERO : 0);
  bool one = s.scale && s.bias;
  for (int a = 0; a < nest.rank; ++a) {
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    one = one && axis.scale_step == axis.bias_step;
    if (s.scale && axis.scale_step != 0)
      bits |= a == axis_s ? PERMUTE_FUSED_SCALE_S : a == axis_d ? PERMUTE_FUSED_SCALE_D : 0;
    if (s.bias && axis.bias_step != 0)
      bits |= a == axis_s ? PERMUTE_FUSED_BIAS_S : a == axis_d ? PERMUTE_FUSED_BIAS_D : 0;
  }
  return bits | (one ? PERMUTE_FUSED_ONE_AXIS : 0);
}

void add_fused_constants(PermuteConfig& config, const Nest& nest, const FusedWidths& widths) {
  config.add_constant(PERMUTE_FUSED_SPEC_TYPE, type_code(nest.stage.type));
  config.add_constant(PERMUTE_FUSED_SPEC_OUT, type_code(nest.stage.out));
  config.add_constant(PERMUTE_FUSED_SPEC_STAGE, config.stage);
  config.add_constant(PERMUTE_FUSED_SPEC_LOAD, widths.load);
  config.add_constant(PERMUTE_FUSED_SPEC_STORE, widths.store);
  config.add_constant(PERMUTE_FUSED_SPEC_ADD, widths.add);
}

}  // namespace sectile::detail
