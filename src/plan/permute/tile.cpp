// permute_tile and permute_block: transposes, whose source is contiguous along S and destination along D. permute_tile
// transposes a tile in registers and workgroup memory, permute_block in registers only.
#include "tile.hpp"

#include "permute/permute_tile.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace {

// NVIDIA H200, driver 580.159.04, 2026-11-21, `sectile bench --preset seeds-permute --all-candidates`.
// docs/lab/2026-11.md has the variants that were slower.
// clang-format off
constexpr TileRow kTileTable[] = {
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 4,
     .workgroup = 128, .skew = 2},
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 4,
     .workgroup = 128, .skew = 2, .group = 8, .replaced = true},
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 1, .vector_d = 4, .store_bytes = 4,
     .workgroup = 256, .skew = 1},
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 1,
     .workgroup = 256, .skew = 2, .replaced = true},
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 1, .vector_d = 4, .store_bytes = 1,
     .workgroup = 256, .skew = 1},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 8,
     .workgroup = 256, .skew = 1, .swap = true, .replaced = true},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 32, .vector_s = 4, .vector_d = 4, .store_bytes = 8,
     .workgroup = 64, .skew = 1, .swap = true},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 64, .vector_s = 2, .vector_d = 2, .store_bytes = 4,
     .workgroup = 128, .skew = 1, .swap = true},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 64, .vector_s = 1, .vector_d = 2, .store_bytes = 4,
     .workgroup = 128, .skew = 1},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 32, .vector_s = 2, .vector_d = 2, .store_bytes = 2,
     .workgroup = 128, .skew = 1, .replaced = true},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 64, .vector_s = 1, .vector_d = 2, .store_bytes = 2,
     .workgroup = 128, .skew = 1},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 32, .vector_s = 4, .vector_d = 1, .store_bytes = 8,
     .workgroup = 128, .skew = 4},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 32, .vector_s = 4, .vector_d = 1, .store_bytes = 4,
     .workgroup = 128, .skew = 4, .swap = true},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 32, .vector_s = 4, .vector_d = 1, .store_bytes = 4,
     .workgroup = 128, .skew = 4, .replaced = true},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 32, .vector_s = 1, .vector_d = 1, .store_bytes = 4,
     .workgroup = 256, .skew = 1},
    {.element_bytes = 8, .tile_s = 32, .tile_d = 32, .vector_s = 1, .vector_d = 1, .store_bytes = 8,
     .workgroup = 128, .skew = 1},
    {.element_bytes = 16, .tile_s = 16, .tile_d = 16, .vector_s = 1, .vector_d = 1, .store_bytes = 16,
     .workgroup = 128, .skew = 1},
};
constexpr TileRow kRetiredTiles[] = {
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 16,
     .workgroup = 128, .skew = 2},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 64, .vector_s = 8, .vector_d = 2, .store_bytes = 4,
     .workgroup = 128, .skew = 4},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 64, .vector_s = 4, .vector_d = 1, .store_bytes = 16,
     .workgroup = 128, .skew = 4, .group = 8},
    {.element_bytes = 8, .tile_s = 32, .tile_d = 32, .vector_s = 2, .vector_d = 1, .store_bytes = 8,
     .workgroup = 128, .skew = 2},
    {.element_bytes = 8, .tile_s = 32, .tile_d = 32, .vector_s = 2, .vector_d = 2, .store_bytes = 16,
     .workgroup = 128, .skew = 1},
};
// clang-format on

