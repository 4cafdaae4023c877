// permute_tma: large transposes on sm_90. The tensor memory accelerator (TMA) moves whole tiles, the workgroup
// transposes them.
#include "strategy.hpp"

#include "permute/permute_tma.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace permute_tma {
namespace {

struct Row {
  std::uint32_t element_bytes, workgroup;
  std::uint32_t reserve = 0;  // bytes of workgroup memory left unused
};
// NVIDIA H200, driver 580.159.04, CUDA 13.0, 2026-11-21, a stand-alone program (docs/lab/2026-11.md); fractions of a
// copy. Each workgroup moves one tile, and consecutive workgroups go along D. Persistent workgroups with several tiles
// in flight (2 to 4 stages) reached 0.75 to 0.95. The reserve limits the workgroups in flight, which helps: 16384x16384
// f16 0.957 with and 0.949 without it, 8192x8192 f32 0.970 and 0.955, i8 16384x16384 0.961 and 0.951.
// clang-format off
constexpr Row kTable[] = {
    {.element_bytes = 1, .workgroup = 128, .reserve = 14336},
    {.element_bytes = 2, .workgroup = 64, .reserve = 8192},
    {.element_bytes = 4, .workgroup = 64, .reserve = 8192},
};
constexpr Row kRetired[] = {
    {.element_bytes = 1, .workgroup = 128},
    {.element_bytes = 2, .workgroup = 64},
    {.element_bytes = 4, .workgroup = 64},
};
// clang-format on

constexpr const Row& row_of(std::uint32_t row) { return row_in(kTable, kRetired, row); }

std::uint32_t shared_bytes(const Row& r) {
  return 2 * PERMUTE_TMA_TILE_D(r.element_bytes) * PERMUTE_TMA_ROW_BYTES + 16 + r.reserve;
}

// The innermost axis is contiguous and all other strides are nonzero multiples of 16 bytes.
bool strides_fit(const PermuteContext& c, int innermost, bool source, Refusal& refusal) {
  for (int a = 0; a < c.nest.rank; ++a) {
    const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
    const auto stride = source ? axis.src_stride : axis.dst_stride;
    if (a == innermost ? stride != 1 : stride * c.nest.element_bytes % 16 != 0 || stride == 0)
      return refusal.no("the {} has a stride of {} elements, which a tensor map does not allow",
                        source ? "source" : "destination", stride);
  }
  return true;
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Row& r = row_of(row);
  if (!c.profile.tensor_maps.value_or(false)) return refusal.no("the device has no tensor maps");
  if (c.nest.element_bytes != r.element_bytes)
    return refusal.no("the row is for elements of another size than {} bytes", c.nest.element_bytes);
  const int s = c.nest.src_innermost();
  if (c.nest.rank < 2 || c.nest.rank > 5)
    return refusal.no("the nest has {} axes, the kernel takes 2 to 5", c.nest.rank);
  if (s <= 0) return refusal.no("source and destination have the same innermost axis");
  if (!needs_no_bounds(c.nest, refusal)) return false;
  if (std::min(c.nest.alignment(Side::src, ~0u), c.nest.alignment(Side::dst, ~0u)) < 16)
    return refusal.no("operands are not aligned to 16 bytes");
  if (!strides_fit(c, s, true, refusal) || !strides_fit(c, 0, false, refusal)) return false;
  // The copy engine stores 16 bytes at a time: a gap between two rows would be overwritten.
  if (c.nest.axis[0].extent * c.nest.element_bytes % 16 != 0)
    return refusal.no("rows of the destination have {} bytes, and no multiple of 16",
                      c.nest.axis[0].extent * c.nest.element_bytes);
  if (shared_bytes(r) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared_bytes(r), c.limits.workgroup_memory);
  return true;
}

// One operand as a tensor map: its innermost axis, the other operand's innermost axis, then the other axes in the
// kernel's order.
TensorMap map_of(const Nest& nest, bool source) {
  const auto s = static_cast<std::size_t>(nest.src_innermost());
  const auto e = nest.element_bytes;
  TensorMap map;
  map.operand = source ? 0 : 1;
  map.byte_offset = static_cast<std::uint64_t>(source ? nest.src_byte_offset : nest.dst_byte_offset);
  map.element_bytes = e;
  map.swizzle_bytes = PERMUTE_TMA_ROW_BYTES;
  const auto add = [&](std::size_t a, std::uint32_t box) {
    const auto& axis = nest.axis[a];
    if (!map.dims.empty())
      map.strides.push_back(static_cast<std::uint64_t>(source ? axis.src_stride : axis.dst_stride) * e);
    map.dims.push_back(static_cast<std::uint64_t>(axis.extent));
    map.box.push_back(box);
  };
  const std::uint32_t tile_s = PERMUTE_TMA_TILE_S(e), tile_d = PERMUTE_TMA_TILE_D(e), box_d = PERMUTE_TMA_BOX_D(e);
  if (source) {
    add(s, tile_s);
    add(0, tile_d);
  } else {
    add(0, box_d);
    add(s, tile_s);
  }
  for (std::size_t a = 1; a < static_cast<std::size_t>(nest.rank); ++a)
    if (a != s) add(a, 1);
  return map;
}

Result<Step> make_tma_step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile) {
  auto step = make_step(config, nest, profile);
  if (step) step->tensor_maps = {map_of(nest, true), map_of(nest, false)};
  return step;
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = row_of(row);
  const auto s = static_cast<std::size_t>(c.nest.src_innermost());
  PermuteConfig d;
  d.stem = "permute_tma";
  d.step = make_tma_step;
  d.element_bytes = r.element_bytes;
  d.offset64 = c.offset64;
  d.workgroup = r.workgroup;
  d.workgroup_memory_bytes = shared_bytes(r);
  const auto tiles_d = ceil_div(static_cast<std::uint64_t>(c.nest.axis[0].extent), PERMUTE_TMA_TILE_D(r.element_bytes));
  const auto tiles_s = ceil_div(static_cast<std::uint64_t>(c.nest.axis[s].extent), PERMUTE_TMA_TILE_S(r.element_bytes));
  d.add_axis(c.nest.axis[0], static_cast<std::uint32_t>(tiles_d));
  d.add_axis(c.nest.axis[s], static_cast<std::uint32_t>(tiles_s));
  d.groups = tiles_d * tiles_s;
  for (std::size_t a = 1; a < static_cast<std::size_t>(c.nest.rank); ++a) {
    if (a == s) continue;
    d.add_axis(c.nest.axis[a], static_cast<std::uint32_t>(c.nest.axis[a].extent));
    d.groups *= static_cast<std::uint64_t>(c.nest.axis[a].extent);
  }
  d.add_constant(PERMUTE_TMA_SPEC_RANK, static_cast<std::uint32_t>(c.nest.rank));
  d.add_constant(PERMUTE_TMA_SPEC_RESERVE, r.reserve);
  return d;
}

