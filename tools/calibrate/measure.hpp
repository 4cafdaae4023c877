// The measuring part of `sectile calibrate`.
#pragma once

#include "draw.hpp"
#include "raw.hpp"

#include "machine/machine.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sectile::tools {

struct MeasureOptions {
  std::vector<std::string> operations;  // empty: all
  double minutes = 10;                  // for each operation, with those that were spent on what is there
  std::uint64_t seed = kFitSeed;        // of the problems that are fitted
  std::size_t most = 0;                 // candidates of a problem; of one to check 2.5 times as many; 0: 32, on CPUs 16
  std::vector<Problem> problems;        // measured before those that are drawn, and fitted
  double min_mb = 0, max_gflop = 0;     // as --sweep takes them; 0: its own, on CPU devices smaller
};

struct MeasureProgress {
  std::string operation;
  std::size_t problems = 0, candidates = 0;  // measured of this operation
  double seconds_left = 0;                   // for this operation
};

// The header of measurements that begin now.
RawHeader raw_header(const Machine& machine, std::uint64_t seed);

// Measures until the minutes of each operation are over. What is in `raw` is not measured again; what is new is added
// to it and to the writer. Returns notes for people, of what could not be measured. Errors: the writer's; device (the
// device was lost: what was measured before is kept).
Result<std::vector<std::string>> measure(Machine& machine, const MeasureOptions& options, RawCalibration& raw,
                                         RawWriter& writer,
                                         const std::function<void(const MeasureProgress&)>& progress);

// Names of candidates whose result was wrong.
std::vector<std::string> wrong_candidates(const RawCalibration& raw);
// What people should know of the measurements: many that are unsteady, candidates that failed.
std::vector<std::string> raw_warnings(const RawCalibration& raw);

}  // namespace sectile::tools
