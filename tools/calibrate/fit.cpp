#include "fit.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>

namespace sectile::tools {

int fit_and_write(const RawCalibration& raw, const CalibrateOptions& options) {
  std::map<std::string, std::ptrdiff_t> measured;
  for (const RawProblem& problem : raw.problems)
    measured[problem.operation] += std::ranges::count_if(problem.candidates, &std::string::empty, &RawCandidate::error);
  if (options.json) {
    fmt::print("{}\n", nlohmann::json{{"measurements", measured}}.dump());
    return kOk;
  }
  std::string line;
  for (const auto& [operation, count] : measured)
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", operation, count);
  fmt::print("measurements: {}\n", line.empty() ? "none" : line);
  return kOk;
}

}  // namespace sectile::tools
