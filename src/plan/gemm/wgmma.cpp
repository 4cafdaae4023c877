// matmul_wgmma: a warpgroup that copies tiles to workgroup memory, and warpgroups that multiply them (CUDA, sm_90a).
#include "base/arithmetic.hpp"
#include "context.hpp"
#include "cost.hpp"
#include "split.hpp"

#include "gemm/matmul_wgmma.abi.h"

#include <algorithm>

namespace sectile::detail {

namespace matmul_wgmma {
namespace {

struct Row {
  std::uint32_t tile_m, tile_n;  // a workgroup's tile
  std::uint32_t consumers = 2;   // warpgroups that multiply
  bool pingpong = false;         // each has tiles of its own
  std::uint32_t cluster_m = 1, cluster_n = 1, cluster_k = 1;
  std::uint32_t resident = 1;  // workgroups of a multiprocessor
  std::uint32_t slices = 1;    // warpgroups that have the same rows, and take steps of K in turns
  bool swapped = false;        // the products are B's with A: their rows are columns of the result
  bool weights = false;        // for 4-bit weights that are converted in registers only
  bool fit = false;            // tile_m is the most rows of a tile; see row_of()
  ShapeGeneric generic = ShapeGeneric::kNo;

  constexpr std::uint32_t sub_m() const { return (swapped ? tile_n : tile_m) / (pingpong ? 1 : consumers / slices); }
  constexpr std::uint32_t workgroup() const { return MATMUL_WGMMA_WARPGROUP * (1 + consumers); }
  constexpr std::uint32_t cluster() const { return cluster_m * cluster_n * cluster_k; }
};

// clang-format off
constexpr Row kTable[] = {
    {.tile_m = 128, .tile_n = 256, .cluster_m = 2},
    {.tile_m = 128, .tile_n = 256},
    {.tile_m = 256, .tile_n = 128, .cluster_n = 2},
    {.tile_m = 256, .tile_n = 128},
    {.tile_m = 192, .tile_n = 128, .consumers = 3},
    {.tile_m = 192, .tile_n = 192, .consumers = 3},
    {.tile_m = 64, .tile_n = 256, .pingpong = true},
    {.tile_m = 128, .tile_n = 128, .pingpong = true, .cluster_m = 2},
    {.tile_m = 128, .tile_n = 128, .pingpong = true},
    {.tile_m = 128, .tile_n = 192},
    {.tile_m = 128, .tile_n = 160},
    {.tile_m = 128, .tile_n = 128},
    {.tile_m = 128, .tile_n = 128, .cluster_m = 2},
    {.tile_m = 128, .tile_n = 96},
    {.tile_m = 128, .tile_n = 64},
    {.tile_m = 128, .tile_n = 32, .resident = 2},
    {.tile_m = 64, .tile_n = 128, .consumers = 1},
    {.tile_m = 64, .tile_n = 128, .pingpong = true},
    {.tile_m = 64, .tile_n = 128, .consumers = 1, .resident = 2},
    {.tile_m = 64, .tile_n = 64, .consumers = 1, .resident = 3},
    {.tile_m = 64, .tile_n = 32, .consumers = 1, .resident = 3},
    {.tile_m = 128, .tile_n = 16, .resident = 2},
    {.tile_m = 128, .tile_n = 128, .cluster_k = 2},
    {.tile_m = 64, .tile_n = 128, .consumers = 1, .cluster_k = 2},
    {.tile_m = 64, .tile_n = 128, .consumers = 1, .cluster_k = 4},
    {.tile_m = 64, .tile_n = 64, .consumers = 1, .cluster_k = 2},
    {.tile_m = 64, .tile_n = 64, .consumers = 1, .cluster_k = 4},
    {.tile_m = 128, .tile_n = 32, .cluster_k = 4},
    {.tile_m = 224, .tile_n = 128, .swapped = true, .fit = true},
    {.tile_m = 192, .tile_n = 128, .swapped = true, .fit = true},
    {.tile_m = 160, .tile_n = 128, .swapped = true, .fit = true},
    {.tile_m = 96, .tile_n = 128, .swapped = true, .fit = true},
    {.tile_m = 96, .tile_n = 256, .swapped = true, .fit = true},
    {.tile_m = 32, .tile_n = 128, .swapped = true},
    {.tile_m = 32, .tile_n = 128, .cluster_k = 2, .swapped = true},
    {.tile_m = 32, .tile_n = 128, .cluster_k = 4, .swapped = true},
    {.tile_m = 32, .tile_n = 64, .consumers = 1, .cluster_k = 2, .swapped = true},
    {.tile_m = 16, .tile_n = 128, .swapped = true},
    {.tile_m = 16, .tile_n = 128, .cluster_k = 2, .swapped = true},
    {.tile_m = 16, .tile_n = 128, .cluster_k = 4, .swapped = true},
    {.tile_m = 16, .tile_n = 64, .consumers = 1, .resident = 2, .swapped = true},
    {.tile_m = 16, .tile_n = 64, .consumers = 1, .cluster_k = 2, .swapped = true},
    {.tile_m = 160, .tile_n = 128, .cluster_k = 2, .swapped = true, .fit = true},
    {.tile_m = 96, .tile_n = 128, .cluster_k = 2, .swapped = true, .fit = true},
    {.tile_m = 160, .tile_n = 64, .consumers = 1, .cluster_n = 4, .swapped = true, .fit = true},
    {.tile_m = 160, .tile_n = 128, .cluster_m = 2, .cluster_n = 2, .swapped = true, .fit = true},
    {.tile_m = 224, .tile_n = 128, .cluster_m = 2, .swapped = true, .fit = true},
    {.tile_m = 128, .tile_n = 128, .cluster_n = 2, .swapped = true, .fit = true},
    {.tile_m = 160, .tile_n = 256, .cluster_n = 2, .swapped = true, .fit = true},
    {.tile_m = 128, .tile_n = 128, .cluster_n = 2, .cluster_k = 2, .swapped = true, .fit = true},
    {.tile_m = 256, .tile_n = 128, .swapped = true, .weights = true},
    {.tile_m = 128, .tile_n = 128, .swapped = true, .weights = true},
    {.tile_m = 128, .tile_n = 128, .cluster_k = 2, .swapped = true, .weights = true},
    {.tile_m = 64, .tile_n = 128, .swapped = true, .weights = true},
    {.tile_m = 64, .tile_n = 128, .cluster_k = 2, .swapped = true, .weights = true},
    {.tile_m = 64, .tile_n = 64, .consumers = 1, .cluster_k = 2, .swapped = true, .weights = true},
    {.tile_m = 64, .tile_n = 64, .slices = 2, .swapped = true, .weights = true},
    {.tile_m = 64, .tile_n = 64, .cluster_k = 2, .slices = 2, .swapped = true, .weights = true},
    {.tile_m = 32, .tile_n = 64, .slices = 2, .swapped = true, .weights = true},
    {.tile_m = 32, .tile_n = 64, .cluster_k = 2, .slices = 2, .swapped = true, .weights = true},
    {.tile_m = 16, .tile_n = 64, .consumers = 3, .slices = 3, .swapped = true, .weights = true},
    {.tile_m = 16, .tile_n = 64, .cluster_k = 2, .slices = 2, .swapped = true, .weights = true},
};
// clang-format on
// Tiles that copies of an operand that is contiguous across K fill.
constexpr bool whole(std::uint32_t tile) { return tile == 16 || tile % 32 == 0; }
// A workgroup's share of a copy is whole groups of 8 rows.
static_assert(std::ranges::all_of(kTable, [](const Row& r) {
  return whole(r.tile_m) && whole(r.tile_n) && r.tile_m / r.cluster_n % 8 == 0 && r.tile_n / r.cluster_m % 8 == 0 &&
         (r.swapped || !r.fit);
}));

bool integer_across(const GemmContext& c, bool b) { return c.integer() && !c.along_k(b); }

constexpr std::uint64_t kStrideLimit = std::uint64_t{1} << 40;  // of a tensor map, in bytes

// Whether a tensor map can have the operand's batches. Elements have two bytes at most.
bool batches_fit(const Gemm& g, bool b) {
  const std::int64_t batch = b ? g.at.b_batch : g.at.a_batch;
  return g.batch <= 1 || static_cast<std::uint64_t>(batch) < kStrideLimit / 2;
}

// Whether the tensor memory accelerator cannot copy the operand as the products need it. Each of its copies reads from
// a multiple of 16 bytes on.
bool mapless(const GemmContext& c, bool b) {
  const Gemm& g = c.gemm;
  const std::uint32_t type = b ? c.b_type : c.a_type;
  if (type != c.type || (!b && g.a_scale) || integer_across(c, b)) return true;
  return !rows_at_16_bytes(g, b) || !batches_fit(g, b);
}

// Whether B's 4-bit weights are copied as they are, and converted in registers (shaders/gemm/wgmma_weights.cuh). Their
// rows are whole blocks of 16 bytes.
bool packed(const GemmContext& c) {
  return c.b_type == SECTILE_TYPE_Q4 && c.gemm.b_align % 16 == 0 && batches_fit(c.gemm, true) && !mapless(c, false);
}
bool staged(const GemmContext& c, bool b) { return mapless(c, b) && !(b && packed(c)); }

// The row for this problem. Where a tensor map copies A along K, a tile may have any multiple of 16 rows: as few as
// divide M into no more tiles.
Row row_of(const GemmContext& c, std::uint32_t row) {
  Row r = kTable[row];
  if (!r.fit || mapless(c, false) || !c.along_k(false)) return r;
  constexpr std::uint64_t kFewestRows = 32;
  const auto m = static_cast<std::uint64_t>(c.gemm.m);
  const std::uint64_t tiles = ceil_div(ceil_div(m, r.tile_m), r.cluster_m) * r.cluster_m;
  const std::uint64_t unit = std::max(16u, 8 * r.cluster_n);
  r.tile_m = static_cast<std::uint32_t>(std::max(kFewestRows, ceil_div(ceil_div(m, tiles), unit) * unit));
  return r;
}

std::uint32_t line_k_of(const GemmContext& c) { return MATMUL_WGMMA_LINE / type_bytes(c.type); }

// How invocations load an operand (shaders/gemm/wgmma_stage.cuh).
struct Loads {
  std::uint32_t run = 0;       // elements of an item
  std::uint32_t items = 0;     // of an invocation in a step; 0: a tensor map copies the operand
  std::uint32_t slot = 0;      // bytes that the workgroup keeps of it, for each step in flight
  std::uint32_t accesses = 0;  // of an invocation in a step
  bool direct = false;         // items go to their places by cp.async
  bool shifted = false;        // they begin at no multiple of 4 bytes
  bool converted = false;      // or turned
};
Loads loads_of(const GemmContext& c, const Row& r, bool b) {
  if (!staged(c, b)) return {};
  const std::uint32_t type = b ? c.b_type : c.a_type, tile = b ? r.tile_n : r.tile_m;
  const bool turned = integer_across(c, b), converted = type != c.type || (!b && c.gemm.a_scale);
  const std::uint32_t width = c.operand(b).width(turned ? 4 : converted ? 8 : 16 / type_bytes(c.type));
  Loads loads{.run = turned ? 4 : width};
  loads.shifted = access_bytes(type, width) < 4;
  if (loads.shifted && !turned) loads.run = converted ? 8 : 16 / type_bytes(c.type);
  loads.items = MATMUL_WGMMA_ITEMS(tile, loads.run, type_bytes(c.type), turned);
  loads.direct = !turned && !converted && !loads.shifted;
  loads.converted = turned || converted;
  const std::uint32_t access = access_bytes(type, loads.run), tile_k = line_k_of(c);
  loads.accesses = loads.items * ((access + 15) / 16);
  if (!loads.direct) loads.slot = loads.items * access * MATMUL_WGMMA_WARPGROUP;
  if (loads.shifted) {
    const std::uint32_t sources = MATMUL_WGMMA_SOURCES(tile, tile_k, c.along_k(b), turned),
                        bytes = MATMUL_WGMMA_SOURCE_BYTES(type, tile, tile_k, c.along_k(b), turned);
    loads.accesses = sources * (bytes / 4 + 1) / MATMUL_WGMMA_WARPGROUP;
    loads.slot = MATMUL_WGMMA_KEPT_BYTES(sources, bytes);
  }
  return loads;
}

struct Memory {
  std::uint32_t stages = 0, ahead = 1, bytes = 0;
  std::uint32_t parts = 1;  // lines along K of a step
};

// Bytes that the stages of a workgroup may have.
std::uint32_t room_of(const GemmContext& c, const Row& r) {
  constexpr std::uint32_t kReserved = 1024;
  return std::min(
      c.limits.dynamic_workgroup_memory,
      c.profile.workgroup_memory_per_multiprocessor_bytes.value_or(c.limits.dynamic_workgroup_memory) / r.resident -
          kReserved);
}
// Sums that a workgroup receives from other slices and workgroups along K lie where the stages were.
std::uint32_t sums_bytes(const Row& r) {
  return MATMUL_WGMMA_RECEIVED_BYTES(r.swapped ? r.tile_m : r.tile_n, r.sub_m(), r.consumers / r.slices,
                                     r.cluster_k * r.slices, r.slices);
}

constexpr std::uint32_t kMostStages = 12;
constexpr std::uint32_t kStageBarriers = MATMUL_WGMMA_BARRIER_BYTES(1) - MATMUL_WGMMA_BARRIER_BYTES(0);
constexpr std::uint32_t kFewestPacked = 4;  // of packed weights: one for each warp that takes turns at copying

// Of packed weights: the longest steps of which enough fit, an equal number for each slice. What a step costs besides
// its bytes is then least.
Memory packed_memory_of(const GemmContext& c, const Row& r) {
  for (const std::uint32_t parts : {4u, 2u, 1u}) {
    const std::uint32_t step = r.tile_m * MATMUL_WGMMA_LINE * parts + MATMUL_WGMMA_PACKED_BYTES(r.tile_n, parts);
    const std::uint32_t fit =
        std::min(kMostStages, (room_of(c, r) - MATMUL_WGMMA_BARRIER_BYTES(0)) / (step + kStageBarriers));
    const std::uint32_t stages = fit / r.slices * r.slices;
    if (stages < std::max(kFewestPacked, 3 * r.slices) || stages * step < sums_bytes(r)) continue;
    return {stages, 1, stages * step + MATMUL_WGMMA_BARRIER_BYTES(stages), parts};
  }
  return {};
}

// As many stages as fit. Where steps in flight need memory too, as many of them.
Memory memory_of(const GemmContext& c, const Row& r, const Loads& a, const Loads& b) {
  constexpr std::uint32_t kMostAhead = 6;
  if (packed(c)) return packed_memory_of(c, r);
  const std::uint32_t step = (r.tile_m + r.tile_n) * MATMUL_WGMMA_LINE;
  const std::uint32_t slot = a.slot + b.slot, room = room_of(c, r);
  Memory m;
  const auto take = [&](std::uint32_t stages, std::uint32_t ahead) {
    const std::uint32_t bytes = stages * step + MATMUL_WGMMA_BARRIER_BYTES(stages) + ahead * slot;
    if (bytes <= room) m = {stages, ahead, bytes};
    return bytes <= room;
  };
  // Where all that is in flight has memory of its own, two stages suffice: those who load take longer than a product.
  const bool stages_last = a.slot != 0 && b.slot != 0;
  const std::uint32_t fewest = std::max(2u, (sums_bytes(r) + step - 1) / step);
  for (std::uint32_t ahead = kMostAhead; stages_last && ahead >= 1; --ahead)
    if (take(fewest, ahead)) break;
  const bool loaded = a.items != 0 || b.items != 0;
  for (std::uint32_t stages = kMostStages; m.stages == 0 && stages >= fewest; --stages)
    take(stages, loaded ? std::min(std::max(stages, 2u) - 1, kMostAhead) : 1);
  return m;
}

// Packed weights are bytes to a tensor map, two elements each.
TensorMap map_of(const GemmContext& c, const GemmConfig& d, const Step& step, bool b) {
  const Gemm& g = c.gemm;
  const Row& r = kTable[d.row];
  const bool weights = b && packed(c);
  const std::uint32_t element = weights ? 1 : type_bytes(c.type), each = weights ? 2 : 1;
  const bool along_k = c.along_k(b);
  const std::uint64_t rows = static_cast<std::uint64_t>(b ? g.n : g.m),
                      k = ceil_div(static_cast<std::uint64_t>(g.k), each);
  const std::int64_t batch = b ? g.at.b_batch : g.at.a_batch;
  const bool own = g.batch > 1 && batch != 0;  // otherwise all batches have the first one's
  const std::uint32_t tile = b ? d.tile_n : d.tile_m, together = b ? r.cluster_m : r.cluster_n;
  const auto bytes = [&](std::int64_t elements) { return static_cast<std::uint64_t>(elements) * element / each; };
  TensorMap map;
  map.operand = step.addresses[b ? 1 : 0].operand;
  map.byte_offset = step.addresses[b ? 1 : 0].byte_offset;
  map.element_bytes = element;
  map.dims = {along_k ? k : rows, along_k ? rows : k, own ? static_cast<std::uint64_t>(g.batch) : 1};
  const std::uint64_t ld = bytes(b ? g.at.ldb : g.at.lda);
  const std::uint64_t all = saturated_product(ld, map.dims[1]);  // where a second batch would begin; none is read
  map.strides = {ld, own ? bytes(batch) : all < kStrideLimit ? all : ld};
  map.box = along_k ? decltype(map.box){weights ? d.tile_k / each : line_k_of(c), tile / together, 1}
                    : decltype(map.box){MATMUL_WGMMA_ACROSS(tile), MATMUL_WGMMA_LINES(tile, line_k_of(c), together), 1};
  map.swizzle_bytes = map.box[0] * element;
  return map;
}

// Tiles of all workgroups of a cluster are computed together; the grid has as many workgroups as run at the same time.
void finish(const GemmContext& c, const GemmConfig& d, Step& step) {
  const Row& r = kTable[d.row];
  for (const bool b : {false, true})
    if (!staged(c, b)) step.tensor_maps.push_back(map_of(c, d, step, b));
  const std::uint64_t tiles =
      gemm_cluster_tiles(c, d) / (r.cluster_m * r.cluster_n) * d.splits * static_cast<std::uint64_t>(c.gemm.batch);
  // On a device whose multiprocessors are not known each cluster has one tile.
  const std::uint64_t places = clusters_at_once(c.model, d, c.profile.multiprocessors.value_or(0)) * r.resident;
  const bool one_tile = sums_bytes(r) != 0 || !c.profile.multiprocessors;
  const std::uint64_t clusters = one_tile ? tiles : std::min(tiles, places);
  step.grid = {static_cast<std::uint32_t>(clusters * r.cluster()), 1, 1};
  if (r.cluster() > 1) step.cluster = {r.cluster(), 1, 1};
}

// What a step's copies of an operand cost beside their bytes. `together`: the workgroups that share them.
void count_copies(const GemmContext& c, bool of_b, std::uint32_t tile, std::uint32_t parts, std::uint32_t together,
                  GemmConfig& d) {
  const bool along = c.along_k(of_b);
  const std::uint32_t crossing = row_pitch_bytes(c.gemm, of_b) % MATMUL_WGMMA_LINE != 0 ? 1 : 0;
  const std::uint32_t narrow = along ? 0 : 64 / MATMUL_WGMMA_ACROSS(tile) - 1;
  const auto rows = static_cast<std::uint32_t>(std::min<std::int64_t>(tile, of_b ? c.gemm.n : c.gemm.m));
  d.warpgroups.more_lines += rows * MATMUL_WGMMA_LINE * parts / together * (crossing + narrow);
  const std::uint32_t blocks = MATMUL_WGMMA_BLOCKS(tile);
  d.warpgroups.boxes += parts * (along ? together : blocks % together == 0 ? blocks : blocks * together);
}

GemmConfig make(const GemmContext& c, std::uint32_t row) {
  const Row r = row_of(c, row);
  GemmConfig d;
  d.stem = "matmul_wgmma";
  d.narrow = true;
  const bool a = staged(c, false), b = staged(c, true);
  d.base = std::string(c.integer() ? "i8" : "f16") + (a && b ? ".staged" : a ? ".staged-a" : b ? ".staged-b" : "");
  d.tile_m = r.tile_m;
  d.tile_n = r.tile_n;
  d.workgroup = r.workgroup();
  const Loads loads_a = loads_of(c, r, false), loads_b = loads_of(c, r, true);
  const Memory memory = memory_of(c, r, loads_a, loads_b);
  d.tile_k = line_k_of(c) * memory.parts;
  // An operand with a tensor map is not loaded by invocations.
  d.width_a = a ? loads_a.run : 16 / type_bytes(c.type);
  d.width_b = b ? loads_b.run : 16 / type_bytes(c.type);
  d.run_d = 8;
  d.whole_runs = r.swapped;  // see eight_rows() in gemm/fragments.cuh
  d.width_d = d.access_of_d(c.width_d);
  d.row = row;
  d.staging.a = {.rows = r.tile_m, .k = d.tile_k, .along_k = true, .element_bytes = type_bytes(c.type)};
  d.staging.b = {.rows = r.tile_n, .k = d.tile_k, .along_k = true, .element_bytes = type_bytes(c.type)};
  if (packed(c))
    d.staging.b = {
        .rows = r.tile_n, .k = MATMUL_WGMMA_PACKED_BYTES(1, memory.parts), .along_k = true, .element_bytes = 1};
  d.staging.stages = memory.stages;
  d.staging.sums_bytes = memory.bytes - memory.stages * d.staging.step_bytes();
  d.staging.registers.accumulators = r.sub_m() * (r.swapped ? r.tile_m : r.tile_n) / MATMUL_WGMMA_WARPGROUP;
  d.staging.registers.fragments = 16;  // a run of 8 sums that is stored, and what its epilogue reads
  if (c.integer() && c.out_type != SECTILE_TYPE_I32) d.staging.registers.others = 40;  // what its sums become
  d.unit = Unit::wgmma;
  d.warpgroups = {.resident = r.resident,
                  .cluster_m = r.cluster_m,
                  .cluster_n = r.cluster_n,
                  .cluster_k = r.cluster_k,
                  .overlapped = r.pingpong,
                  .swapped = r.swapped,
                  .ahead = a || b ? memory.ahead : std::max(1u, memory.stages)};
  if (packed(c)) d.warpgroups.unpacking = r.tile_n / 64 * memory.parts;
  d.warpgroups.multiplying = r.consumers;
  d.warpgroups.slices = r.slices;
  for (const Loads& loads : {loads_a, loads_b}) {
    (loads.direct ? d.warpgroups.copied : d.warpgroups.converted) += loads.accesses;
    if (loads.converted) d.warpgroups.converted += loads.items / 2;
  }
  if (!a) count_copies(c, false, r.tile_m, memory.parts, r.cluster_n, d);
  if (!b && !packed(c)) count_copies(c, true, r.tile_n, memory.parts, r.cluster_m, d);
  d.table = CostTable::matmul_wgmma;
  for (const auto& [id, value] : {std::pair<std::uint32_t, std::uint32_t>{MATMUL_WGMMA_SPEC_SUB_M, r.sub_m()},
                                  {MATMUL_WGMMA_SPEC_CONSUMERS, r.consumers},
                                  {MATMUL_WGMMA_SPEC_PINGPONG, r.pingpong ? 1u : 0u},
                                  {MATMUL_WGMMA_SPEC_STAGES, memory.stages},
                                  {MATMUL_WGMMA_SPEC_CLUSTER_M, r.cluster_m},
                                  {MATMUL_WGMMA_SPEC_CLUSTER_N, r.cluster_n},
                                  {MATMUL_WGMMA_SPEC_CLUSTER_K, r.cluster_k},
                                  {MATMUL_WGMMA_SPEC_RESIDENT, r.resident},
                                  {MATMUL_WGMMA_SPEC_AHEAD, memory.ahead},
                                  {MATMUL_WGMMA_SPEC_SWAPPED, r.swapped ? 1u : 0u},
                                  {MATMUL_WGMMA_SPEC_SHIFTED_A, loads_a.shifted ? 1u : 0u},
                                  {MATMUL_WGMMA_SPEC_SHIFTED_B, loads_b.shifted ? 1u : 0u}})
    d.add(id, value);
  if (packed(c)) d.add(MATMUL_WGMMA_SPEC_PACKED_B, packing_of(c));
  d.group_m = group_of_tiles(c, d);
  d.can_split = r.cluster_k == 1;  // K is divided already
  if (d.can_split) d.splits = splits_to_fill(c, d, 1);
  d.finish = finish;
  if (c.few_pipelines) use_few_pipelines(d, r.generic);
  return d;
}

bool applicable(const GemmContext& c, std::uint32_t row, Refusal& refusal) {
  const Row& r = kTable[row];
  const DeviceProfile& p = c.profile;
  if (p.api != Api::cuda) return refusal.no("the kernel exists for CUDA only");
  if (std::ranges::find(p.matrix_units, "wgmma") == p.matrix_units.end())
    return refusal.no("the device's products of warpgroups (wgmma) are not known, or absent");
  if (c.type == SECTILE_TYPE_F32) return refusal.no("the kernel multiplies f16, bf16 and i8 only");
  if (c.gathered != nullptr) return refusal.no("the kernel gathers no operand");
  if (packed(c) && (!r.swapped || r.sub_m() != 64))
    return refusal.no("4-bit weights are converted in registers, where products of 64 rows of B take them from");
  if (!packed(c) && r.weights) return refusal.no("the row is for 4-bit weights that are converted in registers");
  const bool a = staged(c, false), b = staged(c, true);
  if ((a || b || packed(c)) && r.cluster() > r.cluster_k)
    return refusal.no("workgroups copy operands together by tensor maps only");
  const GemmConfig d = make(c, row);
  // Copying warps that take turns would wait for a phase two ahead, which cannot be told from the one before.
  const std::uint32_t fewest = packed(c) ? kFewestPacked : 2;
  if (d.staging.stages < fewest) return refusal.no("{} stages do not fit the workgroup memory", fewest);
  // ptxas gives an invocation a multiple of 8.
  const std::uint32_t most =
      std::min(255u, p.registers_per_multiprocessor.value_or(65536) / (r.workgroup() * r.resident) / 8 * 8);
  if (const std::uint32_t registers = d.staging.registers.total(); r.resident > 1 && registers > most)
    return refusal.no("needs {} registers an invocation, {} workgroups leave {}", registers, r.resident, most);
  return gemm_fits(c, d, refusal);
}

Eligibility eligibility(const GemmContext& c, std::uint32_t row) {
  if (c.few_pipelines) return last_resort_if(kTable[row].generic == ShapeGeneric::kNo);
  return Eligibility::candidate;
}

GemmEstimate estimate(const GemmContext& c, std::uint32_t row, const GemmConfig& d) {
  const Row& r = kTable[row];
  GemmEstimate e;
  const std::uint64_t sector = c.profile.transaction_bytes.value_or(32);
  // Its share of what the workgroups of a cluster copy together.
  const std::uint64_t bytes =
      static_cast<std::uint64_t>(d.tile_k) *
      (static_cast<std::uint64_t>(std::min<std::int64_t>(d.tile_m, c.gemm.m)) * type_bytes(c.a_type) / r.cluster_n +
       static_cast<std::uint64_t>(std::min<std::int64_t>(d.tile_n, c.gemm.n)) * type_bytes(c.b_type) /
           (c.b_type == SECTILE_TYPE_Q4 ? 2 : 1) / r.cluster_m);
  e.interior.load_transactions = e.interior.ideal_load_transactions = bytes / sector;
  e.interior.load_requests = 2;
  return e;
}

std::string print_row(const Row& r) {
  std::string text =
      fmt::format("{}x{} {}x{}{}", r.tile_m, r.tile_n, r.consumers, r.sub_m(), r.pingpong ? " pingpong" : "");
  if (r.swapped) text += r.fit ? " swapped fit" : " swapped";
  if (r.cluster() > 1) text += fmt::format(" cluster={}x{}x{}", r.cluster_m, r.cluster_n, r.cluster_k);
  if (r.slices > 1) text += fmt::format(" slice-k={}", r.slices);
  if (r.resident > 1) text += fmt::format(" resident={}", r.resident);
  return text;
}
std::string print(const GemmContext&, std::uint32_t row) { return print_row(kTable[row]); }

constexpr GemmStrategy kStrategy = {
    "matmul_wgmma", CostTable::matmul_wgmma, std::size(kTable), applicable, make, estimate, eligibility, print};

}  // namespace
}  // namespace matmul_wgmma

const GemmStrategy kGemmWgmma = matmul_wgmma::kStrategy;
std::vector<std::string> matmul_wgmma_rows() { return names_of(matmul_wgmma::kTable, matmul_wgmma::print_row); }

}  // namespace sectile::detail
