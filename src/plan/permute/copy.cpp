// permute_copy: copies contiguous bytes. It serves the identity and every permute whose axes all merge.
#include "strategy.hpp"

#include "permute/permute_copy.abi.h"

#include <algorithm>
#include <cstring>

namespace sectile::detail {

namespace permute_copy {
namespace {

struct Row {
  std::uint32_t workgroup, unroll;
};
// NVIDIA H200, driver 580.159.04, `sectile bench --preset seeds-permute --all-candidates`: see docs/lab/2026-11.md.
// clang-format off
constexpr Row kTable[] = {
    {.workgroup = 256, .unroll = 1},
    {.workgroup = 256, .unroll = 2},
    {.workgroup = 128, .unroll = 1},
};
constexpr Row kRetired[] = {
    {.workgroup = 256, .unroll = 4},
    {.workgroup = 512, .unroll = 1},
};
// clang-format on

constexpr const Row& row_of(std::uint32_t row) { return row_in(kTable, kRetired, row); }

std::uint32_t width_of(const Nest& nest) {
  return std::min({nest.alignment(Side::src, ~0u), nest.alignment(Side::dst, ~0u), 16u});
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  if (!c.nest.contiguous_copy()) return refusal.no("the permute is not a contiguous copy");
  if (row_of(row).workgroup > c.limits.workgroup_invocations)
    return refusal.no("workgroup of {} invocations, the device allows {}", row_of(row).workgroup,
                      c.limits.workgroup_invocations);
  return stores_elements(c, refusal);
}

Result<Step> step(const PermuteConfig& config, const Nest& nest, const DeviceProfile& profile) {
  Step s;
  s.kernel = {config.stem, fmt::format("e{}", config.element_bytes)};
  s.constants = {{SECTILE_SPEC_WORKGROUP, config.workgroup}};
  config.constants.append_to(s.constants);
  s.workgroup = {config.workgroup, 1, 1};
  auto grid = fold_grid(config.groups, profile);
  if (!grid) return std::unexpected(grid.error());
  s.grid = *grid;
  const auto bytes = static_cast<std::uint64_t>(nest.elements()) * nest.element_bytes;
  PermuteCopyPush push{};
  std::ranges::copy(config.own.all(), push.words);
  s.push.resize(sizeof push);
  std::memcpy(s.push.data(), &push, sizeof push);
  const auto src = static_cast<std::uint64_t>(nest.src_byte_offset);
  const auto dst = static_cast<std::uint64_t>(nest.dst_byte_offset);
  s.addresses = {{offsetof(PermuteCopyPush, src), 0, src}, {offsetof(PermuteCopyPush, dst), 1, dst}};
  s.accesses = {{0, src, src + bytes, false}, {1, dst, dst + bytes, true}};
  return s;
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  PermuteConfig d;
  d.stem = "permute_copy";
  d.step = step;
  // The element size of the tail; everything before it is copied in wider accesses. Bytes where the device has them, so
  // that all copies share a pipeline.
  d.element_bytes = c.profile.storage8.value_or(false) ? 1 : std::min(c.nest.element_bytes, 4u);
  d.workgroup = row_of(row).workgroup;
  d.add_constant(PERMUTE_COPY_SPEC_WIDTH, width_of(c.nest));
  d.add_constant(PERMUTE_COPY_SPEC_UNROLL, row_of(row).unroll);
  const auto bytes = static_cast<std::uint64_t>(c.nest.elements()) * c.nest.element_bytes;
  d.groups = ceil_div(bytes, std::uint64_t{d.workgroup} * row_of(row).unroll * width_of(c.nest));
  d.set_own(PermuteCopyWords{.copied_bytes = bytes, .groups = static_cast<std::uint32_t>(d.groups)});
  return d;
}

// One row is enough on a GPU: the three are within 1 % of each other on all copies among 1,829 problems (H200,
// 2026-11-28, `calibrate --op permute`).
Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  return last_resort_if(c.cpu() ? c.small() && row != 0 : row_of(row).workgroup != 128);
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  PermuteEstimate e;
  Walk walk(c.profile);
  const auto width = width_of(c.nest);
  Request request;
  request.bytes = width;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) request.address[l] = std::int64_t{l} * width;
  const std::uint64_t times = ceil_div(d.workgroup, walk.lanes()) * row_of(row).unroll;
  walk.load(request, times);
  walk.store(request, times);
  e.interior = e.edge = walk.count();
  e.groups = d.groups;
  e.instructions = times * 8;
  return e;
}

std::string print_row(const Row& r) { return fmt::format("u{} wg{}", r.unroll, r.workgroup); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(row_of(row)); }

constexpr NamedConstant kNamed[] = {{PERMUTE_COPY_SPEC_WIDTH, "width"}, {PERMUTE_COPY_SPEC_UNROLL, "unroll"}};

constexpr PermuteStrategy kStrategy = {.stem = "permute_copy",
                                       .costs = CostTable::permute_copy,
                                       .rows = std::size(kTable),
                                       .applicable = applicable,
                                       .make = make,
                                       .estimate = estimate,
                                       .eligibility = eligibility,
                                       .print = print,
                                       .named = kNamed,
                                       .retired = std::size(kRetired)};

}  // namespace
}  // namespace permute_copy

const PermuteStrategy kCopy = permute_copy::kStrategy;
std::vector<std::string> permute_copy_rows() { return names_of(permute_copy::kTable, permute_copy::print_row); }

}  // namespace sectile::detail
