// A permute candidate's cost in picoseconds of one multiprocessor. Integers only, so that every machine chooses alike.
#include "strategy.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

std::int64_t biased(std::uint64_t group, std::uint64_t groups, std::int64_t bias_permille) {
  constexpr std::uint64_t kMostGroups = std::uint64_t{1} << 31, kMost = std::uint64_t{1} << 50;
  const std::uint64_t total = group * std::min(groups, kMostGroups);
  return static_cast<std::int64_t>(std::min(total / 1000, kMost)) * (1000 + bias_permille);
}

// Memory time and issue time of a workgroup overlap: the cost is the longer one plus a fraction of the shorter.
std::int64_t gpu_cost(const PermuteContext& c, const PermuteEstimate& e) {
  const PermuteGpuCost& model = c.model.permute;
  const auto& n = e.interior;
  const std::uint64_t transactions =
      e.memory_transactions != 0 ? e.memory_transactions : n.load_transactions + n.store_transactions;
  const std::uint64_t memory = transactions * c.profile.transaction_bytes.value_or(32) * model.byte;
  const std::uint64_t issue = e.instructions * model.instruction + n.bank_conflicts * model.bank_pass;
  const std::uint64_t group = std::max(memory, issue) + std::min(memory, issue) / model.overlap_divisor;
  // Fewer workgroups than the device holds at once cost as many as it holds, because the other multiprocessors idle.
  const std::uint64_t held =
      std::uint64_t{c.profile.multiprocessors.value_or(c.model.multiprocessors)} * model.resident;
  return biased(group, std::max(e.groups, held), e.bias_permille);
}

// A CPU runs one scalar access per lane: the cost follows their number and width.
std::int64_t cpu_cost(const PermuteContext& c, const PermuteEstimate& e, const PermuteConfig& d) {
  const PermuteCpuCost& model = c.model.permute_cpu;
  const auto& n = e.interior;
  const std::uint64_t requests = n.load_requests + n.store_requests;
  const std::uint64_t loads = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.load_transactions;
  const std::uint64_t stores = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.store_transactions;
  const std::uint64_t request = model.request[static_cast<std::size_t>(e.addressing)];
  const std::uint64_t group = requests * request * (model.request_bytes + d.element_bytes) + loads * model.load +
                              stores * model.store + e.instructions * model.instruction;
  return biased(group, e.groups, e.bias_permille);
}

}  // namespace

std::int64_t permute_cost(const PermuteContext& c, const PermuteEstimate& e, const PermuteConfig& d) {
  return c.cpu() ? cpu_cost(c, e, d) : gpu_cost(c, e);
}

std::int64_t permute_picoseconds(const PermuteContext& c, std::int64_t cost) {
  const std::int64_t picoseconds = cost / c.profile.multiprocessors.value_or(c.model.multiprocessors);
  return c.cpu() ? picoseconds / 1000 * c.model.permute_cpu.scale : picoseconds;
}

}  // namespace sectile::detail
