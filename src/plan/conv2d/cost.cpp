// A convolution candidate's cost in picoseconds. Integers only, so that every machine chooses alike.
#include "cost.hpp"
#include "plan/gemm/cost.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

constexpr std::uint64_t kMostCost = std::uint64_t{1} << 50;

std::uint64_t saturated_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? kMostCost : std::min(result, kMostCost);
}

// A kernel that is no GEMM: its multiply-adds at the row's rate, but no faster than memory.
std::int64_t direct_cost(const Conv2dContext& c, const DirectConfig& d) {
  const auto& p = c.problem;
  const auto number = [](std::int64_t n) { return static_cast<std::uint64_t>(n); };
  const std::uint64_t outputs = saturated_product(number(p.n * p.k), number(c.out.height * c.out.width));
  const std::uint64_t multiply_adds = saturated_product(outputs, std::max<std::uint64_t>(number(sum_length(p)), 1));
  const std::uint64_t processors = c.profile.multiprocessors.value_or(c.model.multiprocessors);
  if (c.cpu()) {
    // In nanoseconds until the end, so that small problems keep their order.
    const std::uint64_t at_full_rate = saturated_product(multiply_adds, c.model.gemm_cpu.ps_per_kfma / 1000);
    return static_cast<std::int64_t>(saturated_product(at_full_rate / d.rate_permille + 1, 1000) / processors);
  }
  const GemmGpuCost& model = c.model.gemm;
  std::uint64_t bytes = 0;
  for (const PlanOperand& operand : c.operands) bytes += operand.bytes;
  const std::uint64_t memory = saturated_product(bytes, 1000) / d.memory_permille / model.dram_bytes;
  if (d.counted) {
    // The longest of the three hides most of the others.
    const std::uint64_t issue = saturated_product(d.groups, d.counted->issue) / processors / 1000;
    const std::uint64_t lines = saturated_product(d.groups, d.counted->lines) / processors / 1000;
    const std::uint64_t longest = std::max({issue, lines, memory});
    const std::uint64_t clocks =
        longest + (issue + lines + memory - longest) * 3 / 10 + d.counted->latency / 1000 + model.workgroup_start;
    return static_cast<std::int64_t>(saturated_product(clocks, model.clock_picoseconds));
  }
  const std::uint64_t multiply =
      multiply_adds / std::max<std::uint64_t>(1, processors * model.scalar_rate * d.rate_permille / 1000);
  const std::uint64_t clocks = std::max(multiply, memory) + model.workgroup_start;
  return static_cast<std::int64_t>(saturated_product(clocks, model.clock_picoseconds));
}

}  // namespace

// On a GPU 0.7 of memory's rate, and a step: NVIDIA H100, driver 580.159.04, 2026-11-26, `sectile bench PROBLEM --force
// "conv2d_winograd 64x128x8 8x8"` less the matmul of its products: f32 2x320x64x64 49 us for 115 MB, 16x64x56x56 51 for
// 128, 2x1280x16x16 76 for 190. On a CPU a byte takes 100 ps: not fitted; lavapipe 26.1.6, two cores, the same day,
// ranks it after conv2d_lanes as it was measured (`sectile bench PROBLEM --all-candidates`, three problems).
std::int64_t conv2d_transform_cost(const Conv2dContext& c, std::uint64_t bytes) {
  const GemmGpuCost& gpu = c.model.gemm;
  if (c.cpu()) return c.model.gemm_cpu.second_step + static_cast<std::int64_t>(saturated_product(bytes, 100));
  const std::uint64_t clocks = gpu.permute_step + saturated_product(bytes, 1000) / 700 / gpu.dram_bytes;
  return static_cast<std::int64_t>(saturated_product(clocks, gpu.clock_picoseconds));
}

std::int64_t conv2d_cost(const Conv2dContext& c, const Conv2dConfig& config) {
  if (const auto* direct = std::get_if<DirectConfig>(&config)) return direct_cost(c, *direct);
  const auto& [gemm, rows, row, made] = std::get<Conv2dGemmConfig>(config);
  const std::int64_t part = gemm_cost(*gemm->context, made, made.estimate) + gemm->extra_steps_cost;
  return gemm->filter_transform_cost + part * static_cast<std::int64_t>(gemm->parts_after.size() + 1);
}

}  // namespace sectile::detail
