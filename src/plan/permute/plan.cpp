// Plans a permute: the table of strategies, and the cutting of problems that are too large for one step.
#include "operation.hpp"
#include "plan/choose.hpp"
#include "plan/extra_rows.hpp"
#include "strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace sectile::detail {

namespace {

constexpr const PermuteStrategy* kPermute[] = {&kCopy,   &kRows,   &kRealign, &kElements,   &kTile,       &kBlock,
                                               &kRagged, &kGather, &kTabled,  &kRuns,       &kInterleave, &kTma,
                                               &kBox,    &kWords,  &kFused,   &kFusedBlock, &kFusedRagged};

const Nest kNoNest;  // costs do not read it

struct Permutes {
  using Strategy = PermuteStrategy;
  using Config = PermuteConfig;
  const PermuteContext& c;
  CostObserver* observer = nullptr;

  const PermuteContext& context() const { return c; }
  std::span<const PermuteStrategy* const> table() const { return kPermute; }
  PermuteConfig make(const PermuteStrategy& s, std::uint32_t row) const { return s.make(c, row); }
  std::int64_t cost(const PermuteStrategy& s, std::uint32_t row, const PermuteConfig& config) const {
    return permute_cost(c, c.model, s.costs, row, s.estimate(c, row, config), config);
  }
  CostedCandidate costed(std::string name, const PermuteStrategy& s, std::uint32_t row, const PermuteConfig& d) const {
    const auto e = std::make_shared<const PermuteEstimate>(s.estimate(c, row, d));
    const auto there = std::make_shared<const PermuteContext>(
        PermuteContext{kNoNest, c.profile, c.model, c.limits, c.offset64, false});
    return {.name = std::move(name),
            .eligibility = {},
            .table = s.costs,
            .row_table = s.costs,
            .row = row,
            .cost = [there, e, d](const CostModel& m) { return permute_raw_cost(*there, m, *e, d); },
            .features = [there, e, d](std::int64_t cost) { return permute_features(*there, *e, d, cost); },
            .scale = static_cast<double>(permute_picoseconds(c, c.model, std::int64_t{1} << 40)) /
                     static_cast<double>(std::int64_t{1} << 40)};
  }
  // The counts are complete. `cost` is cost()'s, from the sampled counts.
  void explain(const PermuteStrategy& s, std::uint32_t row, const PermuteConfig& d, std::int64_t cost,
               Candidate& candidate) const {
    const auto full = s.estimate({c.nest, c.profile, c.model, c.limits, c.offset64, true}, row, d);
    candidate.interior = full.interior;
    candidate.edge = full.edge;
    candidate.cost = permute_picoseconds(c, c.model, cost);
    candidate.detail = fmt::format("e{}{} wg={} groups={} shared={}", d.element_bytes, d.offset64 ? ".wide" : "",
                                   d.workgroup, d.groups, d.workgroup_memory_bytes);
  }
  Result<std::vector<Step>> steps(const PermuteConfig& config) const {
    auto step = config.step(config, c.nest, c.profile);
    if (!step) return std::unexpected(step.error());
    std::vector<Step> steps;
    steps.push_back(std::move(*step));
    return steps;
  }
  Permutes without_pack() const { return *this; }
  bool plannable(const DeviceProfile& other) const {
    const PermuteContext there{c.nest, other, cost_model_of(other), limits_of(other), c.offset64, false};
    return choose(Permutes{there}, PlanOptions(), nullptr).strategy != nullptr;
  }
};

PermuteContext context_of(const Job& job, const Nest& nest) {
  return {nest,
          job.profile,
          cost_model_of(job.profile),
          limits_of(job.profile),
          !nest.contiguous_copy() && needs_offset64(nest),
          false,
          job.extra != nullptr && job.extra->retired};
}

// What is smaller does not pay for a second step.
constexpr std::int64_t kLeastSplitBytes = std::int64_t{4} << 20;

// The axis to halve if a part is too large: the one with the greatest span in memory.
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

Result<void> plan_part(Job& job, const Nest& nest, bool split = true);

Result<void> plan_halves(Job& job, const Nest& nest) {
  if (job.plan.steps.size() >= kMaxSteps)
    return fail(ErrorKind::limit_exceeded, "steps", fmt::format("more than {}", kMaxSteps),
                fmt::format("{}{}", kMaxSteps,
                            job.profile.int64.value_or(false) ? "" : "; with shaderInt64 the problem takes fewer"));
  const int axis = axis_to_cut(nest);
  const std::int64_t extent = nest.axis[static_cast<std::size_t>(axis)].extent;
  // With a multiple of 64 the halves allow the same access width as the whole.
  std::int64_t half = (extent + 1) / 2;
  if (half > 128) half = (half + 63) / 64 * 64;
  if (auto r = plan_part(job, part_of(nest, axis, 0, half)); !r) return r;
  return plan_part(job, part_of(nest, axis, half, extent - half));
}

// The cost in picoseconds of the best candidate, on the whole device; none if only last resorts serve.
std::optional<std::int64_t> best_cost(const Job& job, const Nest& nest) {
  const PermuteContext c = context_of(job, nest);
  const auto choice = choose(Permutes{c}, job.options, nullptr, Eligibility::candidate);
  if (choice.strategy == nullptr) return std::nullopt;
  return permute_picoseconds(c, c.model, choice.cost);
}

// Sectors of which a part writes only some bytes, on a GPU: the rest is read from memory first.
std::uint64_t shared_sectors(const Nest& nest) {
  const DestinationRow row = destination_row(nest);
  const std::int64_t bytes = row.elements * nest.element_bytes, runs = nest.elements() / row.elements;
  const bool begins_whole = nest.alignment(Side::dst, row.along) >= PERMUTE_SECTOR;
  const std::int64_t sectors = begins_whole             ? (bytes % PERMUTE_SECTOR != 0 ? runs : 0)
                               : bytes < PERMUTE_SECTOR ? runs
                                                        : 2 * runs;
  return static_cast<std::uint64_t>(std::min(sectors, nest.dst_span() * nest.element_bytes / PERMUTE_SECTOR));
}

// best_cost(), and what it costs a part that it shares sectors with others.
std::optional<std::int64_t> part_cost(const Job& job, const Nest& nest) {
  const auto cost = best_cost(job, nest);
  const PermuteContext c = context_of(job, nest);
  if (!cost || c.cpu()) return cost;
  const std::uint64_t bytes = shared_sectors(nest) * PERMUTE_SECTOR;
  return *cost + permute_picoseconds(c, c.model, static_cast<std::int64_t>(bytes * c.model.permute.byte));
}

// A barrier and another dispatch, in picoseconds.
std::int64_t second_step(const Job& job) {
  const CostModel model = cost_model_of(job.profile);
  return job.profile.kind == DeviceKind::cpu ? model.gemm_cpu.second_step
                                             : std::int64_t{model.gemm.second_step} * model.gemm.clock_picoseconds;
}

struct Parts {
  std::vector<Nest> nests;
  std::int64_t cost = 0;  // picoseconds
};

// Bytes of a row whose data and zeros are not moved by one step each: both have gaps then, and share sectors. H200,
// 2026-11-29, f32 326x11x7x635 layout=NCHW:NCHW32c, rows of 44 and 84 bytes: 0.18 of a copy in two steps, where 0.49
// was expected, and 0.27 in one.
constexpr std::int64_t kLeastCutRow = 512;

// The nest, or its parts where these cost less; none if a last resort alone serves it.
std::optional<Parts> best_parts(const Job& job, const Nest& nest) {
  if (nest.writes_nothing()) return Parts();
  const auto whole = part_cost(job, nest);
  if (!whole) return std::nullopt;
  const Cut cut = cut_of(nest);
  if (cut.extent == 0) return Parts{{nest}, *whole};
  const std::int64_t extent = nest.axis[static_cast<std::size_t>(cut.axis)].extent;
  const Nest past = part_of(nest, cut.axis, cut.extent, extent - cut.extent);
  if (cut.axis == 0 && !past.writes_nothing() && extent * nest.element_bytes < kLeastCutRow)
    return Parts{{nest}, *whole};
  auto parts = best_parts(job, simplified(part_of(nest, cut.axis, 0, cut.extent)));
  const auto rest = best_parts(job, simplified(past));
  if (!parts || !rest) return Parts{{nest}, *whole};
  parts->cost += rest->cost + (parts->nests.empty() || rest->nests.empty() ? 0 : second_step(job));
  if (parts->cost + *whole / 20 >= *whole) return Parts{{nest}, *whole};  // estimates are not exact
  parts->nests.insert(parts->nests.end(), rest->nests.begin(), rest->nests.end());
  return parts;
}

// Blocks that do not divide their axis: most of the problem reaches no limit, and wider and faster kernels serve it
// than the rest. What is left along a limit is data up to an index of a block, then zeros or nothing. Each part as a
// step of its own, where these cost less than one; otherwise none. A forced candidate moves the whole, and so does one
// that an observer compares.
std::vector<Nest> interior_and_edges(const Job& job, const Nest& nest) {
  if (nest.read_bounds() + nest.write_bounds() == 0 || nest.stage.present) return {};
  if (!job.options.force.empty() || job.observer != nullptr) return {};
  const auto bytes = [](const Nest& n) { return n.elements() * n.element_bytes; };
  if (bytes(nest) < kLeastSplitBytes) return {};
  auto parts = best_parts(job, nest);
  const bool is_cut = parts && (parts->nests.size() > 1 || bytes(parts->nests[0]) < bytes(nest));
  return is_cut ? std::move(parts->nests) : std::vector<Nest>();
}

// Offsets or extents exceed what a kernel's 32-bit words hold. Halving the problem reduces them.
bool too_large(const Nest& nest, bool wide_offsets) {
  if (nest.contiguous_copy()) return false;  // permute_copy has 64-bit offsets
  for (int a = 0; a < nest.rank; ++a)
    if (nest.axis[static_cast<std::size_t>(a)].extent >= std::int64_t{1} << 31) return true;
  for (int b = 0; b < nest.bounds; ++b) {
    std::int64_t most = 0;
    for (int a = 0; a < nest.rank; ++a) {
      const auto& axis = nest.axis[static_cast<std::size_t>(a)];
      // Boxes that extend past the edge can double the sums.
      most += 2 * axis.extent * axis.coef[static_cast<std::size_t>(b)];
    }
    if (most >= std::int64_t{1} << 31) return true;
  }
  return needs_offset64(nest) && !wide_offsets;
}

// `split`: into interior and edges, where that pays.
Result<void> plan_part(Job& job, const Nest& nest, bool split) {
  if (nest.writes_nothing()) return {};
  const bool can_cut = nest.rank > 0 && nest.elements() > 1;
  if (too_large(nest, job.profile.int64.value_or(false)) && can_cut) return plan_halves(job, nest);
  if (const auto parts = split ? interior_and_edges(job, nest) : std::vector<Nest>(); !parts.empty()) {
    for (const Nest& part : parts)
      if (auto r = plan_part(job, part, false); !r) return r;
    return {};
  }
  const bool first = job.plan.steps.empty();
  const bool explain = job.options.explain && first;
  const PermuteContext c = context_of(job, nest);
  const Permutes family{c, first ? job.observer : nullptr};
  const auto choice = choose_or_refuse(job, family, "permute", explain ? &job.plan.candidates : nullptr);
  if (!choice) return std::unexpected(choice.error());
  const std::uint64_t ids = choice->config.groups * choice->config.workgroup;
  if (choice->strategy != &kCopy && ids >= kMaxIds * 2 && can_cut) return plan_halves(job, nest);
  auto step = choice->config.step(choice->config, nest, job.profile);
  if (!step) return std::unexpected(step.error());
  for (auto& range : step->accesses) range.end = std::min(range.end, job.plan.operands[range.operand].bytes);
  for (const auto& earlier : job.plan.steps)
    for (const auto& a : earlier.accesses)
      for (const auto& b : step->accesses)
        if (a.operand == b.operand && (a.write || b.write) && a.begin < b.end && b.begin < a.end)
          step->barrier_before = true;
  if (!job.chose) job.plan.choice.candidate = candidate_name(*choice->strategy, c, choice->row);
  job.plan.steps.push_back(std::move(*step));
  job.cost += permute_picoseconds(c, c.model, choice->cost);
  job.chose = true;
  return {};
}

}  // namespace

