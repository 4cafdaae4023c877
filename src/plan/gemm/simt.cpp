// matmul_simt: tiles staged in workgroup memory and multiplied without a matrix unit.
#include "context.hpp"
#include "cost.hpp"
#include "split.hpp"

#include "gemm/matmul_simt.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace matmul_simt {
namespace {

using enum ShapeGeneric;
struct Row : SimtRow, SimtTechniques {};

// Rates are in the classes of devices. NVIDIA H200, driver 580.159.04, 2026-11-22: shares of 8x16 and 12x12 are faster
// in a kernel that needs few other registers (128x256: 49 TFLOP/s at n = 4096; 128x128 with 8x8: 45.6), but not in this
// one (34, and it spills if B is transposed). 64x96, 96x64, 96x96, 96x192, 128x160 and 192x128 were tried for the
// 960x2304 of DietCode's dense layer on 132 multiprocessors: 120 to 151 us; 64x128 takes 124. With CUDA's compiler the
// largest tile is slower than 64x128 (n = 4096: 37.7 and 44.0 TFLOP/s).
// clang-format off
constexpr SimtRow kTable[] = {
    {.tile_m = 128, .tile_n = 128, .tile_k = 8, .rows = 8, .columns = 8, .lanes_m = 8, .lanes_n = 4,
     .stages = 2, .generic = kWhole},
    {.tile_m = 128, .tile_n = 64, .tile_k = 8, .rows = 8, .columns = 8, .lanes_m = 8, .lanes_n = 4,
     .stages = 2, .generic = kSplit},
    {.tile_m = 64, .tile_n = 128, .tile_k = 8, .rows = 8, .columns = 8, .lanes_m = 8, .lanes_n = 4,
     .stages = 2, .generic = kSplit},
    {.tile_m = 64, .tile_n = 64, .tile_k = 8, .rows = 8, .columns = 8, .lanes_m = 8, .lanes_n = 4},
    {.tile_m = 64, .tile_n = 64, .tile_k = 16, .rows = 4, .columns = 8, .lanes_m = 8, .lanes_n = 4,
     .generic = kWhole},
    {.tile_m = 32, .tile_n = 128, .tile_k = 16, .rows = 4, .columns = 8, .lanes_m = 8, .lanes_n = 4},
    {.tile_m = 128, .tile_n = 32, .tile_k = 16, .rows = 8, .columns = 4, .lanes_m = 8, .lanes_n = 4},
    {.tile_m = 64, .tile_n = 32, .tile_k = 16, .rows = 4, .columns = 4, .lanes_m = 8, .lanes_n = 4,
     .generic = kSplit},
    {.tile_m = 32, .tile_n = 64, .tile_k = 16, .rows = 4, .columns = 4, .lanes_m = 8, .lanes_n = 4},
    {.tile_m = 32, .tile_n = 32, .tile_k = 16, .rows = 4, .columns = 4, .lanes_m = 8, .lanes_n = 4},
    {.tile_m = 32, .tile_n = 32, .tile_k = 32, .rows = 4, .columns = 4, .lanes_m = 8, .lanes_n = 4,
     .generic = kWhole},
    {.tile_m = 16, .tile_n = 64, .tile_k = 32, .rows = 4, .columns = 4, .lanes_m = 4, .lanes_n = 8},
    {.tile_m = 64, .tile_n = 16, .tile_k = 32, .rows = 4, .columns = 4, .lanes_m = 8, .lanes_n = 4},
    {.tile_m = 64, .tile_n = 64, .tile_k = 4, .rows = 8, .columns = 8, .lanes_m = 8, .lanes_n = 4, .note = " serial",
     .stages = 1, .prefetch = false, .cpu_integers = true},
};
// clang-format on

std::uint32_t extra(const GemmContext& c) {
  return c.extra != nullptr ? static_cast<std::uint32_t>(c.extra->matmul_simt.size()) : 0;
}

Row row_of(const GemmContext& c, std::uint32_t row) {
  if (row < std::size(kTable)) return {kTable[row], {}};
  const ExtraSimtRow& extra = c.extra->matmul_simt[row - std::size(kTable)];
  return {extra.row, extra.techniques};
}

// The loop body holds one step of each of the two stages, so that stage addresses are constant and the compiler can
// interleave two steps. n = 4096, TFLOP/s, as above: 128x128 42.6 -> 45.6, 128x64 40.3 -> 43.0. It gains nothing with a
// K of 16 (n = 1024: 72.9 -> 75.0 us).
bool paired(const GemmContext& c, const Row& r, std::uint32_t stages) {
  return !c.cpu() && r.tile_k == 8 && stages == 2;
}

// For int8 short code: a product of four bytes is some thirty operations there. 64x64x8 has 1024 of them (512 in the
// loop, 512 for the rest of K), its serial row 256, in one place. Processor seconds until a result is there, lavapipe
// 26.1.6, its optimizer on, 2026-11-27: i8 nhwc 1x16x9x9 k=16 r=3x3 2.8 -> 0.8, with c=3 3.6 -> 1.1, i8 256x256x256
// 2.9 -> 1.2. It runs as fast: 0.92 to 1.06 of the time on one thread, of two stored and three gathered products.
bool for_cpu(const GemmContext& c, const Row& r) {
  return r.cpu_integers == c.integer() && r.rows * r.columns == 64 && r.tile_m * r.tile_n <= 128 * 64;
}

// An operand that is gathered for a tile so narrow takes longer than its accesses say: narrow_gather_permille.
constexpr std::uint32_t kNarrowGather = 16;

// How the kernel loads an operand; see matmul_simt.comp.
struct Side {
  std::uint32_t type, width, tile, group, span, span_k;
  bool along_k;
  const GemmOperand* operand;
  bool gathered;
  StagedOperand staged;  // in words, of four elements of int8 each; its lines are those of one k
  LoadedRuns items;      // an item is what an invocation stages together

