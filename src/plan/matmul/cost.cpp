// A matmul candidate's cost in picoseconds. Integers only, so that every machine chooses alike.
#include "context.hpp"

#include <algorithm>

namespace sectile::detail {

// One side often changes from call to call (tokens). For up to 512 of them, if 128x128 tiles would not fill the device,
// few rows serve all sizes, with and without split-K, so that a new size needs no new pipeline. A convolution keeps its
// sizes: an image of 16x16 has few pixels in every call.
bool few_tiles(const MatmulContext& c) noexcept {
  constexpr std::int64_t kFewRows = 512;
  const auto& p = c.problem;
  const auto tiles = ceil_div(static_cast<std::uint64_t>(p.m), 128) * ceil_div(static_cast<std::uint64_t>(p.n), 128);
  return c.sizes_vary && p.batch == 1 && std::min(p.m, p.n) <= kFewRows &&
         tiles < c.profile.multiprocessors.value_or(c.model.multiprocessors_of_few_tiles);
}

std::uint32_t band_of_tiles(const MatmulContext& c, const MatmulConfig& d) noexcept {
  const std::uint64_t held = 2 * std::uint64_t{c.profile.multiprocessors.value_or(c.model.multiprocessors_to_fill)};
  return matmul_tiles(c, d) >= 2 * held ? 8 : 1;
}

void use_few_pipelines(MatmulConfig& d, Common common) noexcept {
  d.order = 8;
  d.can_tail = false;
  if (common == Common::kSplit) return;
  d.can_split = false;
  d.splits = 1;
}

namespace {

// The number of splits of K, at most `wanted`. A split has at least 8 steps, because shorter ones spend their time on
// start and stores. More than 32 splits are not faster. The steps are shared evenly, so that no split is empty.
std::uint32_t even_splits(std::uint64_t steps, std::uint64_t wanted) {
  const std::uint64_t splits = std::max<std::uint64_t>(1, std::min<std::uint64_t>({wanted, steps / 8, 32}));
  return static_cast<std::uint32_t>(ceil_div(steps, ceil_div(steps, splits)));
}

}  // namespace

std::uint32_t splits_to_fill(const MatmulContext& c, const MatmulConfig& d, std::uint32_t each) noexcept {
  const std::uint64_t tiles = matmul_tiles(c, d) * matmul_batches(c);
  const std::uint64_t held = std::uint64_t{c.profile.multiprocessors.value_or(
                                 c.cpu() ? c.model.multiprocessors : c.model.multiprocessors_to_fill)} *
                             (c.cpu() ? 1 : each);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(c.problem.k), d.tile_k);
  if (tiles * 2 > held) return 1;
  return even_splits(steps, held / tiles);
}

std::uint32_t splits_to_balance(const MatmulContext& c, const MatmulConfig& d, std::uint32_t most) noexcept {
  const std::uint64_t wave = c.profile.multiprocessors.value_or(0);
  if (!d.can_split || c.cpu() || wave == 0) return 1;
  const std::uint64_t tiles = matmul_tiles(c, d) * matmul_batches(c);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(c.problem.k), d.tile_k);
  std::uint64_t best = 1, waves = ceil_div(tiles, wave);  // of `best` splits
  if (waves > most) return 1;                             // less than one part of `most` could be gained
  for (std::uint64_t splits = 2; splits <= most; ++splits) {
    const std::uint64_t own = ceil_div(tiles * splits, wave);
    if (own * best < waves * splits) best = splits, waves = own;
  }
  return even_splits(steps, best);
}

bool tail_to_fill(const MatmulContext& c, MatmulConfig& d) noexcept {
  const auto& p = c.problem;
  const std::uint64_t wave = c.profile.multiprocessors.value_or(0);  // 0: unknown, so the tail is unknown too
  if (!d.can_tail || matmul_batches(c) != 1 || wave == 0 || (!c.cpu() && few_tiles(c))) return false;
  const std::uint64_t tiles = matmul_tiles(c, d),
                      across = ceil_div(static_cast<std::uint64_t>(matmul_columns(c)), d.tile_n);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(p.k), d.tile_k);
  if (tiles <= wave || tiles % wave == 0) return false;
  const std::uint64_t rows = ceil_div(tiles % wave, across);
  if (rows * across >= tiles) return false;
  const std::uint32_t splits = even_splits(steps, wave / (rows * across));
  if (splits < 2) return false;
  const std::uint64_t whole = (tiles / across - rows) * d.tile_m;
  d.splits = 1;
  d.tail_rows = static_cast<std::uint32_t>(static_cast<std::uint64_t>(p.m) - whole);
  d.tail_splits = splits;
  return true;
}

