// What a matmul candidate costs, in picoseconds, in integers, from the profile alone.
#include "context.hpp"

#include <algorithm>

namespace sectile::detail {

// Sizes change from call to call along one side (tokens): up to 512 of them, where 128x128 tiles would not fill the
// device, few rows serve for all, with and without a split, so that a new size is no new pipeline.
bool few_tiles(const MatmulContext& c) noexcept {
  constexpr std::int64_t kFewRows = 512;
  const auto& p = c.problem;
  const auto tiles = ceil_div(static_cast<std::uint64_t>(p.m), 128) * ceil_div(static_cast<std::uint64_t>(p.n), 128);
  return p.batch == 1 && std::min(p.m, p.n) <= kFewRows && tiles < c.profile.multiprocessors.value_or(64);
}

namespace {

// Into how many parts, `wanted` at most, the steps of K go alike. A split of less than 8 steps spends its time starting and
// storing; 32 splits are as many as pay; as few as share the steps alike, so that none is left without any.
std::uint32_t even_splits(std::uint64_t steps, std::uint64_t wanted) {
  const std::uint64_t splits = std::max<std::uint64_t>(1, std::min<std::uint64_t>({wanted, steps / 8, 32}));
  return static_cast<std::uint32_t>(ceil_div(steps, ceil_div(steps, splits)));
}

}  // namespace

std::uint32_t splits_to_fill(const MatmulContext& c, const MatmulConfig& d, std::uint32_t each) noexcept {
  const std::uint64_t tiles = matmul_tiles(c, d) * static_cast<std::uint64_t>(c.problem.batch);
  const std::uint64_t held = std::uint64_t{c.profile.multiprocessors.value_or(c.cpu() ? 2 : 16)} * (c.cpu() ? 1 : each);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(c.problem.k), d.tile_k);
  if (tiles * 2 > held) return 1;
  return even_splits(steps, held / tiles);
}

bool tail_to_fill(const MatmulContext& c, MatmulConfig& d) noexcept {
  const auto& p = c.problem;
  const std::uint64_t round = c.profile.multiprocessors.value_or(0);   // unknown: so is what a round is
  if (!d.can_tail || p.batch != 1 || round == 0 || (!c.cpu() && few_tiles(c))) return false;
  const std::uint64_t tiles = matmul_tiles(c, d), across = ceil_div(static_cast<std::uint64_t>(p.n), d.tile_n);
  const std::uint64_t steps = ceil_div(static_cast<std::uint64_t>(p.k), d.tile_k);
  if (tiles <= round || tiles % round == 0) return false;
  const std::uint64_t rows = ceil_div(tiles % round, across);
  if (rows * across >= tiles) return false;
  const std::uint32_t splits = even_splits(steps, round / (rows * across));
  if (splits < 2) return false;
  const std::uint64_t whole = (tiles / across - rows) * d.tile_m;
  d.splits = 1;
  d.tail_rows = static_cast<std::uint32_t>(static_cast<std::uint64_t>(p.m) - whole);
  d.tail_splits = splits;
  return true;
}

namespace {

// An H200's multiprocessor, and its share of the caches, per clock at 1.8 GHz. These and the rows' rates are
// fitted to measurements of 60 shapes, some 900 and then some 600 (NVIDIA H200, driver 580.159.04, 2026-11-22: `sectile
// bench "matmul …" --all-candidates`; docs/lab/2026-11.md). Other devices' rates differ, but not what a candidate asks.
constexpr std::uint64_t kLatency = 1025;           // of a step whose loads wait for the L2
constexpr std::uint64_t kLatencyPipelined = 850;       // the same where the next one is staged early
constexpr std::uint64_t kLatencyL2Prefetch = 700;       // and has been asked for at the beginning: so that 512x512x512 chooses it (6.3 us, 8.0)
constexpr std::uint64_t kBarriers = 215;           // a step's, with the first fragments behind them
constexpr std::uint64_t kStart = 4000;             // of a workgroup: its first loads, and its results' way out
constexpr std::uint64_t kStep = 10000;             // of a second step of the plan: a barrier and another dispatch
constexpr std::uint64_t kCacheBytes = 89;          // to one multiprocessor, from the L2 and the L1 together
constexpr std::uint64_t kMatrixRate = 1215;        // f16 multiply-adds: what the driver's matrix code reaches when nothing else is done
constexpr std::uint64_t kScalarRate = 128;         // f32
constexpr std::uint64_t kDotRate = 512;            // int8 by integer dot product
constexpr std::uint64_t kDramBytes = 2300;         // of the device
constexpr std::uint64_t kPicoseconds = 555;        // a clock

std::uint64_t clamped(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50;
  return __builtin_mul_overflow(a, b, &product) ? kMost : std::min(product, kMost);
}

// Workgroups that a multiprocessor holds at a time.
std::uint64_t resident(const MatmulContext& c, const MatmulConfig& d) {
  const auto& p = c.profile;
  const std::uint64_t registers = p.registers_per_multiprocessor.value_or(65536);
  const std::uint64_t memory = p.workgroup_memory_per_multiprocessor_bytes.value_or(c.limits.workgroup_memory);
  const std::uint64_t invocations = p.max_invocations_per_multiprocessor.value_or(2048);
  std::uint64_t held = std::min<std::uint64_t>(16, invocations / d.workgroup);
  held = std::min(held, registers / (std::uint64_t{(d.registers + 7) / 8 * 8} * d.workgroup));
  // A workgroup takes 1 KiB besides its own (NVIDIA).
  const std::uint64_t own = d.driver_staged ? 36864 : d.workgroup_memory_bytes;
  if (own != 0) held = std::min(held, memory / (own + 1024));
  return std::max<std::uint64_t>(held, 1);
}

std::uint64_t rate_of(const MatmulContext& c, const MatmulConfig& d) {
  const std::uint64_t unit = d.matrix_unit ? kMatrixRate * (c.integer() ? 2 : 1)
                             : c.integer() && c.profile.integer_dot_product.value_or(false) ? kDotRate : kScalarRate;
  return std::max<std::uint64_t>(1, unit * d.rate_permille / 1000);
}

// What a CPU's candidate costs is its multiply-adds, at the rate that its row was measured to reach.
std::int64_t cpu_cost(const MatmulContext& c, const MatmulConfig& d, std::uint64_t groups, std::uint64_t k) {
  const std::uint64_t group = std::uint64_t{d.tile_m} * d.tile_n * k * 100 / std::max<std::uint32_t>(1, d.rate_permille) + 1;
  const std::uint64_t tail = d.tail_rows != 0 ? group / d.tail_splits : 0;
  return static_cast<std::int64_t>((clamped(ceil_div(groups, c.profile.multiprocessors.value_or(2)), group) + tail) * 100) +
         (d.splits > 1 || d.tail_rows != 0 ? 1000000 : 0);
}

// The result's elements whose partial sums are stored and read again.
std::uint64_t split_elements(const MatmulContext& c, const MatmulConfig& d) {
  const auto n = static_cast<std::uint64_t>(c.problem.n), batch = static_cast<std::uint64_t>(c.problem.batch);
  if (d.tail_rows != 0) return clamped(d.tail_rows * n, d.tail_splits);
  return d.splits > 1 ? clamped(batch * d.splits, static_cast<std::uint64_t>(c.problem.m) * n) : 0;
}

}  // namespace

