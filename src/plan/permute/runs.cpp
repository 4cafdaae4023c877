// permute_runs: transposes a matrix whose elements are short contiguous runs of any number of bytes, as the pixels of
// an image that is transposed.
#include "strategy.hpp"

#include "permute/permute_runs.abi.h"

#include <algorithm>
#include <numeric>

namespace sectile::detail {

namespace permute_runs {
namespace {

struct Row {
  std::uint32_t block_s, block_d;         // runs of an invocation's block
  std::uint32_t blocks_s, blocks_d;       // blocks of a workgroup's tile
  std::uint32_t load_bytes, store_bytes;  // maximum bytes of an access
  std::uint32_t workgroup;
  bool staged = false, swap = false;
  bool long_d = false;  // see is_long_d()
};
// GPUs use staged rows. H200, CUDA 13.0, 2026-11-23, `sectile bench PROBLEM --device cuda:0 --all-candidates --min-time
// 0.05 --warmup 0.3`, fractions of a copy (docs/lab/2026-11.md has the table): 16x16 blocks of 4x4 runs with stores of
// 8 bytes reach 0.74 on u8 82x427x640x3, and are faster than stores of 4 bytes for every run of 3 to 7 bytes; runs of 3
// words reach 0.86 in blocks of 2x2, runs of 6 words 0.92 in blocks of 1x1. Vulkan on a GPU was not timed. CPUs:
// lavapipe 26.1.6 on two Xeon cores at real-time priority beside other work, 2026-11-23, `sectile bench "permute u8
// 82x427x640x3 axes=0,2,1,3" --force ROW`, fractions of a copy: tiles of 4x4 blocks 0.29 to 0.35, 8x4 0.32, 4x16 0.20
// to 0.27, 16x16 0.14; blocks of 4x8 runs 0.27 at best, of 8x8 0.13; permute_rows 0.04.
// clang-format off
constexpr Row kTable[] = {
    {.block_s = 4, .block_d = 4, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 8, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 128, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 8, .blocks_d = 32, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 16, .blocks_d = 32, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 8,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 8, .blocks_d = 8, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 64, .staged = true, .swap = true},
    {.block_s = 2, .block_d = 2, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 1, .block_d = 1, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 4, .blocks_d = 4, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 8, .swap = true},
    {.block_s = 2, .block_d = 2, .blocks_s = 8, .blocks_d = 8, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 16, .swap = true},
    {.block_s = 1, .block_d = 1, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 16, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 8, .blocks_d = 4, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 8, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 4, .blocks_d = 16, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 16, .swap = true},
    {.block_s = 4, .block_d = 8, .blocks_s = 4, .blocks_d = 4, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 8, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 2, .blocks_d = 128, .load_bytes = 16, .store_bytes = 16,
     .workgroup = 8, .swap = true, .long_d = true},
};
constexpr Row kRetired[] = {
    {.block_s = 4, .block_d = 4, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 128, .staged = true, .swap = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 16, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 256, .staged = true},
    {.block_s = 4, .block_d = 4, .blocks_s = 16, .blocks_d = 32, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 256, .staged = true, .swap = true},
    {.block_s = 8, .block_d = 4, .blocks_s = 8, .blocks_d = 16, .load_bytes = 16, .store_bytes = 4,
     .workgroup = 128, .staged = true, .swap = true},
};
// clang-format on

constexpr const Row& row_of(std::uint32_t row) { return row_in(kTable, kRetired, row); }

// The most words that an invocation on a GPU holds in registers. A CPU keeps them in its cache.
constexpr std::uint32_t kMostWords = 96;

// The run's length is specialized, so each length needs its own pipeline. Smaller problems are not worth one. Long runs
// gain less over permute_rows and need a larger problem (H200, CUDA, 66 permutes of `calibrate --seed 4600`:
// regret 1.042 from 16 MB on, 1.050 from 64 on). A CPU takes milliseconds for what a GPU does in microseconds:
// lavapipe, u8 8x1045x2x32 axes=0,2,1,3 1.07 ms by permute_rows and 0.25 by permute_runs.
constexpr std::int64_t kLeastBytes = 4 << 20, kLeastBytesLong = 16 << 20, kLeastBytesCpu = 512 << 10;

// The matrix of runs. The kernel moves units of at most 4 bytes.
struct Matrix {
  int s = -1, d = 1;        // nest axes
  std::uint32_t unit = 4;   // bytes of a unit
  std::uint32_t scale = 1;  // units of an element
  std::int64_t run = 1;     // units of a run
};

bool matrix_of(const Nest& nest, Matrix& m, Refusal& refusal) {
  if (nest.rank < 3 || nest.axis[0].src_stride != 1 || nest.axis[0].dst_stride != 1)
    return refusal.no("needs a run that is contiguous in both operands, and two moving axes");
  if (!needs_no_bounds(nest, refusal)) return false;
  if (nest.element_bytes == 16) return refusal.no("an element of 16 bytes already fills an access");
  const std::int64_t run = nest.axis[0].extent;
  if (nest.axis[1].dst_stride != run) return refusal.no("runs are not adjacent in the destination");
  for (int a = 2; a < nest.rank && m.s < 0; ++a)
    if (nest.axis[static_cast<std::size_t>(a)].src_stride == run) m.s = a;
  if (m.s < 0) return refusal.no("runs are not adjacent in the source");
  m.unit = std::min(nest.element_bytes, 4u);
  m.scale = nest.element_bytes / m.unit;
  m.run = run * m.scale;
  return true;
}

// The rows of the source (destination) consist of whole aligned accesses of `bytes`.
bool rows_are_aligned(const Nest& nest, const Matrix& m, Side side, std::uint32_t bytes) {
  const int along = side == Side::src ? m.s : m.d;
  return nest.alignment(side, 1u | 1u << along) >= bytes &&
         nest.axis[static_cast<std::size_t>(along)].extent * m.run * m.unit % bytes == 0;
}

struct Shape {
  std::uint32_t tile_s, tile_d;  // runs of a tile, the halo included
  std::uint32_t load, store;     // bytes of an access
  std::uint32_t halo;            // runs before the tile's own, read again for the first access
  std::uint32_t front;           // rows before a block that an invocation reads for its first access
  bool shift;                    // stores begin inside a run
  std::uint32_t step() const { return tile_d - halo; }
};

Shape shape_of(const Nest& nest, const Matrix& m, const Row& r) {
  const auto run_bytes = static_cast<std::uint32_t>(m.run) * m.unit;
  Shape s{r.block_s * r.blocks_s, r.block_d * r.blocks_d, r.load_bytes, r.store_bytes, 0, 0, false};
  while (s.load >= 4 && (r.block_s * run_bytes % s.load != 0 || !rows_are_aligned(nest, m, Side::src, s.load)))
    s.load /= 2;
  if (s.load < 4) s.load = 0;
  const auto fits = [&](std::uint32_t bytes) {
    return r.block_d * run_bytes % bytes == 0 && rows_are_aligned(nest, m, Side::dst, bytes);
  };
  while (s.store > 4 && !fits(s.store)) s.store /= 2;
  if (fits(s.store)) return s;
  s.shift = true;
  if (!r.staged) {
    s.front = static_cast<std::uint32_t>(ceil_div(s.store - m.unit, run_bytes));
    return s;
  }
  s.store = r.store_bytes;
  // A tile's step along D is a multiple of the access, counted from the beginning of the row.
  const std::uint32_t multiple = s.store / std::gcd(s.store, run_bytes);
  const auto least = static_cast<std::uint32_t>(ceil_div(s.store - m.unit, run_bytes));
  s.halo = s.tile_d <= least ? s.tile_d : s.tile_d - (s.tile_d - least) / multiple * multiple;
  return s;
}

std::uint32_t shared_words(const Matrix& m, const Shape& s, const Row& r, std::uint32_t skew) {
  const auto pitch = s.tile_d * static_cast<std::uint32_t>(m.run) * m.unit / 4;
  return r.staged ? s.tile_s * pitch + r.blocks_s * skew + 1 : 1;
}

constexpr int kOwnWords = size_of<PermuteRunsWords>();
// The step takes the .wide variant. Its axes are the nest's but for the run.
bool wide(const PermuteContext& c) {
  return nearly_needs_offset64(c.nest) || takes_wide(c, c.nest.rank - 1, kOwnWords);
}

bool applicable(const PermuteContext& c, std::uint32_t row, Refusal& refusal) {
  if (!only_moves(c, refusal)) return false;
  const Row& r = row_of(row);
  Matrix m;
  if (!matrix_of(c.nest, m, refusal)) return false;
  if (!fits_workgroup(c, r.workgroup, refusal)) return false;
  const std::int64_t run_bytes = m.run * m.unit;
  if (run_bytes > 48) return refusal.no("runs have {} bytes, at most 48", run_bytes);
  if (r.block_s * run_bytes % 4 != 0 || r.block_d * run_bytes % 4 != 0)
    return refusal.no("blocks of {} or {} runs of {} bytes are not a multiple of 4 bytes", r.block_s, r.block_d,
                      run_bytes);
  const Shape s = shape_of(c.nest, m, r);
  const std::int64_t words = std::int64_t{s.front + r.block_d} * r.block_s * run_bytes / 4,
                     most = c.cpu() ? PERMUTE_RUNS_MAX_WORDS : kMostWords;
  if (words > most) return refusal.no("an invocation would hold {} words, at most {}", words, most);
  if (s.halo * 2 > s.tile_d) return refusal.no("{} of a tile's {} runs would be halo, at most half", s.halo, s.tile_d);
  if (4 * shared_words(m, s, r, 8) > c.limits.workgroup_memory)
    return refusal.no("workgroup memory of {} bytes, the device allows {}", 4 * shared_words(m, s, r, 8),
                      c.limits.workgroup_memory);
  if (c.nest.src_span() * c.nest.element_bytes < 8) return refusal.no("the source has fewer than 8 bytes");
  if (!has_offsets(c, wide(c), refusal)) return false;
  return stores_elements(c, refusal);
}

// Bank conflicts with a skew; mirrors staged_at() in shaders/permute/permute_runs.comp.
std::uint64_t conflicts_of(const PermuteContext& c, const Matrix& m, const Row& r, const Shape& s, std::uint32_t skew) {
  Walk walk(c.profile);
  const auto run_bytes = static_cast<std::uint32_t>(m.run) * m.unit;
  const std::uint32_t pitch = s.tile_d * run_bytes / 4, column = r.block_d * run_bytes / 4;
  const std::uint32_t blocks = r.blocks_s * r.blocks_d, lanes = walk.lanes();
  const auto staged_at = [&](std::uint32_t row, std::uint32_t w) { return row * pitch + row / r.block_s * skew + w; };
  Request request;
  request.bytes = 4;
  for (std::uint32_t l = 0; l < lanes; ++l) {
    const std::uint32_t b = l % blocks;
    request.address[l] = std::int64_t{staged_at(b % r.blocks_s * r.block_s, b / r.blocks_s * column)} * 4;
  }
  walk.shared(request, ceil_div(blocks, lanes) * r.block_s * column);
  const std::uint32_t words = s.store / 4, chunks = s.step() * run_bytes / s.store;
  for (std::uint32_t l = 0; l < lanes; ++l)
    request.address[l] = std::int64_t{staged_at(l / chunks % s.tile_s, l % chunks * words)} * 4;
  walk.shared(request, ceil_div(std::uint64_t{s.tile_s} * chunks, lanes) * (words + (s.shift ? 1 : 0)));
  return walk.count().bank_conflicts;
}

PermuteConfig make(const PermuteContext& c, std::uint32_t row) {
  const Row& r = row_of(row);
  Matrix m;
  Refusal none(false);
  matrix_of(c.nest, m, none);
  const Shape s = shape_of(c.nest, m, r);
  PermuteConfig d;
  d.stem = "permute_runs";
  d.element_bytes = m.unit;
  d.offset64 = wide(c);
  d.workgroup = r.workgroup;
  const auto in_units = [&](int a) {
    NestAxis axis = c.nest.axis[static_cast<std::size_t>(a)];
    axis.src_stride *= m.scale;
    axis.dst_stride *= m.scale;
    return axis;
  };
  const NestAxis axis_s = in_units(m.s), axis_d = in_units(m.d);
  const auto tiles_s = static_cast<std::uint32_t>(ceil_div(static_cast<std::uint64_t>(axis_s.extent), s.tile_s));
  // With shifted stores, addresses are rounded down; the last access must still begin inside a tile.
  const std::uint64_t units_d =
      static_cast<std::uint64_t>(axis_d.extent * m.run) + (s.shift ? s.store / m.unit - 1 : 0);
  const auto tiles_d = static_cast<std::uint32_t>(ceil_div(units_d, static_cast<std::uint64_t>(s.step() * m.run)));
  d.add_axis(r.swap ? axis_d : axis_s, r.swap ? tiles_d : tiles_s);
  d.add_axis(r.swap ? axis_s : axis_d, r.swap ? tiles_s : tiles_d);
  d.groups = std::uint64_t{tiles_s} * tiles_d;
  for (int a = 2; a < c.nest.rank; ++a) {
    if (a == m.s) continue;
    const NestAxis axis = in_units(a);
    d.add_axis(axis, static_cast<std::uint32_t>(axis.extent));
    d.groups *= static_cast<std::uint64_t>(axis.extent);
  }
  d.set_own(PermuteRunsWords{.last_s = static_cast<std::uint32_t>(axis_s.extent - std::int64_t{tiles_s - 1} * s.tile_s),
                             .runs_d = static_cast<std::uint32_t>(axis_d.extent),
                             .source_units = c.nest.src_span() * c.nest.element_bytes / m.unit});
  std::uint32_t skew = 0;
  if (r.staged) {
    d.bank_conflicts = conflicts_of(c, m, r, s, 0);
    for (std::uint32_t other = 1; other <= 8 && d.bank_conflicts != 0; ++other)
      if (const auto conflicts = conflicts_of(c, m, r, s, other); conflicts < d.bank_conflicts) {
        d.bank_conflicts = conflicts;
        skew = other;
      }
  }
  d.workgroup_memory_bytes = 4 * shared_words(m, s, r, skew);
  d.add_constant(PERMUTE_RUNS_SPEC_RUN, static_cast<std::uint32_t>(m.run));
  d.add_constant(PERMUTE_RUNS_SPEC_TILE_S, s.tile_s);
  d.add_constant(PERMUTE_RUNS_SPEC_TILE_D, s.tile_d);
  d.add_constant(PERMUTE_RUNS_SPEC_BLOCK_S, r.block_s);
  d.add_constant(PERMUTE_RUNS_SPEC_BLOCK_D, r.block_d);
  d.add_constant(PERMUTE_RUNS_SPEC_LOAD_BYTES, s.load);
  d.add_constant(PERMUTE_RUNS_SPEC_STORE_BYTES, s.store);
  d.add_constant(PERMUTE_RUNS_SPEC_SHIFT, s.shift ? 1 : 0);
  d.add_constant(PERMUTE_RUNS_SPEC_HALO, s.halo);
  d.add_constant(PERMUTE_RUNS_SPEC_STAGED, r.staged ? 1 : 0);
  d.add_constant(PERMUTE_RUNS_SPEC_SKEW, skew);
  d.add_constant(PERMUTE_RUNS_SPEC_SWAP, r.swap ? 1 : 0);
  return d;
}

// On a CPU, rows of the operands that are far apart are read and written in longer pieces by tiles that are long along
// D. lavapipe 26.1.6 on two Xeon cores, 2026-11-29, `sectile bench "permute u8 3000x4000x3 axes=1,0,2" --force ROW`,
// fractions of vkCmdCopyBuffer: tiles of 2x128 blocks 0.19 to 0.20, of 4x4 0.13, of 4x16 0.13 to 0.15; u8 1000x1100x3
// 0.31 and 0.24, 1500x1400x3 0.28 and 0.20, f16 4x1000x999x3 axes=0,2,1,3 0.37 and 0.28. With pitches of 1,281 and
// 1,920 bytes (u8 82x427x640x3 axes=0,2,1,3) 0.21 to 0.29 and 0.34. Runs of whole words gain too (f32 900x1111x3, 1x128
// blocks of 1x1, 0.35 and 0.27), but the estimate of so many workgroups is too high for such a row to be chosen.
constexpr std::int64_t kLongPitch = 2560, kLongRow = 256;  // bytes; runs of the destination's rows, a half of a tile's
bool is_long_d(const PermuteContext& c) {
  Matrix m;
  Refusal none(false);
  if (!c.cpu() || !matrix_of(c.nest, m, none)) return false;
  const NestAxis &s = c.nest.axis[static_cast<std::size_t>(m.s)], &d = c.nest.axis[static_cast<std::size_t>(m.d)];
  return m.unit < 4 && d.extent >= kLongRow &&
         std::min(s.dst_stride, d.src_stride) * c.nest.element_bytes >= kLongPitch;
}

Eligibility eligibility(const PermuteContext& c, std::uint32_t row) {
  if (row_of(row).long_d != is_long_d(c)) return Eligibility::last_resort;
  const auto bytes = c.nest.element_bytes;
  const bool long_runs = c.nest.rank > 0 && c.nest.axis[0].extent * bytes > 12;
  const std::int64_t least = c.cpu() ? kLeastBytesCpu : long_runs ? kLeastBytesLong : kLeastBytes;
  return last_resort_if(c.nest.elements() * bytes < least);
}

// Runs of whole words need no shifting and joining, and smaller blocks give more invocations. lavapipe: f32 9x431x643x3
// ran at 0.30, 0.27 and 0.15 of a copy in blocks of 1, 2 and 4. H200 (see kTable), by the words that an invocation
// holds: 3 and 12 words 69 and 62 us, 48 words 109 us (f32 33x431x643x3); 6, 24 and 96 words 60, 78 and 129 us (f64
// 17x431x643x3). For runs of other lengths, stores of 4 bytes took 1.09 to 1.43 times as long there as stores of 8; the
// cost formula gives 0.99 to 1.07.
void charge(const Row& r, const Matrix& m, PermuteEstimate& e) {
  if (m.unit < 4) {
    if (r.store_bytes == 4) e.surcharges.add({.gpu = &PermuteGpuCost::run_store_permille});
    return;
  }
  e.surcharges.add({.cpu = &PermuteCpuCost::run_block_permille, .times = r.block_s - 1u});
  const std::uint64_t words = std::uint64_t{r.block_s} * r.block_d * static_cast<std::uint64_t>(m.run);
  if (words > 12) e.surcharges.add({.gpu = &PermuteGpuCost::run_word_permille, .times = words - 12});
}

PermuteEstimate estimate(const PermuteContext& c, std::uint32_t row, const PermuteConfig& d) {
  const Row& r = row_of(row);
  Matrix m;
  Refusal none(false);
  matrix_of(c.nest, m, none);
  const Shape s = shape_of(c.nest, m, r);
  Walk walk(c.profile);
  PermuteEstimate e;
  e.groups = d.groups;
  const auto run_bytes = static_cast<std::uint32_t>(m.run) * m.unit;
  const auto& axis_s = c.nest.axis[static_cast<std::size_t>(m.s)];
  const auto& axis_d = c.nest.axis[static_cast<std::size_t>(m.d)];
  const std::uint64_t lanes = walk.lanes(), blocks = std::uint64_t{r.blocks_s} * r.blocks_d;
  const std::uint64_t rows = s.front + r.block_d, row_words = r.block_s * run_bytes / 4,
                      column_words = r.block_d * run_bytes / 4;
  // Requests follow from the instructions. Transactions follow from the tile's rows, because requests share their
  // lines.
  const std::uint64_t rounds = ceil_div(blocks, lanes);
  const std::uint64_t loads = rows * (s.load == 0 ? row_words + 1 : row_words * 4 / s.load);
  const std::uint64_t chunks = std::uint64_t{s.step()} * run_bytes / s.store;
  e.interior.load_requests = rounds * loads;
  e.interior.store_requests =
      r.staged ? ceil_div(s.tile_s * chunks, lanes) : rounds * r.block_s * column_words * 4 / s.store;
  const auto count = [&](bool source) {
    const std::int64_t element = c.nest.element_bytes, t = walk.transaction();
    const auto& across = source ? axis_d : axis_s;
    const std::int64_t stride = (source ? across.src_stride : across.dst_stride) * element;
    const std::int64_t begin = source ? c.nest.src_byte_offset : c.nest.dst_byte_offset;
    const std::uint32_t count =
        source ? (r.staged ? s.tile_d : r.blocks_d * static_cast<std::uint32_t>(rows)) : s.tile_s;
    const std::int64_t extent = (source ? axis_s : axis_d).extent;
    const std::int64_t segment = std::min<std::int64_t>(source ? s.tile_s : s.step(), extent) * run_bytes;
    std::uint64_t transactions = 0,
                  ideal = ceil_div(static_cast<std::uint64_t>(segment), static_cast<std::uint64_t>(t)) * count;
    // Rows start at any offset within a transaction: this is the average over a sample of rows.
    constexpr std::uint32_t kSamples = 8;
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      const std::int64_t first = begin + std::int64_t{i} * stride + segment;
      transactions += static_cast<std::uint64_t>((first + segment - 1) / t - first / t + 1) * count;
    }
    (source ? e.interior.load_transactions : e.interior.store_transactions) = transactions / kSamples;
    (source ? e.interior.ideal_load_transactions : e.interior.ideal_store_transactions) = ideal;
  };
  count(true);
  count(false);
  if (c.explain) e.edge = e.interior;
  e.interior.bank_conflicts = d.bank_conflicts;
  const std::uint64_t joins = m.unit == 4 ? 2 : 12 / m.unit;
  e.instructions = ceil_div(r.workgroup, lanes) * 100 + e.interior.load_requests * (s.load == 0 ? 10 : 5) +
                   rounds * r.block_s * column_words * (joins + 2) +
                   e.interior.store_requests * (r.staged ? 16 + s.store / 4 * 6 : 8);
  charge(r, m, e);
  return e;
}

std::string print_row(const Row& r) {
  return fmt::format("{}x{} of {}x{} l{} s{} wg{}{}{}", r.blocks_s, r.blocks_d, r.block_s, r.block_d, r.load_bytes,
                     r.store_bytes, r.workgroup, r.staged ? "" : " direct", r.swap ? " d-first" : "");
}
std::string print(const PermuteContext&, std::uint32_t row) { return print_row(row_of(row)); }

constexpr NamedConstant kNamed[] = {{PERMUTE_RUNS_SPEC_RUN, "run"},
                                    {PERMUTE_RUNS_SPEC_TILE_S, "tile"},
                                    {PERMUTE_RUNS_SPEC_TILE_D, "tile"},
                                    {PERMUTE_RUNS_SPEC_BLOCK_S, "block"},
                                    {PERMUTE_RUNS_SPEC_BLOCK_D, "block"}};

constexpr PermuteStrategy kStrategy = {.stem = "permute_runs",
                                       .costs = CostTable::permute_runs,
                                       .rows = std::size(kTable),
                                       .applicable = applicable,
                                       .make = make,
                                       .estimate = estimate,
                                       .eligibility = eligibility,
                                       .print = print,
                                       .named = kNamed,
                                       .retired = std::size(kRetired)};

}  // namespace
}  // namespace permute_runs

const PermuteStrategy kRuns = permute_runs::kStrategy;
std::vector<std::string> permute_runs_rows() { return names_of(permute_runs::kTable, permute_runs::print_row); }

}  // namespace sectile::detail
