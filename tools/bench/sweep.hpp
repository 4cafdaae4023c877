// `sectile bench --sweep`: problems drawn from a seed, in classes of equal weight (docs/reference/sweep.md), and how
// plans do on them.
#pragma once

#include "bench.hpp"
#include "page.hpp"
#include "sweep_draw.hpp"

#include <sectile/problem.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {

struct SweepCase {
  std::string group, type;  // its class's letter and name, "b transpose"; "f16"
  Problem problem;
  std::optional<Problem> neighbour;  // Drawn::neighbour
};

std::vector<std::string> sweep_operations();  // names of those that have classes

// The same on every machine. Case i is of class i % classes and, in it, of type (i / classes) % types: what is drawn
// does not depend on how many cases there are, nor on the filters, which leave cases out.
// Errors: missing (no such operation, class or type: says which there are), limit_exceeded (nothing fits the bounds).
Result<std::vector<SweepCase>> sweep_cases(const SweepOptions& options);

// One case as it was measured. Seconds; 0: not measured.
struct SweepRow {
  std::string group, type, problem, candidate, error;
  double ours = 0, p10 = 0, p90 = 0;
  double copy = 0;                   // the faster copy of the same bytes, where it was timed
  double bytes = 0, operations = 0;  // read and written; of arithmetic
  std::map<std::string, double> rivals;
  std::string neighbour;
  double neighbour_seconds = 0;
  std::string best;  // with --regret: the fastest admissible candidate
  double best_seconds = 0;
  ReferenceTimes reference;
  bool unsteady = false;
};

struct SweepReport {
  std::string operation, device, driver, planner, date, command;
  std::uint64_t seed = 0;
  double bytes_per_second = 0;  // the copy's, at its best in this call
  std::vector<SweepRow> rows;
  std::string profile = {};       // the device's, as JSON
  std::string device_class = {};  // device_class_text()
};

// What a row is held against, and how: > 1 is faster than it.
struct SweepRatio {
  std::string name;  // "the copy", a rival, or "best rate"
  double value = 0;  // reference's time over ours; 0: there is none
};
SweepRatio ratio_of(const SweepReport& report, const SweepRow& row);

struct SweepSummary {
  std::size_t rows = 0;
  double least = 0, p10 = 0, median = 0, p90 = 0, most = 0, mean = 0;  // mean: geometric
};
SweepSummary summary_of(std::vector<double> values);  // positive ones; by nearest rank

// A sweep's rows out of the cases' results, one after another as far as there are some.
SweepReport sweep_report(const SweepOptions& sweep, const BenchReport& report, std::span<const SweepCase> cases);

nlohmann::json to_json(const SweepReport& report);
Result<SweepReport> sweep_from_json(std::string_view text);  // errors: parse
// Rows of several processes, by problem; the later one's where both have it. Errors: invalid_problem (two operations,
// devices, or planner versions).
Result<SweepReport> merge_sweeps(std::vector<SweepReport> reports);
std::string print_sweep(const SweepReport& report);
Page page_of(const SweepReport& report);

// `sectile bench --sweep`, and `--merge`; exit codes.
int run_sweep(const BenchOptions& options, SweepOptions sweep);
int run_merge(const BenchOptions& options, const std::vector<std::string>& files);

}  // namespace sectile::tools
