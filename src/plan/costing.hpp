// Costs of a problem's candidates with other numbers than the device's: what `sectile calibrate` fits.
#pragma once

#include "cost/model.hpp"

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/problem.hpp>
#include <sectile/profile.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sectile::detail {

// An admissible candidate. It stands alone: nothing of the problem that it is of needs to live on.
struct CostedCandidate {
  std::string name;  // Candidate::name
  Eligibility eligibility = {};
  CostTable table = {};      // whose correction it has
  CostTable row_table = {};  // with `row`: whose rate and offset
  std::uint32_t row = 0;
  // Picoseconds without a correction, and the features for that cost. The model's rows may be any class's.
  std::function<std::int64_t(const CostModel&)> cost;
  std::function<Features(std::int64_t cost)> features;
  double scale = 1;  // picoseconds of the device in one of `cost`
};

// How a GEMM was divided where its candidate was measured.
struct MeasuredSplits {
  std::uint32_t splits = 1, tail_rows = 0, tail_splits = 1;
};

struct CostObserver {
  // The division of the candidate of this name; empty: the planner's own.
  std::function<MeasuredSplits(const std::string& name)> splits;
  std::vector<CostedCandidate> seen = {};
};

// All admissible candidates of a problem. Errors: as make_plan.
Result<std::vector<CostedCandidate>> costed_candidates(const Problem& problem, const DeviceProfile& profile,
                                                       CostObserver observer);

}  // namespace sectile::detail
