// Planning a permute: the table of its candidates, what they cost, and problems that take several steps.
#include "plan/choose.hpp"
#include "operation.hpp"
#include "strategy.hpp"
#include "plan/unsupported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sectile::detail {

namespace {

constexpr const Strategy* kPermute[] = {&kCopy,  &kRows, &kTile, &kBlock, &kRuns,  &kInterleave,
                                          &kTma, &kBox,  &kWords, &kFused, &kFusedBlock};

std::int64_t biased(std::uint64_t group, std::uint64_t groups, std::int64_t bias_permille) {
  const std::uint64_t total = group * std::min<std::uint64_t>(groups, 1ull << 31);
  if (bias_permille >= kFallback) return std::numeric_limits<std::int64_t>::max() / 2;
  return static_cast<std::int64_t>(std::min<std::uint64_t>(total / 1000, 1ull << 50)) * (1000 + bias_permille);
}

// Time that a workgroup keeps its multiprocessor busy, in picoseconds of an H200's share of memory
// (4 TB/s over 132: 1.07 ns for 32 bytes) and issue slots (four instructions a clock at 1.7 GHz: 147 ps
// each). Memory and issue overlap, so the longer one counts, and a quarter of the other.
std::int64_t cost_of(const Context& c, const Estimate& e) {
  const auto& n = e.interior;
  const std::uint64_t transactions = e.memory_transactions != 0 ? e.memory_transactions : n.load_transactions + n.store_transactions;
  const std::uint64_t memory = transactions * (c.profile.transaction_bytes.value_or(32)) * 33;
  const std::uint64_t issue = e.instructions * 147 + n.bank_conflicts * 590;
  const std::uint64_t group = std::max(memory, issue) + std::min(memory, issue) / 8;
  // Fewer workgroups than the device holds at once cost as if they were as many: the rest stands idle.
  const std::uint64_t held = std::uint64_t{c.profile.multiprocessors.value_or(64)} * 4;
  return biased(group, std::max(e.groups, held), e.bias_permille);
}

// On a CPU every access is a scalar one a lane: what counts is how many there are and how wide.
std::int64_t cpu_cost_of(const Strategy& s, const Estimate& e, const Config& d) {
  const auto& n = e.interior;
  // Workgroup memory costs a CPU a second copy, and the box its index arithmetic an element.
  const std::uint64_t weight = &s == &kTile ? 400 : &s == &kBox ? (d.element_bytes == 1 ? 300 : 600) : &s == &kWords ? 400 : &s == &kRows ? 500 : 100;
  const std::uint64_t requests = n.load_requests + n.store_requests;
  const std::uint64_t loads = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.load_transactions;
  const std::uint64_t stores = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.store_transactions;
  const std::uint64_t group = requests * weight * (10 + d.element_bytes) + loads * 200 + stores * 300 + e.instructions * 10;
  return biased(group, e.groups, e.bias_permille);
}

void describe(Candidate& candidate, const Config& d, const Estimate& e) {
  candidate.interior = e.interior;
  candidate.edge = e.edge;
  candidate.detail = fmt::format("e{}{} wg={} groups={} shared={}", d.element_bytes, d.wide ? ".wide" : "",
                                 d.workgroup, d.groups, d.workgroup_memory_bytes);
}

struct Permutes {
  using Strategy = detail::Strategy;
  using Config = detail::Config;
  const Context& c;

