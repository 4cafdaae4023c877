// A convolution candidate's cost in picoseconds. Integers only, so that every machine chooses alike.
#include "cost.hpp"
#include "base/arithmetic.hpp"
#include "plan/gemm/cost.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

std::uint64_t number(std::int64_t n) { return static_cast<std::uint64_t>(n); }

// A CPU's multiply-adds at the row's rate; beside them an invocation has loads, and turns of its loop.
std::int64_t cpu_cost(const ConvolutionWork& c, const CostModel& m, const DirectConfig& d) {
  const DirectWork& work = d.work;
  const std::uint64_t processors = c.profile.multiprocessors.value_or(m.multiprocessors);
  std::uint64_t spent = 0, busy = processors;
  if (d.table == CostTable::conv2d_lanes) {
    spent = m.conv2d_cpu.lanes_turn + m.conv2d_cpu.lanes_input * work.loads + work.weights + work.multiply_adds;
    busy = std::min(d.groups, processors);
  } else if (d.table == CostTable::conv2d_depthwise) {
    spent = work.multiply_adds + m.conv2d_cpu.depthwise_load * (work.loads + work.weights + work.stores);
    busy = std::min(d.groups * d.workgroup, processors);
  }
  std::uint64_t rate = std::uint64_t{m.row(d.table, d.row).rate} * 1000;
  if (spent != 0) rate = rate * work.multiply_adds / spent * std::min(work.wanted, work.computed) / work.computed;
  rate = std::max<std::uint64_t>(rate * busy / processors, 1);
  const auto all = static_cast<UnsignedWide>(c.multiply_adds) * m.gemm_cpu.ps_per_kfma * 100 / rate / processors;
  return static_cast<std::int64_t>(std::min<UnsignedWide>(all, kMostProduct)) + 1;
}

// What a GPU spends on counted work. A lane's neighbour is a strip away in NCHW, so long strips touch more cache lines
// at a time. The longest of the three hides most of the others.
std::uint64_t counted_clocks(const ConvolutionWork& c, const CostModel& m, const DirectConfig& d) {
  const Conv2dGpuCost& model = m.conv2d;
  const DirectWork& w = d.work;
  const std::uint64_t processors = c.profile.multiprocessors.value_or(m.multiprocessors);
  const std::uint64_t subgroups = ceil_div(d.workgroup, std::uint64_t{Walk(c.profile).lanes()});
  const std::uint64_t group_issue = subgroups * (model.issue_multiply * w.multiply_adds + model.issue_column * w.loads +
                                                 model.issue_weight * w.weights + model.issue_store * w.stores);
  const std::uint64_t group_lines =
      subgroups * (w.loads * (model.lines_column + model.lines_column_line * w.x_lines / 1000) +
                   model.lines_weight * w.weights + w.stores * model.lines_store * w.y_lines / 1000);
  // Each row of the filter waits for its loads.
  const std::uint64_t latency = model.latency_row * w.rows + model.latency_multiply * w.multiply_adds;
  const std::uint64_t issue = saturated_product(d.groups, group_issue) / processors / 1000;
  const std::uint64_t lines = saturated_product(d.groups, group_lines) / processors / 1000;
  const std::uint64_t memory = saturated_product(c.bytes, 1000) / model.memory_permille / m.gemm.dram_bytes;
  const std::uint64_t longest = std::max({issue, lines, memory});
  return longest + (issue + lines + memory - longest) * model.hidden_permille / 1000 + latency / 1000 +
         m.gemm.workgroup_start;
}

// A kernel that is no GEMM.
std::int64_t direct_cost(const ConvolutionWork& c, const CostModel& m, const DirectConfig& d) {
  if (c.cpu()) return cpu_cost(c, m, d);
  const GemmGpuCost& model = m.gemm;
  std::uint64_t clocks = 0;
  if (d.table == CostTable::conv2d_depthwise) {
    clocks = counted_clocks(c, m, d);
  } else {
    const std::uint64_t processors = c.profile.multiprocessors.value_or(m.multiprocessors);
    const std::uint64_t rate = processors * model.scalar_rate * m.row(d.table, d.row).rate / 1000;
    const std::uint64_t multiply = c.multiply_adds / std::max<std::uint64_t>(1, rate);
    clocks = std::max(multiply, c.bytes / model.dram_bytes) + model.workgroup_start;
  }
  return static_cast<std::int64_t>(saturated_product(clocks, model.clock_picoseconds));
}

