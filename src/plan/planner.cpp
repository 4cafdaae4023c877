#include <sectile/planner.hpp>

#include "base/hash.hpp"
#include "costing.hpp"
#include "operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace sectile {

namespace detail {

Result<Plan> plan_as(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                     const PlanOptions& options, bool tuned, const ExtraRows* extra) {
  // No candidate is looked for where there is nothing to choose; a text that is none would not survive the plan's JSON.
  if (!std::ranges::all_of(options.force, [](char c) { return c >= ' ' && c <= '~'; }))
    return fail(ErrorKind::missing, "candidate", "a text with bytes that no name has",
                "a name that PlanOptions::explain lists");
  Plan plan;
  plan.problem = problem;
  plan.profile_name = profile.name;
  plan.profile_hash = profile_hash;
  plan.planner_version = planner_version();
  std::string identity =
      fmt::format("{}\n{}\n{}\n{}", to_json(problem), profile_hash, plan.planner_version, tuned ? "" : options.force);
  if (options.kernels != nullptr) identity += fmt::format("\n{}", options.kernels->id());
  if (tuned) identity += fmt::format("\ntuned {}", options.force);
  if (options.max_scratch_bytes) identity += fmt::format("\nscratch {}", *options.max_scratch_bytes);
  if (options.few_pipelines) identity += "\nfew pipelines";
  plan.device_class = cost_model_id(profile);
  identity += fmt::format("\nclass {}", plan.device_class);
  plan.id = hash128(identity);
  if (!options.force.empty()) plan.choice = {tuned ? ChosenBy::tuned : ChosenBy::force, {}, options.force, {}};
  if (options.kernels != nullptr) plan.choice.kernels = options.kernels->id();
  plan.choice.max_scratch_bytes = options.max_scratch_bytes;
  plan.choice.few_pipelines = options.few_pipelines;
  if (profile.buffer_device_address == false)
    return fail(ErrorKind::unsupported, "buffer device addresses on " + profile.name, "absent", "present");
  Job job{profile, options, plan, extra};
  auto made = visit_operation([&](auto operation, const auto& p) { return operation.plan(job, p); }, problem);
  if (!made) return std::unexpected(made.error());
  if (!plan.candidates.empty()) plan.cost_model = describe(cost_model_of(profile));
  if (tuned && !job.chose) return fail(ErrorKind::missing, "candidates", print(problem), "a problem with work to do");
  if (auto ok = check_plan(plan, profile); !ok) return std::unexpected(ok.error());
  return plan;
}

Result<std::vector<CostedCandidate>> costed_candidates(const Problem& problem, const DeviceProfile& profile,
                                                       CostObserver observer) {
  if (auto ok = validate(problem); !ok) return std::unexpected(ok.error());
  Plan plan;
  plan.problem = problem;
  const PlanOptions options{.explain = true};  // with the candidates that are there to be explained
  Job job{profile, options, plan, nullptr, &observer};
  auto made = visit_operation([&](auto operation, const auto& p) { return operation.plan(job, p); }, problem);
  if (!made) return std::unexpected(made.error());
  return std::move(observer.seen);
}

Result<Plan> plan_tuned(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                        const PlanOptions& options, const std::string& name) {
  // A stem alone does not name a row: the costs would choose one.
  if (name.find(' ') == std::string::npos)
    return fail(ErrorKind::missing, "candidate", name, "a candidate's full name");
  PlanOptions forced = options;
  forced.explain = false;
  forced.force = name;
  auto plan = plan_as(problem, profile, profile_hash, forced, true);
  if (!plan || !options.explain) return plan;
  const auto listed = plan_as(problem, profile, profile_hash, options, false);
  if (!listed) return std::unexpected(listed.error());
  plan->candidates = listed->candidates;
  plan->cost_model = listed->cost_model;
  for (Candidate& candidate : plan->candidates) {
    candidate.chosen = candidate.name == name;
    if (candidate.chosen) candidate.detail = "tuned; " + candidate.detail;
  }
  return plan;
}

namespace {

Result<Plan> plan_with(const Problem& problem, const DeviceProfile& profile, const std::string& profile_hash,
                       const PlanOptions& options, const ExtraRows* extra = nullptr) {
  // A measured candidate that is no longer admissible is ignored.
  if (options.tuned != nullptr && options.force.empty())
    if (auto plan =
            plan_tuned(problem, profile, profile_hash, options, options.tuned->candidate(problem, profile_hash)))
      return plan;
  return plan_as(problem, profile, profile_hash, options, false, extra);
}

}  // namespace

Result<Plan> make_plan_with(const ExtraRows& extra, const Problem& problem, const DeviceProfile& profile,
                            const PlanOptions& options) {
  return plan_with(problem, profile, profile_hash_of(profile), options, &extra);
}

}  // namespace detail

std::string_view planner_version() noexcept { return "12"; }

std::string profile_hash_of(const DeviceProfile& profile) {
  const std::string all = detail::hash128(to_json(profile));
  if (profile.matrix_shapes.empty() && profile.canary == Canary::untested) return all;
  const DeviceProfile device = without_canary(profile);
  if (device == profile) return all;
  return detail::hash128(to_json(device)).substr(0, kDeviceDigits) + all.substr(kDeviceDigits);
}

Result<Plan> make_plan(const Problem& problem, const DeviceProfile& profile, const PlanOptions& options) {
  return detail::plan_with(problem, profile, profile_hash_of(profile), options);
}