// Tiles along D follow each other, and those of several rows of tiles that run at once are far apart where the
// destination's rows are long. H200, 2026-11-29, `calibrate --op permute`, beside the fastest other kernel: rows of 128
// KiB and more, several tiles along S, 1.03 to 1.41 times its time (f16 64256x192 1.03, 107584x1792 1.05, 332928x256
// 1.16, 363264x320 1.15, u8 137600x320 1.37, f32 217032x208 1.41); one tile 0.96 to 0.99; shorter rows 0.93 to 1.03.
Eligibility eligibility(const PermuteContext& c, std::uint32_t) {
  const int s = c.nest.src_innermost();
  if (s <= 0) return Eligibility::candidate;  // refused anyway
  const NestAxis& axis = c.nest.axis[static_cast<std::size_t>(s)];
  constexpr std::int64_t kLongRow = 128 << 10;
  return last_resort_if(axis.dst_stride * c.nest.element_bytes >= kLongRow &&
                        axis.extent > PERMUTE_TMA_TILE_S(c.nest.element_bytes));
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = row_of(row);
  PermuteEstimate e;
  e.groups = d.groups;
  // The TMA accesses whole rows of 128 bytes. One invocation issues its requests.
  const std::uint64_t transactions =
      ceil_div(std::uint64_t{PERMUTE_TMA_ROW_BYTES} * PERMUTE_TMA_TILE_D(r.element_bytes),
               c.profile.transaction_bytes.value_or(32));
  e.interior.load_transactions = e.interior.store_transactions = transactions;
  e.interior.ideal_load_transactions = e.interior.ideal_store_transactions = transactions;
  e.interior.load_requests = 1;
  e.interior.store_requests = PERMUTE_TMA_TILE_D(r.element_bytes) / PERMUTE_TMA_BOX_D(r.element_bytes);
  if (c.explain) e.edge = e.interior;
  e.instructions = ceil_div(r.workgroup, 32) * 200;
  return e;
}

std::string print_row(const Row& r) {
  return fmt::format("{}x{} wg{}{}", PERMUTE_TMA_TILE_S(r.element_bytes), PERMUTE_TMA_TILE_D(r.element_bytes),
                     r.workgroup, r.reserve != 0 ? fmt::format(" r{}", r.reserve) : "");
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(row_of(row)); }

constexpr PermuteStrategy kStrategy = {.stem = "permute_tma",
                                       .costs = CostTable::permute_tma,
                                       .rows = std::size(kTable),
                                       .applicable = applicable,
                                       .make = make,
                                       .estimate = estimate,
                                       .eligibility = eligibility,
                                       .print = print,
                                       .retired = std::size(kRetired)};

}  // namespace
}  // namespace permute_tma

const PermuteStrategy kTma = permute_tma::kStrategy;
std::vector<std::string> permute_tma_rows() { return names_of(permute_tma::kTable, permute_tma::print_row); }

}  // namespace sectile::detail
