// sectile calibrate: measures candidates on a device, and fits the numbers of a class of devices to them.
#include "calibrate.hpp"

#include "bench/sweep.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "emit/emit.hpp"
#include "fit.hpp"
#include "measure.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::size_t kMostRawBytes = std::size_t{1} << 30;
constexpr double kLineSeconds = 5;  // between lines of progress

Result<RawCalibration> read_raw_file(const std::string& path) {
  const auto text = read_text(path, kMostRawBytes);
  if (!text) return std::unexpected(text.error());
  auto raw = read_raw(*text);
  if (!raw) {
    Error error = raw.error();
    error.what = path + ": " + error.what;
    return std::unexpected(std::move(error));
  }
  return raw;
}

struct Measurements {
  RawCalibration raw;
  RawWriter writer;
};

// The measurements that are there, or a new file for them.
Result<Measurements> open_raw(const std::string& path, RawHeader header) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) {
    auto writer = RawWriter::create(path, header);
    if (!writer) return std::unexpected(writer.error());
    return Measurements{{.header = std::move(header), .base = {}, .problems = {}, .begun = {}}, std::move(*writer)};
  }
  auto raw = read_raw_file(path);
  if (!raw) return std::unexpected(raw.error());
  if (auto same = check_same_run(path, raw->header, header); !same) return std::unexpected(same.error());
  auto writer = RawWriter::go_on(path, raw->kept_bytes);
  if (!writer) return std::unexpected(writer.error());
  fmt::print(stderr, "sectile: {} problems are in {} already\n", raw->problems.size(), path);
  return Measurements{std::move(*raw), std::move(*writer)};
}

// A line of the first problem of each operation, then every few seconds.
class ProgressLines {
 public:
  void show(const MeasureProgress& now) {
    if (now.operation == operation_ && now_seconds() - last_ < kLineSeconds) return;
    operation_ = now.operation;
    last_ = now_seconds();
    fmt::print(stderr, "calibrate: {}: {} problems, {} measurements, {:.0f} s left\n", now.operation, now.problems,
               now.candidates, now.seconds_left);
  }

 private:
  std::string operation_;
  double last_ = 0;
};

Result<RawCalibration> measured(const CalibrateOptions& options) {
  const std::string path = raw_path(options.output);
  for (const std::string& place : {options.output, path})
    if (auto good = check_place(place); !good) return std::unexpected(good.error());
  const auto machine = Machine::open(options.device, {.device_class = options.device_class});
  if (!machine) return std::unexpected(machine.error());
  auto there = open_raw(path, raw_header(**machine, options.measure.seed));
  if (!there) return std::unexpected(there.error());
  ProgressLines lines;
  const auto notes = measure(**machine, options.measure, there->raw, there->writer,
                             [&](const MeasureProgress& progress) { lines.show(progress); });
  if (!notes) {
    Error error = notes.error();
    error.detail +=
        fmt::format("sectile: {} problems are kept in {}: the same command goes on, and --from takes them\n",
                    there->raw.problems.size(), path);
    return std::unexpected(std::move(error));
  }
  for (const std::string& note : *notes) fmt::print(stderr, "sectile: note: {}\n", note);
  fmt::print(stderr, "sectile: the measurements are in {}\n", path);
  there->raw.header.profile.device_class = (*machine)->profile().device_class;
  return std::move(there->raw);
}

// Measurements that are there, of a device with the class to start from.
Result<RawCalibration> read_measured(const CalibrateOptions& options) {
  auto raw = read_raw_file(options.from.front());
  if (!raw) return raw;
  for (const std::string& file : std::span(options.from).subspan(1)) {
    auto more = read_raw_file(file);
    if (!more) return more;
    more->header.seed = raw->header.seed;
    if (auto same = check_same_run(file, more->header, raw->header); !same) return std::unexpected(same.error());
    std::ranges::move(more->problems, std::back_inserter(raw->problems));
  }
  auto profile = with_device_class(std::move(raw->header.profile), options.device_class);
  if (!profile) return std::unexpected(profile.error());
  raw->header.profile = std::move(*profile);
  return raw;
}

int run(CalibrateOptions& options) {
  const bool json = options.json;
  if (options.output.empty() && options.from.empty())
    return report(Error{ErrorKind::missing, "calibrate", "no --output", "-o FILE, the class to write", ""}, json);
  if (!options.problems.empty()) {
    auto problems = read_problems(options.problems);
    if (!problems) return report(problems.error(), json);
    options.measure.problems = std::move(*problems);
  }
  const auto raw = options.from.empty() ? measured(options) : read_measured(options);
  if (!raw) return report(raw.error(), json);
  const int code = fit_and_write(*raw, options);
  for (const std::string& warning : raw_warnings(*raw)) fmt::print(stderr, "sectile: warning: {}\n", warning);
  const auto wrong = wrong_candidates(*raw);
  if (wrong.empty()) return code;
  report(Error{ErrorKind::device, "wrong results, not used", fmt::format("{}", fmt::join(wrong, ", ")), "", ""}, json);
  return kFailure;
}

}  // namespace

Command add_calibrate(CLI::App& parent) {
  auto options = std::make_shared<CalibrateOptions>();
  MeasureOptions& measure = options->measure;
  CLI::App* app = parent.add_subcommand(
      "calibrate", "Measure candidates on a device, and fit the numbers of a class of devices to them");
  auto* device = app->add_option("--device", options->device, kDeviceHelp);
  app->add_option("--op", measure.operations, "Only this operation; may be given several times (default: all)")
      ->check(CLI::IsMember(sweep_operations()))
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app->add_option("--minutes", measure.minutes, "Minutes for each operation")
      ->capture_default_str()
      ->check(number_in(0.02, 10000));
  app->add_option("-o,--output", options->output,
                  "The class to write; the measurements lie beside it as NAME.raw.jsonl");
  app->add_option("--from", options->from,
                  "Fit measurements that are there, without the device; may be given several times")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->excludes(device);
  app->add_option("--problems", options->problems, "File of problems to measure before those that are drawn");
  app->add_option("--device-class", options->device_class,
                  "A class of devices (JSON) to start from, in place of what is built in");
  app->add_option("--seed", measure.seed, "The seed of the problems that are fitted; those to check have the next one")
      ->capture_default_str();
  app->add_option("--candidates", measure.most,
                  "Candidates of a problem, at most; of one to check 2.5 times as many (default: 32, on CPUs 16)")
      ->check(CLI::Range(1, 1000));
  app->add_option("--min-mb", measure.min_mb,
                  "Permutes: 10^6 bytes of the larger operand, at least (default: 32, on CPUs 0.125)")
      ->check(number_in(0.001, 1e5));
  app->add_option("--max-gflop", measure.max_gflop,
                  "Matmuls, conv2d: 10^9 operations, at most (default: no bound, on CPUs 0.125)")
      ->check(number_in(0.001, 1e6));
  app->add_flag("--json", options->json, kJsonHelp);
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
