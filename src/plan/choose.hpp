// Chooses the cheapest candidate of an operation's strategies. A Family is those strategies for one problem and device:
//   struct Family {
//     using Strategy, Config;                                  // strategy.hpp
//     std::span<const Strategy* const> table() const;
//     Config make(const Strategy&, row) const;
//     std::int64_t cost(const Strategy&, row, const Config&) const;
//     bool costs_at_least(const Strategy&, row, std::int64_t cost) const;     // optional: true only if sure
//     std::int64_t useful_below;                                              // with it; the job's
//     void explain(const Strategy&, row, const Config&, std::int64_t cost, Candidate&) const;
//     Result<std::vector<Step>> steps(const Config&) const;
//     const Context& context() const;
//     Family without_pack() const;
//     bool plannable(const DeviceProfile&) const;                             // on another device
//     CostObserver* observer;
//     CostedCandidate costed(name, const Strategy&, row, const Config&) const;
//   };
#pragma once

#include "costing.hpp"
#include "job.hpp"
#include "refusal.hpp"
#include "unsupported.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::detail {

template <class Family>
struct Choice {
  const typename Family::Strategy* strategy = nullptr;
  std::uint32_t row = 0;
  typename Family::Config config;
  std::int64_t cost = 0;
  Eligibility eligibility = Eligibility::candidate;
};

template <class Strategy, class Context>
std::string candidate_name(const Strategy& s, const Context& c, std::uint32_t row) {
  return fmt::format("{} {}", s.stem, s.print(c, row));
}

template <class Strategy, class Context>
bool forced_out(const PlanOptions& options, const Strategy& s, const Context& c, std::uint32_t row) {
  if (options.force.empty() || options.force == s.stem || options.force == candidate_name(s, c, row)) return false;
  return s.short_print == nullptr || options.force != fmt::format("{} {}", s.stem, s.short_print(c, row));
}

// The first step whose kernel is not in the pack. None if the steps cannot be made: choosing the candidate then fails
// with that error.
template <class Family>
std::optional<Step> first_missing_step(const Family& family, const typename Family::Config& config,
                                       const KernelSet& kernels) {
  if (const auto steps = family.steps(config))
    for (const Step& step : *steps)
      if (!kernels.has(step)) return step;
  return std::nullopt;
}

template <class Family>
bool in_pack(const Family& family, const typename Family::Config& config, const KernelSet* kernels, Refusal& refusal) {
  if (kernels == nullptr) return true;
  const auto step = first_missing_step(family, config, *kernels);
  return !step || refusal.no("the pack has no {}.{} with these constants", step->kernel.stem, step->kernel.variant);
}

// Any candidate is better than a last resort, and that than a row that is only measured. Of two that do not compete the
// first in the table wins.
template <class Family>
bool better(const Choice<Family>& best, Eligibility eligibility, std::int64_t cost) {
  if (best.strategy == nullptr || eligibility != best.eligibility)
    return best.strategy == nullptr || eligibility < best.eligibility;
  return eligibility == Eligibility::candidate && cost < best.cost;
}

// Whether the row, which is admissible, is not better than `best` whatever make() makes of it.
template <class Family>
bool beaten(const Family& family, const Choice<Family>& best, const typename Family::Strategy& s, std::uint32_t row,
            Eligibility eligibility) {
  if constexpr (requires { family.costs_at_least(s, row, best.cost); }) {
    if (eligibility != Eligibility::candidate) return false;
    const bool compete = best.strategy != nullptr && best.eligibility == Eligibility::candidate;
    return family.costs_at_least(s, row, compete ? std::min(best.cost, family.useful_below) : family.useful_below);
  } else {
    return false;
  }
}

// Every candidate is appended to `explanations`, unless that is null. If it is null, rows beyond `most` are skipped
// unless a candidate is forced. Only then a row may be chosen that is there to be measured.
template <class Family>
Choice<Family> choose(const Family& family, const PlanOptions& options, std::vector<Candidate>* explanations,
                      Eligibility most) {
  Choice<Family> best;
  std::size_t chosen = 0;
  const bool explain = explanations != nullptr, every = explain || family.observer != nullptr;
  for (const auto* s : family.table()) {
    for (std::uint32_t row = 0; row < s->rows_for(family.context()); ++row) {
      const Eligibility eligibility = s->eligibility_of(family.context(), row);
      if (!every && options.force.empty() && eligibility > most) continue;
      Refusal refusal(explain);
      bool admissible = s->applicable(family.context(), row, refusal);
      if (admissible && forced_out(options, *s, family.context(), row))
        admissible = refusal.no("another candidate is forced");
      if (!every && admissible && beaten(family, best, *s, row, eligibility)) continue;
      Candidate candidate;
      if (admissible) {
        const auto config = family.make(*s, row);
        const auto cost = family.cost(*s, row, config);
        if (explain) family.explain(*s, row, config, cost, candidate);
        if (family.observer != nullptr) {
          family.observer->seen.push_back(family.costed(candidate_name(*s, family.context(), row), *s, row, config));
          family.observer->seen.back().eligibility = eligibility;
        }
        const bool eligible = eligibility != Eligibility::measured_only || !options.force.empty();
        if (eligible && better(best, eligibility, cost) && in_pack(family, config, options.kernels, refusal)) {
          best = {s, row, config, cost, eligibility};
          chosen = explain ? explanations->size() : 0;
        }
      }
      if (!explain) continue;
      candidate.name = candidate_name(*s, family.context(), row);
      candidate.refusal = refusal.reason;
      if (admissible) candidate.eligibility = eligibility;
      explanations->push_back(std::move(candidate));
    }
  }
  if (best.strategy != nullptr && explain) (*explanations)[chosen].chosen = true;
  return best;
}

// Tries last resorts only if no candidate is admissible: the device allows too few invocations, or the pack lacks the
// kernels.
template <class Family>
Choice<Family> choose(const Family& family, const PlanOptions& options, std::vector<Candidate>* explanations) {
  auto choice = choose(family, options, explanations, Eligibility::candidate);
  return choice.strategy != nullptr || explanations != nullptr
             ? choice
             : choose(family, options, explanations, Eligibility::last_resort);
}

// The error if no candidate's kernel is in the pack: it names the pack's kernel that is nearest to the best choice.
template <class Family>
Result<void> not_in_pack(const Job& job, const Family& family) {
  const auto choice = choose(family.without_pack(), {.explain = false, .force = job.options.force}, nullptr);
  if (choice.strategy == nullptr) return {};
  const auto steps = family.steps(choice.config);
  if (!steps) return std::unexpected(steps.error());
  const auto step = first_missing_step(family, choice.config, *job.options.kernels);
  if (!step) return {};
  return fail(ErrorKind::missing, "kernel in the pack for " + job.profile.name, print(job.plan.problem),
              job.options.kernels->nearest(*step));
}

// The choice, or an error that says why there is none. `explanations` is choose()'s; the error names `operation`.
template <class Family>
Result<Choice<Family>> choose_or_refuse(const Job& job, const Family& family, std::string_view operation,
                                        std::vector<Candidate>* explanations) {
  auto choice = choose(family, job.options, explanations);
  if (choice.strategy != nullptr) return choice;
  if (job.options.kernels != nullptr)
    if (auto found = not_in_pack(job, family); !found) return std::unexpected(found.error());
  std::vector<Candidate> refused;
  choose(family, job.options, &refused);
  return std::unexpected(
      unsupported(job, operation, refused, [&](const DeviceProfile& other) { return family.plannable(other); }));
}

}  // namespace sectile::detail
