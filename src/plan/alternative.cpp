#include "alternative.hpp"

#include <utility>

namespace sectile::detail {

void take(Job& job, Alternative taken, std::vector<Candidate> candidates) {
  for (Candidate& candidate : candidates) candidate.chosen = candidate.name == taken.plan.choice.candidate;
  job.plan.operands = std::move(taken.plan.operands);
  job.plan.steps = std::move(taken.plan.steps);
  job.plan.candidates = std::move(candidates);
  job.plan.choice.candidate = std::move(taken.plan.choice.candidate);
  job.chose = taken.chose;
  job.competed = taken.competed;
  job.cost = taken.cost;
}

}  // namespace sectile::detail
