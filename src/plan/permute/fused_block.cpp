// permute_fused_block: a permute with an elementwise stage and different innermost axes. Each invocation transposes a
// block in registers.
#include "fused.hpp"

#include <algorithm>

namespace sectile::detail {

namespace permute_fused_block {
namespace {

struct Row {
  std::uint32_t blocks_s, blocks_d;  // of a workgroup
  std::uint32_t workgroup;
  bool swap = false, lanes_d = false;
  bool cpu = false, gpu = false;  // for that class of devices; a last resort on the other
};
// clang-format off
constexpr Row kTable[] = {
    {.blocks_s = 8, .blocks_d = 16, .workgroup = 128, .swap = true, .gpu = true},
    {.blocks_s = 16, .blocks_d = 8, .workgroup = 128, .swap = true, .gpu = true},
    {.blocks_s = 16, .blocks_d = 8, .workgroup = 8, .swap = true, .lanes_d = true, .cpu = true},
    {.blocks_s = 8, .blocks_d = 4, .workgroup = 8, .swap = true, .lanes_d = true, .cpu = true},
    {.blocks_s = 16, .blocks_d = 2, .workgroup = 8, .cpu = true},
    {.blocks_s = 4, .blocks_d = 16, .workgroup = 8, .cpu = true},
};
// clang-format on

// An invocation's block, and a workgroup's tile of blocks.
struct Shape {
  int s = -1;
  std::uint32_t vector_s = 1, vector_d = 1, blocks_s = 1, blocks_d = 1;
  FusedWidths widths;
  bool joined_s = false, joined_d = false;  // a block's short records are read (written) as one contiguous run

