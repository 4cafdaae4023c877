// Walks a family's table of candidates and takes the cheapest. A family is an operation on one device:
//   struct Family {
//     using Strategy, Draft;                                       // a row's parts; what a candidate has worked out
//     std::span<const Strategy* const> table() const;
//     bool applicable(const Strategy&, std::uint32_t row, Refusal&) const;
//     Draft make(const Strategy&, std::uint32_t row) const;
//     std::int64_t cost(const Strategy&, std::uint32_t row, const Draft&, Candidate* told) const;   // fills `told` if any
//     bool has_code(const Strategy&, const Draft&, const KernelSet&, Refusal&) const;
//     bool spare(const Strategy&, std::uint32_t row) const;        // loses to every row that is none
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
  typename Family::Draft draft;
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

// `log` gets every candidate where explain asks for it. Rows that lose to others are passed over unless `spares` asks
// for them.
template <class Family>
Choice<Family> choose(const Family& family, const PlanOptions& options, std::vector<Candidate>* log, bool spares) {
  Choice<Family> best;
  std::size_t chosen = 0;
  for (const auto* s : family.table()) {
    for (std::uint32_t row = 0; row < s->rows; ++row) {
      if (log == nullptr && !spares && options.force.empty() && family.spare(*s, row)) continue;
      Refusal refusal(log != nullptr);
      bool admissible = family.applicable(*s, row, refusal);
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
        const auto draft = family.make(*s, row);
        const auto cost = family.cost(*s, row, draft, log != nullptr ? &candidate : nullptr);
        candidate.cost = cost;
        candidate.fallback = log != nullptr && family.spare(*s, row);
        if (cost < best.cost && (options.kernels == nullptr || family.has_code(*s, draft, *options.kernels, refusal))) {
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
template <class Family>
Choice<Family> choose(const Family& family, const PlanOptions& options, std::vector<Candidate>* log) {
  auto choice = choose(family, options, log, false);
  return choice.strategy != nullptr || log != nullptr ? choice : choose(family, options, log, true);
}

}  // namespace sectile::detail