  std::span<const Strategy* const> table() const { return kPermute; }
  bool applicable(const Strategy& s, std::uint32_t row, Refusal& refusal) const {
    if (s.fused != c.nest.stage.present)
      return s.fused ? refusal.no("elements are moved, and not computed with")
                     : refusal.no("elements are computed with, {} moves them alone", s.stem);
    return s.applicable(c, row, refusal);
  }
  bool fallback(const Strategy& s, std::uint32_t row) const { return s.fallback(c, row); }
  Config make(const Strategy& s, std::uint32_t row) const { return s.make(c, row); }
  std::int64_t cost(const Strategy& s, std::uint32_t row, const Config& config, Candidate* explanation) const {
    // What is told is counted in full; the choice is by the same counts whether anybody is told or not.
    if (explanation != nullptr) describe(*explanation, config, s.estimate({c.nest, c.profile, c.limits, c.wide, true}, row, config));
    const Estimate estimate = s.estimate(c, row, config);
    return c.cpu() ? cpu_cost_of(s, estimate, config) : cost_of(c, estimate);
  }
  bool has_code(const Strategy& s, const Config& config, const KernelSet& kernels, Refusal& refusal) const {
    // A step that cannot be made is told when it is chosen.
    const auto step = s.step(config, c.nest, c.profile);
    return !step || kernels.has(*step) || refusal.no("the pack has no {}.{} with its constants",
                                                     step->kernel.stem, step->kernel.variant);
  }
};

// The axis to halve where a part is too large: the one whose halves lie farthest apart.
int axis_to_cut(const Nest& nest) {
  int best = nest.rank - 1;
  std::int64_t most = 0;
  for (int a = 0; a < nest.rank; ++a) {
    const auto& axis = nest.axis[static_cast<std::size_t>(a)];
    const std::int64_t span = (axis.extent - 1) * std::max(axis.src_stride, axis.dst_stride);
    if (span >= most) {
      most = span;
      best = a;
    }
  }
  return best;
}

Result<void> plan_part(Job& job, const Nest& nest);

// Where a pack has no candidate's code: what comes nearest to what would be chosen without one.
Result<void> not_in_pack(const Job& job, const Context& c, const PlanOptions& unlimited) {
  const auto choice = choose(Permutes{c}, unlimited, nullptr);
  if (choice.strategy == nullptr) return {};
  const auto step = choice.strategy->step(choice.config, c.nest, c.profile);
  if (!step) return std::unexpected(step.error());
  return fail(ErrorKind::missing, "kernel in the pack for " + job.profile.name, print(job.plan.problem),
              job.options.kernels->nearest(*step));
}

Result<void> plan_halves(Job& job, const Nest& nest) {
  if (job.plan.steps.size() >= kMaxSteps)
    return fail(ErrorKind::limit_exceeded, "steps", fmt::format("more than {}", kMaxSteps), fmt::format("{}", kMaxSteps));
  const int axis = axis_to_cut(nest);
  const std::int64_t extent = nest.axis[static_cast<std::size_t>(axis)].extent;
  // A multiple of 64 keeps the halves' accesses as wide as the whole's.
  std::int64_t half = (extent + 1) / 2;
  if (half > 128) half = (half + 63) / 64 * 64;
  if (auto r = plan_part(job, part_of(nest, axis, 0, half)); !r) return r;
  return plan_part(job, part_of(nest, axis, half, extent - half));
}

// Offsets and numbers that a kernel's words cannot hold, and that halving mends.
bool too_large(const Nest& nest, bool wide_offsets) {
  if (nest.contiguous_copy()) return false;   // permute_copy works its offsets out in 64 bits
  for (int a = 0; a < nest.rank; ++a)
    if (nest.axis[static_cast<std::size_t>(a)].extent >= std::int64_t{1} << 31) return true;
  for (int b = 0; b < nest.bounds; ++b) {
    std::int64_t most = 0;
    for (int a = 0; a < nest.rank; ++a) {
      const auto& axis = nest.axis[static_cast<std::size_t>(a)];
      // Boxes that hang over the edge take sums up to twice as far.
      most += 2 * axis.extent * axis.coef[static_cast<std::size_t>(b)];
    }
    if (most >= std::int64_t{1} << 31) return true;
  }
  return needs_wide(nest) && !wide_offsets;
}

Result<void> plan_part(Job& job, const Nest& nest) {
  if (nest.writes_nothing()) return {};
  const bool can_cut = nest.rank > 0 && nest.elements() > 1;
  if (too_large(nest, job.profile.int64.value_or(false)) && can_cut) return plan_halves(job, nest);
  const bool first = job.plan.steps.empty();
  const bool explain = job.options.explain && first;
  const Context c{nest, job.profile, limits_of(job.profile), !nest.contiguous_copy() && needs_wide(nest), false};
  const auto choice = choose(Permutes{c}, job.options, explain ? &job.plan.candidates : nullptr);
  if (choice.strategy == nullptr) {
    if (job.options.kernels != nullptr)
      if (auto missing = not_in_pack(job, c, {.explain = false, .force = job.options.force, .kernels = nullptr}); !missing)
        return missing;
    std::vector<Candidate> explanations;
    choose(Permutes{c}, job.options, &explanations);
    return std::unexpected(unsupported(job, "permute", explanations, [&](const DeviceProfile& other) {
      const Context there{c.nest, other, limits_of(other), c.wide, false};
      return choose(Permutes{there}, PlanOptions(), nullptr).strategy != nullptr;
    }));
  }
  const std::uint64_t ids = choice.config.groups * choice.config.workgroup;
  if (choice.strategy != &kCopy && ids >= kMaxIds * 2 && can_cut) return plan_halves(job, nest);
  auto step = choice.strategy->step(choice.config, nest, job.profile);
  if (!step) return std::unexpected(step.error());
  for (auto& range : step->accesses) range.end = std::min(range.end, job.plan.operands[range.operand].bytes);
  for (const auto& earlier : job.plan.steps)
    for (const auto& a : earlier.accesses)
      for (const auto& b : step->accesses)
        if (a.operand == b.operand && (a.write || b.write) && a.begin < b.end && b.begin < a.end) step->barrier_before = true;
  if (!job.chose) job.plan.choice.candidate = candidate_name(*choice.strategy, choice.row);
  job.plan.steps.push_back(std::move(*step));
  job.chose = true;
  return {};
}

}  // namespace

