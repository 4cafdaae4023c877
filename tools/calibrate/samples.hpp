// Measurements beside the candidates' costs, as the fit takes them.
#pragma once

#include "raw.hpp"

#include "plan/costing.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace sectile::tools {

// Logarithms are to base 2, times 1024 (log2_1024).
struct Sample {
  std::size_t problem = 0;  // in Samples::problems
  detail::CostedCandidate candidate;
  std::int64_t ps = 0;
  std::int32_t log_time = 0;
  std::int64_t weight = 0;  // 1000 for the fastest of its problem, less for slower ones
};

struct SampledProblem {
  std::string operation, group, text;
  RawPart part = RawPart::fit;
  std::size_t first = 0, count = 0;  // of Samples::all
};

// A problem's common error, which choices do not see, counts for a part of this.
inline constexpr std::int64_t kTogether = 20;

struct Samples {
  std::vector<SampledProblem> problems;
  std::vector<Sample> all;           // by problem
  std::vector<std::string> skipped;  // candidates that the planner no longer has
};

// The measured candidates of an operation. `profile`: that of the measurements, with the class that the fit starts
// from. What failed is left out. Problems that were unsteady count: candidates of a problem are timed in turn, so what
// slowed one down slowed the others down as well. Errors: the planner's.
Result<Samples> samples_of(const RawCalibration& raw, const std::string& operation, const DeviceProfile& profile);

// The correction of a sample's cost, with the numbers that the model's rows have now.
std::int32_t correction_now(const Sample& sample, const detail::CostModel& model);
// Its estimate, corrected, as a logarithm. Only estimates of one problem can be compared.
std::int32_t estimate_now(const Sample& sample, const detail::CostModel& model);

// The logarithm of the candidate's scale.
std::int32_t log_scale(const Sample& sample);

// How a GEMM was divided, from Candidate::detail: "splits=4", "tail=64 rows in 2 splits".
detail::MeasuredSplits splits_of(std::string_view detail);

}  // namespace sectile::tools
