// matmul_mma: tiles staged in workgroup memory several steps ahead, and multiplied by the matrix units that a warp of
// CUDA drives (mma.sync).
#include "context.hpp"
#include "cost.hpp"
#include "split.hpp"

#include "gemm/matmul_mma.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace matmul_mma {
namespace {

using enum ShapeGeneric;

// K of a step is in elements of 2 bytes: int8 has twice as many.
struct Row {
  std::uint32_t tile_m, tile_n, tile_k;  // a workgroup's tile; K of a step
  std::uint32_t warp_m, warp_n;          // a warp's tile
  std::uint32_t stages;                  // buffers for the staged tiles, at most; fewer where they do not fit
  std::uint32_t slice_k = 1;             // slices of a step of K, each multiplied by its own warps
  ShapeGeneric generic = kNo;

  constexpr std::uint32_t warps() const { return tile_m / warp_m * (tile_n / warp_n) * slice_k; }
};

// clang-format off
constexpr Row kTable[] = {
    {.tile_m = 256, .tile_n = 128, .tile_k = 64, .warp_m = 64, .warp_n = 64, .stages = 4},
    {.tile_m = 128, .tile_n = 256, .tile_k = 64, .warp_m = 64, .warp_n = 64, .stages = 4},
    {.tile_m = 256, .tile_n = 128, .tile_k = 32, .warp_m = 64, .warp_n = 64, .stages = 4},
    {.tile_m = 128, .tile_n = 256, .tile_k = 32, .warp_m = 64, .warp_n = 64, .stages = 4},
    {.tile_m = 128, .tile_n = 128, .tile_k = 64, .warp_m = 64, .warp_n = 32, .stages = 3, .generic = kWhole},
    {.tile_m = 128, .tile_n = 128, .tile_k = 32, .warp_m = 64, .warp_n = 64, .stages = 4},
    {.tile_m = 128, .tile_n = 128, .tile_k = 32, .warp_m = 64, .warp_n = 32, .stages = 4},
    {.tile_m = 128, .tile_n = 64, .tile_k = 64, .warp_m = 64, .warp_n = 32, .stages = 4},
    {.tile_m = 64, .tile_n = 128, .tile_k = 64, .warp_m = 64, .warp_n = 32, .stages = 4, .generic = kWhole},
    {.tile_m = 128, .tile_n = 64, .tile_k = 32, .warp_m = 32, .warp_n = 64, .stages = 4},
    {.tile_m = 64, .tile_n = 128, .tile_k = 32, .warp_m = 64, .warp_n = 32, .stages = 4},
    {.tile_m = 64, .tile_n = 64, .tile_k = 64, .warp_m = 32, .warp_n = 32, .stages = 4, .generic = kSplit},
    {.tile_m = 64, .tile_n = 64, .tile_k = 32, .warp_m = 32, .warp_n = 32, .stages = 4},
    {.tile_m = 64, .tile_n = 64, .tile_k = 128, .warp_m = 32, .warp_n = 32, .stages = 3, .slice_k = 2},
    {.tile_m = 64, .tile_n = 64, .tile_k = 256, .warp_m = 64, .warp_n = 32, .stages = 3, .slice_k = 4},
    {.tile_m = 32, .tile_n = 128, .tile_k = 64, .warp_m = 32, .warp_n = 32, .stages = 4},
    {.tile_m = 128, .tile_n = 32, .tile_k = 64, .warp_m = 32, .warp_n = 32, .stages = 4},
    {.tile_m = 32, .tile_n = 64, .tile_k = 64, .warp_m = 16, .warp_n = 32, .stages = 4, .generic = kSplit},
    {.tile_m = 64, .tile_n = 32, .tile_k = 64, .warp_m = 16, .warp_n = 32, .stages = 4},
    {.tile_m = 32, .tile_n = 64, .tile_k = 32, .warp_m = 16, .warp_n = 32, .stages = 4},
    {.tile_m = 64, .tile_n = 32, .tile_k = 32, .warp_m = 16, .warp_n = 32, .stages = 4},
    {.tile_m = 32, .tile_n = 32, .tile_k = 32, .warp_m = 16, .warp_n = 32, .stages = 4},
    {.tile_m = 32, .tile_n = 32, .tile_k = 128, .warp_m = 16, .warp_n = 32, .stages = 4, .slice_k = 2},
    {.tile_m = 32, .tile_n = 64, .tile_k = 256, .warp_m = 32, .warp_n = 32, .stages = 3, .slice_k = 4},
    {.tile_m = 16, .tile_n = 128, .tile_k = 64, .warp_m = 16, .warp_n = 32, .stages = 5},
    {.tile_m = 16, .tile_n = 64, .tile_k = 128, .warp_m = 16, .warp_n = 32, .stages = 4, .slice_k = 2,
     .generic = kSplit},
    {.tile_m = 16, .tile_n = 64, .tile_k = 256, .warp_m = 16, .warp_n = 32, .stages = 4, .slice_k = 4},
    {.tile_m = 16, .tile_n = 32, .tile_k = 256, .warp_m = 16, .warp_n = 32, .stages = 4, .slice_k = 4},
};
// clang-format on

consteval bool rows_are_sound() {
  return std::ranges::all_of(kTable, [](const Row& r) {
    const std::uint32_t products = r.tile_k / 16 / r.slice_k;  // of a warp in a step: two sets of fragments, in turns
    return r.tile_m % r.warp_m == 0 && r.tile_n % r.warp_n == 0 && r.warp_m % 16 == 0 && r.warp_n % 32 == 0 &&
           products >= 2 && products % 2 == 0 && r.stages >= 2 && r.stages <= 6;
  });
}
static_assert(rows_are_sound());

constexpr std::uint32_t kChunk = 16;  // bytes of a row of a matrix load

// One operand on its way; see mma_fetch.cuh.
struct Side {
  std::uint32_t type, width, element, tile;
  std::uint32_t item, items;  // bytes in a line that an invocation stages at a time, and how many of a tile
  bool along_k, turned, copied;
  bool packed;          // 4-bit weights that are copied as they are; shaders/gemm/mma_weights.cuh
  std::uint32_t words;  // of an item that begins at no multiple of 4 bytes; 0: others do not
  const GemmOperand* operand;
  StagedOperand staged;

