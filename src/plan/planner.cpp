#include <sectile/planner.hpp>

#include "hash.hpp"
#include "strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace sectile {

namespace detail {

namespace {

constexpr const Strategy* kPermute[] = {&kCopy, &kRows, &kTile, &kBlock, &kWeave, &kTma, &kBox, &kWords};

// More parts than this would be more launches than work.
constexpr std::size_t kMaxSteps = 64;   // check_plan takes no more

struct Choice {
  const Strategy* strategy = nullptr;
  std::uint32_t row = 0;
  Draft draft;
  std::int64_t cost = std::numeric_limits<std::int64_t>::max();
};

std::string candidate_name(const Strategy& s, std::uint32_t row) { return fmt::format("{} {}", s.stem, s.print(row)); }

std::int64_t biased(std::uint64_t group, std::uint64_t groups, std::int64_t bias_permille) {
  const std::uint64_t total = group * std::min<std::uint64_t>(groups, 1ull << 31);
  if (bias_permille >= kSpare) return std::numeric_limits<std::int64_t>::max() / 2;
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
std::int64_t cpu_cost_of(const Strategy& s, const Estimate& e, const Draft& d) {
  const auto& n = e.interior;
  // Workgroup memory costs a CPU a second copy, and the box its index arithmetic an element.
  const std::uint64_t weight = &s == &kTile ? 400 : &s == &kBox ? (d.element_bytes == 1 ? 300 : 600) : &s == &kWords ? 400 : &s == &kRows ? 500 : 100;
  const std::uint64_t requests = n.load_requests + n.store_requests;
  const std::uint64_t loads = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.load_transactions;
  const std::uint64_t stores = e.memory_transactions != 0 ? e.memory_transactions / 2 : n.store_transactions;
  const std::uint64_t group = requests * weight * (10 + d.element_bytes) + loads * 200 + stores * 300 + e.instructions * 10;
  return biased(group, e.groups, e.bias_permille);
}

bool forced_out(const PlanOptions& options, const Strategy& s, std::uint32_t row) {
  return !options.force.empty() && options.force != s.stem && options.force != candidate_name(s, row);
}

void describe(Candidate& candidate, const Draft& d, const Estimate& e) {
  candidate.interior = e.interior;
  candidate.edge = e.edge;
  candidate.detail = fmt::format("e{}{} wg={} groups={} shared={}", d.element_bytes, d.wide ? ".wide" : "",
                                 d.workgroup, d.groups, d.workgroup_memory_bytes);
}

// Whether there is code for the candidate. A step that cannot be made is told when it is chosen.
bool has_code(const PlanOptions& options, const Strategy& s, const Context& c, const Draft& draft, Refusal& refusal) {
  if (options.kernels == nullptr) return true;
  const auto step = s.step(draft, c.nest, c.profile);
  return !step || options.kernels->has(*step) || refusal.no("the pack has no {}.{} with its constants",
                                                            step->kernel.stem, step->kernel.variant);
}

// Walks the table; `log` gets every candidate where explain asks for it. Rows that lose to others are passed over
// unless `spares` asks for them.
Choice choose(const Context& c, const PlanOptions& options, std::vector<Candidate>* log, bool spares) {
  Choice best;
  std::size_t chosen = 0;
  for (const Strategy* s : kPermute) {
    for (std::uint32_t row = 0; row < s->rows; ++row) {
      if (log == nullptr && !spares && options.force.empty() && s->spare(c, row)) continue;
      Refusal refusal(log != nullptr);
      bool admissible = s->applicable(c, row, refusal);
      if (!admissible && log == nullptr) continue;
      if (forced_out(options, *s, row)) {
        if (log == nullptr) continue;
        if (admissible) admissible = refusal.no("another candidate is forced");
      }
      Candidate candidate;
      if (log != nullptr) {
        candidate.name = candidate_name(*s, row);
        candidate.refusal = refusal.reason;
      }
      if (admissible) {
        const Draft draft = s->make(c, row);
        const Estimate estimate = s->estimate(c, row, draft);
        const auto cost = c.cpu() ? cpu_cost_of(*s, estimate, draft) : cost_of(c, estimate);
        candidate.cost = cost;
        if (log != nullptr) describe(candidate, draft, estimate);
        if (cost < best.cost && has_code(options, *s, c, draft, refusal)) {
          best = {s, row, draft, cost};
          chosen = log != nullptr ? log->size() : 0;
        }
        candidate.refusal = refusal.reason;
      }
      if (log != nullptr) log->push_back(std::move(candidate));
    }
  }
  if (best.strategy != nullptr && log != nullptr) (*log)[chosen].chosen = true;
  return best;
}

// A row that loses to others is the last resort where the device has no room for those (a workgroup of 128), or a
// pack does not hold them.
Choice choose(const Context& c, const PlanOptions& options, std::vector<Candidate>* log) {
  const Choice choice = choose(c, options, log, false);
  return choice.strategy != nullptr || log != nullptr ? choice : choose(c, options, log, true);
}

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

struct Job {
  const DeviceProfile& profile;
  const PlanOptions& options;
  Plan& plan;
};

Result<void> plan_part(Job& job, const Nest& nest);

// Where a pack has no candidate's code: what comes nearest to what would be chosen without one.
Result<void> not_in_pack(const Job& job, const Context& c, const PlanOptions& unlimited) {
  const Choice choice = choose(c, unlimited, nullptr);
  if (choice.strategy == nullptr) return {};
  const auto step = choice.strategy->step(choice.draft, c.nest, c.profile);
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

std::string reasons(const std::vector<Candidate>& log) {
  std::string text;
  for (const auto& candidate : log)
    if (!candidate.refusal.empty()) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", candidate.name, candidate.refusal);
  return text;
}

Result<void> plan_part(Job& job, const Nest& nest) {
  const bool can_cut = nest.rank > 0 && nest.elements() > 1;
  if (too_large(nest, job.profile.int64.value_or(false)) && can_cut) return plan_halves(job, nest);
  const bool first = job.plan.steps.empty();
  const bool explain = job.options.explain && first;
  const Context c{nest, job.profile, limits_of(job.profile), !nest.contiguous_copy() && needs_wide(nest), explain};
  const Choice choice = choose(c, job.options, explain ? &job.plan.candidates : nullptr);
  if (choice.strategy == nullptr) {
    if (job.options.kernels != nullptr)
      if (auto told = not_in_pack(job, c, {.explain = false, .force = job.options.force, .kernels = nullptr}); !told)
        return told;
    std::vector<Candidate> log;
    choose({c.nest, c.profile, c.limits, c.wide, true}, job.options, &log);
    return fail(ErrorKind::unsupported, "permute on " + job.profile.name, print(job.plan.problem), reasons(log));
  }
  const std::uint64_t ids = choice.draft.groups * choice.draft.workgroup;
  if (choice.strategy != &kCopy && ids >= kMaxIds * 2 && can_cut) return plan_halves(job, nest);
  auto step = choice.strategy->step(choice.draft, nest, job.profile);
  if (!step) return std::unexpected(step.error());
  for (auto& range : step->accesses) range.end = std::min(range.end, job.plan.operands[range.operand].bytes);
  for (const auto& earlier : job.plan.steps)
    for (const auto& a : earlier.accesses)
      for (const auto& b : step->accesses)
        if (a.operand == b.operand && (a.write || b.write) && a.begin < b.end && b.begin < a.end) step->barrier_before = true;
  job.plan.steps.push_back(std::move(*step));
  return {};
}

Result<void> plan_permute(Job& job, const PermuteProblem& problem) {
  auto loops = loop_nest(problem);
  if (!loops) return std::unexpected(loops.error());
  auto bytes = operand_bytes(problem);
  if (!bytes) return std::unexpected(bytes.error());
  job.plan.operands = {{"src", OperandRole::source, bytes->src, problem.src_align},
                       {"dst", OperandRole::destination, bytes->dst, problem.dst_align}};
  if (loops->empty) return {};
  return plan_part(job, canonical(*loops, size_bytes(problem.type), problem.src_align, problem.dst_align));
}

Result<Plan> plan_with(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                       const PlanOptions& options) {
  Plan plan;
  plan.problem = problem;
  plan.profile_name = profile.name;
  plan.profile_hash = profile_hash;
  plan.planner_version = planner_version();
  std::string identity = fmt::format("{}\n{}\n{}\n{}", to_json(problem), profile_hash, plan.planner_version, options.force);
  if (options.kernels != nullptr) identity += fmt::format("\n{}", options.kernels->id());
  plan.id = hash128(identity);
  if (profile.buffer_device_address == false)
    return fail(ErrorKind::unsupported, "buffer device addresses on " + profile.name, "absent", "present");
  Job job{profile, options, plan};
  const auto* permute = std::get_if<PermuteProblem>(&problem);
  if (permute == nullptr) {
    if (auto ok = validate(problem); !ok) return std::unexpected(ok.error());
    return fail(ErrorKind::unsupported, "matmul on " + profile.name, print(problem), "permute: matmul has no kernels yet");
  }
  auto made = plan_permute(job, *permute);
  if (!made) return std::unexpected(made.error());
  if (auto ok = check_plan(plan, profile); !ok) return std::unexpected(ok.error());
  return plan;
}

}  // namespace

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

}  // namespace detail

std::string_view planner_version() noexcept { return "1"; }

Result<Plan> make_plan(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options) {
  return detail::plan_with(problem, profile, detail::hash128(to_json(profile)), options);
}

std::string explain(const Plan& plan) {
  std::string text = fmt::format("{}\n{}\n", print(plan.problem), print(plan));
  for (const auto& c : plan.candidates) {
    if (!c.refusal.empty()) {
      text += fmt::format("  - {}: {}\n", c.name, c.refusal);
      continue;
    }
    const auto& n = c.interior;
    text += fmt::format("  {} {}: cost {}; {}\n      interior: loads {} transactions (full: {}) in {} requests, stores {} ({}) in {}, bank conflicts {}\n",
                        c.chosen ? "*" : "+", c.name, c.cost, c.detail, n.load_transactions, n.ideal_load_transactions,
                        n.load_requests, n.store_transactions, n.ideal_store_transactions, n.store_requests, n.bank_conflicts);
    if (c.edge == AccessCount{}) continue;
    text += fmt::format("      edge: loads {} transactions (full: {}), stores {} ({})\n", c.edge.load_transactions,
                        c.edge.ideal_load_transactions, c.edge.store_transactions, c.edge.ideal_store_transactions);
  }
  return text;
}

namespace {

std::size_t mix(std::size_t seed, std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15ull;
  return (seed ^ (value ^ value >> 29)) * 0xbf58476d1ce4e5b9ull;
}

std::size_t hash_of(const PermuteProblem& p) {
  std::size_t h = mix(p.shape.size(), static_cast<std::uint64_t>(p.type));
  for (const auto n : p.shape) h = mix(h, static_cast<std::uint64_t>(n));
  for (const auto a : p.axes) h = mix(h, static_cast<std::uint64_t>(a));
  for (const auto layout : {std::string_view(p.src_layout), std::string_view(p.dst_layout)})
    for (const char letter : layout) h = mix(h, static_cast<std::uint64_t>(letter));
  for (const auto& [letter, n] : p.extents) h = mix(h, static_cast<std::uint64_t>(n));
  for (const auto n : p.src_strides) h = mix(h, static_cast<std::uint64_t>(n));
  for (const auto n : p.dst_strides) h = mix(h, static_cast<std::uint64_t>(n));
  h = mix(mix(h, static_cast<std::uint64_t>(p.src_offset)), static_cast<std::uint64_t>(p.dst_offset));
  return mix(mix(h, p.src_align), p.dst_align);
}

std::size_t hash_of(const MatmulProblem& p) {
  std::size_t h = mix(static_cast<std::uint64_t>(p.type), static_cast<std::uint64_t>(p.m));
  for (const std::int64_t n : {p.n, p.k, p.batch, p.lda, p.ldb, p.ldc, p.ldd, p.ldr, p.a_batch, p.b_batch, p.c_batch,
                               p.d_batch, p.r_batch})
    h = mix(h, static_cast<std::uint64_t>(n));
  for (const bool bit : {p.transpose_a, p.transpose_b, p.c_is_d, p.residual, p.a_scale}) h = mix(h, bit ? 1 : 0);
  for (const DType type : {p.a_type, p.b_type, p.acc, p.out}) h = mix(h, static_cast<std::uint64_t>(type));
  for (const float number : {p.alpha, p.beta}) h = mix(h, std::bit_cast<std::uint32_t>(number + 0.0f));  // -0 equals 0
  h = mix(mix(h, static_cast<std::uint64_t>(p.b_format)), static_cast<std::uint64_t>(p.activation));
  h = mix(mix(h, static_cast<std::uint64_t>(p.scale)), static_cast<std::uint64_t>(p.bias));
  return mix(mix(mix(h, p.a_align), p.b_align), p.d_align);
}

struct ProblemHash {
  std::size_t operator()(const Problem& problem) const {
    return std::visit([](const auto& p) { return hash_of(p); }, problem);
  }
};

}  // namespace

struct Planner::Impl {
  DeviceProfile profile;
  std::string profile_hash;
  PlanOptions options;
  std::shared_mutex lock;
  std::unordered_map<Problem, std::shared_ptr<const Plan>, ProblemHash> plans;
};

Planner::Planner(DeviceProfile profile, const KernelSet* kernels) : impl_(std::make_unique<Impl>()) {
  impl_->options.kernels = kernels;
  impl_->profile_hash = detail::hash128(to_json(profile));
  impl_->profile = std::move(profile);
}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

const DeviceProfile& Planner::profile() const noexcept { return impl_->profile; }

Result<std::shared_ptr<const Plan>> Planner::plan(const Problem& problem) {
  {
    std::shared_lock read(impl_->lock);
    if (const auto found = impl_->plans.find(problem); found != impl_->plans.end()) return found->second;
  }
  auto made = detail::plan_with(problem, impl_->profile, impl_->profile_hash, impl_->options);
  if (!made) return std::unexpected(made.error());
  std::unique_lock write(impl_->lock);
  // Another thread may have been faster; the plan is the same, and the first one stays.
  return impl_->plans.try_emplace(problem, std::make_shared<const Plan>(std::move(*made))).first->second;
}

}  // namespace sectile