// Mostly for CPU devices. A block is what one invocation keeps in registers. lavapipe 26.1.6 on two Xeon cores
// (Sapphire Rapids), 2026-11-21, 352 shapes by `sectile bench PROBLEM --all-candidates`: best were blocks of 16x16
// bytes, workgroups of one subgroup, and consecutive lanes along D, which fill cache lines of the destination.
// Fractions of a copy, with the chosen tile shape and with square tiles: i8 8192x8192 0.276 and 0.212, i8 NHWC->NCHW
// 0.685 and 0.533, f16 NHWC->NCHW 0.591 and 0.295, f16 NCHW->NHWC 0.665 and 0.356, f32 4112x4080 0.315 and 0.285. The
// row 128x64 with 32 invocations is for the H200.
// Rows of 4x4 whose stores have one element are for operands at any address. The same lavapipe, 2026-11-29, 70 shapes,
// ms, permute_rows and NumPy in brackets: f32 4099x4093 18 to 31 (83 to 145, 59), f16 5791x5793 31 to 33 (87, 130), f64
// 2899x2903 19 to 21 (65), f32 16x127x125x61 NHWC->NCHW 19 to 22 (89). Tiles of 16x16 to 64x32 took 36 to 80 for the
// first, blocks of 8x4 and 2x8 36 to 48. Of bytes (8191x8193) they take 116, permute_ragged 67.
// clang-format off
constexpr TileRow kBlockTable[] = {
    {.element_bytes = 1, .tile_s = 128, .tile_d = 64, .vector_s = 16, .vector_d = 16, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .shapes = kLongS | kLarge | kPaged},
    {.element_bytes = 1, .tile_s = 32, .tile_d = 128, .vector_s = 16, .vector_d = 16, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .swap = true, .shapes = kLongD},
    {.element_bytes = 1, .tile_s = 128, .tile_d = 64, .vector_s = 16, .vector_d = 16, .store_bytes = 16,
     .workgroup = 32, .swap = true},
    {.element_bytes = 1, .tile_s = 32, .tile_d = 32, .vector_s = 4, .vector_d = 4, .store_bytes = 4, .workgroup = 16},
    {.element_bytes = 1, .tile_s = 32, .tile_d = 32, .vector_s = 1, .vector_d = 1, .store_bytes = 1,
     .workgroup = 64},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 64, .vector_s = 8, .vector_d = 8, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .swap = true, .shapes = kLongS},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 16, .vector_s = 8, .vector_d = 8, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .swap = true, .shapes = kLongD},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 16, .vector_s = 8, .vector_d = 8, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .shapes = kLarge},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 32, .vector_s = 8, .vector_d = 8, .store_bytes = 16,
     .workgroup = 8, .shapes = kPaged},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 32, .vector_s = 4, .vector_d = 4, .store_bytes = 8, .workgroup = 16},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 32, .vector_s = 2, .vector_d = 2, .store_bytes = 4,
     .workgroup = 64, .swap = true},
    {.element_bytes = 2, .tile_s = 32, .tile_d = 32, .vector_s = 1, .vector_d = 1, .store_bytes = 2,
     .workgroup = 64},
    {.element_bytes = 2, .tile_s = 256, .tile_d = 16, .vector_s = 4, .vector_d = 4, .store_bytes = 2,
     .workgroup = 8, .swap = true},
    {.element_bytes = 2, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 2,
     .workgroup = 8, .swap = true, .shapes = kLongD},
    {.element_bytes = 4, .tile_s = 64, .tile_d = 32, .vector_s = 4, .vector_d = 4, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .swap = true, .shapes = kLongS},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 16, .vector_s = 4, .vector_d = 4, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .swap = true, .shapes = kLongD},
    {.element_bytes = 4, .tile_s = 64, .tile_d = 8, .vector_s = 4, .vector_d = 4, .store_bytes = 16,
     .workgroup = 8, .skew = 1, .shapes = kLarge},
    {.element_bytes = 4, .tile_s = 16, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 16,
     .workgroup = 8, .shapes = kPaged},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 32, .vector_s = 2, .vector_d = 2, .store_bytes = 8,
     .workgroup = 64},
    {.element_bytes = 4, .tile_s = 32, .tile_d = 32, .vector_s = 1, .vector_d = 1, .store_bytes = 4,
     .workgroup = 64},
    {.element_bytes = 4, .tile_s = 256, .tile_d = 16, .vector_s = 4, .vector_d = 4, .store_bytes = 4,
     .workgroup = 8, .swap = true},
    {.element_bytes = 4, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 4,
     .workgroup = 8, .swap = true, .shapes = kLongD},
    {.element_bytes = 8, .tile_s = 8, .tile_d = 32, .vector_s = 2, .vector_d = 2, .store_bytes = 16, .workgroup = 8},
    {.element_bytes = 8, .tile_s = 256, .tile_d = 16, .vector_s = 4, .vector_d = 4, .store_bytes = 8,
     .workgroup = 8, .swap = true},
    {.element_bytes = 8, .tile_s = 64, .tile_d = 64, .vector_s = 4, .vector_d = 4, .store_bytes = 8,
     .workgroup = 8, .swap = true, .shapes = kLongD},
    {.element_bytes = 8, .tile_s = 16, .tile_d = 16, .vector_s = 1, .vector_d = 1, .store_bytes = 8,
     .workgroup = 64},
    {.element_bytes = 16, .tile_s = 16, .tile_d = 16, .vector_s = 1, .vector_d = 1, .store_bytes = 16,
     .workgroup = 64},
};
constexpr TileRow kRetiredBlocks[] = {
    {.element_bytes = 1, .tile_s = 64, .tile_d = 64, .vector_s = 8, .vector_d = 8, .store_bytes = 8,
     .workgroup = 16},
    {.element_bytes = 1, .tile_s = 32, .tile_d = 32, .vector_s = 1, .vector_d = 4, .store_bytes = 4,
     .workgroup = 64},
    {.element_bytes = 1, .tile_s = 32, .tile_d = 32, .vector_s = 4, .vector_d = 1, .store_bytes = 1,
     .workgroup = 64},
};
// clang-format on