namespace {

// The chosen candidate, the others by cost, last resorts and measured ones by cost, then refused ones in the table's
// order.
std::vector<const Candidate*> in_order(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> order;
  order.reserve(candidates.size());
  for (const Candidate& c : candidates) order.push_back(&c);
  const auto rank = [](const Candidate* c) {
    return !c->refusal.empty() ? 3 : c->chosen ? 0 : c->eligibility == Eligibility::candidate ? 1 : 2;
  };
  std::ranges::stable_sort(order, [&](const Candidate* a, const Candidate* b) {
    const int x = rank(a), y = rank(b);
    return x != y ? x < y : x < 3 && a->cost < b->cost;
  });
  return order;
}

constexpr std::string_view kEligible[] = {"", "last resort, ", "measured only, "};

std::string explain(const Candidate& c) {
  if (!c.refusal.empty()) return fmt::format("  - {}: {}\n", c.name, c.refusal);
  const auto& n = c.interior;
  std::string text =
      fmt::format("  {} {}: {}{:.4g} us; {}\n", c.chosen ? "*" : "+", c.name,
                  kEligible[std::to_underlying(c.eligibility)], static_cast<double>(c.cost) * 1e-6, c.detail);
  text += fmt::format(
      "      interior: loads {} transactions (full: {}) in {} requests, stores {} ({}) in {}, "
      "bank conflicts {}\n",
      n.load_transactions, n.ideal_load_transactions, n.load_requests, n.store_transactions, n.ideal_store_transactions,
      n.store_requests, n.bank_conflicts);
  if (c.edge == AccessCount{}) return text;
  return text + fmt::format("      edge: loads {} transactions (full: {}), stores {} ({})\n", c.edge.load_transactions,
                            c.edge.ideal_load_transactions, c.edge.store_transactions, c.edge.ideal_store_transactions);
}

}  // namespace

std::string explain(const Plan& plan) {
  std::string text = fmt::format("{}\n{}\n", print(plan.problem), print(plan));
  if (plan.candidates.empty()) return text;
  std::size_t others = 0, refused = 0;
  for (const Candidate& c : plan.candidates) {
    others += c.eligibility == Eligibility::candidate ? 0 : 1;
    refused += c.refusal.empty() ? 0 : 1;
  }
  text += fmt::format("{} candidates: {} admissible, {} of them do not compete; {} refused; estimates by {}\n",
                      plan.candidates.size(), plan.candidates.size() - refused, others, refused, plan.cost_model);
  for (const Candidate* c : in_order(plan.candidates)) text += explain(*c);
  return text;
}

namespace {

struct ProblemHash {
  std::size_t operator()(const Problem& problem) const { return detail::hash_of(problem); }
};

}  // namespace

struct Planner::Impl {
  DeviceProfile profile;
  std::string profile_hash;
  PlanOptions options;
  std::size_t most_plans = kMostPlans;

  struct Remembered {
    std::shared_ptr<const Plan> plan;
    std::list<const Problem*>::iterator use;
  };
  std::mutex lock;
  std::unordered_map<Problem, Remembered, ProblemHash> plans;
  std::list<const Problem*> uses;  // keys of `plans`, most recently used first

  // Null if the problem is not cached. A hit only relinks a list node: it allocates nothing.
  std::shared_ptr<const Plan> find(const Problem& problem) {
    const std::scoped_lock held(lock);
    const auto found = plans.find(problem);
    if (found == plans.end()) return nullptr;
    uses.splice(uses.begin(), uses, found->second.use);
    return found->second.plan;
  }

  std::shared_ptr<const Plan> remember(const Problem& problem, std::shared_ptr<const Plan> plan) {
    const std::scoped_lock held(lock);
    std::list<const Problem*> use{nullptr};  // spliced into `uses` after the last operation that can throw
    const auto [at, fresh] = plans.try_emplace(problem, Remembered{std::move(plan), use.begin()});
    // Another thread may have inserted an equal plan; the first one is kept.
    if (!fresh) return at->second.plan;
    use.front() = &at->first;
    uses.splice(uses.begin(), use);
    const auto kept = at->second.plan;
    if (plans.size() > most_plans) {
      plans.erase(plans.find(*uses.back()));
      uses.pop_back();
    }
    return kept;
  }
};

Planner::Planner(DeviceProfile profile, const KernelSet* kernels, const TunedChoices* tuned, std::size_t most_plans,
                 std::optional<std::uint64_t> max_scratch_bytes, bool few_pipelines)
    : impl_(std::make_unique<Impl>()) {
  impl_->most_plans = std::max<std::size_t>(most_plans, 1);
  impl_->options.kernels = kernels;
  impl_->options.tuned = tuned;
  impl_->options.max_scratch_bytes = max_scratch_bytes;
  impl_->options.few_pipelines = few_pipelines;
  impl_->profile_hash = profile_hash_of(profile);
  impl_->profile = std::move(profile);
}
Planner::~Planner() = default;
Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;

const DeviceProfile& Planner::profile() const noexcept { return impl_->profile; }

Result<std::shared_ptr<const Plan>> Planner::plan(const Problem& problem) {
  if (auto known = impl_->find(problem)) return known;
  auto made = detail::plan_with(problem, impl_->profile, impl_->profile_hash, impl_->options);
  if (!made) return std::unexpected(made.error());
  return impl_->remember(problem, std::make_shared<const Plan>(std::move(*made)));
}

std::size_t Planner::remembered() const {
  const std::scoped_lock held(impl_->lock);
  return impl_->plans.size();
}

}  // namespace sectile
