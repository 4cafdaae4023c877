// A GEMM candidate's cost in picoseconds. Integers only, so that every machine chooses alike.
#include "cost.hpp"
#include "base/arithmetic.hpp"
#include "split.hpp"

#include <algorithm>
#include <bit>

namespace sectile::detail {

namespace {

std::uint32_t row_rate(const GemmContext& c, const CostModel& m, const GemmConfig& d) {
  const RowNumbers& row = m.row(d.table, d.row);
  return c.integer() && row.int8_rate != 0 ? row.int8_rate : row.rate;
}

std::uint64_t rate_of(const GemmContext& c, const CostModel& m, const GemmConfig& d) {
  const GemmGpuCost& model = m.gemm;
  const std::uint64_t unit = d.unit == Unit::wgmma    ? model.wgmma_rate * (c.integer() ? 2ull : 1ull)
                             : d.unit == Unit::mma    ? model.mma_rate * (c.integer() ? 2ull : 1ull)
                             : is_matrix_unit(d.unit) ? model.matrix_rate * (c.integer() ? 2ull : 1ull)
                             : c.integer() && c.profile.integer_dot_product.value_or(false) ? model.dot_rate
                                                                                            : model.scalar_rate;
  std::uint64_t permille = row_rate(c, m, d);
  for (const auto factor : d.rate_factors.all()) permille = permille * (model.*factor) / 1000;
  return std::max<std::uint64_t>(1, unit * permille / 1000);
}

// On a CPU the cost is the multiply-adds at the row's measured rate.
std::int64_t cpu_cost(const GemmContext& c, const CostModel& m, const GemmConfig& d, std::uint64_t groups,
                      std::uint64_t k) {
  const std::uint64_t group = std::uint64_t{d.tile_m} * d.tile_n * k * 100 / row_rate(c, m, d) + 1;
  const std::uint64_t tail = d.tail_rows != 0 ? group / d.tail_splits : 0;
  const std::uint64_t cores = c.profile.multiprocessors.value_or(m.multiprocessors);
  const std::uint64_t products = saturated_product(ceil_div(groups, cores), group) + tail;
  return static_cast<std::int64_t>(products * (m.gemm_cpu.ps_per_kfma / 1000) +
                                   (d.splits > 1 || d.tail_rows != 0 ? m.gemm_cpu.second_step : 0));
}

// The partial sums that are stored and read again.
std::uint64_t split_elements(const GemmContext& c, const GemmConfig& d) {
  const auto n = static_cast<std::uint64_t>(c.gemm.n), batch = static_cast<std::uint64_t>(c.gemm.batch);
  if (d.tail_rows != 0) return saturated_product(batch * d.tail_splits, d.tail_rows * n);
  return d.splits > 1 ? saturated_product(batch * d.splits, static_cast<std::uint64_t>(c.gemm.m) * n) : 0;
}

// Clocks for these. A tail's are read while they are in the L2 (tail_permille was fitted with this rate).
std::uint64_t sums_clocks(const GemmContext& c, const GemmGpuCost& model, std::uint64_t bytes, bool tail) {
  const std::uint64_t near = tail ? bytes : std::min(bytes, c.profile.l2_bytes.value_or(std::uint64_t{16} << 20) / 3);
  return near / model.dram_bytes + (bytes - near) / model.split_bytes;
}

// What the DRAM reads and writes at least: each operand and the result once. Repeated reads hit the L2.
std::uint64_t bytes_once(const GemmContext& c) {
  const Gemm& p = c.gemm;
  const std::uint64_t batch = static_cast<std::uint64_t>(p.batch), m = static_cast<std::uint64_t>(p.m),
                      n = static_cast<std::uint64_t>(p.n);
  const std::uint64_t a_bytes = type_bytes(c.a_type), b_bytes = type_bytes(c.b_type), d_bytes = type_bytes(c.out_type);
  const auto elements = [](const GemmOperand& operand) { return static_cast<std::uint64_t>(operand.elements()); };
  const std::uint64_t a_batches = c.a->shared_by_batches() ? 1 : batch,
                      b_batches = c.b->shared_by_batches() ? 1 : batch;
  return saturated_product(a_batches, elements(*c.a) * a_bytes) +
         saturated_product(b_batches, elements(*c.b) * b_bytes / (c.b_type == SECTILE_TYPE_Q4 ? 2 : 1)) +
         saturated_product(batch, m * n * d_bytes);
}

// Picoseconds of a candidate whose workgroups take so many clocks, of which `start` also where only memory limits it.
std::int64_t finished_cost(const GemmContext& c, const CostModel& numbers, const GemmConfig& d, std::uint64_t clocks,
                           std::uint64_t start) {
  const GemmGpuCost& model = numbers.gemm;
  const std::uint64_t memory = bytes_once(c) / model.dram_bytes + start;
  const bool warpgroups = d.unit == Unit::wgmma;
  const std::uint64_t beside = warpgroups ? std::min(clocks, memory) * model.wgmma_memory_permille / 1000 : 0;
  clocks = std::max(clocks, memory) + beside;
  if (const std::uint64_t split = split_elements(c, d); split != 0)
    clocks +=
        (warpgroups ? model.wgmma_second_step : model.second_step) + sums_clocks(c, model, split * 4, d.tail_rows != 0);
  return static_cast<std::int64_t>(
      saturated_product(saturated_product(clocks, model.clock_picoseconds) / 1000,
                        1000 + std::uint64_t{d.narrow_gather ? model.narrow_gather_permille : 0}));
}

// The stores of one tile, on average: accesses of less than 16 bytes are made for elements inside the result only. Each
// halving of the accesses costs as much more, since lanes trade elements to store whole rows (gemm/fragments.cuh).
std::uint64_t warpgroup_stores(const GemmContext& c, const GemmGpuCost& model, const GemmConfig& d,
                               std::uint64_t tiles) {
  std::uint64_t sixteenths = std::uint64_t{16} * d.tile_m * d.tile_n;
  if (d.splits == 1) {
    const std::uint32_t widest = std::min<std::uint32_t>(8, 16 / type_bytes(c.out_type));
    const std::uint32_t accesses = widest / std::min(widest, std::max(1u, d.width_d));
    const auto halvings = static_cast<std::uint64_t>(std::bit_width(accesses)) - 1;
    const std::uint64_t elements =
        saturated_product(static_cast<std::uint64_t>(c.gemm.m), static_cast<std::uint64_t>(c.gemm.n)) *
        static_cast<std::uint64_t>(c.gemm.batch) / tiles;
    sixteenths += elements * 16 * halvings * model.wgmma_narrow_permille / 1000;
  }
  std::uint64_t clocks = sixteenths / model.wgmma_stored;
  constexpr std::uint32_t kNoWork = GEMM_EPILOGUE_A_SCALE | GEMM_EPILOGUE_BATCHED;  // of the stores
  if ((c.epilogue & ~kNoWork) != 0) clocks += clocks * model.wgmma_epilogue_permille / 1000;
  return d.warpgroups.swapped ? clocks * model.wgmma_swapped_permille / 1000 : clocks;
}

// What an epilogue takes besides, of one tile: instructions, and loads that are waited for.
std::uint64_t warpgroup_epilogue(const GemmContext& c, const GemmGpuCost& model, const GemmConfig& d) {
  if (d.splits > 1) return 0;
  constexpr std::uint32_t kAddends = GEMM_EPILOGUE_RESIDUAL | GEMM_EPILOGUE_C;
  const bool activation = c.gemm.activation != Activation::none && c.gemm.activation != Activation::relu;
  const std::uint64_t permille = (activation ? model.wgmma_activation_permille : 0) +
                                 ((c.epilogue & kAddends) != 0 ? model.wgmma_addends_permille : 0);
  return std::uint64_t{16} * d.tile_m * d.tile_n / model.wgmma_stored * permille / 1000;
}

// The factor on wgmma_unpacked where so many warpgroups of a multiprocessor convert weights.
std::uint64_t unpacking_permille(const GemmGpuCost& model, std::uint64_t warpgroups) {
  if (warpgroups == 1) return model.wgmma_lone_permille;
  return warpgroups == 2 ? 1000 : model.wgmma_three_permille;
}

// Warpgroups that multiply beside one that copies: a tile's copies are ahead of its products, so that a step takes the
// longer of both, and the workgroups stay for many tiles.
std::uint64_t warpgroup_clocks(const GemmContext& c, const CostModel& numbers, const GemmConfig& d) {
  const GemmGpuCost& model = numbers.gemm;
  const auto& w = d.warpgroups;
  const std::uint64_t tiles = gemm_cluster_tiles(c, d) * d.splits * gemm_batches(c);
  const std::uint64_t multiprocessors = c.profile.multiprocessors.value_or(numbers.multiprocessors);
  // Workgroups that run at the same time, of those along K only one.
  const std::uint64_t places = clusters_at_once(numbers, d, multiprocessors) * w.cluster_m * w.cluster_n;
  const std::uint64_t waves = ceil_div(tiles, places);  // of one tile per multiprocessor
  const std::uint64_t steps =
      ceil_div(ceil_div(static_cast<std::uint64_t>(c.gemm.k), d.tile_k), std::uint64_t{d.splits} * w.cluster_k);
  const std::uint64_t multiply = std::uint64_t{d.tile_m} * d.tile_n * d.tile_k / rate_of(c, numbers, d);
  const std::uint64_t load =
      std::uint64_t{w.copied} * model.wgmma_copied + std::uint64_t{w.converted} * model.wgmma_converted;
  const std::uint64_t loaded = load != 0 ? model.wgmma_loaded : 0;
  // The L2 hands out less to each multiprocessor the more of them are busy.
  const std::uint64_t bytes = d.estimate.interior.ideal_load_transactions * c.profile.transaction_bytes.value_or(32) +
                              std::uint64_t{w.more_lines} * model.wgmma_lines_permille / 1000;
  const std::uint64_t busy = std::min(std::min(tiles, places) * w.cluster_k, multiprocessors);
  const std::uint64_t copy =
      std::max(bytes / model.wgmma_bytes, bytes * busy / multiprocessors / model.wgmma_busy_bytes);
  // A conversion to bf16 goes through floats.
  const std::uint64_t unpack_by_two = std::uint64_t{w.unpacking} * model.wgmma_unpacked *
                                      (c.type == SECTILE_TYPE_BF16 ? model.wgmma_bf16_permille : 1000) / 1000;
  const auto step = [&](std::uint64_t resident) {
    const std::uint64_t unpack = unpack_by_two * unpacking_permille(model, resident * w.multiplying) / 1000;
    return std::max<std::uint64_t>({resident * (multiply + unpack * model.wgmma_unhidden_permille / 1000),
                                    resident * copy, std::uint64_t{resident} * w.boxes * model.wgmma_box,
                                    resident * unpack, loaded + resident * load, model.wgmma_latency / w.ahead, 1});
  };
  const std::uint64_t whole = waves / w.resident, last = waves % w.resident;
  std::uint64_t clocks =
      saturated_product(steps, saturated_product(whole, step(w.resident)) + (last != 0 ? step(last) : 0));
  // Where several workgroups or warpgroups take turns, one stores while another multiplies, but for the last. The
  // workgroups of a cluster along K have shares of the stores.
  const std::uint64_t stored = warpgroup_stores(c, model, d, tiles) / w.cluster_k;
  clocks += w.overlapped || w.resident > 1
                ? stored + saturated_product(waves - 1, stored * model.wgmma_overlapped_permille / 1000)
                : saturated_product(waves, stored);
  clocks +=
      saturated_product(w.overlapped || w.resident > 1 ? 1 : waves, warpgroup_epilogue(c, model, d) / w.cluster_k);
  clocks += model.wgmma_start + (w.unpacking != 0 ? model.wgmma_unpack_start : 0);
  if (w.cluster_m * w.cluster_n > 1) clocks += model.wgmma_together;
  // A workgroup whose sums are added to others' has one tile: each wave starts anew.
  if (w.cluster_k > 1 || w.slices > 1)
    clocks += saturated_product(waves, w.cluster_k > 1 ? model.wgmma_exchange : model.wgmma_slices) +
              saturated_product(waves - 1, model.wgmma_start);
  return clocks;
}

}  // namespace

std::uint64_t gemm_occupancy(const GemmContext& c, const Staging& staging, std::uint32_t workgroup) noexcept {
  const DeviceProfile& p = c.profile;
  return occupancy_of(staging, workgroup,
                      {.registers = p.registers_per_multiprocessor.value_or(65536),
                       .memory_bytes = p.workgroup_memory_per_multiprocessor_bytes.value_or(c.limits.workgroup_memory),
                       .invocations = p.max_invocations_per_multiprocessor.value_or(2048),
                       .most_workgroups = c.model.gemm.most_resident,
                       .reserved_bytes = c.model.gemm.reserved_bytes});
}

// Pairs have the multiprocessors' own pairs. Larger clusters do not cross the device's partitions, whose
// multiprocessors they do not divide.
std::uint64_t clusters_at_once(const CostModel& model, const GemmConfig& d, std::uint64_t multiprocessors) {
  const std::uint64_t usable =
      d.warpgroups.cluster() > 2 ? multiprocessors * model.gemm.wgmma_clustered_permille / 1000 : multiprocessors;
  return std::max<std::uint64_t>(1, usable / d.warpgroups.cluster());
}

std::int64_t gemm_cost(const GemmContext& c, const CostModel& numbers, const GemmConfig& d) {
  const GemmEstimate& e = d.estimate;
  const std::uint64_t tail = gemm_tail_tiles(c, d);
  const std::uint64_t groups = (gemm_tiles(c, d) - tail) * d.splits * gemm_batches(c);
  const std::uint64_t steps = ceil_div(ceil_div(static_cast<std::uint64_t>(c.gemm.k), d.tile_k), d.splits);
  if (c.cpu()) return cpu_cost(c, numbers, d, groups, steps * d.tile_k);

  if (d.unit == Unit::wgmma)
    return finished_cost(c, numbers, d, warpgroup_clocks(c, numbers, d), numbers.gemm.wgmma_start);
  const GemmGpuCost& model = numbers.gemm;

  // One step of K. Products and loads overlap. A workgroup that is alone on a multiprocessor with room for more cannot
  // overlap its staging with other workgroups' products.
  const std::uint64_t multiply = std::uint64_t{d.tile_m} * d.tile_n * d.tile_k / rate_of(c, numbers, d) +
                                 e.interior.bank_conflicts / model.bank_pass_divisor +
                                 e.gathered_runs * model.gathered_issue * ceil_div(d.workgroup, 32);
  const std::uint64_t bytes = e.interior.ideal_load_transactions * c.profile.transaction_bytes.value_or(32);
  const std::uint64_t load = bytes / model.cache_bytes;
  const std::uint64_t requests = d.request != nullptr ? e.interior.load_requests * (model.*d.request) : 0;
  const std::uint64_t occupancy = gemm_occupancy(c, d.staging, d.workgroup);
  const std::uint64_t latency = (d.l2_prefetch ? model.latency_l2_prefetch
                                 : d.pipelined ? model.latency_pipelined
                                               : model.latency) /
                                    d.steps_ahead +
                                e.gathered_runs * model.gathered_latency;
  const std::uint64_t subgroups = ceil_div(d.workgroup, 32), schedulers = model.schedulers;
  const auto multiply_all = [&](std::uint64_t resident_now) {
    if (!d.by_schedulers) return resident_now * multiply;
    return ceil_div(resident_now * subgroups, schedulers) * schedulers * multiply / subgroups;
  };
  const auto step = [&](std::uint64_t resident_now) {
    const std::uint64_t alone =
        multiply + multiply * model.exposed_staging_permille * (occupancy - resident_now) / (1000 * occupancy);
    return std::max({multiply_all(resident_now), alone, resident_now * std::max(load, requests), latency}) +
           model.barriers / resident_now;
  };
  const std::uint64_t multiprocessors = c.profile.multiprocessors.value_or(numbers.multiprocessors);
  const std::uint64_t waves = ceil_div(groups, multiprocessors);  // of one workgroup per multiprocessor
  const std::uint64_t whole = waves / occupancy, last = waves % occupancy;
  const std::uint64_t result =
      std::uint64_t{d.tile_m} * d.tile_n / (d.unit == Unit::mma ? model.mma_stored : model.stored_elements);
  std::uint64_t clocks =
      saturated_product(whole, saturated_product(steps, step(occupancy)) + model.workgroup_start + occupancy * result);
  if (last != 0) clocks += saturated_product(steps, step(last)) + model.workgroup_start + last * result;
  // The tail runs beside the last full wave; in a CUDA stream it runs after it.
  if (tail != 0)
    clocks += saturated_product(ceil_div(steps, d.tail_splits), step(1)) * model.tail_permille / 1000 +
              (c.profile.api == Api::cuda ? model.workgroup_start + result : 0);
  return finished_cost(c, numbers, d, clocks, model.workgroup_start);
}

// In the order of feature_names().
Features gemm_features(const GemmContext& c, const GemmConfig& d, std::int64_t cost) {
  const AccessCount& n = d.estimate.interior;
  const std::uint64_t tail = gemm_tail_tiles(c, d);
  const std::uint64_t groups = (gemm_tiles(c, d) - tail) * d.splits * gemm_batches(c) + tail * d.tail_splits;
  const std::uint64_t multiprocessors = c.profile.multiprocessors.value_or(c.model.multiprocessors);
  const std::uint64_t steps = ceil_div(ceil_div(static_cast<std::uint64_t>(c.gemm.k), d.tile_k), d.splits);
  const auto ratio = [](std::uint64_t a, std::uint64_t b) { return log2_1024(a + 1) - log2_1024(b + 1); };
  const auto yes = [](bool is) { return is ? 1024 : 0; };
  const std::uint64_t wanted = static_cast<std::uint64_t>(c.gemm.m) * static_cast<std::uint64_t>(gemm_columns(c));
  const std::int32_t waves = ratio(groups * 16, multiprocessors * 16);
  return {log2_1024(static_cast<std::uint64_t>(std::max<std::int64_t>(cost, 1))),
          waves,
          log2_1024(d.splits),
          yes(tail != 0),
          ratio(n.load_transactions, n.ideal_load_transactions),
          ratio(n.bank_conflicts + n.load_requests, n.load_requests),
          ratio(n.ideal_load_transactions * 32, n.load_requests),
          log2_1024(d.staging.memory_bytes() + 1024),
          log2_1024(d.staging.registers.total() + 16),
          log2_1024(d.workgroup),
          log2_1024(ceil_div(groups, multiprocessors) * multiprocessors) - log2_1024(groups),
          log2_1024(steps),
          yes(c.integer()),
          yes(d.base.starts_with("f16.f16")),
          yes(!c.gemm.transpose_b),
          log2_1024(d.estimate.gathered_runs + 1),
          yes(c.gemm.b_format != WeightFormat::plain),
          log2_1024(std::min(d.width_a * type_bytes(c.a_type), d.width_b * type_bytes(c.b_type))),
          ratio(gemm_tiles(c, d) * d.tile_m * d.tile_n, wanted),
          log2_1024(d.tile_k * type_bytes(c.type))};
}

std::int64_t corrected_gemm_cost(const GemmContext& c, const CostModel& model, CostTable table, const GemmConfig& d) {
  const std::int64_t cost = gemm_cost(c, model, d);
  return corrected_cost(model, table, model.row(d.table, d.row), cost, [&] { return gemm_features(c, d, cost); });
}

bool gemm_costs_at_least(const GemmContext& c, CostTable table, const GemmConfig& made, std::int64_t cost) {
  const GemmConfig cheapest = with_best_splits(c, made, [](const GemmConfig&) { return true; });
  const RowNumbers& row = c.model.row(made.table, made.row);
  return least_corrected_cost(c.model, table, row, gemm_cost(c, c.model, cheapest)) >= cost;
}

}  // namespace sectile::detail
