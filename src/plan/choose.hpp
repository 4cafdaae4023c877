// Walks a family's table of candidates and takes the cheapest. A family is an operation on one device:
//   struct Family {
//     using Strategy, Config;                                       // a row's parts; what a candidate has worked out
//     std::span<const Strategy* const> table() const;
//     bool applicable(const Strategy&, std::uint32_t row, Refusal&) const;
//     Config make(const Strategy&, std::uint32_t row) const;
//     std::int64_t cost(const Strategy&, std::uint32_t row, const Config&, Candidate* explanation) const;   // fills `explanation` if any
//     bool has_code(const Strategy&, const Config&, const KernelSet&, Refusal&) const;
//     bool fallback(const Strategy&, std::uint32_t row) const;        // loses to every row that is none
//   };
#pragma once

#include "refusal.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace sectile::detail {

template <class Family>
struct Choice {
  const typename Family::Strategy* strategy = nullptr;
  std::uint32_t row = 0;
  typename Family::Config config;
  std::int64_t cost = std::numeric_limits<std::int64_t>::max();
};

template <class Strategy>
std::string candidate_name(const Strategy& s, std::uint32_t row) {
  return fmt::format("{} {}", s.stem, s.print(row));
}

template <class Strategy>
bool forced_out(const PlanOptions& options, const Strategy& s, std::uint32_t row) {
  return !options.force.empty() && options.force != s.stem && options.force != candidate_name(s, row);
}

// `explanations` gets every candidate where explain asks for it. Rows that lose to others are passed over unless `with_fallback` asks
// for them.
template <class Family>
Choice<Family> choose(const Family& family, const PlanOptions& options, std::vector<Candidate>* explanations, bool with_fallback) {
  Choice<Family> best;
  std::size_t chosen = 0;
  for (const auto* s : family.table()) {
    for (std::uint32_t row = 0; row < s->rows; ++row) {
      if (explanations == nullptr && !with_fallback && options.force.empty() && family.fallback(*s, row)) continue;
      Refusal refusal(explanations != nullptr);
      bool admissible = family.applicable(*s, row, refusal);
      if (!admissible && explanations == nullptr) continue;
      if (forced_out(options, *s, row)) {
        if (explanations == nullptr) continue;
        if (admissible) admissible = refusal.no("another candidate is forced");
      }
      Candidate candidate;
      if (explanations != nullptr) {
        candidate.name = candidate_name(*s, row);
        candidate.refusal = refusal.reason;
      }
      if (admissible) {
        const auto config = family.make(*s, row);
        const auto cost = family.cost(*s, row, config, explanations != nullptr ? &candidate : nullptr);
        candidate.cost = cost;
        candidate.fallback = explanations != nullptr && family.fallback(*s, row);
        if (cost < best.cost && (options.kernels == nullptr || family.has_code(*s, config, *options.kernels, refusal))) {
          best = {s, row, config, cost};
          chosen = explanations != nullptr ? explanations->size() : 0;
        }
        candidate.refusal = refusal.reason;
      }
      if (explanations != nullptr) explanations->push_back(std::move(candidate));
    }
  }
  if (best.strategy != nullptr && explanations != nullptr) (*explanations)[chosen].chosen = true;
  return best;
}

// A row that loses to others is the last resort where the device has no room for those (a workgroup of 128), or a
// pack does not hold them.
template <class Family>
Choice<Family> choose(const Family& family, const PlanOptions& options, std::vector<Candidate>* explanations) {
  auto choice = choose(family, options, explanations, false);
  return choice.strategy != nullptr || explanations != nullptr ? choice : choose(family, options, explanations, true);
}

}  // namespace sectile::detail
