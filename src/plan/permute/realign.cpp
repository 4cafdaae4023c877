// permute_realign: moves runs of 16 bytes and more that are contiguous in both operands and begin at any address. What
// a block of the destination has beyond its axis is written as zeros.
#include "footprint.hpp"
#include "strategy.hpp"

#include "permute/permute_realign.abi.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace sectile::detail {

namespace permute_realign {
namespace {

// early: runs are so short that many words have elements of two. Long runs are faster without (H200, 2026-11-28: runs
// of 194 bytes 0.78 of a copy for 0.75, of 46029 bytes 0.86 for 0.91), and with few invocations a workgroup.
struct Row {
  std::uint32_t workgroup;
  bool early = false;
};
// clang-format off
constexpr Row kTable[] = {
    {.workgroup = 256, .early = true},
    {.workgroup = 128},
};
// clang-format on

constexpr std::int64_t kWordBytes = 16;
constexpr std::int64_t kMost = std::int64_t{1} << 31;

// Runs that follow each other in the destination.
struct Segment {
  std::int64_t runs = 1, elements = 0, count = 1;  // of a segment; segments
  std::int64_t words = 0;                          // of a segment, at any address
};

Segment segment_of(const Nest& nest) {
  const std::int64_t run = nest.axis[0].extent;
  const RunSegment runs = run_segment(nest, run, kMost);
  Segment s{.runs = runs.runs, .elements = run * runs.runs, .count = runs.count};
  const std::int64_t per = kWordBytes / nest.element_bytes;
  s.words = (s.elements + 2 * (per - 1)) / per;
  return s;
}

constexpr int kOwnWords = size_of<PermuteRealignWords>();
// The step takes the .wide variant.
bool wide(const PermuteContext& c) { return nearly_needs_offset64(c.nest) || takes_wide(c, c.nest.rank, kOwnWords); }

bool has_bound(const Nest& nest) { return nest.read_bounds() != 0; }

// The kernel knows one bound, along the run: the destination's blocks do not divide their axis. Or there are zeros
// alone.
bool has_own_bound(const Nest& nest, Refusal& refusal) {
  if (nest.write_bounds() != 0 || nest.read_bounds() > 1) return needs_no_bounds(nest, refusal);
  if (!has_bound(nest)) return true;
  // Frozen words would make a pipeline for each shape.
  if (exceeds_push(nest.rank, kOwnWords, nest.checked_bounds()))
    return refusal.no("a bound of {} axes exceeds the push constants", nest.rank);
  return nest.reads_nothing() || nest.axis[0].coef[0] == 1 ||
         refusal.no("a layout block that does not divide its axis is not along the run");
}

// Elements of the source from the first one to the last one that is read. Those past the limit are not read and may not
// exist: a source whose last block is not full ends there.
std::int64_t source_elements(const Nest& nest) {
  if (!has_bound(nest)) return nest.src_span();
  if (nest.reads_nothing()) return 2 * kWordBytes / nest.element_bytes;  // as many as a source has at least
  std::int64_t last = 0, room = nest.bound[0].read_limit - 1;
  std::array<int, kMaxRank> order{};
  std::iota(order.begin(), order.end(), 0);
  const auto axis = [&](int a) { return nest.axis[static_cast<std::size_t>(a)]; };
  std::stable_sort(order.begin(), order.begin() + nest.rank,
                   [&](int x, int y) { return axis(x).coef[0] > axis(y).coef[0]; });
  for (int i = 0; i < nest.rank; ++i) {
    const NestAxis own = axis(order[static_cast<std::size_t>(i)]);
    const std::int64_t index = own.coef[0] == 0 ? own.extent - 1 : std::min(own.extent - 1, room / own.coef[0]);
    room -= index * own.coef[0];
    last += index * own.src_stride;
  }
  return last + 1;
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Nest& nest = c.nest;
  const bool kept = nest.rank > 0 && (nest.axis[0].src_stride == 1 || nest.reads_nothing());
  if (nest.rank < 2 || !kept || nest.axis[0].dst_stride != 1)
    return refusal.no("needs a run that is contiguous in both operands, and a moving axis");
  if (!has_own_bound(nest, refusal)) return false;
  // permute_rows was within 2 % on seven problems of 8 bytes (H200, 2026-11-28, `calibrate --op permute --seed 4690`).
  if (nest.element_bytes > 4) return refusal.no("elements of {} bytes fill wide accesses", nest.element_bytes);
  if (nest.axis[0].extent * nest.element_bytes < kWordBytes)
    return refusal.no("runs have {} bytes, at least {} are needed", nest.axis[0].extent * nest.element_bytes,
                      kWordBytes);
  if (source_elements(nest) * nest.element_bytes < 2 * kWordBytes)
    return refusal.no("the source has fewer than {} bytes", 2 * kWordBytes);
  const Row& r = kTable[row];
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  const Segment s = segment_of(nest);
  if (s.elements >= kMost || s.words * s.count >= kMost) return refusal.no("more than 2^31 elements or words");
  if (!has_offsets(c, wide(c), refusal)) return false;
  return stores_elements(c, refusal);
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Segment s = segment_of(c.nest);
  PermuteConfig d;
  d.stem = "permute_realign";
  d.element_bytes = c.nest.element_bytes;
  d.offset64 = wide(c);
  d.workgroup = r.workgroup;
  d.least_axes = pushed_class(c.nest.rank, kOwnWords, c.nest.checked_bounds());
  d.add_axis(NestAxis{}, static_cast<std::uint32_t>(s.words));
  for (int a = 1; a < c.nest.rank; ++a) {
    const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
  }
  const auto run = static_cast<std::uint32_t>(c.nest.axis[0].extent);
  const FastDivision division = fast_division(run);
  d.set_own(PermuteRealignWords{.run = run,
                                .run_multiplier = division.multiplier,
                                .run_shift = division.shift,
                                .segment_runs = static_cast<std::uint32_t>(s.runs),
                                .word_count = static_cast<std::uint32_t>(s.words * s.count),
                                .source_elements = source_elements(c.nest)});
  d.add_constant(PERMUTE_REALIGN_SPEC_EARLY, r.early ? 1 : 0);
  d.groups = ceil_div(static_cast<std::uint64_t>(s.words * s.count), std::uint64_t{r.workgroup});
  return d;
}

// On a CPU it pays for elements of 1 and 2 bytes, from four megabytes on. lavapipe 26.1.6 on two Xeon cores,
// 2026-11-28, `sectile bench PROBLEM --all-candidates`, fractions of a copy, permute_rows in brackets: u8 16x73x4609
// axes=1,0,2 0.10 (0.04), f16 40x230x651 0.16 (0.08), f32 300x401x29 0.13 (0.13). With a bound it was not timed.
Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  // One row is enough for a size of elements on a GPU: 1,829 problems lose nothing by choice (H200, 2026-11-28,
  // `calibrate --op permute`).
  if (!c.cpu()) return last_resort_if(c.below_mib(1) || kTable[row].early != (c.nest.element_bytes == 1));
  return last_resort_if(has_bound(c.nest) || row != 0 || c.nest.element_bytes > 2 || c.below_mib(4));
}

// A run of any alignment shares its first and last sector with its neighbours.
PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = kTable[row];
  const std::uint64_t words = std::uint64_t{r.workgroup}, requests = ceil_div(words, 32);
  const std::uint64_t transaction = c.profile.transaction_bytes.value_or(c.cpu() ? 64 : 32);
  const auto run_bytes = static_cast<std::uint64_t>(c.nest.axis[0].extent) * c.nest.element_bytes;
  PermuteEstimate e;
  e.groups = d.groups;
  e.addressing = Addressing::rows;
  AccessCount& n = e.interior;
  n.load_requests = 2 * requests;
  n.store_requests = requests;
  n.ideal_load_transactions = n.ideal_store_transactions = n.store_transactions =
      ceil_div(words * kWordBytes, transaction);
  // A run's ends are parts of transactions or, if the rest is not kept, of bursts of 64 bytes.
  const bool bursts = !c.cpu() && loads_bursts_again(merged_loads(c, words * kWordBytes / c.nest.element_bytes));
  n.load_transactions = n.ideal_load_transactions * (run_bytes + (bursts ? 64 : transaction) - 1) / run_bytes;
  // Zeros past a limit are not loaded.
  if (has_bound(c.nest) && c.nest.bound[0].read_limit < c.nest.axis[0].extent)
    n.load_transactions = n.load_transactions *
                          static_cast<std::uint64_t>(std::max<std::int64_t>(0, c.nest.bound[0].read_limit)) /
                          static_cast<std::uint64_t>(c.nest.axis[0].extent);
  if (c.nest.reads_nothing()) n.load_requests = n.load_transactions = n.ideal_load_transactions = 0;
  const Segment s = segment_of(c.nest);
  const auto segment_bytes = static_cast<std::uint64_t>(s.elements) * c.nest.element_bytes;
  if (s.count > 1)
    n.store_transactions = n.ideal_store_transactions * (segment_bytes + transaction - 1) / segment_bytes;
  e.edge = e.interior;
  const std::uint64_t bound = has_bound(c.nest) ? 40 + 4 * static_cast<std::uint64_t>(c.nest.rank) : 0;
  e.instructions = requests * (60 + 16 * static_cast<std::uint64_t>(c.nest.rank) + bound) * (run_bytes < 512 ? 2 : 1);
  return e;
}

std::string print_row(const Row& r) { return fmt::format("wg{}{}", r.workgroup, r.early ? " early" : ""); }
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr PermuteStrategy kStrategy = {
    "permute_realign", CostTable::permute_realign, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace permute_realign

const PermuteStrategy kRealign = permute_realign::kStrategy;
std::vector<std::string> permute_realign_rows() {
  return names_of(permute_realign::kTable, permute_realign::print_row);
}

}  // namespace sectile::detail