constexpr const TileRow& tile_row(std::uint32_t row) { return row_in(kTileTable, kRetiredTiles, row); }
constexpr const TileRow& block_row(std::uint32_t row) { return row_in(kBlockTable, kRetiredBlocks, row); }

// permute_tile stores whole words of its tile, or part of one of 4 bytes.
consteval bool stores_are_sound(std::span<const TileRow> rows) {
  return std::ranges::all_of(rows, [](const TileRow& r) {
    const std::uint32_t word = r.vector_d * r.element_bytes;
    return r.store_bytes % word == 0 || (word == 4 && word % r.store_bytes == 0);
  });
}
static_assert(stores_are_sound(kTileTable) && stores_are_sound(kRetiredTiles));

// permute_block accesses single elements, at any address.
constexpr bool single(const TileRow& r, bool staged) { return !staged && r.store_bytes < r.vector_d * r.element_bytes; }

constexpr int kOwnWords = size_of<PermuteTileWords>();
// The step takes the .wide variant. Squares of tiles are two axes more than the nest's.
bool wide(const PermuteContext& c, const TileRow& r) {
  return takes_wide(c, c.nest.rank + (r.group > 1 ? 2 : 0), kOwnWords);
}

bool fits_problem(const PermuteContext& c, const TileRow& r, bool staged, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Nest& nest = c.nest;
  if (nest.element_bytes != r.element_bytes)
    return refusal.no("the row is for elements of another size than {} bytes", nest.element_bytes);
  const int s = nest.src_innermost();
  if (nest.rank < 2 || s < 0) return refusal.no("the kernel needs two moving axes");
  if (s == 0) return refusal.no("source and destination have the same innermost axis");
  if (!needs_no_bounds(nest, refusal)) return false;
  if (!stores_elements(c, refusal)) return false;
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (!single(r, staged) && !vector_fits(c, {s, Side::src}, r.vector_s, refusal)) return false;
  if (r.group != 0) {
    const auto& axis_s = nest.axis[static_cast<std::size_t>(s)];
    if (axis_s.extent % (std::int64_t{r.tile_s} * r.group) != 0 ||
        nest.axis[0].extent % (std::int64_t{r.tile_d} * r.group) != 0)
      return refusal.no("extents of {}x{} are not multiples of {}x{} tiles", axis_s.extent, nest.axis[0].extent,
                        r.group, r.group);
  }
  const auto store = r.store_bytes / r.element_bytes;
  if (!single(r, staged) && !vector_fits(c, {0, Side::dst}, staged ? store : r.vector_d, refusal)) return false;
  if (single(r, staged)) {
    const NestAxis& axis_s = nest.axis[static_cast<std::size_t>(s)];
    if (c.profile.kind != DeviceKind::cpu) return refusal.no("blocks of single elements are for CPUs");
    if (axis_s.src_stride != 1 || nest.axis[0].dst_stride != 1)
      return refusal.no("an operand is not contiguous along its innermost axis");
    if (nest.axis[0].extent < r.vector_d || axis_s.extent < r.vector_s)
      return refusal.no("an axis is shorter than a block of {}x{}", r.vector_s, r.vector_d);
  }
  // Blocks are for CPUs and for bytes: permute_tile serves what is that large or has that many axes.
  if (!staged && wide(c, r))
    return refusal.no("offsets approach 2^31 bytes or axes are many, and it has no .wide variant");
  return has_offsets(c, wide(c, r), refusal);
}

bool tile_applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  const TileRow& r = tile_row(row);
  if (!fits_problem(c, r, true, refusal)) return false;
  if (tile_shared_bytes(r, r.skew) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", tile_shared_bytes(r, r.skew),
                      c.limits.workgroup_memory);
  return true;
}