  std::uint32_t runs() const { return span_k * span / width; }  // of an item
};

const Side* gathered_of(const Side& a, const Side& b) { return a.gathered ? &a : b.gathered ? &b : nullptr; }

std::uint32_t fetchers_of(const Row& r) { return r.fetchers != 0 ? r.fetchers : r.workgroup(); }

// How many consecutive invocations load consecutive rows of one k, of an operand that is gathered along its rows. So
// many that an invocation has one k a step, because the kernel computes where that k lies; but no fewer than fill a
// transaction.
std::uint32_t rows_side_by_side(const Side& s, std::uint32_t tile_k, std::uint32_t fetchers) {
  const std::uint32_t depth = tile_k / s.span_k, one_k = fetchers / depth;
  return one_k >= 16 && fetchers % depth == 0 && s.tile % one_k == 0 ? one_k : s.tile;
}

Side side_of(const GemmContext& c, const Row& r, const GemmConfig& d, bool b) {
  Side s{};
  s.type = b ? c.b_type : c.a_type;
  s.width = b ? d.width_b : d.width_a;
  s.tile = b ? r.tile_n : r.tile_m;
  s.along_k = c.along_k(b);
  s.operand = &c.operand(b);
  s.gathered = c.gathered_side(b) != nullptr;
  const std::uint32_t packed = c.integer() ? 4 : 1;
  s.span_k = packed > 1 ? packed : s.along_k ? s.width : 1;
  s.span = s.along_k ? 1 : s.width;
  // A run along K is stored to different lines of workgroup memory. With four words of padding between them, lanes that
  // share 32 bytes of an operand's row and lanes in adjacent rows use different banks.
  s.staged = {.rows = s.tile, .k = r.tile_k, .padding_bytes = s.along_k && r.interleaved ? 16u : 0u};
  const std::uint32_t bytes = std::max(1u, s.span_k * type_bytes(s.type) / (s.type == SECTILE_TYPE_Q4 ? 2 : 1));
  s.group = s.along_k ? std::clamp(32 / bytes, 1u, d.tile_k / s.span_k) : 1;
  if (s.gathered && !s.along_k) s.group = rows_side_by_side(s, d.tile_k, fetchers_of(r));
  // A run is held until it is staged, and the offset of its next one. A gathered run is a register, and its place is
  // two.
  std::uint32_t held = std::max<std::uint32_t>(1, s.span_k * s.span * type_bytes(s.type) / 4);
  if (s.gathered) held = std::max(held, s.span_k / s.width) + 1;
  s.items = {.runs = d.tile_k / s.span_k * (s.tile / s.span), .invocations = fetchers_of(r), .registers = held + 1};
  return s;
}

// A loop without a prefetch has a few loads in flight at a time.
Staging staging_of(const Row& r, const Side& a, const Side& b) {
  constexpr std::uint32_t kLoadsAtOnce = 4;
  return {.registers = {.accumulators = r.rows * r.columns,
                        .fragments = r.rows + r.columns,
                        .in_flight = r.prefetch ? a.items.held() + b.items.held() : kLoadsAtOnce},
          .a = a.staged,
          .b = b.staged};
}

// One buffer for the staged tiles where two would leave room for fewer workgroups: NVIDIA's driver for Vulkan gives
// those of a multiprocessor 48 KiB together. A second barrier a step costs less. The ten rows without `stages` of their
// own take 0.90 of their time so: geometric mean of 168 pairs, 16 products, stored and gathered; 0.62 at best, 1.31 at
// worst. 128x64x8 and 64x128x8 gain nothing (1.00 of 34 pairs), since their loops hold two steps. H200, driver
// 580.159.04, 2026-11-25, `sectile bench ROW... --all-candidates` with each row twice (docs/lab/2026-11.md).
std::uint32_t stages_of(const GemmContext& c, const Row& r, Staging staging) {
  if (r.stages != 0) return r.stages;
  if (!r.prefetch) return 1;
  if (c.cpu()) return 2;
  staging.stages = 1;
  const std::uint64_t with_one = gemm_occupancy(c, staging, r.workgroup());
  staging.stages = 2;
  return gemm_occupancy(c, staging, r.workgroup()) < with_one ? 1 : 2;
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row r = row_of(c, row);
  GemmConfig d;
  d.stem = c.gathered != nullptr ? c.gathered->simt : "matmul_simt";
  d.base = !c.integer() ? "f32" : c.profile.integer_dot_product.value_or(false) ? "i8.dot" : "i8";
  d.tile_m = r.tile_m;
  d.tile_n = r.tile_n;
  d.tile_k = r.tile_k * (c.integer() ? 4 : 1);
  d.workgroup = r.workgroup();
  const std::uint32_t most = !r.wide ? 1 : c.integer() ? 4 : 8;
  d.width_a = std::min(c.width_a, most);
  d.width_b = std::min(c.width_b, c.b_type == SECTILE_TYPE_Q4 ? 8 : most);  // a byte holds two elements
  d.run_d = r.strided ? r.vector : 4;
  d.width_d = d.access_of_d(c.width_d);
  const Side a = side_of(c, r, d, false), b = side_of(c, r, d, true);
  d.staging = staging_of(r, a, b);
  const std::uint32_t stages = d.staging.stages = stages_of(c, r, d.staging);
  for (const auto& [id, value] : {std::pair<std::uint32_t, std::uint32_t>{MATMUL_SIMT_SPEC_ROWS, r.rows},
                                  {MATMUL_SIMT_SPEC_COLUMNS, r.columns},
                                  {MATMUL_SIMT_SPEC_LANES_M, r.lanes_m},
                                  {MATMUL_SIMT_SPEC_LANES_N, r.lanes_n},
                                  {MATMUL_SIMT_SPEC_VECTOR, r.vector},
                                  {MATMUL_SIMT_SPEC_STRIDED, r.strided ? 1u : 0u},
                                  {MATMUL_SIMT_SPEC_STAGES, stages},
                                  {MATMUL_SIMT_SPEC_PREFETCH, r.prefetch ? 1u : 0u},
                                  {MATMUL_SIMT_SPEC_FETCHERS, fetchers_of(r)},
                                  {MATMUL_SIMT_SPEC_INTERLEAVED, r.interleaved ? 1u : 0u},
                                  {MATMUL_SIMT_SPEC_PAD_A, a.staged.padding_bytes / 4},
                                  {MATMUL_SIMT_SPEC_PAD_B, b.staged.padding_bytes / 4},
                                  {MATMUL_SIMT_SPEC_GROUP_A, a.group},
                                  {MATMUL_SIMT_SPEC_GROUP_B, b.group},
                                  {MATMUL_SIMT_SPEC_CHECKED, r.checked ? 1u : 0u},
                                  {MATMUL_SIMT_SPEC_PAIRED, paired(c, r, stages) ? 1u : 0u}})
    d.add(id, value);
  d.table = c.gathered != nullptr ? CostTable::conv2d_simt : CostTable::matmul_simt;
  d.row = row;
  d.narrow_gather = (a.gathered && a.tile <= kNarrowGather) || (b.gathered && b.tile <= kNarrowGather);
  d.by_schedulers = r.rows * r.columns >= 64;
  d.group_m = r.group_m != 0 ? r.group_m : group_of_tiles(c, d);
  d.can_split = r.group_m == 0;
  if (d.can_split) d.splits = splits_to_fill(c, d);
  d.can_tail = r.group_m == 0;
  if (c.few_pipelines) use_few_pipelines(d, r.generic);
  return d;
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  if (row_of(c, row).cpu_integers && !(c.cpu() && c.integer())) return refusal.no("a row for int8 on CPU devices only");
  const GemmConfig d = make(c, row);
  // RADV 26.1.6 spills 18 registers of 160 as counted here, and ptxas 13.0 does too: int8, an operand gathered along
  // its rows.
  constexpr std::uint32_t kMostGathering = 155;
  if (const auto registers = d.staging.registers.total();
      c.gathered != nullptr && registers > kMostGathering && !c.cpu())
    return refusal.no("gathers so much at a time that an invocation needs {} registers; compilers spill more than {}",
                      registers, kMostGathering);
  // ptxas 13.0 spills on sm_86 where a large tile's int8 operands lie across K and come by 1 or 2 bytes: each load
  // waits in a register of its own.
  if (c.integer() && c.gathered == nullptr && !c.cpu() && d.tile_m * d.tile_n >= 128 * 128 && c.gemm.transpose_a &&
      d.width_a < 4 && d.width_b < 4)
    return refusal.no("loads both operands by {} and {} bytes: compilers spill registers", d.width_a, d.width_b);
  return gemm_fits(c, d, refusal);
}

// The place of a lane's item: along the tile, along K.
std::pair<std::uint32_t, std::uint32_t> item_of(const Side& s, const Row& r, std::uint32_t lane, std::uint32_t load) {
  const std::uint32_t fetchers = s.items.invocations, last = s.items.runs - 1;
  const std::uint32_t q = std::min(r.interleaved ? lane + load * fetchers : lane * s.items.each() + load, last);
  if (s.gathered && !s.along_k && fetchers % s.group == 0) {
    const std::uint32_t across = s.tile / s.group;
    return {lane % s.group + load % across * s.group,
            (lane / s.group + load / across * (fetchers / s.group)) * s.span_k};
  }
  if (!s.along_k) return {q % (s.tile / s.span) * s.span, q / (s.tile / s.span) * s.span_k};
  const std::uint32_t outer = q / s.group;
  return {outer % s.tile, (outer / s.tile * s.group + q % s.group) * s.span_k};
}

// One operand's loads and its stores to workgroup memory. The first subgroup represents all.
void count_fetch(Walk& walk, const GemmContext& c, const Side& s, const Row& r) {
  const std::uint32_t fetchers = s.items.invocations;
  const std::uint32_t packed = c.integer() ? 4 : 1, pitch = s.staged.pitch(), bytes = type_bytes(s.type);
  const std::uint64_t subgroups = ceil_div(fetchers, walk.lanes());
  const Sample samples{s.items.each(), c.explain};
  const std::uint32_t words = packed > 1 ? s.span : s.width;
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    Request from, to;
    from.bytes = std::max(1u, s.width * bytes / (s.type == SECTILE_TYPE_Q4 ? 2 : 1));
    const bool whole = !s.along_k && s.width >= 4;
    to.bytes = whole ? 16 : 4;
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
      const auto [along, k] = item_of(s, r, l, samples.at(i));
      const bool active = l < fetchers;
      // In place of what is not read the kernel loads the first element.
      const std::int64_t element = std::max<std::int64_t>(s.operand->element(along, k), 0);
      from.address[l] = active ? element * bytes / (s.type == SECTILE_TYPE_Q4 ? 2 : 1) : Request::kInactive;
      to.address[l] = active ? std::int64_t{k / packed} * pitch + 4 * along : Request::kInactive;
    }
    const std::uint64_t times = samples.times(i) * subgroups;
    walk.load(from, times * s.runs());
    walk.shared(to, times * (whole ? words / 4 : words));
  }
}