namespace {

std::uint64_t clamped(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  return __builtin_mul_overflow(a, b, &product) ? kMost : std::min(product, kMost);
}

std::uint64_t rate_of(const MatmulContext& c, const MatmulConfig& d) {
  const MatmulGpuCost& model = c.model.matmul;
  const std::uint64_t unit = d.matrix_unit ? model.matrix_rate * (c.integer() ? 2ull : 1ull)
                             : c.integer() && c.profile.integer_dot_product.value_or(false) ? model.dot_rate
                                                                                            : model.scalar_rate;
  return std::max<std::uint64_t>(1, unit * d.rate_permille / 1000);
}

// On a CPU the cost is the multiply-adds at the row's measured rate.
std::int64_t cpu_cost(const MatmulContext& c, const MatmulConfig& d, std::uint64_t groups, std::uint64_t k) {
  const std::uint64_t group =
      std::uint64_t{d.tile_m} * d.tile_n * k * 100 / std::max<std::uint32_t>(1, d.rate_permille) + 1;
  const std::uint64_t tail = d.tail_rows != 0 ? group / d.tail_splits : 0;
  const std::uint64_t cores = c.profile.multiprocessors.value_or(c.model.multiprocessors);
  const std::uint64_t products = clamped(ceil_div(groups, cores), group) + tail;
  return static_cast<std::int64_t>(products * (c.model.matmul_cpu.thousand_products / 1000) +
                                   (d.splits > 1 || d.tail_rows != 0 ? c.model.matmul_cpu.second_step : 0));
}

// The partial sums that are stored and read again.
std::uint64_t split_elements(const MatmulContext& c, const MatmulConfig& d) {
  const auto n = static_cast<std::uint64_t>(c.problem.n), batch = static_cast<std::uint64_t>(c.problem.batch);
  if (d.tail_rows != 0) return clamped(batch * d.tail_splits, d.tail_rows * n);
  return d.splits > 1 ? clamped(batch * d.splits, static_cast<std::uint64_t>(c.problem.m) * n) : 0;
}

// Clocks for these. A tail's are read while they are in the L2 (tail_permille was fitted with this rate).
std::uint64_t sums_clocks(const MatmulContext& c, std::uint64_t bytes, bool tail) {
  const std::uint64_t near = tail ? bytes : std::min(bytes, c.profile.l2_bytes.value_or(std::uint64_t{16} << 20) / 3);
  return near / c.model.matmul.dram_bytes + (bytes - near) / c.model.matmul.split_bytes;
}

}  // namespace

std::uint64_t matmul_resident(const MatmulContext& c, const MatmulConfig& d) noexcept {
  const auto& p = c.profile;
  const std::uint64_t registers = p.registers_per_multiprocessor.value_or(65536);
  const std::uint64_t memory = p.workgroup_memory_per_multiprocessor_bytes.value_or(c.limits.workgroup_memory);
  const std::uint64_t invocations = p.max_invocations_per_multiprocessor.value_or(2048);
  std::uint64_t held = std::min<std::uint64_t>(c.model.matmul.most_resident, invocations / d.workgroup);
  held = std::min(held, registers / ((std::uint64_t{d.registers} + 7) / 8 * 8 * d.workgroup));
  const std::uint64_t own = d.driver_staged ? c.model.matmul.driver_staged_bytes : d.workgroup_memory_bytes;
  if (own != 0) held = std::min(held, memory / (own + c.model.matmul.reserved_bytes));
  return std::max<std::uint64_t>(held, 1);
}