std::int64_t matmul_cost(const MatmulContext& c, const MatmulConfig& d, const MatmulEstimate& e) {
  const auto& p = c.problem;
  if (e.bias_permille >= kFallback) return std::int64_t{1} << 60;
  const std::uint64_t batch = static_cast<std::uint64_t>(p.batch), m = static_cast<std::uint64_t>(p.m), n = static_cast<std::uint64_t>(p.n);
  const std::uint64_t tail = matmul_tail_tiles(c, d);
  const std::uint64_t groups = (matmul_tiles(c, d) - tail) * d.splits * batch;
  const std::uint64_t steps = ceil_div(ceil_div(static_cast<std::uint64_t>(p.k), d.tile_k), d.splits);
  if (c.cpu()) return cpu_cost(c, d, groups, steps * d.tile_k);

  // One step of K: multiplying, and what it loads; both go on side by side. A workgroup that is alone where others could
  // be hides nothing of its staging behind theirs.
  const std::uint64_t multiply = std::uint64_t{d.tile_m} * d.tile_n * d.tile_k / rate_of(c, d) + e.interior.bank_conflicts / 2;
  const std::uint64_t bytes = e.interior.ideal_load_transactions * c.profile.transaction_bytes.value_or(32);
  const std::uint64_t load = bytes / kCacheBytes;
  const std::uint64_t held = resident(c, d);
  const std::uint64_t latency = d.l2_prefetch ? kLatencyL2Prefetch : d.pipelined ? kLatencyPipelined : kLatency;
  const auto step = [&](std::uint64_t beside) {
    const std::uint64_t alone = multiply + multiply * 3 * (held - beside) / (2 * held);
    return std::max({beside * multiply, alone, beside * load, latency}) + kBarriers / beside;
  };
  const std::uint64_t multiprocessors = c.profile.multiprocessors.value_or(64);
  const std::uint64_t rounds = ceil_div(groups, multiprocessors);
  const std::uint64_t whole = rounds / held, last = rounds % held;
  const std::uint64_t result = std::uint64_t{d.tile_m} * d.tile_n / 24;   // its way out
  std::uint64_t clocks = clamped(whole, clamped(steps, step(held)) + kStart + held * result);
  if (last != 0) clocks += clamped(steps, step(last)) + kStart + last * result;
  // Beside the last of the others, which it slows down (measured with 128x192, 128x128 and 64x128 on an H200, 2026-11-23;
  // docs/lab/2026-11.md, the sixth round); behind them in a CUDA stream.
  if (tail != 0) clocks += clamped(ceil_div(steps, d.tail_splits), step(1)) * 3 / 2 + (c.profile.api == Api::cuda ? kStart + result : 0);
  // Operands come from memory once, and from the L2 as often as tiles ask for them.
  const std::uint64_t a_bytes = matmul_type_bytes(c.a_type), b_bytes = matmul_type_bytes(c.b_type), d_bytes = matmul_type_bytes(c.out_type);
  const std::uint64_t k = static_cast<std::uint64_t>(p.k);
  const std::uint64_t once = clamped(batch, m * k * a_bytes + n * k * b_bytes / (c.b_type == MATMUL_TYPE_Q4 ? 2 : 1) + m * n * d_bytes);
  clocks = std::max(clocks, once / kDramBytes + kStart);
  if (const std::uint64_t split = split_elements(c, d); split != 0) clocks += kStep + split * 4 / kDramBytes;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(clamped(clocks, kPicoseconds), std::uint64_t{1} << 50)) * (1000 + e.bias_permille) / 1000;
}

}  // namespace sectile::detail
