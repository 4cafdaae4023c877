// The parts of `sectile bench`. What an operation brings is in operation.hpp.
#pragma once

#include "machine/machine.hpp"
#include "machine/steady.hpp"

#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::tools {

struct Page;  // page.hpp

inline constexpr std::uint64_t kBenchSeed = 0x5eed;
inline constexpr double kSampleSeconds = 200e-6;             // of one sample, at least: timestamps tick at up to 1 us
inline constexpr double kHopeless = 4;                       // times slower than ours: a candidate that is timed once
inline constexpr const char* kWrongResult = "WRONG RESULT";  // in the error of a plan whose result is wrong

inline constexpr const char* kWarmupHelp =
    "Seconds at most that a reference kernel runs before each row, until its time is stable; 0: it does not run";

// ---- Rows

// One plan to be timed beside a row's own.
struct Contender {
  std::string label;
  Problem problem;
  std::string force = {};         // a candidate; empty: the planner's choice
  std::optional<Plan> plan = {};  // is timed as it is; its scratch holds zeros before
  bool verify = true;             // false: its result is not compared before it is timed
};

struct BenchRow {
  std::string name;  // as rivals' files have it
  Problem problem;
  std::optional<Problem> neighbour = {};   // a problem that contains this one, timed in turn with it (sweep.hpp)
  std::vector<Contender> contenders = {};  // further plans
  // Further plans that depend on the chosen one.
  std::function<std::vector<Contender>(const Plan& chosen, const DeviceProfile& profile)> more = {};
  double goal_vulkan = 0, goal_cuda = 0;  // times the best rival's rate; 0: none
  bool verify = true;                     // false: the result of its own plan is not compared
};

// Whether there is anything to time. Errors: invalid_problem (no elements in its result).
Result<void> check_timed(const Problem& problem);
// A problem's text as a row that can be timed. Errors: those of parsing and validation, and check_timed's.
Result<BenchRow> row_of_text(const std::string& text);
nlohmann::json rows_json(std::span<const BenchRow> rows);

struct BenchOptions {
  std::vector<std::string> problems;
  std::string preset, device, device_class, json_file, html_file, rivals_file, force, only, cache_file;
  bool large = false, statistics = false;
  bool regret = false;  // --sweep: all candidates
  bool few_pipelines = false;
  bool all_candidates = false, list = false, json = false, no_numpy = false,
       no_verify = false;  // json: on standard output
  std::size_t limit = 0;   // of all candidates, those that the planner takes for the cheapest; 0: all
  std::string tuned_file;
  std::vector<std::string> replan;      // reports to plan again
  const TunedChoices* tuned = nullptr;  // what is in it
  bool compare_outputs = false;         // each candidate's against the planner's own choice's, every element
  double min_time = 0.3;                // seconds of samples for each candidate
  double warmup = kWarmupSeconds;       // at most so long runs the reference before each row; 0: none (steady.hpp)
  double cycle_mb = 512;                // bytes that one round over the rotated buffers touches, in 10^6, at least
};

// The preset's rows, then those of problems; --only's. Errors: no row, and what is wrong with a problem. `more`:
// presets that errors name as well.
Result<std::vector<BenchRow>> rows_of(const BenchOptions& options, const std::vector<std::string>& more = {});

// ---- Results

// Seconds of one run.
struct Spread {
  double median = 0, p10 = 0, p90 = 0;
  std::size_t samples = 0;
};
Spread spread_of(std::vector<double> seconds);

// Of one run.
struct Work {
  double read = 0, written = 0;  // bytes; the gaps of strided operands are not counted
  double operations = 0;         // of arithmetic
  double bytes() const noexcept { return read + written; }
};

struct ContenderTime {
  std::string label, problem, candidate, plan, statistics;
  std::string error;      // what went wrong; empty where nothing did
  bool chosen = false;    // by the planner, or forced: the row's own
  bool listed = false;    // one of the planner's candidates, with --all-candidates
  std::int64_t cost = 0;  // Candidate::cost
  Eligibility eligibility = Eligibility::candidate;
  Work work;
  Spread time;
};