std::int64_t matmul_cost(const MatmulContext& c, const MatmulConfig& d, const MatmulEstimate& e) {
  const auto& p = c.problem;
  const std::uint64_t batch = static_cast<std::uint64_t>(p.batch), m = static_cast<std::uint64_t>(p.m),
                      n = static_cast<std::uint64_t>(p.n);
  const std::uint64_t tail = matmul_tail_tiles(c, d);
  const std::uint64_t groups = (matmul_tiles(c, d) - tail) * d.splits * matmul_batches(c);
  const std::uint64_t steps = ceil_div(ceil_div(static_cast<std::uint64_t>(p.k), d.tile_k), d.splits);
  if (c.cpu()) return cpu_cost(c, d, groups, steps * d.tile_k);

  const MatmulGpuCost& model = c.model.matmul;

  // One step of K. Products and loads overlap. A workgroup that is alone on a multiprocessor with room for more cannot
  // overlap its staging with other workgroups' products.
  const std::uint64_t multiply = std::uint64_t{d.tile_m} * d.tile_n * d.tile_k / rate_of(c, d) +
                                 e.interior.bank_conflicts / model.bank_pass_divisor +
                                 e.gathered_runs * model.gathered_issue * ceil_div(d.workgroup, 32);
  const std::uint64_t bytes = e.interior.ideal_load_transactions * c.profile.transaction_bytes.value_or(32);
  const std::uint64_t load = bytes / model.cache_bytes;
  const std::uint64_t held = matmul_resident(c, d);
  const std::uint64_t latency = (d.l2_prefetch ? model.latency_l2_prefetch
                                 : d.pipelined ? model.latency_pipelined
                                               : model.latency) +
                                e.gathered_runs * model.gathered_latency;
  const std::uint64_t subgroups = ceil_div(d.workgroup, 32), schedulers = model.schedulers;
  const auto multiply_all = [&](std::uint64_t resident_now) {
    if (!d.by_schedulers) return resident_now * multiply;
    return ceil_div(resident_now * subgroups, schedulers) * schedulers * multiply / subgroups;
  };
  const auto step = [&](std::uint64_t resident_now) {
    const std::uint64_t alone = multiply + multiply * model.alone_permille * (held - resident_now) / (1000 * held);
    return std::max({multiply_all(resident_now), alone, resident_now * load, latency}) + model.barriers / resident_now;
  };
  const std::uint64_t multiprocessors = c.profile.multiprocessors.value_or(c.model.multiprocessors);
  const std::uint64_t waves = ceil_div(groups, multiprocessors);  // of one workgroup per multiprocessor
  const std::uint64_t whole = waves / held, last = waves % held;
  const std::uint64_t result = std::uint64_t{d.tile_m} * d.tile_n / model.stored_elements;
  std::uint64_t clocks = clamped(whole, clamped(steps, step(held)) + model.workgroup_start + held * result);
  if (last != 0) clocks += clamped(steps, step(last)) + model.workgroup_start + last * result;
  // The tail runs beside the last full wave; in a CUDA stream it runs after it.
  if (tail != 0)
    clocks += clamped(ceil_div(steps, d.tail_splits), step(1)) * model.tail_permille / 1000 +
              (c.profile.api == Api::cuda ? model.workgroup_start + result : 0);
  // Lower bound: the DRAM reads each operand and writes the result once. Repeated reads hit the L2.
  const std::uint64_t a_bytes = matmul_type_bytes(c.a_type), b_bytes = matmul_type_bytes(c.b_type),
                      d_bytes = matmul_type_bytes(c.out_type);
  const std::uint64_t k = static_cast<std::uint64_t>(p.k);
  const auto elements = [&](bool b, std::uint64_t rows) {
    const GatheredOperand* gathered = c.gathered_side(b);
    return gathered != nullptr ? static_cast<std::uint64_t>(gathered->elements) : rows * k;
  };
  // A stored operand whose batches are one is read once.
  const std::uint64_t a_batches = c.gathered_side(false) == nullptr && c.at.a_batch == 0 ? 1 : batch,
                      b_batches = c.gathered_side(true) == nullptr && c.at.b_batch == 0 ? 1 : batch;
  const std::uint64_t once = clamped(a_batches, elements(false, m) * a_bytes) +
                             clamped(b_batches, elements(true, n) * b_bytes / (c.b_type == MATMUL_TYPE_Q4 ? 2 : 1)) +
                             clamped(batch, m * n * d_bytes);
  clocks = std::max(clocks, once / model.dram_bytes + model.workgroup_start);
  if (const std::uint64_t split = split_elements(c, d); split != 0)
    clocks += model.second_step + sums_clocks(c, split * 4, tail != 0);
  return static_cast<std::int64_t>(
             std::min<std::uint64_t>(clamped(clocks, model.clock_picoseconds), std::uint64_t{1} << 50)) *
         (1000 + e.bias_permille) / 1000;
}

}  // namespace sectile::detail