void count_fragments(Walk& walk, const Row& r, std::uint32_t depth, std::uint64_t subgroups) {
  const auto side = [&](std::uint32_t share, std::uint32_t lanes, bool m) {
    Request request;
    request.bytes = 4 * r.vector;
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
      const std::uint32_t lane = l % (r.lanes_m * r.lanes_n), at = m ? lane / r.lanes_n : lane % r.lanes_n;
      const std::uint32_t tile = l / (r.lanes_m * r.lanes_n) * lanes * share;  // a wider subgroup covers two tiles
      request.address[l] = 4 * std::int64_t{tile + at * (r.strided ? r.vector : share)};
    }
    walk.shared(request, subgroups * depth * (share / r.vector));
  };
  side(r.rows, r.lanes_m, true);
  side(r.columns, r.lanes_n, false);
}

Eligibility eligibility(const GemmContext& c, std::uint32_t row) {
  const Row r = row_of(c, row);
  if (row >= std::size(kTable)) return Eligibility::measured_only;
  if (c.cpu()) return last_resort_if(!for_cpu(c, r));
  if (c.few_pipelines) return last_resort_if(r.generic == kNo);
  return Eligibility::candidate;
}

GemmEstimate estimate(const GemmContext& c, std::uint32_t row, const GemmConfig& d) {
  const Row r = row_of(c, row);
  Walk walk(c.profile);
  const Side a = side_of(c, r, d, false), b = side_of(c, r, d, true);
  count_fetch(walk, c, a, r);
  count_fetch(walk, c, b, r);
  count_fragments(walk, r, r.tile_k, ceil_div(d.workgroup, walk.lanes()));
  GemmEstimate e;
  e.interior = walk.count();
  if (const Side* const s = gathered_of(a, b)) e.gathered_runs = std::uint64_t{s->items.each()} * s->runs();
  return e;
}

std::string print_row(const SimtRow& r) {
  return fmt::format("{}x{}x{} {}x{}{}", r.tile_m, r.tile_n, r.tile_k, r.rows, r.columns, r.note);
}
std::string print(const GemmContext& c, std::uint32_t row) { return print_row(row_of(c, row)); }

constexpr GemmStrategy kStrategy = {
    "matmul_simt", CostTable::matmul_simt, std::size(kTable), applicable, make, estimate, eligibility, print, {},
    extra};

}  // namespace
}  // namespace matmul_simt

const GemmStrategy kGemmSimt = matmul_simt::kStrategy;
std::vector<std::string> matmul_simt_rows() { return names_of(matmul_simt::kTable, matmul_simt::print_row); }

}  // namespace sectile::detail