// A candidate's cost in microseconds, four digits.
std::string estimate_text(std::int64_t picoseconds);

struct RowResult {
  BenchRow row;
  std::string error;  // why there are no times
  bool on_cpu = false, on_cuda = false;
  std::string copy_command;                // the API's own: vkCmdCopyBuffer
  std::vector<ContenderTime> contenders;   // the first is the row's own
  Spread copy_buffer, copy_kernel, empty;  // beside a copy alone; `empty`: a dispatch that moves 16 bytes
  std::map<std::string, double> rivals;    // seconds
  Spread neighbour;                        // of row.neighbour, by the planner's own choice
  ReferenceTimes reference;
  bool unsteady = false;  // the reference had drifted, twice

  const ContenderTime& own() const { return contenders.at(0); }
  // The better of the two copies, and which it was.
  const Spread& copy() const noexcept { return copy_kernel.median <= copy_buffer.median ? copy_kernel : copy_buffer; }
  std::string_view copy_name() const noexcept {
    return copy_kernel.median <= copy_buffer.median ? std::string_view("kernel") : std::string_view(copy_command);
  }
  double fraction() const { return own().time.median > 0 ? copy().median / own().time.median : 0; }
  std::optional<std::pair<std::string, double>> best_rival() const;  // not the copies among them
  // With --all-candidates every admissible one, the row's own among them: the fastest first, after them what failed.
  std::vector<const ContenderTime*> candidates() const;
  bool broken() const;  // it or a contender has an error
};

// What a row is to reach, and whether it does.
struct Goal {
  std::string text;             // ">= 0.95"; empty: none
  std::string of;               // "the copy"; empty: the text says it
  std::optional<double> least;  // of times the best rival
  std::optional<bool> met;      // nothing: there is nothing to compare with
};
Goal goal_of(const RowResult& result);

// ---- The engine

// Runs rows of one device one by one. Errors of one row stand in its result.
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
  double bytes_per_second = 0;          // the reference copy's, at its best in this call; 0: it did not run
  std::string profile = {};             // the device's, as JSON
  std::string device_class = {};        // device_class_text()
};

// The chosen candidate of a plan that was made with `explain`; of one that lists none, its kernels.
std::string chosen_name(const Plan& plan);

// `--replan`: plans the problems of reports, which have their device's profile, and says which rows are planned
// otherwise now. The exit code.
int run_replan(const BenchOptions& options);

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
// NumPy's time for each row that is a plain permutation, by python3; nothing where it is not there.
void time_numpy(BenchReport& report);

// Every row in turn; then those whose reference drifted, once more. `done` is called after each with the report so far
// and the number of the row that is new in it.
BenchReport run_rows(Machine& machine, const BenchOptions& options, const Rivals& rivals,
                     std::span<const BenchRow> rows,
                     const std::function<void(const BenchReport& so_far, std::size_t row)>& done);

// Writes each file that has a name; the command's exit code.
int write_reports(const BenchOptions& options, const std::string& json, const std::function<std::string()>& html);

// ---- Reports

nlohmann::json reference_json(const ReferenceTimes& reference);
void add_profile(nlohmann::json& report, const std::string& profile);  // nothing of no profile
nlohmann::json to_json(const BenchReport& report);
std::string print_table(const BenchReport& report);  // a table an operation
std::string print_candidates(const RowResult& result);
std::string print_line(const RowResult& result);  // a line, and one for each contender
Page page_of(const BenchReport& report);

// ---- The host's part

// --preset host: planning, recording, pipelines, the cache's second start.
Result<nlohmann::json> bench_host(const BenchOptions& options);
std::vector<std::string> host_figures();  // what it reports, by name
std::string print_host(const nlohmann::json& host);

// Heap allocations of this thread so far: the tool counts them, so that it can show that there are none.
std::uint64_t allocation_count() noexcept;

// Operands' bytes by name, from each operand's address on.
using BenchData = std::map<std::string, std::span<const std::byte>, std::less<>>;

}  // namespace sectile::tools
