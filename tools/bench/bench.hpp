// The parts of `sectile bench`.
#pragma once

#include "machine/machine.hpp"
#include "machine/steady.hpp"

#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {

struct Page;  // bench_page.hpp

inline constexpr std::uint64_t kBenchSeed = 0x5eed;
inline constexpr double kSampleSeconds = 200e-6;  // of one sample, at least: timestamps tick at up to 1 us
inline constexpr double kHopeless = 4;            // times slower than ours: a candidate that keeps its first, rough time

inline constexpr const char* kWarmupHelp =
    "Seconds at most that a reference kernel runs before each row, until its time is stable; 0: it does not run";

struct BenchRow {
  std::string name;
  PermuteProblem problem;
  std::optional<PermuteProblem> neighbour = {};   // a problem that contains this one, timed beside it (bench_sweep.hpp)
};

// "seeds-permute" or "cpu"; nothing for an unknown name.
std::optional<std::vector<BenchRow>> preset_rows(const std::string& name);
std::vector<BenchRow> seeds_rows();  // of "seeds-permute"
std::string row_name(const PermuteProblem& problem);

// Whether there is anything to time. Errors: invalid_problem (no elements in its result).
Result<void> check_timed(const Problem& problem);

// The permutation that a row is, in logical axes; nothing where blocks split an axis.
std::optional<std::vector<int>> plain_axes(const PermuteProblem& problem);
nlohmann::json rows_json(const std::vector<BenchRow>& rows);

struct BenchOptions {
  std::vector<std::string> problems;
  std::string preset, device, json_file, html_file, rivals_file, force, only, cache_file;
  bool large = false, statistics = false;
  bool regret = false;     // --sweep: all candidates
  bool all_candidates = false, list = false, json = false, no_numpy = false,
       no_verify = false;  // json: on standard output
  std::size_t limit = 0;   // of all candidates, those that the planner takes for the cheapest; 0: all
  std::string tuned_file;
  const TunedChoices* tuned = nullptr;   // what is in it
  bool compare_outputs = false;          // each candidate's against the planner's own choice's, every element
  double min_time = 0.3;   // seconds of samples for each candidate
  double warmup = kWarmupSeconds;   // at most so long runs the reference before each row; 0: none (steady.hpp)
  double cycle_mb = 512;   // bytes that one round over the rotated buffers touches, in 10^6, at least
};

// Seconds of one run.
struct Spread {
  double median = 0, p10 = 0, p90 = 0;
  std::size_t samples = 0;
};
Spread spread_of(std::vector<double> seconds);

struct CandidateTime {
  std::string name, plan;
  bool chosen = false;
  std::int64_t cost = 0;  // the planner's
  bool fallback = false;  // Candidate::fallback
  std::string error;      // what went wrong; empty where nothing did
  Spread time;
};

struct RowResult {
  BenchRow row;
  std::string error;  // why there are no times
  bool on_cpu = false;
  std::string candidate, plan;
  std::string copy_command;               // the API's own: vkCmdCopyBuffer
  std::uint64_t src_bytes = 0, dst_bytes = 0;
  Spread ours, copy_buffer, copy_kernel, empty;  // `empty`: a dispatch that moves 16 bytes
  std::vector<CandidateTime> candidates;         // with --all-candidates: every admissible one
  std::map<std::string, double> rivals;          // seconds
  Spread neighbour;                              // of row.neighbour, by the planner's own choice
  ReferenceTimes reference;
  bool unsteady = false;                         // the reference had drifted, twice

  // The better of the two copies, and which it was.
  const Spread& copy() const noexcept { return copy_kernel.median <= copy_buffer.median ? copy_kernel : copy_buffer; }
  std::string_view copy_name() const noexcept {
    return copy_kernel.median <= copy_buffer.median ? std::string_view("kernel") : std::string_view(copy_command);
  }
  double fraction() const noexcept { return ours.median > 0 ? copy().median / ours.median : 0; }
  double bytes_per_second(double seconds) const noexcept {
    return seconds > 0 ? static_cast<double>(src_bytes + dst_bytes) / seconds : 0;
  }
  std::optional<std::pair<std::string, double>> best_rival() const;  // not the copies among them
};

// What the row was to reach (targets.md): a fraction of the copy, or a time for small rows; and whether it did.
struct Goal {
  std::string text;
  bool met = false;
};
Goal goal_of(const RowResult& result);

// Runs the rows of one device one by one. Errors of one row stand in its result.
class RowBench {
 public:
  // All must outlive it.
  RowBench(Machine& machine, const BenchOptions& options, Steady& steady);
  ~RowBench();
  RowResult run(const BenchRow& row);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct BenchReport {
  std::string device, driver, preset, planner;
  double min_time = 0, warmup = 0, cycle_mb = 0;
  std::vector<RowResult> rows;
  std::string date = {}, command = {};  // UTC, ISO 8601; as typed
};

nlohmann::json reference_json(const ReferenceTimes& reference);
nlohmann::json to_json(const BenchReport& report);
std::string print_table(const BenchReport& report);
std::string print_candidates(const RowResult& result);
Page page_of(const BenchReport& report);

// Seconds of each rival, by row and by name, as tools/python/rivals.py writes them; none of no file. Errors: parse,
// missing.
using Rivals = std::map<std::string, std::map<std::string, double>>;
Result<Rivals> read_rivals(const std::string& file);
// Adds what stands there under `name` to a row that has such a map.
template <class Row>
void add_rivals(Row& row, const Rivals& rivals, const std::string& name) {
  if (const auto found = rivals.find(name); found != rivals.end())
    for (const auto& [rival, seconds] : found->second) row.rivals[rival] = seconds;
}
// NumPy's time for each row, by python3; nothing where it is not there.
void time_numpy(BenchReport& report);

// --preset host: planning, recording, pipelines, the cache's second start.
Result<nlohmann::json> bench_host(const BenchOptions& options);
std::vector<std::string> host_figures();   // what it reports, by name
std::string print_host(const nlohmann::json& host);

// Heap allocations of this thread so far: the tool counts them, so that it can show that there are none.
std::uint64_t allocation_count() noexcept;

// A plan that moves elements first and computes with them in a second pass, where the problem has axes and a stage.
Result<Plan> separate_passes(const PermuteProblem& problem, const DeviceProfile& profile);

}  // namespace sectile::tools