bool block_applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  return fits_problem(c, block_row(row), false, refusal);
}

std::uint32_t count_of(const NestAxis& axis, std::uint32_t tile) {
  return static_cast<std::uint32_t>((axis.extent + tile - 1) / tile);
}

// Whether rows of the destination begin at sectors, if its address does.
bool rows_begin_at_sectors(const PermuteContext& c) {
  std::int64_t all = c.nest.dst_byte_offset;
  for (int a = 1; a < c.nest.rank; ++a)
    all |= c.nest.axis[static_cast<std::size_t>(a)].dst_stride * c.nest.element_bytes;
  return all % c.profile.transaction_bytes.value_or(32) == 0;
}

// Whether tiles that follow each other are tiles along D. Where rows of the destination do not begin at sectors, a tile
// and the next one along D store parts of the same sectors. With tiles along S first, a whole band of tiles is stored
// in between, and sectors that have left the L2 by then are read again; with tiles along D first, the source's runs are
// read in pieces, which costs less where these have 128 bytes and more. H200, 2026-11-29, CUDA and Vulkan, fractions of
// a copy, S first and D first: f64 189x85174 axes=1,0 0.57 and 0.79, 0.56 and 0.88; 23885x439 0.73 and 0.81, 0.83 and
// 0.87; f32 167x677921 0.32 and 0.79, 0.32 and 0.77; 84942x344 0.65 and 0.68, 0.66 and 0.74; f16 642x41353 0.49 and
// 0.72, 0.50 and 0.74; 438846x294 0.56 and 0.44, 0.60 and 0.47; u8 108x1038152 0.35 and 0.65, 0.37 and 0.71.
bool d_first(const PermuteContext& c, const TileRow& r) {
  const NestAxis &axis_d = c.nest.axis[0], &axis_s = c.nest.axis[static_cast<std::size_t>(c.nest.src_innermost())];
  if (c.cpu() || r.group != 0) return r.swap;
  if (rows_begin_at_sectors(c))
    return r.swap || r.element_bytes == 8;  // f64 4096x2048 axes=1,0 0.95 and 0.96, 0.92 and 0.95
  return r.tile_s * r.element_bytes >= 128 || axis_d.extent <= axis_s.extent;
}

PermuteConfig make_config(const PermuteContext& c, const TileRow& r, const char* stem, std::uint32_t skew) {
  PermuteConfig d;
  d.stem = stem;
  d.element_bytes = r.element_bytes;
  d.offset64 = wide(c, r);
  d.workgroup = r.workgroup;
  const int s = c.nest.src_innermost();
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(s)];
  const auto& axis_d = c.nest.axis[0];
  const auto tiles_s = count_of(axis_s, r.tile_s), tiles_d = count_of(axis_d, r.tile_d);
  const auto group = r.group == 0 ? 1 : r.group;
  const bool swapped = d_first(c, r);
  d.add_axis(swapped ? axis_d : axis_s, group > 1 ? group : swapped ? tiles_d : tiles_s);
  d.add_axis(swapped ? axis_s : axis_d, group > 1 ? group : swapped ? tiles_s : tiles_d);
  d.groups = std::uint64_t{tiles_s} * tiles_d;
  if (group > 1) {
    // The squares are further axes with a step of one square, so the kernel needs no extra parameter.
    for (const auto* axis : {&axis_s, &axis_d}) {
      const std::int64_t step = std::int64_t{group} * (axis == &axis_s ? r.tile_s : r.tile_d);
      d.add_axis({0, axis->src_stride * step, axis->dst_stride * step, {}},
                 (axis == &axis_s ? tiles_s : tiles_d) / group);
    }
  }
  for (int a = 1; a < c.nest.rank; ++a) {
    if (a == s) continue;
    const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
    d.groups *= static_cast<std::uint64_t>(axis.extent);
  }
  const auto last = [](const NestAxis& axis, std::uint32_t tiles, std::uint32_t size) {
    return static_cast<std::uint32_t>(axis.extent - std::int64_t{tiles - 1} * size);
  };
  d.set_own(
      PermuteTileWords{.last_tile = U16x2{.x = last(axis_s, tiles_s, r.tile_s), .y = last(axis_d, tiles_d, r.tile_d)},
                       .d_first = swapped ? 1u : 0u});
  d.add_constant(PERMUTE_TILE_SPEC_TILE_S, r.tile_s);
  d.add_constant(PERMUTE_TILE_SPEC_TILE_D, r.tile_d);
  d.add_constant(PERMUTE_TILE_SPEC_VECTOR_S, r.vector_s);
  d.add_constant(PERMUTE_TILE_SPEC_VECTOR_D, r.vector_d);
  d.add_constant(PERMUTE_TILE_SPEC_STORE_BYTES, r.store_bytes);
  static_assert(PERMUTE_TILE_SPEC_SKEW == PERMUTE_BLOCK_SPEC_LANES_D);
  d.add_constant(PERMUTE_TILE_SPEC_SKEW, skew);
  return d;
}