// Permutes and transforms around a GEMM.
std::int64_t extra_cost(const ConvolutionWork& c, const CostModel& m, const ExtraSteps& extra) {
  const std::uint64_t steps = extra.permutes + extra.transforms;
  if (c.cpu())
    return extra.permutes_cost + static_cast<std::int64_t>(steps * m.gemm_cpu.second_step) +
           static_cast<std::int64_t>(saturated_product(extra.transformed_bytes, m.conv2d_cpu.transform_byte));
  const std::uint64_t transforms =
      saturated_product(extra.transformed_bytes, 1000) / m.conv2d.transform_permille / m.gemm.dram_bytes;
  return extra.permutes_cost + static_cast<std::int64_t>(saturated_product(steps * m.gemm.permute_step + transforms,
                                                                           m.gemm.clock_picoseconds));
}

}  // namespace

ConvolutionWork convolution_work(const Conv2dProblem& p, const DeviceProfile& profile,
                                 std::span<const PlanOperand> operands) {
  ConvolutionWork work{.profile = profile};
  const ImageSize out = size_of_output(p);
  const std::uint64_t outputs = saturated_product(number(p.n * p.k), number(out.height * out.width));
  work.multiply_adds = saturated_product(outputs, std::max<std::uint64_t>(number(sum_length(p)), 1));
  for (const PlanOperand& operand : operands) work.bytes += operand.bytes;
  return work;
}

std::int64_t conv2d_raw_cost(const ConvolutionWork& c, const CostModel& m, const Conv2dConfig& config) {
  if (const auto* direct = std::get_if<DirectConfig>(&config)) return direct_cost(c, m, *direct);
  const auto& [gemm, rows, row, made] = std::get<Conv2dGemmConfig>(config);
  const std::int64_t part = gemm_cost(*gemm->context, m, made) + extra_cost(c, m, gemm->extra);
  const std::int64_t filter = gemm->filter_transform.transforms != 0 ? extra_cost(c, m, gemm->filter_transform) : 0;
  return filter + part * static_cast<std::int64_t>(gemm->parts_after.size() + 1);
}

// In the order of feature_names().
Features conv2d_features(const ConvolutionWork& c, const Conv2dConfig& config, std::int64_t cost) {
  if (const auto* gemm = std::get_if<Conv2dGemmConfig>(&config))
    return gemm_features(*gemm->gemm->context, gemm->config, cost);
  const auto& d = std::get<DirectConfig>(config);
  const std::uint64_t multiprocessors = c.profile.multiprocessors.value_or(1);
  const DirectWork& w = d.work;
  return {log2_1024(number(std::max<std::int64_t>(cost, 1))),
          log2_1024(d.groups * 16 + 1) - log2_1024(multiprocessors * 16 + 1),
          log2_1024(w.multiply_adds + 1),
          log2_1024(w.loads + w.weights + 1),
          log2_1024(w.x_lines + 1),
          log2_1024(w.y_lines + 1)};
}

std::int64_t conv2d_cost(const Conv2dContext& context, const CostModel& m, CostTable table,
                         const Conv2dConfig& config) {
  const ConvolutionWork& c = context.work;
  const std::int64_t cost = conv2d_raw_cost(c, m, config);
  const auto features = [&] { return conv2d_features(c, config, cost); };
  if (const auto* direct = std::get_if<DirectConfig>(&config))
    return corrected_cost(m, table, m.row(direct->table, direct->row), cost, features);
  const GemmConfig& made = std::get<Conv2dGemmConfig>(config).config;
  return corrected_cost(m, table, m.row(made.table, made.row), cost, features);
}

}  // namespace sectile::detail