  std::uint32_t lines() const { return staged.lines(); }
  std::uint32_t line_bytes() const { return staged.line_bytes(); }
  bool by_registers() const { return !copied && !turned; }
};

bool has_copies(const GemmContext& c) { return c.profile.async_copy.value_or(false); }
// sm_75 has matrix loads and shapes of half the K.
bool has_shapes_75(const GemmContext& c) { return c.profile.cuda_architecture.value_or(0) < 80; }
bool sums_in_f16(const GemmContext& c) { return !c.integer() && c.gemm.acc == DType::f16; }

std::uint32_t tile_k_of(const GemmContext& c, const Row& r) { return r.tile_k * (c.integer() ? 2 : 1); }

// Whether 4-bit weights are copied as they are. The kernel needs an even number of blocks of 32 in a step.
bool packed(const GemmContext& c, const Row& r, bool b) {
  return b && c.b_type == SECTILE_TYPE_Q4 && has_copies(c) && c.gemm.b_align % kChunk == 0 && r.tile_k % 64 == 0;
}

Side side_of(const GemmContext& c, const Row& r, bool b) {
  Side s{};
  s.type = b ? c.b_type : c.a_type;
  s.packed = packed(c, r, b);
  s.width = s.packed ? 8 : b ? c.width_b : c.width_a;
  s.element = type_bytes(c.type);
  s.tile = b ? r.tile_n : r.tile_m;
  s.along_k = c.along_k(b);
  s.turned = c.integer() && !s.along_k;
  s.operand = &c.operand(b);
  // Along K an access may have 16 one-byte elements; a block of 4 k that is turned has 4 rows at most.
  if (s.turned)
    s.width = std::min(s.width, 4u);
  else if (c.integer() && s.width == 8 && !c.few_pipelines)
    s.width = s.operand->width(16);
  if (access_bytes(s.type, s.width) < 4) {
    s.width = s.turned ? 4 : kChunk / s.element;
    s.words = access_bytes(s.type, s.width) / 4 + 1;
  }
  s.item = s.turned ? 4 : s.width * s.element;
  s.staged = {.rows = s.tile, .k = tile_k_of(c, r), .along_k = s.along_k || s.turned, .element_bytes = s.element};
  s.items = s.staged.bytes() / s.item / (s.turned ? s.width : 1);
  if (s.packed) {
    s.item = kChunk;
    s.staged = {.rows = s.tile, .k = r.tile_k / 2, .along_k = true, .element_bytes = 1};
    s.items = s.staged.bytes() / s.item;
    s.staged.padding_bytes = (r.tile_k / 64 + 1) * 4;  // a line's scales
  }
  const bool as_stored = s.packed || (s.type == c.type && (b || !c.gemm.a_scale));
  s.copied = has_copies(c) && as_stored && !s.turned && s.words == 0;
  return s;
}

// What an invocation has of a step in registers. Where elements are converted, its scales are loaded at the same time.
LoadedRuns runs_of(const GemmContext& c, const Side& s, bool b, std::uint32_t workgroup) {
  if (s.copied) return {.runs = s.items, .invocations = workgroup};
  std::uint32_t words = s.words != 0 ? s.words : access_bytes(s.type, s.width) / 4;
  if (s.turned) words *= 4;
  if (s.type == SECTILE_TYPE_Q4) ++words;
  if (s.type == SECTILE_TYPE_Q8) words += s.along_k ? 1 : s.width;
  if (!b && c.gemm.a_scale) words += s.along_k ? s.width : 1;
  // ptxas 13.0 keeps about as many registers again for their addresses and what they are converted to.
  std::uint32_t registers = 2 * words;
  // Those of q8 that lies along K are all converted at the same time.
  if (s.words != 0 && s.type == SECTILE_TYPE_Q8 && s.along_k) registers = 18;
  return {.runs = s.items, .invocations = workgroup, .registers = registers};
}

Staging staging_of(const GemmContext& c, const Row& r, const Side& a, const Side& b) {
  const std::uint32_t workgroup = r.warps() * 32;
  const std::uint32_t sum_bytes = sums_in_f16(c) ? 2 : 4;
  const std::uint32_t packed_fragments = b.packed ? 4 * r.warp_n / 8 : 0;  // two scales, and two converted words
  Staging staging{
      .registers = {.accumulators = registers_of_share(r.warp_m * r.warp_n, sum_bytes, 32),
                    // of 32 bytes of K, this product's and the next one's
                    .fragments = 2 * (r.warp_m + r.warp_n) * 32 / 4 / 32 + packed_fragments,
                    .in_flight = runs_of(c, a, false, workgroup).held() + runs_of(c, b, true, workgroup).held(),
                    .others = a.copied && b.copied ? 40u : 72u},
      .a = a.staged,
      .b = b.staged};
  staging.result_bytes = (r.slice_k - 1) * r.tile_m * r.tile_n * sum_bytes;  // the slices' sums
  staging.result_in_place = true;
  // What goes through registers is one step ahead in them.
  staging.stages = a.copied || b.copied ? r.stages : 2;
  while (staging.stages > 2 && staging.memory_bytes() > c.limits.dynamic_workgroup_memory) --staging.stages;
  return staging;
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row& r = kTable[row];
  const Side a = side_of(c, r, false), b = side_of(c, r, true);
  GemmConfig d;
  d.stem = "matmul_mma";
  d.base = c.integer() ? "i8" : sums_in_f16(c) ? "f16.f16" : "f16";
  d.narrow = true;
  d.tile_m = r.tile_m;
  d.tile_n = r.tile_n;
  d.tile_k = tile_k_of(c, r);
  d.workgroup = r.warps() * 32;
  d.width_a = a.width;
  d.width_b = b.width;
  d.run_d = 8;
  d.width_d = d.access_of_d(c.width_d);
  d.staging = staging_of(c, r, a, b);
  d.pipelined = true;
  if (a.by_registers() || b.by_registers())
    d.request = &GemmGpuCost::mma_request;
  else if (std::min(a.item, b.item) <= 4)
    d.request = &GemmGpuCost::mma_copy;
  d.steps_ahead = a.copied && b.copied ? d.staging.stages - 1 : 1;
  d.unit = Unit::mma;
  d.table = CostTable::matmul_mma;
  d.row = row;
  for (const auto& [id, value] : {std::pair<std::uint32_t, std::uint32_t>{MATMUL_MMA_SPEC_WARP_M, r.warp_m},
                                  {MATMUL_MMA_SPEC_WARP_N, r.warp_n},
                                  {MATMUL_MMA_SPEC_STAGES, d.staging.stages},
                                  {MATMUL_MMA_SPEC_SLICE_K, r.slice_k},
                                  {MATMUL_MMA_SPEC_COPY_A, a.copied ? 1u : 0u},
                                  {MATMUL_MMA_SPEC_COPY_B, b.copied ? 1u : 0u},
                                  {MATMUL_MMA_SPEC_SHAPES_75, has_shapes_75(c) ? 1u : 0u},
                                  {MATMUL_MMA_SPEC_SHIFTED_A, a.words != 0 ? 1u : 0u},
                                  {MATMUL_MMA_SPEC_SHIFTED_B, b.words != 0 ? 1u : 0u}})
    d.add(id, value);
  if (b.packed) d.add(MATMUL_MMA_SPEC_PACKED_B, packing_of(c));
  d.group_m = group_of_tiles(c, d);
  d.can_split = true;
  d.splits = splits_to_fill(c, d, r.slice_k > 1 ? 1 : 2);
  d.can_tail = true;
  if (c.few_pipelines) use_few_pipelines(d, r.generic);
  return d;
}

bool unit_applicable(const GemmContext& c, Refusal& refusal) {
  const DeviceProfile& p = c.profile;
  if (p.api != Api::cuda) return refusal.no("the kernel exists for CUDA only");
  if (std::ranges::find(p.matrix_units, "mma.sync") == p.matrix_units.end())
    return refusal.no("the device lists no matrix unit mma.sync");
  if (c.gathered != nullptr) return refusal.no("the kernel reads stored matrices only");
  if (c.type != SECTILE_TYPE_F16 && c.type != SECTILE_TYPE_BF16 && c.type != SECTILE_TYPE_I8)
    return refusal.no("the kernel multiplies f16, bf16 and i8 only");
  if (c.type == SECTILE_TYPE_BF16 && has_shapes_75(c)) return refusal.no("mma.sync multiplies bf16 from sm_80 on");
  return true;
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  if (!unit_applicable(c, refusal)) return false;
  const GemmConfig d = make(c, row);
  for (const bool b : {false, true}) {
    constexpr std::uint32_t kMostRuns = 32;  // the kernel has a bit for each
    const Side s = side_of(c, kTable[row], b);
    const std::uint32_t each = s.line_bytes() / s.item, runs = runs_of(c, s, b, d.workgroup).each();
    if (!s.turned && (each > d.workgroup || (s.along_k && runs > kMostRuns)))
      return refusal.no("an invocation stages {} runs of {} bytes of {}, at most {}", runs, s.item, b ? "b" : "a",
                        kMostRuns);
  }
  const std::uint32_t most = std::min(255u, c.profile.registers_per_multiprocessor.value_or(65536) / d.workgroup);
  if (const std::uint32_t registers = d.staging.registers.total(); registers > most)
    return refusal.no("needs {} registers an invocation, the device has {}", registers, most);
  return gemm_fits(c, d, refusal);
}

std::uint32_t swizzle(const Side& s, std::uint32_t line) {
  const std::uint32_t chunks = s.line_bytes() / kChunk;
  const std::uint32_t turn = chunks % 8 == 0 ? 8 : chunks % 4 == 0 ? 4 : chunks % 2 == 0 ? 2 : 1;
  const std::uint32_t group = line / (8 / turn);
  return (s.turned ? group ^ (line / 8 & 3) : group) & (turn - 1);
}
std::int64_t place_in_tile(const Side& s, std::uint32_t line, std::uint32_t byte) {
  return std::int64_t{line} * s.line_bytes() + ((byte / kChunk ^ swizzle(s, line)) * kChunk + byte % kChunk);
}

// The loads of one operand's tile and their way into workgroup memory, in items as the kernel's item_of() places them.
// Without conflicts, but for what is turned: the lines are swizzled. So a choice does not count these, which would take
// most of its time; an explanation does, and finds none (tests/emulated/mma_accesses_test.cpp).
void count_operand(Walk& walk, const GemmContext& c, const Side& s) {
  const std::uint32_t stored = s.type == SECTILE_TYPE_Q4 ? 1 : type_bytes(s.type) * 2;  // half bytes
  const std::uint32_t pieces = s.turned ? 4 : 1, words = std::max(s.words, 1u);
  const std::int64_t apart = s.operand->element(0, 1);  // bytes from a piece to the next one
  const auto requests = static_cast<std::uint32_t>(ceil_div(s.items, walk.lanes()));
  const Sample samples{requests, c.explain};
  for (std::uint32_t i = 0; i < samples.size(); ++i) {
    Request from, to;
    from.bytes = s.words != 0 ? 4 : s.packed ? s.item : access_bytes(s.type, s.width);
    to.bytes = s.item;
    for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
      const std::uint32_t q = samples.at(i) * walk.lanes() + l;
      from.address[l] = to.address[l] = Request::kInactive;
      if (q >= s.items) continue;
      std::uint32_t line = 0, byte = 0;
      if (s.turned) {
        const std::uint32_t runs = s.lines() / s.width;
        line = q / 4 % runs * s.width;
        byte = q / (4 * runs) * 16 + q % 4 * 4;
      } else {
        const std::uint32_t each = s.line_bytes() / s.item;
        line = q / each;
        byte = q % each * s.item;
      }
      const std::uint32_t across = s.staged.along_k ? line : byte / s.element, k = s.packed           ? byte * 2
                                                                                   : s.staged.along_k ? byte / s.element
                                                                                                      : line;
      from.address[l] = s.operand->element(across, k) * stored / 2;
      to.address[l] = place_in_tile(s, line, byte);
    }
    for (std::uint32_t piece = 0; piece < pieces; ++piece)
      for (std::uint32_t word = 0; word < words; ++word) {
        Request part = from;
        for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
          if (from.address[l] == Request::kInactive) continue;
          part.address[l] += piece * apart;
          if (s.words != 0) part.address[l] = part.address[l] / 4 * 4 + 4 * word;
        }
        walk.load(part, samples.times(i));
      }
    if (c.explain || s.turned) walk.shared(to, samples.times(i) * (s.turned ? s.width : 1));
  }
}