// The row's own skew if it has no bank conflicts, otherwise the smallest skew with the fewest.
std::uint32_t choose_skew(const PermuteContext& c, const TileRow& r, std::uint64_t& least) {
  std::uint32_t best = r.skew;
  least = tile_conflicts(c.profile, r, r.skew, false);
  for (const std::uint32_t skew : {0u, 1u, 2u, 4u, 8u, 16u}) {
    if (least == 0) break;
    if (tile_shared_bytes(r, skew) > c.limits.workgroup_memory) continue;
    const auto conflicts = tile_conflicts(c.profile, r, skew, false);
    if (conflicts >= least) continue;
    least = conflicts;
    best = skew;
  }
  return best;
}

PermuteConfig tile_make(const PermuteContext& c, std::uint32_t row) {
  const TileRow& r = tile_row(row);
  std::uint64_t conflicts = 0;
  const auto skew = choose_skew(c, r, conflicts);
  PermuteConfig d = make_config(c, r, "permute_tile", skew);
  d.bank_conflicts = conflicts;
  d.workgroup_memory_bytes = tile_shared_bytes(r, skew);
  return d;
}

PermuteConfig block_make(const PermuteContext& c, std::uint32_t row) {
  return make_config(c, block_row(row), "permute_block", block_row(row).skew);
}

TilePlace place_of(const PermuteContext& c, const TileRow& r, bool edge) {
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(c.nest.src_innermost())];
  const auto& axis_d = c.nest.axis[0];
  const std::int64_t tiles_s = count_of(axis_s, r.tile_s), tiles_d = count_of(axis_d, r.tile_d);
  const std::int64_t s = (edge ? tiles_s - 1 : (tiles_s - 1) / 2) * r.tile_s;
  const std::int64_t d = (edge ? tiles_d - 1 : (tiles_d - 1) / 2) * r.tile_d;
  return {s, d, std::min<std::int64_t>(r.tile_s, axis_s.extent - s),
          std::min<std::int64_t>(r.tile_d, axis_d.extent - d)};
}

ShapeClass shape_class(const PermuteContext& c) {
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(c.nest.src_innermost())];
  const auto& axis_d = c.nest.axis[0];
  if (axis_s.extent < 2048 || axis_d.extent < 2048) return axis_s.extent < axis_d.extent ? kLongD : kLongS;
  return axis_d.src_stride * c.nest.element_bytes % 4096 == 0 ? kPaged : kLarge;
}

// The cost of the tiles' order and shape, in permille. The workgroups in flight (some 2000 on an H200) cover a band of
// tiles. With long rows, a band along S scatters its writes, which costs more than scattered reads: 8192 x 8192 f32 ran
// at 0.942 of a copy along D and 0.897 along S, 64 x 1024 x 512 at 0.963 and 0.976. Elements of 2 bytes: tiles of 32
// along D are fastest for batched or square matrices (16 x 3456 x 3456: 0.967, tiles of 64 0.947), tiles of 64 if one
// side is short (196608 x 128: 0.940, tiles of 32 0.927).
void charge_order(const PermuteContext& c, const TileRow& r, PermuteEstimate& e) {
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(c.nest.src_innermost())];
  const bool large = axis_s.extent >= 2048 && c.nest.axis[0].extent >= 2048;
  if (r.workgroup > 16) e.surcharges.add({.cpu = &PermuteCpuCost::wide_workgroup_permille});
  if ((r.shapes & shape_class(c)) == 0) e.surcharges.add({.cpu = &PermuteCpuCost::other_shape_permille});
  if (large && !d_first(c, r) && r.element_bytes > 1) e.surcharges.add({.gpu = &PermuteGpuCost::band_permille});
  if (r.element_bytes == 2 && r.vector_d == 4 && (large || c.nest.rank > 2) != (r.tile_d == 32))
    e.surcharges.add({.gpu = &PermuteGpuCost::tile_permille});
}

