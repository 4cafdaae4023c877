// matmul_coopmat: tiles staged in workgroup memory and multiplied by a matrix unit at subgroup scope
// (VK_KHR_cooperative_matrix).
#include "context.hpp"
#include "split.hpp"

#include "device/vendors.hpp"

#include "gemm/matmul_coopmat.abi.h"

#include <algorithm>
#include <optional>

namespace sectile::detail {

namespace matmul_coopmat {
namespace {

using enum CoopmatLoop;
using enum ShapeGeneric;
using Row = CoopmatRow;

// By CoopmatLoop: the kernel's variant, and the suffix of the candidate's name.
constexpr struct {
  const char *module, *name;
} kLoops[] = {{"prefetch", ""},
              {"peeled", " peeled"},
              {"pipelined", " pipelined"},
              {"pipelined-l2", " pipelined-l2"},
              {"serial", " serial"}};

// NVIDIA H200 (driver 580.159.04, 2026-11-22 and 23), `sectile bench PROBLEM --force ROW` at n = 1024 to 8192 and the
// 61 shapes of docs/lab/2026-11.md, which lists all variants that were tried. Loads of 128 bytes of a row (f16 with a K
// of 64) cost less than those of 64, and those of 32 cost most. A second stage of workgroup memory was never faster.
// The driver gives the workgroups of a multiprocessor some 48 KiB together, so two of 128x128x32 (20 KiB) are resident,
// and one of each larger tile. Staging the next step before a step's last product (kPipelined) is nearly always faster,
// by 2 to 8 %.
// H100, driver 580.159.04, 2026-11-26: 128x128x64, 128x96x64 and 96x128x64 with pipelined loops, by `sectile bench
// PROBLEM... --all-candidates --limit 16` of 14 gathered products, and by the build before beside the new one over
// problems of `--sweep conv2d --cases 120`, seeds 31 to 33 and 41 to 43, and `--sweep matmul`, seeds 31 to 33, 41
// and 42, whose plans they change. 96x64x128 and 64x96x128, for few tiles with a long K, in the same way over
// `--sweep conv2d --cases 120`, seeds 51 to 54 and 61 to 65, and `--sweep matmul`, seeds 51 to 53 and 61 to 64: a
// step of 128 has twice the loads in flight. Below 5 steps they took 1.03 to 1.35 times as long as other rows, with
// loads of one element 0.78 to 1.40 times (1.06 in geometric mean of 12).
// clang-format off
constexpr Row kTable[] = {
    {.tile_m = 256, .tile_n = 256, .tile_k = 32, .sub_m = 128, .sub_n = 64, .loop = kPeeled,
     .half_accumulators = true},
    {.tile_m = 128, .tile_n = 192, .tile_k = 64, .sub_m = 64, .sub_n = 48, .loop = kPipelined},
    {.tile_m = 192, .tile_n = 128, .tile_k = 64, .sub_m = 48, .sub_n = 64, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 160, .tile_k = 64, .sub_m = 64, .sub_n = 40, .loop = kPipelined, .generic = kWhole},
    {.tile_m = 160, .tile_n = 128, .tile_k = 64, .sub_m = 80, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 160, .tile_k = 64, .sub_m = 32, .sub_n = 40, .loop = kPipelined},
    {.tile_m = 160, .tile_n = 64, .tile_k = 64, .sub_m = 80, .sub_n = 32, .loop = kPipelined, .generic = kWhole},
    {.tile_m = 96, .tile_n = 192, .tile_k = 64, .sub_m = 48, .sub_n = 48, .loop = kPipelined},
    {.tile_m = 192, .tile_n = 96, .tile_k = 64, .sub_m = 48, .sub_n = 48, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 256, .tile_k = 64, .sub_m = 64, .sub_n = 64, .loop = kPipelined, .int8_only = true},
    {.tile_m = 256, .tile_n = 128, .tile_k = 64, .sub_m = 64, .sub_n = 64, .loop = kPipelined, .int8_only = true},
    {.tile_m = 128, .tile_n = 128, .tile_k = 64, .sub_m = 64, .sub_n = 64, .loop = kPipelined, .int8_only = true},
    {.tile_m = 128, .tile_n = 128, .tile_k = 64, .sub_m = 64, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 96, .tile_k = 64, .sub_m = 32, .sub_n = 48, .loop = kPipelined},
    {.tile_m = 96, .tile_n = 128, .tile_k = 64, .sub_m = 48, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 256, .tile_k = 32, .sub_m = 64, .sub_n = 64, .loop = kPipelined},
    {.tile_m = 256, .tile_n = 128, .tile_k = 32, .sub_m = 64, .sub_n = 64, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 128, .tile_k = 32, .sub_m = 64, .sub_n = 64, .loop = kPipelined, .generic = kSplit},
    {.tile_m = 128, .tile_n = 64, .tile_k = 64, .sub_m = 64, .sub_n = 32, .loop = kPipelinedL2, .slice_k = 2},
    {.tile_m = 128, .tile_n = 64, .tile_k = 64, .sub_m = 32, .sub_n = 32, .loop = kPipelinedL2},
    {.tile_m = 64, .tile_n = 128, .tile_k = 64, .sub_m = 32, .sub_n = 32, .loop = kPipelinedL2},
    {.tile_m = 64, .tile_n = 64, .tile_k = 64, .sub_m = 32, .sub_n = 32, .loop = kPipelinedL2},
    {.tile_m = 32, .tile_n = 64, .tile_k = 64, .sub_m = 16, .sub_n = 32, .loop = kPipelinedL2},
    {.tile_m = 96, .tile_n = 64, .tile_k = 128, .sub_m = 48, .sub_n = 32, .loop = kPipelined,
     .least_steps = 5, .slice_k = 2},
    {.tile_m = 64, .tile_n = 96, .tile_k = 128, .sub_m = 32, .sub_n = 48, .loop = kPipelined,
     .least_steps = 5, .slice_k = 2},
    {.tile_m = 128, .tile_n = 64, .tile_k = 64, .sub_m = 32, .sub_n = 64, .generic = kSplit},
    {.tile_m = 64, .tile_n = 128, .tile_k = 64, .sub_m = 64, .sub_n = 32},
    {.tile_m = 128, .tile_n = 64, .tile_k = 32, .sub_m = 64, .sub_n = 32},
    {.tile_m = 64, .tile_n = 128, .tile_k = 32, .sub_m = 32, .sub_n = 64, .generic = kWhole},
    {.tile_m = 64, .tile_n = 128, .tile_k = 64, .sub_m = 32, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 64, .tile_k = 64, .sub_m = 32, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 64, .tile_k = 64, .sub_m = 32, .sub_n = 32, .loop = kPipelined, .generic = kSplit},
    {.tile_m = 64, .tile_n = 64, .tile_k = 64, .sub_m = 32, .sub_n = 32, .generic = kWhole},
    {.tile_m = 64, .tile_n = 64, .tile_k = 32, .sub_m = 32, .sub_n = 32},
    {.tile_m = 32, .tile_n = 128, .tile_k = 64, .sub_m = 32, .sub_n = 32},
    {.tile_m = 128, .tile_n = 32, .tile_k = 64, .sub_m = 32, .sub_n = 32},
    {.tile_m = 32, .tile_n = 64, .tile_k = 64, .sub_m = 16, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 32, .tile_n = 64, .tile_k = 64, .sub_m = 16, .sub_n = 32},
    {.tile_m = 64, .tile_n = 32, .tile_k = 64, .sub_m = 32, .sub_n = 16, .loop = kPipelined, .generic = kWhole},
    {.tile_m = 64, .tile_n = 32, .tile_k = 64, .sub_m = 32, .sub_n = 16, .generic = kSplit},
    {.tile_m = 32, .tile_n = 32, .tile_k = 128, .sub_m = 16, .sub_n = 16, .loop = kPipelined, .generic = kWhole},
    {.tile_m = 32, .tile_n = 32, .tile_k = 64, .sub_m = 16, .sub_n = 16},
    {.tile_m = 16, .tile_n = 128, .tile_k = 64, .sub_m = 16, .sub_n = 32},
    {.tile_m = 16, .tile_n = 64, .tile_k = 128, .sub_m = 16, .sub_n = 16, .generic = kWhole},
    {.tile_m = 32, .tile_n = 32, .tile_k = 256, .sub_m = 32, .sub_n = 32, .loop = kPipelined,
     .slice_k = 8},
    {.tile_m = 16, .tile_n = 16, .tile_k = 256, .sub_m = 16, .sub_n = 16, .loop = kPipelined,
     .slice_k = 8, .generic = kWhole},
    // Intel has fragments of 8 rows.
    {.tile_m = 8, .tile_n = 128, .tile_k = 64, .sub_m = 8, .sub_n = 32},
    {.tile_m = 8, .tile_n = 64, .tile_k = 64, .sub_m = 8, .sub_n = 16},
    // Xe-HPG has subgroups of 8 with 128 registers. A tile of 16x16 takes half of them, so no larger one fits. Not
    // measured: the rates are those of similar tiles above.
    {.tile_m = 64, .tile_n = 64, .tile_k = 64, .sub_m = 16, .sub_n = 16, .eight_lanes = true},
    {.tile_m = 64, .tile_n = 64, .tile_k = 32, .sub_m = 16, .sub_n = 16, .eight_lanes = true},
    {.tile_m = 32, .tile_n = 64, .tile_k = 32, .sub_m = 16, .sub_n = 16, .eight_lanes = true},
    // CPUs.
    {.tile_m = 16, .tile_n = 32, .tile_k = 16, .sub_m = 8, .sub_n = 16, .loop = kSerial},
};
// clang-format on

// For a gathered B that is contiguous along N and of which one load serves several k (taps_per_load): a step has whole
// groups of three of them. NVIDIA H100, driver 580.159.04, 2026-11-26: `sectile bench PROBLEM... --all-candidates
// --limit 9` of the 29 f16 NCHW problems of `--sweep conv2d --cases 100`, seeds 11, 12, 21, 22, 303, 707 and 909, for
// which a row of this table is admissible. A K of 96 serves tiles whose steps of 48 are too short; 160x128 has no room
// for it.
// clang-format off
constexpr Row kTapTable[] = {
    {.tile_m = 128, .tile_n = 256, .tile_k = 48, .sub_m = 64, .sub_n = 64, .loop = kPipelined},
    {.tile_m = 256, .tile_n = 128, .tile_k = 48, .sub_m = 64, .sub_n = 64, .loop = kPipelined},
    {.tile_m = 160, .tile_n = 128, .tile_k = 48, .sub_m = 80, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 192, .tile_n = 128, .tile_k = 48, .sub_m = 48, .sub_n = 64, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 128, .tile_k = 48, .sub_m = 64, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 256, .tile_k = 48, .sub_m = 64, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 80, .tile_n = 128, .tile_k = 96, .sub_m = 80, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 80, .tile_n = 128, .tile_k = 48, .sub_m = 80, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 128, .tile_k = 96, .sub_m = 32, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 128, .tile_k = 48, .sub_m = 64, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 128, .tile_k = 48, .sub_m = 32, .sub_n = 64},
    {.tile_m = 128, .tile_n = 64, .tile_k = 96, .sub_m = 32, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 128, .tile_n = 64, .tile_k = 48, .sub_m = 64, .sub_n = 32},
    {.tile_m = 64, .tile_n = 64, .tile_k = 96, .sub_m = 32, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 64, .tile_n = 64, .tile_k = 48, .sub_m = 32, .sub_n = 32},
    {.tile_m = 32, .tile_n = 128, .tile_k = 48, .sub_m = 32, .sub_n = 32},
    {.tile_m = 32, .tile_n = 64, .tile_k = 96, .sub_m = 16, .sub_n = 32, .loop = kPipelined},
    {.tile_m = 32, .tile_n = 64, .tile_k = 48, .sub_m = 16, .sub_n = 32},
    {.tile_m = 16, .tile_n = 64, .tile_k = 96, .sub_m = 16, .sub_n = 16},
};
// clang-format on

consteval bool rows_are_sound(std::span<const Row> rows) {
  return std::ranges::all_of(rows, [](const Row& r) {
    return r.tile_m % r.sub_m == 0 && r.tile_n % r.sub_n == 0 && r.tile_k % r.slice_k == 0;
  });
}
static_assert(rows_are_sound(kTable) && rows_are_sound(kTapTable));

bool loads_taps(const GemmContext& c) { return c.gathered != nullptr && c.gathered->taps_per_load != 0; }

std::span<const Row> table_of(const GemmContext& c) { return loads_taps(c) ? std::span<const Row>(kTapTable) : kTable; }

std::uint32_t rows(const GemmContext& c) {
  return static_cast<std::uint32_t>(table_of(c).size() + (c.extra != nullptr ? c.extra->matmul_coopmat.size() : 0));
}

const Row& row_of(const GemmContext& c, std::uint32_t row) {
  const auto table = table_of(c);
  return row < table.size() ? table[row] : c.extra->matmul_coopmat[row - table.size()];
}

const char* component(std::uint32_t type) {
  switch (type) {
    case SECTILE_TYPE_F16:
      return "f16";
    case SECTILE_TYPE_BF16:
      return "bf16";
    default:
      return "s8";
  }
}

// The profile's matrix shape with the problem's types and these sums that divides the row's tiles. Of several, the one
// with the most products, so that a step takes the fewest instructions.
std::optional<MatrixShape> shape_with(const GemmContext& c, const Row& r, const char* sums) {
  std::optional<MatrixShape> best;
  for (const MatrixShape& s : c.profile.matrix_shapes) {
    if (s.scope != "subgroup" || s.flexible || s.saturating) continue;
    if (s.a != component(c.type) || s.b != s.a || s.c != sums || s.result != s.c) continue;
    if (r.sub_m % s.m != 0 || r.sub_n % s.n != 0 || r.tile_k / r.slice_k % s.k != 0) continue;
    if (!best || std::uint64_t{s.m} * s.n * s.k > std::uint64_t{best->m} * best->n * best->k) best = s;
  }
  return best;
}

bool may_sum_in_f16(const GemmContext& c) { return !c.integer() && c.gemm.acc == DType::f16; }

// Sums of acc=f16 may be kept in f16, and are kept in f32 where the device has no such shape.
std::optional<MatrixShape> shape_for(const GemmContext& c, const Row& r) {
  if (may_sum_in_f16(c))
    if (auto shape = shape_with(c, r, "f16")) return shape;
  return shape_with(c, r, c.integer() ? "s32" : "f32");
}

bool sums_in_f16(const MatrixShape& s) { return s.c == "f16"; }

// Registers of one invocation, at most. An Intel thread has 128 registers of a subgroup's width.
std::uint32_t most_registers(const DeviceProfile& p) { return p.vendor == "intel" ? 128 : 255; }

// The part of a subgroup's tile that is staged and stored at a time.
struct Stored {
  std::uint32_t m, n;
  std::uint32_t bytes;  // of all subgroups' parts
};

// Tiles are staged in chunks of 16 bytes, with one of padding after each line.
constexpr std::uint32_t kChunk = 16;

StagedOperand staged_side(const GemmContext& c, const Row& r, bool b) {
  return {.rows = b ? r.tile_n : r.tile_m,
          .k = r.tile_k,
          .along_k = c.along_k(b),
          .element_bytes = type_bytes(c.type),
          .padding_bytes = kChunk};
}

// The results are staged in the tiles' memory, with as many columns and then rows at a time as fit. A workgroup that is
// alone on its multiprocessor may take more memory: 128x64 in two slices of K at n = 1024 takes 13.8 us instead of 14.3
// with f16 accumulators, and 14.6 instead of 15.1 with f32 ones, of which half of the rows fit (bf16: 14.7 instead of
// 14.8; NVIDIA H200, as above).
Stored stored_at_a_time(const GemmContext& c, const Row& r, const MatrixShape& s, std::uint32_t step_bytes) {
  constexpr std::uint32_t kAlone = 40 * 1024;
  const std::uint32_t results_per_chunk = sums_in_f16(s) ? 8 : 4;
  const auto bytes = [&](std::uint32_t rows, std::uint32_t columns) {
    return kChunk * r.subgroups() * rows * (columns / results_per_chunk + (results_per_chunk == 4 ? 2 : 1));
  };
  Stored stored{.m = s.m, .n = s.n, .bytes = 0};
  for (std::uint32_t columns = r.sub_n; columns > s.n && stored.n == s.n; columns -= s.n)
    if (r.sub_n % columns == 0 && columns % 8 == 0 && bytes(s.m, columns) <= step_bytes) stored.n = columns;
  const bool alone = r.loop == kPipelinedL2 && r.slice_k > 1;
  const std::uint32_t room = alone ? std::max(step_bytes, std::min(kAlone, c.limits.workgroup_memory)) : step_bytes;
  for (std::uint32_t rows = r.sub_m; rows > s.m && stored.m == s.m && stored.n == r.sub_n; rows -= s.m)
    if (r.sub_m % rows == 0 && bytes(rows, r.sub_n) <= room) stored.m = rows;
  stored.bytes = bytes(stored.m, stored.n);
  return stored;
}

HeldRegisters registers_of(const GemmContext& c, const Row& r, const GemmConfig& d, const MatrixShape& s) {
  const std::uint32_t lanes = d.required_subgroup_size, bytes = type_bytes(c.type);
  // RADV 26.1.6 keeps each f16 accumulator in its own register. On navi31, rows that were admitted without this
  // spilled.
  const bool amd = c.profile.vendor == "amd";
  const std::uint32_t sum_bytes = sums_in_f16(s) && !amd ? 2 : 4;
  // On RDNA 3, 16 lanes hold all of A and B, and the other lanes hold copies (AMD, "RDNA3 ISA", WMMA).
  const std::uint32_t copies = amd && s.m == 16 ? std::max(1u, lanes / 16) : 1;
  // Pipelined loops load fragments one product ahead.
  const std::uint32_t sets = r.pipelined() && r.tile_k / r.slice_k > s.k ? 2 : 1;
  const auto held = [&](std::uint32_t elements, std::uint32_t registers) {
    const LoadedRuns chunks{.runs = elements * bytes / kChunk, .invocations = d.workgroup, .registers = registers};
    return chunks.held();
  };
  // A chunk that is moved has the two elements on either side with it until it is staged; a pipelined loop then holds
  // all that is staged of it across a barrier.
  const auto moved = [&] {
    const std::uint32_t loaded = held(r.tile_n * r.tile_k / c.gathered->taps_per_load, 6);
    return r.pipelined() ? std::max(loaded, held(r.tile_n * r.tile_k, 4)) : loaded;
  };
  return {
      .accumulators = registers_of_share(r.sub_m * r.sub_n, sum_bytes, lanes),
      .fragments = registers_of_share((r.sub_m + r.sub_n) * s.k, bytes, lanes) * copies * sets,
      .in_flight = loads_taps(c) ? held(r.tile_m * r.tile_k, 4) + moved() : held((r.tile_m + r.tile_n) * r.tile_k, 4)};
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row& r = row_of(c, row);
  const auto& p = c.gemm;
  const MatrixShape s = shape_for(c, r).value_or(MatrixShape());  // applicable() has found one
  GemmConfig d;
  d.stem = c.gathered != nullptr ? c.gathered->coopmat : "matmul_coopmat";
  d.narrow = true;
  d.base = c.integer() ? "i8" : c.type == SECTILE_TYPE_BF16 ? "bf16" : sums_in_f16(s) ? "f16.f16" : "f16";
  d.base += std::string(".") + kLoops[static_cast<std::size_t>(r.loop)].module;
  if (c.gathered != nullptr) d.base += c.gathered->coopmat_suffix;
  d.tile_m = r.tile_m;
  d.tile_n = r.tile_n;
  d.tile_k = r.tile_k;
  d.required_subgroup_size = matrix_subgroup_size(c.profile);
  d.workgroup = r.subgroups() * d.required_subgroup_size;
  d.width_a = c.width_a;
  d.width_b = c.width_b;
  // This kernel has accesses of 16 one-byte elements.
  const bool wider = c.integer() && !c.few_pipelines;
  if (wider && d.width_a == 8) d.width_a = c.a->width(16);
  if (wider && d.width_b == 8 && c.b_type == SECTILE_TYPE_I8) d.width_b = c.b->width(16);
  if (loads_taps(c)) d.width_b = 8;  // width() is that of the scalar kernel, one element
  d.run_d = 8;
  d.width_d = d.access_of_d(c.width_d);
  Staging& staging = d.staging;
  staging.a = staged_side(c, r, false);
  staging.b = staged_side(c, r, true);
  const Stored stored = stored_at_a_time(c, r, s, staging.step_bytes());
  staging.result_bytes = stored.bytes;
  staging.result_in_place = true;
  staging.registers = registers_of(c, r, d, s);
  d.pipelined = r.pipelined();
  d.l2_prefetch = r.loop == kPipelinedL2;
  d.unit = Unit::coopmat;
  d.table = c.gathered != nullptr ? CostTable::conv2d_coopmat : CostTable::matmul_coopmat;
  d.row = row >= table_of(c).size() ? kNoRow
          : loads_taps(c)           ? static_cast<std::uint32_t>(std::size(kTable)) + row
                                    : row;
  // If B is contiguous along N, its rows are long: a short step of K also loads whole cache lines, and a long one gains
  // less. An int8 row of a step has half the bytes, for every K.
  if (c.integer() && r.tile_k == 32) d.rate_factors.add(&GemmGpuCost::int8_32);
  if (!c.integer() && !p.transpose_b)
    d.rate_factors.add(r.tile_k == 32         ? &GemmGpuCost::across_k_32
                       : r.loop == kPipelined ? &GemmGpuCost::across_k_pipelined
                                              : &GemmGpuCost::across_k);
  // A chunk that serves one row of a step or two is loaded more often.
  if (loads_taps(c) && c.gathered->taps_per_load < 3) d.rate_factors.add(&GemmGpuCost::moved);
  for (const auto& [id, value] :
       {std::pair<std::uint32_t, std::uint32_t>{MATMUL_COOPMAT_SPEC_SUBGROUP, d.required_subgroup_size},
        {MATMUL_COOPMAT_SPEC_SUB_M, r.sub_m},
        {MATMUL_COOPMAT_SPEC_SUB_N, r.sub_n},
        {MATMUL_COOPMAT_SPEC_FRAG_M, s.m},
        {MATMUL_COOPMAT_SPEC_FRAG_N, s.n},
        {MATMUL_COOPMAT_SPEC_FRAG_K, s.k},
        {MATMUL_COOPMAT_SPEC_PAD, staging.a.padding_bytes / kChunk},
        {MATMUL_COOPMAT_SPEC_SLICE_K, r.slice_k},
        {MATMUL_COOPMAT_SPEC_STORE_M, stored.m},
        {MATMUL_COOPMAT_SPEC_STORE_N, stored.n},
        {MATMUL_COOPMAT_SPEC_STAGED, staging.memory_bytes() / kChunk}})
    d.add(id, value);
  if (loads_taps(c))
    for (const Constant& constant : c.gathered->tap_constants.all()) d.own.add(constant);
  d.group_m = group_of_tiles(c, d);
  // Slices of K already give each multiprocessor enough subgroups.
  d.can_split = r.loop != kPipelinedL2;
  if (d.can_split) d.splits = splits_to_fill(c, d, r.slice_k > 1 ? 1 : 2);
  d.can_tail = r.loop != kPipelinedL2;
  if (c.few_pipelines) use_few_pipelines(d, r.generic);
  return d;
}

bool unit_applicable(const GemmContext& c, Refusal& refusal) {
  const DeviceProfile& p = c.profile;
  if (p.api != Api::vulkan) return refusal.no("the kernel exists for Vulkan only");
  if (!p.cooperative_matrix.value_or(false)) return refusal.no("the device lists no cooperative matrix");
  if (c.type == SECTILE_TYPE_F32) return refusal.no("the kernel multiplies f16, bf16 and i8 only");
  if (!(p.storage8.value_or(false) && p.storage16.value_or(false)))
    return refusal.no("needs accesses of 1 and 2 bytes, which the device lacks");
  if (c.type == SECTILE_TYPE_F16 && !p.float16.value_or(false))
    return refusal.no("needs f16 arithmetic, which the device lacks");
  if (c.type == SECTILE_TYPE_BF16 && !p.bfloat16.value_or(false))
    return refusal.no("needs bf16, which the device lacks");
  // By integers the kernel's code would be twice as long.
  if (p.f16_conversion == false && (c.type == SECTILE_TYPE_F16 || c.out_type == SECTILE_TYPE_F16))
    return refusal.no("the device converts to f16 otherwise than docs/reference/numbers.md says");
  if (c.integer() && !p.int8.value_or(false)) return refusal.no("needs 8-bit integers, which the device lacks");
  return true;
}

// The L2 prefetch loop checks no bounds of K, and it prefetches each operand as one contiguous run.
bool l2_applicable(const GemmContext& c, const Row& r, Refusal& refusal) {
  // Of both operands together. More would not stay in the L2, and one round of invocations could not prefetch it.
  const auto most_bytes = static_cast<std::int64_t>(
      std::min<std::uint64_t>(std::uint64_t{32} << 20, c.profile.l2_bytes.value_or(16 << 20) / 2));
  const auto& p = c.gemm;
  if (p.k % r.tile_k != 0 || p.k < std::int64_t{3} * r.tile_k)
    return refusal.no("needs a K of at least 3 whole steps of {}", r.tile_k);
  if (p.batch != 1 || c.gemm.at.lda != (p.transpose_a ? p.m : p.k) || c.gemm.at.ldb != (p.transpose_b ? p.k : p.n) ||
      c.a_type != c.type || c.b_type != c.type)
    return refusal.no("needs packed operands: no batch, no padded rows, no type conversion");
  if (std::min(c.width_a, c.width_b) * type_bytes(c.type) < 4)
    return refusal.no("needs accesses of 4 bytes, which the operands' alignment does not allow");
  if (p.m > most_bytes / p.k || p.n > most_bytes / p.k || (p.m + p.n) * p.k * type_bytes(c.type) > most_bytes)
    return refusal.no("needs operands of at most {} bytes together", most_bytes);
  return true;
}

// Nothing hides the loads of the first step, and loads of one element are too many for a long step.
bool long_steps_applicable(const GemmContext& c, const Row& r, Refusal& refusal) {
  if (c.gemm.k < std::int64_t{r.least_steps} * r.tile_k)
    return refusal.no("needs a K of at least {} steps of {}", r.least_steps, r.tile_k);
  if (std::min(c.width_a, c.width_b) == 1)
    return refusal.no("needs accesses of 2 elements, which the operands' alignment does not allow");
  return true;
}

// Each invocation loads as many chunks as the others, all of the same columns.
bool chunks_divide(const GemmContext& c, const Row& r, Refusal& refusal) {
  constexpr std::uint32_t kMostLoads = 32;  // the kernel has a bit for each
  const std::uint32_t chunks = r.tile_n / (16 / type_bytes(c.type)), together = c.gathered->taps_per_load;
  const std::uint32_t workgroup = r.subgroups() * matrix_subgroup_size(c.profile);
  const std::uint32_t at_once = workgroup / chunks * together;  // rows of a step
  if (at_once == 0 || workgroup % chunks != 0 || r.tile_k % at_once != 0)
    return refusal.no(
        "{} invocations do not divide a step of {} rows of {} chunks evenly, {} rows to each loaded chunk", workgroup,
        r.tile_k, chunks, together);
  const std::uint32_t loads = r.tile_k * chunks / workgroup;
  return loads <= kMostLoads || refusal.no("an invocation stages {} chunks, at most {}", loads, kMostLoads);
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = row_of(c, row);
  if (!unit_applicable(c, refusal)) return false;
  // These loops are unrolled for loads in flight. A CPU's compiler takes half a minute for them, and they gain nothing.
  const bool for_cpu = r.loop == kSerial || r.cpu_only;
  if (c.cpu() && !for_cpu) return refusal.no("loads in flight gain nothing on a CPU");
  if (!c.cpu() && r.cpu_only) return refusal.no("a row for CPU devices only");
  const auto shape = shape_for(c, r);
  if (r.int8_only && !c.integer())
    return refusal.no("for int8 only: an f16 step of {} would keep too many loads in flight", r.tile_k);
  if (c.gathered != nullptr && r.loop != kPrefetch && r.loop != kPipelined && r.loop != kSerial)
    return refusal.no("the kernel has no {} loop with a gathered operand",
                      kLoops[static_cast<std::size_t>(r.loop)].module);
  if (c.gathered != nullptr && r.loop == kPipelined && c.type != SECTILE_TYPE_F16)
    return refusal.no("the kernel has a pipelined loop with a gathered operand for f16 only");
  if (c.gathered != nullptr && r.loop == kSerial && c.type == SECTILE_TYPE_BF16)
    return refusal.no(
        "the kernel has no serial loop with a gathered operand for bf16: no CPU multiplies bf16 matrices");
  if (r.loop == kPipelinedL2 && !l2_applicable(c, r, refusal)) return false;
  if (r.least_steps != 0 && !long_steps_applicable(c, r, refusal)) return false;
  if (r.half_accumulators && !(shape ? sums_in_f16(*shape) : may_sum_in_f16(c)))
    return refusal.no("only f16 accumulators fit the registers");
  // A tile is staged in chunks of 16 bytes along its rows. If A is contiguous along M, 8 rows of int8 have only 8
  // bytes.
  const std::uint32_t per_chunk = 16 / type_bytes(c.type);
  for (const std::uint32_t inner : {c.gemm.transpose_a ? r.tile_m : r.tile_k, c.gemm.transpose_b ? r.tile_k : r.tile_n})
    if (inner % per_chunk != 0)
      return refusal.no("a staged row has {} elements, not a multiple of {}", inner, per_chunk);
  if (!shape)
    return refusal.no("the device lists no {} x {} -> {} matrix that divides {}x{} in steps of {}", component(c.type),
                      component(c.type),
                      c.integer()         ? "s32"
                      : may_sum_in_f16(c) ? "f16 or f32"
                                          : "f32",
                      r.sub_m, r.sub_n, r.tile_k);
  const std::uint32_t subgroup = matrix_subgroup_size(c.profile);
  if (subgroup == 0) return refusal.no("the subgroup size is not known");
  if (loads_taps(c) && !chunks_divide(c, r, refusal)) return false;
  if (r.eight_lanes && subgroup != 8)
    return refusal.no("needs subgroups of 8 invocations, the device's have {}", subgroup);
  if (!subgroup_size_is_certain(c.profile))
    return refusal.no("the device does not support a required subgroup size of {}", subgroup);
  const GemmConfig d = make(c, row);
  // A workgroup's registers must fit a multiprocessor: RADV spills if 8 subgroups of 64 need more than 192 each.
  const std::uint32_t most =
      std::min(most_registers(c.profile), c.profile.registers_per_multiprocessor.value_or(65536) / d.workgroup);
  if (const std::uint32_t registers = d.staging.registers.total(); registers > most && !c.cpu())
    return refusal.no("needs {} registers an invocation, the device has {}", registers, most);
  return gemm_fits(c, d, refusal);
}

// The loads of one operand's tile and the stores of its chunks, as chunk_position() of the kernel places them. The
// kernel is GLSL only; tests/emulated/coopmat_accesses_test.cpp reads it again. A chunk that is moved is counted as if
// each row of the step loaded it; the rates of kTapTable were fitted so.
void count_operand(Walk& walk, const GemmContext& c, const GemmConfig& d, bool b) {
  const bool along_k = c.along_k(b);
  const StagedOperand& staged = b ? d.staging.b : d.staging.a;
  const std::uint32_t type = b ? c.b_type : c.a_type, per_chunk = kChunk / staged.element_bytes;
  const std::uint32_t rows = staged.lines(), chunks = staged.line_bytes() / kChunk;
  const std::uint32_t width = b ? d.width_b : d.width_a, stored = type == SECTILE_TYPE_Q4 ? 1 : type_bytes(type) * 2;
  const GemmOperand& operand = c.operand(b);
  const auto element = [&](std::uint32_t row, std::uint32_t column) {
    return along_k ? operand.element(row, column) : operand.element(column, row);
  };
  // One subgroup's request of one load. Invocations without a chunk load from the last line, and store nothing.
  const auto count = [&](std::uint32_t number, std::uint64_t times) {
    Request from, to;
    from.bytes = std::max(1u, width * stored / 2);
    to.bytes = kChunk;
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
      const std::uint32_t q = number * walk.lanes() + l;
      std::uint32_t r = q / chunks, x = q % chunks;
      if (chunks == 4) r = q / 32 * 8 + q / 4 % 2 * 4 + q / 8 % 4;
      if (chunks == 2) r = q / 16 * 8 + q / 2 % 4 * 2 + q / 8 % 2;
      const bool active = q < rows * chunks;
      const std::int64_t at = element(std::min(r, rows - 1), x * per_chunk);
      from.address[l] = at >= 0 ? at * stored / 2 : Request::kInactive;
      to.address[l] = active ? std::int64_t{r} * staged.pitch() + kChunk * x : Request::kInactive;
    }
    walk.load(from, times * std::max(1u, per_chunk / width));
    walk.shared(to, times);
  };
  const LoadedRuns loads{.runs = rows * chunks, .invocations = d.workgroup};
  const auto storing = static_cast<std::uint32_t>(ceil_div(loads.runs, walk.lanes()));
  const auto all = static_cast<std::uint32_t>(ceil_div(std::uint64_t{loads.each()} * d.workgroup, walk.lanes()));
  const Sample samples{storing, c.explain}, surplus{all - storing, c.explain};
  for (std::uint32_t i = 0; i < samples.size(); ++i) count(samples.at(i), samples.times(i));
  for (std::uint32_t i = 0; i < surplus.size(); ++i) count(storing + surplus.at(i), surplus.times(i));
}

// The fragment loads: a chunk per lane.
void count_fragments(Walk& walk, const GemmConfig& d, const Row& r) {
  const auto side = [&](const StagedOperand& staged, std::uint32_t sub) {
    Request request;
    request.bytes = kChunk;
    const std::uint64_t chunks = std::uint64_t{sub} * staged.k * staged.element_bytes / kChunk;  // of a subgroup
    for (std::uint32_t l = 0; l < walk.lanes(); ++l)
      request.address[l] = l < chunks ? std::int64_t{l} * staged.pitch() : Request::kInactive;
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a walk has lanes
    walk.shared(request, ceil_div(chunks, walk.lanes()) * r.subgroups() / r.slice_k);
  };
  side(d.staging.a, r.sub_m);
  side(d.staging.b, r.sub_n);
}

Eligibility eligibility(const GemmContext& c, std::uint32_t row) {
  if (row >= table_of(c).size()) return Eligibility::measured_only;
  const Row& r = row_of(c, row);
  if (c.cpu()) return Eligibility::candidate;
  if (c.few_pipelines)
    return last_resort_if(r.generic == kNo || (r.loop == kPipelined) != (c.type == SECTILE_TYPE_F16));
  return last_resort_if(r.loop == kSerial);  // short code, for CPUs
}

GemmEstimate estimate(const GemmContext& c, std::uint32_t row, const GemmConfig& d) {
  Walk walk(c.profile);
  count_operand(walk, c, d, false);
  count_operand(walk, c, d, true);
  count_fragments(walk, d, row_of(c, row));
  GemmEstimate e;
  e.interior = walk.count();
  return e;
}

std::string print_row(const Row& r) {
  const std::string slice_k = r.slice_k > 1 ? fmt::format(" slice-k={}", r.slice_k) : "";
  return fmt::format("{}x{}x{} {}x{}{}{}{}", r.tile_m, r.tile_n, r.tile_k, r.sub_m, r.sub_n,
                     kLoops[static_cast<std::size_t>(r.loop)].name, r.half_accumulators ? " acc=f16" : "", slice_k);
}
std::string print(const GemmContext& c, std::uint32_t row) { return print_row(row_of(c, row)); }

constexpr GemmStrategy kStrategy = {
    "matmul_coopmat", CostTable::matmul_coopmat, 0, applicable, make, estimate, eligibility, print, {}, rows};

}  // namespace
}  // namespace matmul_coopmat

const GemmStrategy kGemmCoopmat = matmul_coopmat::kStrategy;
std::vector<std::string> matmul_coopmat_rows() { return names_of(matmul_coopmat::kTable, matmul_coopmat::print_row); }
std::vector<std::string> coopmat_tap_rows() { return names_of(matmul_coopmat::kTapTable, matmul_coopmat::print_row); }

}  // namespace sectile::detail