// The matrix loads of all warps: one has 8 lines' chunks of a column four times. Of packed weights 4 lanes load the
// same 8 bytes.
void count_fragments(Walk& walk, const Row& r, const Side& s, std::uint32_t warp_tile) {
  Request request;
  request.bytes = s.packed ? 8 : kChunk;
  for (std::uint32_t l = 0; l < walk.lanes(); ++l) {
    const std::uint32_t line = s.packed ? l / 4 : l % 8 + l / 16 * 8, chunk = s.packed ? 0 : l / 8 % 2;
    request.address[l] = place_in_tile(s, line, chunk * kChunk);
  }
  const std::uint32_t loads = warp_tile / (s.packed ? 8 : 16) * (r.tile_k / 16 / r.slice_k);
  walk.shared(request, std::uint64_t{loads} * r.warps());
}

Eligibility eligibility(const GemmContext& c, std::uint32_t row) {
  return last_resort_if(c.few_pipelines && kTable[row].generic == kNo);
}

GemmEstimate estimate(const GemmContext& c, std::uint32_t row, const GemmConfig&) {
  const Row& r = kTable[row];
  Walk walk(c.profile);
  const Side a = side_of(c, r, false), b = side_of(c, r, true);
  count_operand(walk, c, a);
  count_operand(walk, c, b);
  for (const auto& [side, warp_tile] : {std::pair{&a, r.warp_m}, std::pair{&b, r.warp_n}})
    if (c.explain || side->turned) count_fragments(walk, r, *side, warp_tile);
  GemmEstimate e;
  e.interior = walk.count();
  return e;
}

std::string print_row(const Row& r) {
  const std::string slice_k = r.slice_k > 1 ? fmt::format(" slice-k={}", r.slice_k) : "";
  return fmt::format("{}x{}x{} {}x{}{}", r.tile_m, r.tile_n, r.tile_k, r.warp_m, r.warp_n, slice_k);
}
std::string print(const GemmContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr GemmStrategy kStrategy = {
    "matmul_mma", CostTable::matmul_mma, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace matmul_mma

const GemmStrategy kGemmMma = matmul_mma::kStrategy;
std::vector<std::string> matmul_mma_rows() { return names_of(matmul_mma::kTable, matmul_mma::print_row); }

}  // namespace sectile::detail
