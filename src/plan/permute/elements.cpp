// permute_elements: moves short runs that are contiguous in both operands, begin at any address and may have gaps
// behind them in the destination, by single elements.
#include "footprint.hpp"
#include "strategy.hpp"

#include "permute/permute_elements.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace permute_elements {
namespace {

// unroll: elements of an invocation; element_bytes: of what the row is for. It has these and others where segments are
// short: steps of 512 elements fit them. H200, driver 580.159.04, 2026-11-29, `sectile bench PROBLEM --all-candidates`,
// fractions of a copy by the three rows, CUDA and Vulkan: u8 91x84x792x19 axes=1,0,2,3, rows 22 apart, 0.47, 0.42, 0.32
// and 0.45, 0.42, 0.33; f16 450x51x64x17 axes=1,2,0,3 0.67, 0.73, 0.70 and 0.74, 0.77, 0.73; f32 14x74898x10 axes=1,0,2
// 0.73, 0.82, 0.88 and 0.79, 0.88, 0.91; f32 300x77x61x7 axes=1,0,2,3, rows 8 and segments 528 apart, 0.60, 0.51, 0.33
// and 0.62, 0.53, 0.32.
struct Row {
  std::uint32_t workgroup, unroll, element_bytes;
};
// clang-format off
constexpr Row kTable[] = {
    {.workgroup = 64, .unroll = 32, .element_bytes = 1},
    {.workgroup = 128, .unroll = 16, .element_bytes = 2},
    {.workgroup = 256, .unroll = 8, .element_bytes = 4},
};
// clang-format on

constexpr std::int64_t kMost = std::int64_t{1} << 31;
constexpr std::int64_t kShortSegment = 1024;  // elements
// What is smaller is not worth a pipeline of its own: 200 random permutes of f16 need 16 (targets.md, Host).
constexpr std::int64_t kLeastMib = 24;

// Bytes of a run that wider accesses move. H200, CUDA, 2026-11-29: permute_realign has 0.52 of a copy for 0.49 on u8
// runs of 90 bytes, 100 apart, but 0.84 for 0.89 on f32 runs of 108 bytes.
std::int64_t long_run(const Nest& nest) { return nest.element_bytes == 4 ? 1024 : 128; }

std::uint32_t part_of(const Row& r) { return r.workgroup * r.unroll; }

// Runs that are as far apart in the destination as the first two.
struct Segment {
  std::int64_t pitch = 1, runs = 1, count = 1;  // elements from run to run; runs of a segment; segments
  std::int64_t parts = 1;                       // of a segment, wherever it begins in a sector
};

Segment segment_of(const Nest& nest, const Row& r) {
  Segment s;
  s.pitch = nest.axis[1].dst_stride;
  const RunSegment runs = run_segment(nest, s.pitch, kMost / 2);
  s.runs = runs.runs;
  s.count = runs.count;
  const std::int64_t sector = PERMUTE_SECTOR / nest.element_bytes;
  s.parts = static_cast<std::int64_t>(ceil_div(static_cast<std::uint64_t>(s.runs * s.pitch + sector - 1), part_of(r)));
  return s;
}

constexpr int kOwnWords = size_of<PermuteElementsWords>();
// The step takes the .wide variant.
bool wide(const PermuteContext& c) { return nearly_needs_offset64(c.nest) || takes_wide(c, c.nest.rank, kOwnWords); }

// One of two that is not more than the pitch, so that problems share pipelines.
std::uint32_t least_pitch(const Nest& nest) { return nest.axis[1].dst_stride >= 16 ? 16 : 2; }

std::uint32_t shared_bytes(const PermuteContext& c, const Row& r) {
  return PERMUTE_ELEMENTS_RUNS(part_of(r), least_pitch(c.nest)) * (wide(c) ? 8U : 4U);
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Nest& nest = c.nest;
  if (nest.rank < 2 || nest.axis[0].src_stride != 1 || nest.axis[0].dst_stride != 1)
    return refusal.no("needs a run that is contiguous in both operands, and a moving axis");
  if (nest.read_bounds() + nest.write_bounds() != 0) return needs_no_bounds(nest, refusal);
  if (nest.element_bytes > 4) return refusal.no("elements of {} bytes fill wide accesses", nest.element_bytes);
  const std::int64_t run = nest.axis[0].extent, pitch = nest.axis[1].dst_stride;
  if (run * nest.element_bytes > long_run(nest))
    return refusal.no("runs have {} bytes, more than {}", run * nest.element_bytes, long_run(nest));
  if (pitch < run || pitch > 2 * run)
    return refusal.no("runs of {} elements are {} apart in the destination, not at most twice as much", run, pitch);
  const Row& r = kTable[row];
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  if (shared_bytes(c, r) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", shared_bytes(c, r),
                      c.limits.workgroup_memory);
  const Segment s = segment_of(nest, r);
  if (s.runs * s.pitch >= kMost / 2 || s.runs * s.count >= kMost || s.parts * s.count >= kMost)
    return refusal.no("more than 2^31 runs or elements of a segment");
  if (!has_offsets(c, wide(c), refusal)) return false;
  return stores_elements(c, refusal);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Segment s = segment_of(c.nest, r);
  PermuteConfig d;
  d.stem = "permute_elements";
  d.element_bytes = c.nest.element_bytes;
  d.offset64 = wide(c);
  d.workgroup = r.workgroup;
  d.least_axes = pushed_class(c.nest.rank, kOwnWords, 0);
  d.add_axis(NestAxis{}, static_cast<std::uint32_t>(s.parts));
  for (int a = 1; a < c.nest.rank; ++a) {
    const NestAxis& axis = c.nest.axis[static_cast<std::size_t>(a)];
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
  }
  const auto pitch = static_cast<std::uint32_t>(s.pitch);
  const FastDivision division = fast_division(pitch);
  d.set_own(PermuteElementsWords{.run = static_cast<std::uint32_t>(c.nest.axis[0].extent),
                                 .pitch = pitch,
                                 .pitch_multiplier = division.multiplier,
                                 .pitch_shift = division.shift,
                                 .pitch_inverse = PERMUTE_ELEMENTS_INVERSE(pitch),
                                 .segment_runs = static_cast<std::uint32_t>(s.runs)});
  d.add_constant(PERMUTE_ELEMENTS_SPEC_UNROLL, r.unroll);
  d.add_constant(PERMUTE_ELEMENTS_SPEC_PITCH, least_pitch(c.nest));
  d.workgroup_memory_bytes = shared_bytes(c, r);
  d.groups = static_cast<std::uint64_t>(s.parts * s.count);
  return d;
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Segment s = segment_of(c.nest, r);
  const bool suits = r.element_bytes == c.nest.element_bytes || (row == 0 && s.runs * s.pitch <= kShortSegment);
  return last_resort_if(c.cpu() || c.below_mib(kLeastMib) || !suits);
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const Segment s = segment_of(c.nest, r);
  const std::uint64_t e = c.nest.element_bytes, run = static_cast<std::uint64_t>(c.nest.axis[0].extent),
                      pitch = static_cast<std::uint64_t>(s.pitch), parts = static_cast<std::uint64_t>(s.parts);
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(c.cpu() ? 64 : 32);
  // Of a workgroup: the elements that a segment has for it, those that it computes, with the rest of its last step, and
  // runs.
  const std::uint64_t all = static_cast<std::uint64_t>(s.runs) * pitch, elements = ceil_div(all, parts),
                      step = std::uint64_t{r.workgroup} * PERMUTE_ELEMENTS_AT_ONCE,
                      computed = ceil_div(ceil_div(all + PERMUTE_SECTOR / e - 1, step) * step, parts),
                      runs = ceil_div(elements, pitch) + 1;
  PermuteEstimate estimate;
  estimate.groups = d.groups;
  estimate.addressing = Addressing::rows;
  AccessCount& n = estimate.interior;
  n.load_requests = n.store_requests = ceil_div(computed, 32);
  n.ideal_load_transactions = n.ideal_store_transactions = ceil_div(elements * run / pitch * e, transaction);
  const MergedLoads loads = merged_loads(c, std::max<std::uint64_t>(elements * run / pitch, 1));
  n.load_transactions = loads.transactions;
  if (!c.cpu() && loads_bursts_again(loads)) n.load_transactions = loads.transactions * (run * e + 63) / (run * e + 31);
  estimate.sector_gap = loads.gap;
  // Sectors with gaps are read as well.
  n.store_transactions = ceil_div(elements * e, transaction) * (pitch > run ? 2 : 1);
  estimate.edge = estimate.interior;
  const std::uint64_t rank = static_cast<std::uint64_t>(c.nest.rank);
  estimate.instructions =
      n.store_requests * 16 + ceil_div(r.workgroup, 32) * (60 + 10 * rank) + ceil_div(runs, 32) * (20 + 12 * rank);
  return estimate;
}

std::string print_row(const Row& r) { return fmt::format("u{} wg{}", r.unroll, r.workgroup); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr PermuteStrategy kStrategy = {
    "permute_elements", CostTable::permute_elements, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace permute_elements

const PermuteStrategy kElements = permute_elements::kStrategy;
std::vector<std::string> permute_elements_rows() {
  return names_of(permute_elements::kTable, permute_elements::print_row);
}

}  // namespace sectile::detail
