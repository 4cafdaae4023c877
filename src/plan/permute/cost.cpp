// A permute candidate's cost in picoseconds of one multiprocessor. Integers only, so that every machine chooses alike.
#include "base/arithmetic.hpp"
#include "strategy.hpp"

#include <algorithm>

namespace sectile::detail {

namespace {

std::int64_t charged(std::uint64_t group, std::uint64_t groups, std::uint64_t permille) {
  constexpr UnsignedWide kMost = std::uint64_t{1} << 60;
  const auto total = static_cast<UnsignedWide>(group) * groups / 1000 * (1000 + permille);
  return static_cast<std::int64_t>(std::min(total, kMost));
}

// Of a GPU that does not state them, those of the one that was measured: choices are made as for it.
std::uint32_t multiprocessors_of(const PermuteContext& c, const CostModel& m) {
  return c.profile.multiprocessors.value_or(c.cpu() ? m.multiprocessors : m.measured_multiprocessors);
}

std::uint64_t transactions_of(const PermuteEstimate& e) {
  return e.memory_transactions != 0 ? e.memory_transactions
                                    : e.interior.load_transactions + e.interior.store_transactions;
}

std::uint64_t issue_of(const PermuteGpuCost& model, const PermuteEstimate& e) {
  return e.instructions * model.instruction + e.interior.bank_conflicts * model.bank_pass;
}

// Memory time and issue time of a workgroup overlap: the cost is the longer one plus a fraction of the shorter.
std::int64_t gpu_cost(const PermuteContext& c, const CostModel& m, const PermuteEstimate& e) {
  const PermuteGpuCost& model = m.permute;
  const std::uint64_t memory = transactions_of(e) * c.profile.transaction_bytes.value_or(32) * model.byte;
  const std::uint64_t issue = issue_of(model, e);
  const std::uint64_t group = std::max(memory, issue) + std::min(memory, issue) / model.overlap_divisor;
  // Fewer workgroups than the device holds at once cost as many as it holds, because the other multiprocessors idle.
  const std::uint64_t held = std::uint64_t{multiprocessors_of(c, m)} * model.resident;
  std::uint64_t permille = 0;
  for (const auto& extra : e.surcharges.all())
    if (extra.gpu != nullptr) permille += extra.times * (model.*extra.gpu);
  return charged(group, std::max(e.groups, held), permille);
}

// A CPU runs one scalar access per lane: the cost follows their number and width.
std::int64_t cpu_cost(const CostModel& m, const PermuteEstimate& e, const PermuteConfig& d) {
  const PermuteCpuCost& model = m.permute_cpu;
  const auto& n = e.interior;
  const std::uint64_t requests = n.load_requests + n.store_requests;
  const std::uint64_t loads = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.load_transactions;
  const std::uint64_t stores = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.store_transactions;
  const std::uint64_t request = model.request[static_cast<std::size_t>(e.addressing)];
  const std::uint64_t group = requests * request * (model.request_bytes + d.element_bytes) + loads * model.load +
                              stores * model.store + e.instructions * model.instruction;
  std::uint64_t permille = 0;
  for (const auto& extra : e.surcharges.all())
    if (extra.cpu != nullptr) permille += extra.times * (model.*extra.cpu);
  return charged(group, e.groups, permille);
}

}  // namespace

std::int64_t permute_raw_cost(const PermuteContext& c, const CostModel& m, const PermuteEstimate& e,
                              const PermuteConfig& d) {
  return c.cpu() ? cpu_cost(m, e, d) : gpu_cost(c, m, e);
}

// In the order of feature_names().
Features permute_features(const PermuteContext& c, const PermuteEstimate& e, const PermuteConfig& d,
                          std::int64_t cost) {
  const AccessCount& n = e.interior;
  const auto ratio = [](std::uint64_t a, std::uint64_t b) { return log2_1024(a + 1) - log2_1024(b + 1); };
  const std::uint64_t requests = n.load_requests + n.store_requests, transactions = transactions_of(e);
  const std::uint64_t multiprocessors = multiprocessors_of(c, c.model);
  const std::int32_t groups = log2_1024(e.groups);
  return {log2_1024(static_cast<std::uint64_t>(std::max<std::int64_t>(cost / 1024, 1))),
          ratio(n.load_transactions, n.ideal_load_transactions),
          ratio(n.store_transactions, n.ideal_store_transactions),
          log2_1024(requests + 1) + groups,
          log2_1024(transactions + 1) + groups,
          ratio(n.bank_conflicts + requests, requests),
          groups - log2_1024(multiprocessors),
          log2_1024(d.element_bytes),
          ratio(n.ideal_load_transactions * 32, n.load_requests),
          ratio(n.ideal_store_transactions * 32, n.store_requests),
          log2_1024(d.workgroup),
          log2_1024(e.instructions + 1) - log2_1024(transactions + 1),
          log2_1024(e.sector_gap / 1024 + 1024) - 10 * 1024};  // of 1 and so many MiB
}

std::int64_t permute_cost(const PermuteContext& c, const CostModel& m, CostTable table, std::uint32_t row,
                          const PermuteEstimate& e, const PermuteConfig& d) {
  const std::int64_t cost = permute_raw_cost(c, m, e, d);
  return corrected_cost(m, table, m.row(table, row), cost, [&] { return permute_features(c, e, d, cost); });
}

std::int64_t permute_picoseconds(const PermuteContext& c, const CostModel& m, std::int64_t cost) {
  const std::int64_t picoseconds = cost / multiprocessors_of(c, m);
  return c.cpu() ? picoseconds / 1000 * m.permute_cpu.scale : picoseconds;
}

}  // namespace sectile::detail
