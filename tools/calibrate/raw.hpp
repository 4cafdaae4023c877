// The file of raw measurements that `sectile calibrate` makes: JSON Lines, so that a killed run keeps what it measured.
// docs/reference/calibration.md describes it.
#pragma once

#include <sectile/error.hpp>
#include <sectile/plan.hpp>
#include <sectile/profile.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::tools {

inline constexpr int kRawVersion = 1;

struct RawHeader {
  std::string api, device, driver, planner;  // "vulkan" or "cuda"; planner_version()
  std::uint64_t seed = 0;
  std::string date, command;  // UTC; as typed
  DeviceProfile profile;
};

// Times are in picoseconds, multiples of 100: the file has nanoseconds with one decimal.
struct RawCopy {
  std::uint64_t bytes = 0;
  std::int64_t ps = 0;
  bool operator==(const RawCopy&) const = default;
};

struct RawBase {
  std::int64_t empty_ps = 0;                   // a dispatch that has next to nothing to do
  std::vector<RawCopy> copies;                 // by the planner's own choice, no data in a cache
  std::optional<std::int64_t> second_step_ps;  // what a second step of a plan adds, its barrier included
  bool operator==(const RawBase&) const = default;
};

struct RawCandidate {
  std::string name, detail;  // as Candidate has them
  Eligibility eligibility = Eligibility::candidate;
  bool chosen = false;                          // by the planner
  std::int64_t cost_ps = 0;                     // the estimate
  std::int64_t ps = 0, p10_ps = 0, p90_ps = 0;  // median and percentiles; 0 where there is an error
  std::uint64_t samples = 0;
  bool once = false;  // it was hopeless or long, and was timed once
  std::string error;  // empty where nothing went wrong
  bool operator==(const RawCandidate&) const = default;
};

enum class RawPart : std::uint8_t { fit, check };

struct RawProblem {
  std::string operation, group, problem;  // "permute"; its class, "b transpose"; text
  RawPart part = RawPart::fit;
  std::uint64_t index = 0;              // of the case in its part's sweep
  double spent = 0;                     // seconds, all told, in milliseconds
  std::optional<std::int64_t> copy_ps;  // of the same bytes
  bool unsteady = false;                // the reference had drifted
  std::vector<RawCandidate> candidates;
  bool operator==(const RawProblem&) const = default;
};

struct RawCalibration {
  RawHeader header;
  std::optional<RawBase> base;
  std::vector<RawProblem> problems;
  std::map<std::string, unsigned> begun;  // problems at which runs ended, and how many
  std::size_t kept_bytes = 0;             // of the text, without a last line that was cut off
};

// A candidate's row in its kernel's table: its name without the words for layouts that a convolution stores first.
std::string row_name(std::string_view candidate);
// Where the measurements of a class lie: beside it, with the extension replaced by ".raw.jsonl".
std::string raw_path(const std::string& output);
// Seconds as the file has them. 0 for what the file cannot tell from 0.
std::int64_t raw_picoseconds(double seconds);

// The last line is dropped where it does not end: its run was killed. Errors: parse, which names the line.
Result<RawCalibration> read_raw(std::string_view text);
// Whether a run that begins now may add to measurements that are there. Errors: invalid_problem, which names what
// differs.
Result<void> check_same_run(const std::string& path, const RawHeader& there, const RawHeader& now);

std::string print_line(const RawHeader& header);  // JSON and a newline
std::string print_line(const RawBase& base);
std::string print_line(const RawProblem& problem);
std::string print_begin(const std::string& problem);  // what precedes a problem's line

// Appends lines, each written and flushed at once. Errors: io.
class RawWriter {
 public:
  static Result<RawWriter> create(const std::string& path, const RawHeader& header);
  // Goes on with a file of which `kept_bytes` are read; what follows them is removed.
  static Result<RawWriter> go_on(const std::string& path, std::size_t kept_bytes);

  Result<void> add(const RawBase& base) { return add(print_line(base)); }
  Result<void> add(const RawProblem& problem) { return add(print_line(problem)); }
  Result<void> begin(const std::string& problem) { return add(print_begin(problem)); }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { (void)std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  RawWriter(std::string path, File file) : path_(std::move(path)), file_(std::move(file)) {}
  static Result<RawWriter> open(const std::string& path);
  Result<void> add(const std::string& line);

  std::string path_;
  File file_;
};

}  // namespace sectile::tools
