// Plans of one problem that are made beside each other, of which a job takes one.
#pragma once

#include "job.hpp"

#include <cstdint>
#include <vector>

namespace sectile::detail {

struct Alternative {
  Plan plan;
  bool chose = false, competed = true;  // as Job's
  std::int64_t cost = 0;
};

// Makes it the job's plan. `candidates`: those of all alternatives; its choice is marked.
void take(Job& job, Alternative taken, std::vector<Candidate> candidates);

}  // namespace sectile::detail