// What is stored between two parts of a sector, see d_first().
std::uint64_t sector_gap(const PermuteContext& c, const TileRow& r) {
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(c.nest.src_innermost())];
  if (d_first(c, r) || c.nest.axis[0].extent <= r.tile_d) return 0;
  if (rows_begin_at_sectors(c)) return 0;
  return static_cast<std::uint64_t>(axis_s.extent) * r.tile_d * c.nest.element_bytes;
}

PermuteEstimate estimate(const PermuteContext& c, const TileRow& r, const PermuteConfig& d, bool staged) {
  PermuteEstimate e;
  e.groups = d.groups;
  e.addressing = staged ? Addressing::staged : Addressing::direct;
  e.interior = count_tile(c, r, place_of(c, r, false), staged, c.explain);
  // A CPU's time of a block is that of wide accesses: it loads and stores each word of these by itself.
  if (single(r, staged) && !c.explain) {
    AccessCount& n = e.interior;
    for (std::uint64_t* count : {&n.load_requests, &n.load_transactions}) *count /= r.vector_s;
    for (std::uint64_t* count : {&n.store_requests, &n.store_transactions}) *count /= r.vector_d;
  }
  if (c.explain) e.edge = count_tile(c, r, place_of(c, r, true), staged, true);
  if (staged && c.explain) {
    for (const Constant& constant : d.constants.all())
      if (constant.id == PERMUTE_TILE_SPEC_SKEW)
        e.edge.bank_conflicts = tile_conflicts(c.profile, r, constant.value, true);
  }
  e.interior.bank_conflicts = staged && c.explain ? e.edge.bank_conflicts : d.bank_conflicts;
  const std::uint64_t shuffles = r.element_bytes < 4 ? std::uint64_t{r.tile_s} * r.tile_d / 32 : 0;
  e.instructions = (e.interior.load_requests + e.interior.store_requests) * 10 +
                   shuffles * 2 / std::max(1u, r.vector_d / 2) + ceil_div(r.workgroup, 32) * 100;
  e.sector_gap = sector_gap(c, r);
  // Of bytes a tile's part of a row is so short that a write in parts counts. H200, 2026-11-29, `bench --sweep permute
  // --seed 46151`, rows of the destination that begin anywhere in a sector: 1.08 to 2.0 times the estimate on five
  // problems, where permute_ragged was at 1.0 to 1.4 times its own.
  if (!c.cpu() && r.element_bytes == 1 && !rows_begin_at_sectors(c))
    e.memory_transactions = e.interior.load_transactions + 2 * e.interior.store_transactions;
  charge_order(c, r, e);
  return e;
}

PermuteEstimate tile_estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  return estimate(c, tile_row(row), d, true);
}

// Rows that others replace on a GPU. H200, 2026-11-28, 1,829 problems whose candidates were all timed (`calibrate --op
// permute`): without the two of 2 and 4 bytes choices of f16 are worth 1.039 on CUDA and 1.036 on Vulkan, with them
// 1.040 and 1.035, those of f32 1.038 and 1.039 for 1.039 and 1.039. Without 64x32 for 2 bytes aligned transposes lose
// up to 5 % on Vulkan (64x1024x512 axes=0,2,1 0.97 and 0.92 of a copy).
Eligibility tile_eligibility(const PermuteContext& c, std::uint32_t row) {
  return last_resort_if(!c.cpu() && tile_row(row).replaced);
}
// Most rows are for CPUs. Without all but that of 16x16 bytes by whole subgroups, no size of elements of those problems
// loses more than 0.2 % by choice.
Eligibility block_eligibility(const PermuteContext& c, std::uint32_t row) {
  const TileRow& r = block_row(row);
  return last_resort_if(!c.cpu() && (r.element_bytes != 1 || r.workgroup != 32));
}

PermuteEstimate block_estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  return estimate(c, block_row(row), d, false);
}

std::string print_row(const TileRow& r) {
  return fmt::format("{}x{} v{}x{} s{} wg{}{}{}", r.tile_s, r.tile_d, r.vector_s, r.vector_d, r.store_bytes,
                     r.workgroup, r.swap ? " swap" : "", r.group != 0 ? fmt::format(" g{}", r.group) : "");
}
std::string tile_print(const PermuteContext&, std::uint32_t row) { return print_row(tile_row(row)); }
std::string print_block(const TileRow& r) { return print_row(r) + (r.skew == 1 ? " lanes-d" : ""); }
std::string block_print(const PermuteContext&, std::uint32_t row) { return print_block(block_row(row)); }