std::span<const NamedConstant> Operation<PermuteProblem>::named_constants(std::string_view stem) {
  for (const Strategy* strategy : kPermute)
    if (stem == strategy->stem) return strategy->named;
  return {};
}

Result<void> Operation<PermuteProblem>::plan(Job& job, const PermuteProblem& problem) {
  auto loops = loop_nest(problem);
  if (!loops) return std::unexpected(loops.error());
  auto bytes = operand_bytes(problem);
  if (!bytes) return std::unexpected(bytes.error());
  job.plan.operands = {{"src", OperandRole::source, bytes->src, problem.src_align},
                       {"dst", OperandRole::destination, bytes->dst, problem.dst_align}};
  if (!problem.stage.scale.empty()) job.plan.operands.push_back({"scale", OperandRole::source, bytes->scale, 4});
  if (!problem.stage.bias.empty()) job.plan.operands.push_back({"bias", OperandRole::source, bytes->bias, 4});
  if (problem.stage.add) job.plan.operands.push_back({"add", OperandRole::source, bytes->add, problem.dst_align});
  if (loops->empty) return {};
  return plan_part(job, canonical(*loops, problem));
}

std::span<const Strategy* const> permute_strategies() noexcept { return kPermute; }

bool stores_elements(const Context& c, Refusal& refusal) {
  const auto e = c.nest.element_bytes;
  if (e <= 2 && !c.profile.storage16.value_or(false)) return refusal.no("storage16 is needed for elements of {} bytes", e);
  if (e == 1 && !c.profile.storage8.value_or(false)) return refusal.no("storage8 is needed for elements of 1 byte");
  return true;
}

bool vector_fits(const Context& c, VectorSide side, std::uint32_t elements, Refusal& refusal) {
  if (elements <= 1) return true;
  const char* operand = side.source ? "source" : "destination";
  const auto stride = [&](int a) {
    const auto& axis = c.nest.axis[static_cast<std::size_t>(a)];
    return side.source ? axis.src_stride : axis.dst_stride;
  };
  if (stride(side.axis) != 1) return refusal.no("the {} is not contiguous along its innermost axis", operand);
  const auto bytes = elements * c.nest.element_bytes;
  const auto align = side.source ? c.nest.src_access_align() : c.nest.dst_access_align();
  if (align % bytes != 0) return refusal.no("the {} is aligned to {} bytes, accesses have {}", operand, align, bytes);
  const auto extent = c.nest.axis[static_cast<std::size_t>(side.axis)].extent;
  if (extent % elements != 0) return refusal.no("{} elements are no multiple of {} in the {}", extent, elements, operand);
  for (int a = 0; a < c.nest.rank; ++a)
    if (a != side.axis && stride(a) % elements != 0)
      return refusal.no("a stride of {} is no multiple of {} in the {}", stride(a), elements, operand);
  return true;
}

}  // namespace sectile::detail
