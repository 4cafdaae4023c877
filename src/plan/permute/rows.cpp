// permute_rows: gathers elements in the destination's order. It suits problems whose source and destination have the
// same innermost axis, where the nest has already widened the elements, and it supports every other problem without a
// stage.
#include "footprint.hpp"
#include "strategy.hpp"

#include "permute/permute_rows.abi.h"

namespace sectile::detail {

namespace permute_rows {
namespace {

struct Row {
  std::uint32_t workgroup, unroll;
};
// NVIDIA H200, driver 580.159.04, 2026-11-21, `sectile bench --preset seeds-permute --all-candidates`: one element an
// invocation moves 3897 GB/s of 64x1024x512 (1,0,2) f32, four 3802, eight 3788.
// clang-format off
constexpr Row kTable[] = {
    {.workgroup = 256, .unroll = 1},
    {.workgroup = 256, .unroll = 4},
    {.workgroup = 128, .unroll = 8},
    {.workgroup = 64, .unroll = 4},
};
// clang-format on

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  if (kTable[row].workgroup > c.limits.workgroup_invocations)
    return refusal.no("workgroup of {} invocations, the device allows {}", kTable[row].workgroup,
                      c.limits.workgroup_invocations);
  return stores_elements(c, refusal);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  PermuteConfig d;
  d.stem = "permute_rows";
  d.element_bytes = c.nest.element_bytes;
  d.offset64 = c.offset64;
  d.workgroup = kTable[row].workgroup;
  d.add_constant(PERMUTE_ROWS_SPEC_UNROLL, kTable[row].unroll);
  for (int a = 0; a < c.nest.rank; ++a) {
    const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
  }
  d.groups = ceil_div(static_cast<std::uint64_t>(c.nest.elements()), std::uint64_t{d.workgroup} * kTable[row].unroll);
  return d;
}

// The load and the store of a subgroup whose first id is `first`.
void request_at(const PermuteContext& c, const Walk& walk, std::int64_t first, Request& from, Request& to) {
  const auto e = static_cast<std::int64_t>(c.nest.element_bytes);
  from.bytes = to.bytes = c.nest.element_bytes;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    std::int64_t id = first + l;
    from.address[l] = to.address[l] = Request::kInactive;
    if (id >= c.nest.elements()) continue;
    std::int64_t src = c.nest.src_byte_offset, dst = c.nest.dst_byte_offset;
    for (int a = 0; a < c.nest.rank; ++a) {
      const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
      const std::int64_t digit = id % axis.extent;
      id /= axis.extent;
      src += digit * axis.src_stride * e;
      dst += digit * axis.dst_stride * e;
    }
    from.address[l] = src;
    to.address[l] = dst;
  }
}

AccessCount count_group(const PermuteContext& c, std::uint32_t row, std::uint64_t group, bool all) {
  Walk walk(c.profile);
  const auto& r = kTable[row];
  const Sample requests{static_cast<std::uint32_t>(ceil_div(r.workgroup, walk.lanes())) * r.unroll, all};
  Request from, to;
  for (std::uint32_t i = 0; i < requests.size(); ++i) {
    const auto first =
        static_cast<std::int64_t>(group * r.workgroup * r.unroll + std::uint64_t{requests.at(i)} * walk.lanes());
    request_at(c, walk, first, from, to);
    if (!c.nest.reads_nothing()) walk.load(from, requests.times(i));
    walk.store(to, requests.times(i));
  }
  return walk.count();
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  // A contiguous copy is permute_copy's, which computes no index.
  if (c.nest.contiguous_copy()) return Eligibility::last_resort;
  // On a GPU one row serves an element's size. H200, Vulkan and CUDA, 2026-11-28, `calibrate --op permute`, where this
  // kernel is within 15 % of the best: of 32 MB and more, four elements of 1 to 4 bytes take 1/1.32 to 1/1.66 of the
  // time of one, of 8 bytes 1/1.17 (130 problems), of 16 bytes 1/0.98; of 1 to 2 MB 1/0.96 to 1/1.29. Eight elements
  // are 1.01 to 1.03 times as fast as four.
  if (!c.cpu()) return last_resort_if(row != (c.nest.element_bytes == 16 ? 0u : 1u));
  // On a CPU four whole words are as fast as one or faster: `sectile bench PROBLEM --force` by u1 and u4, 2026-11-28,
  // lavapipe 26.1.6, c128 640x300x201 axes=1,0,2 0.12 to 0.21 and 0.14 to 0.24 of a copy, 501x31x77x41 axes=2,1,0,3
  // 0.10 and 0.10 to 0.13; SwiftShader, f32 64x256x512 axes=1,0,2 0.011 to 0.013 and 0.014 to 0.018.
  return last_resort_if((c.small() || c.nest.element_bytes == 16) && row != 1);
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  PermuteEstimate e;
  e.groups = d.groups;
  e.addressing = Addressing::rows;
  e.interior = count_group(c, row, d.groups / 2, c.explain);
  if (c.explain) e.edge = count_group(c, row, d.groups - 1, true);
  e.instructions = e.interior.store_requests * static_cast<std::uint64_t>(12 + 6 * c.nest.rank);
  // Parts of a transaction that the workgroup's other requests load come from the L1. H200, 2026-11-29, f32
  // 6352x408x3x3 OIHW to OIHW4i8o 0.82 of a copy on CUDA, f64 184733x19x2x7 axes=0,3,2,1 0.99 on Vulkan: each request
  // alone loads eight and four times as much as it uses.
  if (!c.cpu() && !c.nest.reads_nothing()) {
    const MergedLoads loads = merged_loads(c, std::uint64_t{d.workgroup} * kTable[row].unroll);
    e.memory_transactions = e.interior.store_transactions + loads.transactions;
    // The fitted share of the gap says so of narrower elements.
    if (c.nest.element_bytes == 16 && loads_bursts_again(loads)) e.memory_transactions += loads.transactions / 2;
    // Each subgroup that stores a part of a sector has it read. H200, 2026-11-29, bytes in rows with gaps: 0.22 of a
    // copy on either API, estimated at 0.27 (CUDA) and 0.35; elements of 2 and 4 bytes as estimated.
    if (c.nest.element_bytes == 1 && has_slow_gaps(c.nest, c.profile))
      e.memory_transactions += e.interior.store_transactions;
    e.sector_gap = loads.gap;
  }
  return e;
}

std::string print_row(const Row& r) { return fmt::format("u{} wg{}", r.unroll, r.workgroup); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr NamedConstant kNamed[] = {{PERMUTE_ROWS_SPEC_UNROLL, "unroll"}};

constexpr PermuteStrategy kStrategy = {
    "permute_rows", CostTable::permute_rows, std::size(kTable), applicable, make, estimate, eligibility, print, kNamed};

}  // namespace
}  // namespace permute_rows

const PermuteStrategy kRows = permute_rows::kStrategy;
std::vector<std::string> permute_rows_rows() { return names_of(permute_rows::kTable, permute_rows::print_row); }

}  // namespace sectile::detail