constexpr NamedConstant kNamed[] = {{PERMUTE_TILE_SPEC_TILE_S, "tile"},
                                    {PERMUTE_TILE_SPEC_TILE_D, "tile"},
                                    {PERMUTE_TILE_SPEC_VECTOR_S, "vector"},
                                    {PERMUTE_TILE_SPEC_VECTOR_D, "vector"}};

}  // namespace

std::uint32_t tile_shared_bytes(const TileRow& r, std::uint32_t skew) {
  const std::uint32_t word = std::max(4u, r.vector_d * r.element_bytes);
  const std::uint32_t words = r.tile_s * (r.tile_d / r.vector_d) + r.tile_s / r.vector_s * skew;
  // The kernel's arrays for the other two word sizes have one element each.
  return words * word + (word == 4 ? 24 : word == 8 ? 20 : 12);
}

// As staged_at() and the two phases of permute_tile do: tests/emulated/accesses_test.cpp compares.
std::uint64_t tile_conflicts(const DeviceProfile& profile, const TileRow& r, std::uint32_t skew, bool all) {
  Walk walk(profile);
  const std::uint32_t word = std::max(4u, r.vector_d * r.element_bytes);
  const std::uint32_t row_words = r.tile_d / r.vector_d, blocks_s = r.tile_s / r.vector_s;
  const std::uint32_t blocks = blocks_s * row_words;
  const auto staged_at = [&](std::uint32_t s, std::uint32_t w) { return s * row_words + s / r.vector_s * skew + w; };
  Request request;
  request.bytes = word;
  const Sample staged{static_cast<std::uint32_t>(ceil_div(blocks, walk.lanes())), all};
  const Sample columns{r.vector_s, all};
  for (std::uint32_t i = 0; i < staged.size(); ++i)
    for (std::uint32_t k = 0; k < columns.size(); ++k) {
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
        const std::uint32_t b = staged.at(i) * walk.lanes() + l;
        request.address[l] =
            b < blocks ? std::int64_t{staged_at(b % blocks_s * r.vector_s + columns.at(k), b / blocks_s)} * word
                       : Request::kInactive;
      }
      walk.shared(request, staged.times(i) * columns.times(k));
    }
  const std::uint32_t vector = r.store_bytes / r.element_bytes, vectors_d = r.tile_d / vector;
  const std::uint32_t stores = r.tile_s * vectors_d;
  // Compilers join the reads of a store's adjacent words if alignment allows: for 32x32 of 4x1, ncu counts no conflict,
  // while two reads of 4 bytes would have one.
  const bool joined =
      r.store_bytes > word && r.vector_s * row_words * word % r.store_bytes == 0 && skew * word % r.store_bytes == 0;
  const std::uint32_t words = joined ? 1 : std::max(1u, r.store_bytes / word);
  if (joined) request.bytes = r.store_bytes;
  const Sample reads{static_cast<std::uint32_t>(ceil_div(stores, walk.lanes())), all};
  for (std::uint32_t i = 0; i < reads.size(); ++i)
    for (std::uint32_t w = 0; w < words; ++w) {
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
        const std::uint32_t o = reads.at(i) * walk.lanes() + l;
        request.address[l] =
            o < stores ? std::int64_t{staged_at(o / vectors_d, o % vectors_d * vector / r.vector_d) + w} * word
                       : Request::kInactive;
      }
      walk.shared(request, reads.times(i));
    }
  return walk.count().bank_conflicts;
}