  std::uint32_t tile_s() const { return vector_s * blocks_s; }
  std::uint32_t tile_d() const { return vector_d * blocks_d; }
};

// A block's elements along an axis: the whole of a short axis, otherwise an access of 16 bytes.
std::uint32_t side_of(std::int64_t extent, std::uint32_t bytes) {
  return extent <= 8 ? static_cast<std::uint32_t>(extent) : std::clamp(16 / bytes, 4u, 8u);
}

Shape shape_of(const Nest& nest, const Row& r) {
  Shape shape;
  shape.s = nest.src_innermost();
  const auto& axis_s = nest.axis[static_cast<std::size_t>(shape.s)];
  const auto& axis_d = nest.axis[0];
  shape.vector_s = side_of(axis_s.extent, nest.element_bytes);
  shape.vector_d = side_of(axis_d.extent, nest.dst_element_bytes);
  shape.blocks_s = r.blocks_s;
  shape.blocks_d = r.blocks_d;
  // A short axis has one block. The other axis gets more blocks, so that the workgroup stays full.
  if (axis_s.extent <= 8)
    shape.blocks_d *= std::exchange(shape.blocks_s, 1);
  else if (axis_d.extent <= 8)
    shape.blocks_s *= std::exchange(shape.blocks_d, 1);
  shape.widths = {fused_width(nest, Side::src, shape.s, shape.vector_s),
                  fused_width(nest, Side::dst, 0, shape.vector_d),
                  nest.stage.add ? fused_width(nest, Side::add, 0, shape.vector_d) : 1};
  // A record of 3 bytes allows accesses of 1 byte only; four contiguous records are three words.
  const std::uint32_t block = shape.vector_s * shape.vector_d;
  if (axis_s.extent == shape.vector_s) {
    const auto width = fused_joined_width(nest, Side::src, shape.s, 0, block);
    shape.joined_s = width > shape.widths.load;
    if (shape.joined_s) shape.widths.load = width;
  }
  if (axis_d.extent == shape.vector_d) {
    const auto width = fused_joined_width(nest, Side::dst, 0, shape.s, block);
    shape.joined_d = width > shape.widths.store;
    if (shape.joined_d) shape.widths.store = width;
  }
  return shape;
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!c.nest.stage.present) return refusal.no("the problem has no elementwise stage");
  const Row& r = kTable[row];
  const int s = c.nest.src_innermost();
  if (c.nest.rank < 2 || s < 0) return refusal.no("the kernel needs two moving axes");
  if (s == 0) return refusal.no("source and destination have the same innermost axis");
  if (!needs_no_bounds(c.nest, refusal)) return false;
  if (r.workgroup > c.limits.workgroup_invocations)
    return refusal.no("workgroup of {} invocations, the device allows {}", r.workgroup, c.limits.workgroup_invocations);
  if (std::string_view(fused_variant(c, shape_of(c.nest, r).widths)) == "split")
    return refusal.no("needs accesses of 1 and 2 bytes, which the device lacks");
  return true;
}

std::uint32_t tiles(std::int64_t extent, std::uint32_t tile) {
  return static_cast<std::uint32_t>((extent + tile - 1) / tile);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Nest& nest = c.nest;
  const Shape shape = shape_of(nest, r);
  const auto& axis_s = nest.axis[static_cast<std::size_t>(shape.s)];
  const auto& axis_d = nest.axis[0];
  const auto tiles_s = tiles(axis_s.extent, shape.tile_s()), tiles_d = tiles(axis_d.extent, shape.tile_d());
  PermuteConfig d;
  d.stem = "permute_fused_block";
  d.element_bytes = nest.dst_element_bytes;
  d.variant = fused_variant(c, shape.widths);
  d.offset64 = c.offset64;
  d.workgroup = r.workgroup;
  d.stage = fused_stage(nest, shape.s, 0);
  d.add_axis(r.swap ? axis_d : axis_s, r.swap ? tiles_d : tiles_s);
  d.add_axis(r.swap ? axis_s : axis_d, r.swap ? tiles_s : tiles_d);
  d.groups = std::uint64_t{tiles_s} * tiles_d;
  for (int a = 1; a < nest.rank; ++a) {
    if (a == shape.s) continue;
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
    d.groups *= static_cast<std::uint64_t>(axis.extent);
  }
  d.set_own(PermuteFusedBlockWords{
      .last_s = static_cast<std::uint32_t>(axis_s.extent - std::int64_t{tiles_s - 1} * shape.tile_s()),
      .last_d = static_cast<std::uint32_t>(axis_d.extent - std::int64_t{tiles_d - 1} * shape.tile_d())});
  add_fused_constants(d, nest, shape.widths);
  d.add_constant(PERMUTE_FUSED_SPEC_VECTOR_S, shape.vector_s);
  d.add_constant(PERMUTE_FUSED_SPEC_VECTOR_D, shape.vector_d);
  d.add_constant(PERMUTE_FUSED_SPEC_TILE_S, shape.tile_s());
  d.add_constant(PERMUTE_FUSED_SPEC_TILE_D, shape.tile_d());
  d.add_constant(PERMUTE_FUSED_SPEC_SWAP, r.swap ? 1 : 0);
  d.add_constant(PERMUTE_FUSED_SPEC_LANES_D, r.lanes_d ? 1 : 0);
  d.add_constant(PERMUTE_FUSED_SPEC_JOINED_S, shape.joined_s ? 1 : 0);
  d.add_constant(PERMUTE_FUSED_SPEC_JOINED_D, shape.joined_d ? 1 : 0);
  return d;
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  return last_resort_if(!(c.cpu() ? kTable[row].cpu : kTable[row].gpu));
}

// Counts what transpose_block() of the kernel accesses in the tile with the given first element;
// tests/emulated/accesses_test.cpp compares.
AccessCount count_tile(const PermuteContext& c, const Row& r, std::int64_t first_s, std::int64_t first_d) {
  const Nest& nest = c.nest;
  const Shape shape = shape_of(nest, r);
  const auto& axis_s = nest.axis[static_cast<std::size_t>(shape.s)];
  const auto& axis_d = nest.axis[0];
  const std::int64_t size_s = std::min<std::int64_t>(shape.tile_s(), axis_s.extent - first_s);
  const std::int64_t size_d = std::min<std::int64_t>(shape.tile_d(), axis_d.extent - first_d);
  Walk walk(c.profile);
  Request request;
  const std::uint32_t blocks = shape.blocks_s * shape.blocks_d;
  const Sample parts{static_cast<std::uint32_t>(ceil_div(blocks, walk.lanes())), c.explain};
  // One access per lane; `address` maps a block's first element to the access' address.
  const auto request_of = [&](std::uint32_t part, auto&& address) {
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
      const std::uint32_t b = part * walk.lanes() + l;
      const std::int64_t s = std::int64_t{r.lanes_d ? b / shape.blocks_d : b % shape.blocks_s} * shape.vector_s;
      const std::int64_t d = std::int64_t{r.lanes_d ? b % shape.blocks_d : b / shape.blocks_s} * shape.vector_d;
      request.address[l] = b < blocks && s < size_s && d < size_d ? address(s, d) : Request::kInactive;
    }
  };
  // The accesses to the joined records of each block.
  const std::uint32_t elements = shape.vector_s * shape.vector_d;
  const auto joined = [&](std::uint32_t p, bool store) {
    const std::uint32_t width = store ? shape.widths.store : shape.widths.load;
    const std::uint32_t bytes = store ? nest.dst_element_bytes : nest.element_bytes;
    request.bytes = width * bytes;
    for (std::uint32_t e = 0; e < elements; e += width) {
      request_of(parts.at(p), [&](std::int64_t s, std::int64_t d) {
        return (store ? nest.dst_byte_offset + (first_s + s) * axis_s.dst_stride * bytes
                      : nest.src_byte_offset + (first_d + d) * axis_d.src_stride * bytes) +
               std::int64_t{e} * bytes;
      });
      store ? walk.store(request, parts.times(p)) : walk.load(request, parts.times(p));
    }
  };
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    request.bytes = shape.widths.load * nest.element_bytes;
    if (shape.joined_s) joined(p, false);
    for (std::uint32_t i = 0; !shape.joined_s && i < shape.vector_d; ++i)
      for (std::uint32_t k = 0; k < shape.vector_s; k += shape.widths.load) {
        request_of(parts.at(p), [&](std::int64_t s, std::int64_t d) {
          const auto at_s = first_s + std::min<std::int64_t>(s + k, size_s - shape.widths.load);
          const auto at_d = first_d + std::min<std::int64_t>(d + i, size_d - 1);
          return nest.src_byte_offset + (at_s * axis_s.src_stride + at_d * axis_d.src_stride) * nest.element_bytes;
        });
        walk.load(request, parts.times(p));
      }
    for (const bool store : {false, true}) {
      if (!store && !nest.stage.add) continue;
      if (store && shape.joined_d) {
        joined(p, true);
        continue;
      }
      const std::uint32_t width = store ? shape.widths.store : shape.widths.add;
      request.bytes = width * nest.dst_element_bytes;
      for (std::uint32_t i = 0; i < shape.vector_s; ++i)
        for (std::uint32_t k = 0; k < shape.vector_d; k += width) {
          request_of(parts.at(p), [&](std::int64_t s, std::int64_t d) {
            if (s + i >= size_s || d + k >= size_d) return Request::kInactive;
            const auto at = (first_s + s + i) * (store ? axis_s.dst_stride : axis_s.add_stride) +
                            (first_d + d + k) * (store ? axis_d.dst_stride : axis_d.add_stride);
            return (store ? nest.dst_byte_offset : nest.stage.add_byte_offset) + at * nest.dst_element_bytes;
          });
          store ? walk.store(request, parts.times(p)) : walk.load(request, parts.times(p));
        }
    }
  }
  return walk.count();
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const Shape shape = shape_of(c.nest, r);
  const std::int64_t tiles_s = tiles(c.nest.axis[static_cast<std::size_t>(shape.s)].extent, shape.tile_s());
  const std::int64_t tiles_d = tiles(c.nest.axis[0].extent, shape.tile_d());
  PermuteEstimate e;
  e.groups = d.groups;
  e.interior = count_tile(c, r, (tiles_s - 1) / 2 * shape.tile_s(), (tiles_d - 1) / 2 * shape.tile_d());
  if (c.explain) e.edge = count_tile(c, r, (tiles_s - 1) * shape.tile_s(), (tiles_d - 1) * shape.tile_d());
  const auto lanes = c.profile.subgroup_size.value_or(32);
  e.instructions = (e.interior.load_requests + e.interior.store_requests) * 8 +
                   ceil_div(std::uint64_t{shape.tile_s()} * shape.tile_d(), lanes) * 5 +
                   ceil_div(r.workgroup, lanes) * 100;
  return e;
}

std::string print_row(const Row& r) {
  return fmt::format("{}x{} wg{}{}{}", r.blocks_s, r.blocks_d, r.workgroup, r.swap ? " swap" : "",
                     r.lanes_d ? " lanes-d" : "");
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_FUSED_SPEC_TILE_S, "tile"},
                                    {PERMUTE_FUSED_SPEC_TILE_D, "tile"},
                                    {PERMUTE_FUSED_SPEC_VECTOR_S, "vector"},
                                    {PERMUTE_FUSED_SPEC_VECTOR_D, "vector"}};

constexpr PermuteStrategy kStrategy = {"permute_fused_block",
                                       CostTable::permute_fused_block,
                                       std::size(kTable),
                                       applicable,
                                       make,
                                       estimate,
                                       eligibility,
                                       print,
                                       kNamed};

}  // namespace
}  // namespace permute_fused_block

const PermuteStrategy kFusedBlock = permute_fused_block::kStrategy;
std::vector<std::string> permute_fused_block_rows() {
  return names_of(permute_fused_block::kTable, permute_fused_block::print_row);
}

}  // namespace sectile::detail
