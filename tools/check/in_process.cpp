// `sectile check --in-process`, and what it shares with workers: opening a device, the number of cases.
#include "check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace sectile::tools {

namespace {

// Without workers, for a debugger: failures go straight into the report.
class DirectSink final : public CheckSink {
 public:
  explicit DirectSink(CheckReport& report) : report_(report) {}
  void starting(std::uint64_t, std::uint64_t) override {}
  void doing(std::string_view) override {}
  void failed(const Failure& failure) override {
    fmt::print(stderr, "FAILED case {}: {}\n  candidate: {}\n  {}\n", failure.index, failure.problem, failure.candidate,
               failure.message);
    report_.failures.push_back(failure);
  }
  void skipped(std::uint64_t index, std::string_view why) override {
    report_.skipped.emplace_back(index, std::string(why));
  }
  void ran(std::string_view module) override { report_.modules.emplace(module); }
  void finished(std::uint64_t runs) override { report_.runs += runs; }

 private:
  CheckReport& report_;
};

}  // namespace

Result<CheckReport> check_in_process(const CheckOptions& options) {
  CheckReport report;
  report.cases = total_cases(options);
  DirectSink sink(report);
  auto runners = CaseRunners::open(options, sink);
  if (!runners) return std::unexpected(runners.error());
  report.device = runners->names();
  report.note = runners->note();
  if (options.big) {
    if (auto ran = runners->run_big(0, report.cases); !ran) return std::unexpected(ran.error());
    return report;
  }
  for (std::uint64_t at = 0; at < report.cases; at += options.batch) {
    const std::uint64_t last = std::min<std::uint64_t>(report.cases, at + options.batch);
    if (auto ran = runners->run(options.first + at, options.first + last, options.batch == 1); !ran)
      return std::unexpected(ran.error());
  }
  return report;
}

std::uint64_t total_cases(const CheckOptions& options) { return options.problem.empty() ? options.cases : 1; }

Result<std::unique_ptr<Machine>> open_for_check(const CheckOptions& options, const std::string& device,
                                                std::string& note) {
  MachineOptions wanted;
  wanted.validation = !options.no_validation;
  wanted.device_class = options.device_class;
  wanted.any_profile = true;  // cases are planned for devices without some features, too
  std::vector<std::string> class_warnings;
  wanted.class_warnings = &class_warnings;
  const auto add = [&note](const std::string& text) { note += (note.empty() ? "" : "; ") + text; };
  auto machine = Machine::open(device, wanted);
  if (machine || options.no_validation || machine.error().kind != ErrorKind::missing) {
    std::ranges::for_each(class_warnings, add);
    return machine;
  }
  // The layer may be what is missing; where it is the device, this fails the same way.
  wanted.validation = false;
  auto plain = Machine::open(device, wanted);
  if (plain) add("without the validation layer: " + machine.error().message());
  std::ranges::for_each(class_warnings, add);
  return plain;
}

}  // namespace sectile::tools