std::span<const NamedConstant> Operation<PermuteProblem>::named_constants(std::string_view stem) {
  for (const PermuteStrategy* strategy : kPermute)
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

std::span<const PermuteStrategy* const> permute_strategies() noexcept { return kPermute; }

bool only_moves(const PermuteContext& c, Refusal& refusal) {
  return !c.nest.stage.present || refusal.no("the problem has an elementwise stage, this kernel only moves elements");
}

bool stores_elements(const PermuteContext& c, Refusal& refusal) {
  const auto e = c.nest.element_bytes;
  if (e <= 2 && !c.profile.storage16.value_or(false))
    return refusal.no("storage16 is needed for elements of {} bytes", e);
  if (e == 1 && !c.profile.storage8.value_or(false)) return refusal.no("storage8 is needed for elements of 1 byte");
  return true;
}

bool needs_no_bounds(const Nest& nest, Refusal& refusal) {
  return nest.read_bounds() + nest.write_bounds() == 0 ||
         refusal.no("a layout block does not divide its axis, which this kernel does not support");
}

bool fits_workgroup(const PermuteContext& c, std::uint32_t workgroup, Refusal& refusal) {
  return (workgroup <= c.limits.workgroup_invocations && workgroup <= c.limits.workgroup_x) ||
         refusal.no("workgroup of {} invocations, the device allows {}", workgroup, c.limits.workgroup_invocations);
}

bool takes_wide(const PermuteContext& c, int axes, int own_words) {
  return c.offset64 || exceeds_push(axes, own_words, c.nest.checked_bounds());
}

bool has_offsets(const PermuteContext& c, bool wide, Refusal& refusal) {
  return !wide || c.offset64 || c.profile.int64.value_or(false) ||
         refusal.no("offsets approach 2^31 bytes or axes or bounds are many, and the device has no 64-bit integers");
}

bool is_aligned_transpose(const PermuteContext& c) {
  const int s = c.nest.src_innermost();
  if (s <= 0) return false;
  const std::uint32_t e = c.nest.element_bytes, elements = e == 1 ? 16 : std::min(4u, 32 / e);
  const auto whole = [&](int a) { return c.nest.axis[static_cast<std::size_t>(a)].extent % elements == 0; };
  const std::uint32_t access = std::min(elements, std::max(16 / e, 1u));
  Refusal unsaid(false);
  return whole(s) && whole(0) && vector_fits(c, {s, Side::src}, access, unsaid) &&
         vector_fits(c, {0, Side::dst}, access, unsaid);
}

bool vector_fits(const PermuteContext& c, VectorSide side, std::uint32_t elements, Refusal& refusal) {
  if (elements <= 1) return true;
  const bool source = side.operand == Side::src;
  const char* operand = source ? "source" : "destination";
  const auto stride = [&](int a) { return c.nest.stride(side.operand, a); };
  if (stride(side.axis) != 1) return refusal.no("the {} is not contiguous along its innermost axis", operand);
  const auto bytes = elements * c.nest.element_bytes;
  const auto align = source ? c.nest.src_access_align() : c.nest.dst_access_align();
  const auto extent = c.nest.axis[static_cast<std::size_t>(side.axis)].extent;
  if (align % bytes != 0) return refusal.no("the {} is aligned to {} bytes, accesses need {}", operand, align, bytes);
  if (extent % elements != 0)
    return refusal.no("the {}'s contiguous axis has {} elements, not a multiple of {}", operand, extent, elements);
  if (c.nest.alignment(side.operand, 1u << side.axis) >= bytes) return true;
  int a = 0;  // whose stride is too odd
  while (a == side.axis || stride(a) % elements == 0) ++a;
  return refusal.no("the {} has a stride of {} elements, not a multiple of {}", operand, stride(a), elements);
}

}  // namespace sectile::detail