AccessCount count_tile(const PermuteContext& c, const TileRow& r, const TilePlace& place, bool staged, bool all) {
  Walk walk(c.profile);
  // Tiles begin at rows that are multiples of 16, and mostly at sectors, whatever the rows' pitch is: of a sample the
  // odd rows are counted. (H200, 2026-11-29, f32 84942x344 axes=1,0: taken for aligned, 0.60 of a copy, 0.86 by
  // permute_ragged.)
  const std::uint32_t odd = all || c.cpu() ? 0 : 1;
  const auto part_of = [&](const Sample& parts, std::uint32_t i) {
    return parts.n > 2 ? parts.at(i) | odd : parts.at(i);
  };
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(c.nest.src_innermost())];
  const auto& axis_d = c.nest.axis[0];
  const std::int64_t e = r.element_bytes;
  const std::uint32_t blocks_s = r.tile_s / r.vector_s, blocks = blocks_s * (r.tile_d / r.vector_d);
  const bool lanes_d = !staged && r.skew != 0;
  const std::uint32_t blocks_d = r.tile_d / r.vector_d;
  const auto block_s = [&](std::uint32_t b) { return lanes_d ? b / blocks_d : b % blocks_s; };
  const auto block_d = [&](std::uint32_t b) { return lanes_d ? b % blocks_d : b / blocks_s; };
  const Sample parts{static_cast<std::uint32_t>(ceil_div(blocks, walk.lanes())), all};
  const Sample rows{r.vector_d, all};
  const std::uint32_t loads = single(r, staged) ? r.vector_s : 1;  // of a row of a block
  Request request;
  request.bytes = r.vector_s * r.element_bytes / loads;
  for (std::uint32_t i = 0; i < parts.size(); ++i)
    for (std::uint32_t k = 0; k < rows.size() * loads; ++k) {
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
        const std::uint32_t b = part_of(parts, i) * walk.lanes() + l;
        request.address[l] = Request::kInactive;
        if (b >= blocks) continue;
        // Blocks of single elements are left out outside.
        if (single(r, staged) && (block_s(b) * r.vector_s >= place.size_s || block_d(b) * r.vector_d >= place.size_d))
          continue;
        const std::int64_t s =
            place.s + std::min<std::int64_t>(std::int64_t{block_s(b)} * r.vector_s, place.size_s - r.vector_s);
        const std::uint32_t row = block_d(b) * r.vector_d + rows.at(k / loads);
        const std::int64_t d = place.d + std::min<std::int64_t>(row, place.size_d - 1);
        request.address[l] = c.nest.src_byte_offset + ((s + k % loads) * axis_s.src_stride + d * axis_d.src_stride) * e;
      }
      walk.load(request, parts.times(i) * rows.times(k / loads));
    }
  // permute_block stores the columns of its blocks; permute_tile stores rows along D from workgroup memory.
  const std::uint32_t store_bytes = staged || single(r, staged) ? r.store_bytes : r.vector_d * r.element_bytes;
  const std::uint32_t vector = staged ? store_bytes / r.element_bytes : r.vector_d, vectors_d = r.tile_d / vector;
  const std::uint32_t pieces = vector * r.element_bytes / store_bytes;  // of a column of a block
  const std::uint32_t columns = staged ? 1 : r.vector_s;
  const std::uint32_t stores = staged ? r.tile_s * vectors_d : blocks;
  const Sample parts_out{static_cast<std::uint32_t>(ceil_div(stores, walk.lanes())), all};
  request.bytes = store_bytes;
  for (std::uint32_t i = 0; i < parts_out.size(); ++i)
    for (std::uint32_t k = 0; k < pieces; ++k) {
      for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
        const std::uint32_t o = part_of(parts_out, i) * walk.lanes() + l;
        request.address[l] = Request::kInactive;
        if (o >= stores) continue;
        const std::int64_t s = staged ? o / vectors_d : block_s(o) * r.vector_s;
        const std::int64_t d = (staged ? o % vectors_d : block_d(o)) * vector + k;
        if (s >= place.size_s || d >= place.size_d) continue;
        request.address[l] =
            c.nest.dst_byte_offset + ((place.s + s) * axis_s.dst_stride + (place.d + d) * axis_d.dst_stride) * e;
      }
      walk.store(request, parts_out.times(i) * columns);
    }
  return walk.count();
}

const PermuteStrategy kTile = {.stem = "permute_tile",
                               .costs = CostTable::permute_tile,
                               .rows = std::size(kTileTable),
                               .applicable = tile_applicable,
                               .make = tile_make,
                               .estimate = tile_estimate,
                               .eligibility = tile_eligibility,
                               .print = tile_print,
                               .named = kNamed,
                               .retired = std::size(kRetiredTiles)};
const PermuteStrategy kBlock = {.stem = "permute_block",
                                .costs = CostTable::permute_block,
                                .rows = std::size(kBlockTable),
                                .applicable = block_applicable,
                                .make = block_make,
                                .estimate = block_estimate,
                                .eligibility = block_eligibility,
                                .print = block_print,
                                .named = kNamed,
                                .retired = std::size(kRetiredBlocks)};

std::vector<std::string> permute_tile_rows() { return names_of(kTileTable, print_row); }
std::vector<std::string> permute_block_rows() { return names_of(kBlockTable, print_block); }

}  // namespace sectile::detail
