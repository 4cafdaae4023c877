// sectile check: generated problems on a device, against the reference.
#include "check.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace sectile::tools {
namespace {

std::string shell_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Cases that were run and found right: none where nothing ran.
std::uint64_t passed(const CheckReport& report, std::uint64_t failed, std::uint64_t skipped) {
  return report.runs == 0 ? 0 : report.cases - failed - skipped;
}

nlohmann::json json_of(const CheckOptions& options, const CheckReport& report, std::uint64_t failed,
                       std::uint64_t skipped) {
  nlohmann::json failures = nlohmann::json::array();
  for (const Failure& failure : report.failures) {
    failures.push_back({{"case", failure.index},
                        {"problem", failure.problem},
                        {"candidate", failure.candidate},
                        {"message", failure.message},
                        {"again", reproduce_command(options, failure)}});
  }
  return {{"device", report.device},
          {"note", report.note},
          {"seed", options.seed},
          {"cases", report.cases},
          {"runs", report.runs},
          {"passed", passed(report, failed, skipped)},
          {"failed", failed},
          {"skipped", skipped},
          {"milliseconds", static_cast<std::int64_t>(report.seconds * 1e3)},
          {"failures", failures}};
}

// Cases that there are, and devices that have a name: a check of none passes nothing.
Result<void> check_numbers(const CheckOptions& options) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  if (options.cases == 0) return fail(ErrorKind::invalid_problem, "--cases", "0", "at least 1");
  // Cut short where there are fewer big cases; one problem is one case.
  const std::uint64_t cases = options.big || !options.problem.empty() ? 1 : options.cases;
  if (options.first > most - cases)
    return fail(ErrorKind::overflow, "--first", std::to_string(options.first),
                fmt::format("at most {} with {} cases", most - cases, cases));
  if (options.device.empty()) return {};
  for (const std::string& device : device_list(options.device))
    if (device.empty()) return fail(ErrorKind::missing, "--device", options.device, "a device on each side of a comma");
  return {};
}

// What can be refused before a worker is asked to run anything.
Result<void> look_at(const CheckOptions& options) {
  if (auto fine = check_numbers(options); !fine) return fine;
  if (!options.modules.empty()) {
    if (auto place = check_place(options.modules); !place) return place;
  }
  if (!options.junit.empty()) {
    if (auto place = check_place(options.junit); !place) return place;
  }
  if (options.big && options.first >= big_case_count())
    return fail(ErrorKind::missing, "big case", std::to_string(options.first),
                fmt::format("below {}", big_case_count()));
  if (options.problem.empty()) return {};
  const auto problem = parse_problem(options.problem);
  if (!problem) return std::unexpected(problem.error());
  return validate(*problem);
}

int run(CheckOptions options) {
  if (auto fine = look_at(options); !fine) return report(fine.error(), options.json);
  if (options.big) options.cases = std::min(options.cases, big_case_count() - options.first);
  const auto result = supervise(options);
  if (!result) return report(result.error(), options.json);

  std::set<std::uint64_t> failed, skipped;
  for (const Failure& failure : result->failures) failed.insert(failure.index);
  for (const auto& [index, why] : result->skipped) {
    if (!failed.contains(index)) skipped.insert(index);
  }
  if (!options.junit.empty()) {
    if (auto written = write_atomically(options.junit, junit_xml(options, *result)); !written)
      return report(written.error(), options.json);
  }
  if (!options.modules.empty()) {
    std::string lines;
    for (const std::string& module : result->modules) lines += module + "\n";
    if (auto written = write_atomically(options.modules, lines); !written) return report(written.error(), options.json);
  }
  if (options.json) {
    fmt::print("{}\n", json_of(options, *result, failed.size(), skipped.size()).dump(2));
  } else {
    fmt::print("{}: seed {}, {} runs, {:.1f} s{}\n", result->device, options.seed, result->runs, result->seconds,
               result->note.empty() ? "" : " (" + result->note + ")");
    if (options.big) {
      for (const auto& [index, why] : result->skipped) fmt::print("skipped {}: {}\n", print(big_case(index)), why);
    }
    const std::string skips = skipped.empty() ? "" : fmt::format(", {} skipped", skipped.size());
    fmt::print("{} passed, {} failed{}\n", passed(*result, failed.size(), skipped.size()), failed.size(), skips);
  }
  if (!failed.empty()) return kFailure;
  if (passed(*result, 0, skipped.size()) > 0) return kOk;
  // Whatever the reason: what ran nothing has shown nothing.
  std::string why = "no case has elements to compute";
  if (!skipped.empty())
    why = fmt::format("{} of {} cases were skipped, the first because: {}", skipped.size(), result->cases,
                      result->skipped.front().second);
  if (why.size() > 340) why.replace(340, std::string::npos, "...");
  report({ErrorKind::unsupported, "check", "nothing ran: " + why, ""}, options.json);
  return kFailure;
}

}  // namespace

std::string reproduce_command(const CheckOptions& options, const Failure& failure) {
  std::string command = "sectile check";
  if (options.big) {
    command += fmt::format(" --big --first {} --cases 1", failure.index);
  } else {
    command += " --problem " + shell_quoted(failure.problem);
    // The same data: it belongs to the case's number.
    if (options.seed != CheckOptions{}.seed) command += " --seed " + std::to_string(options.seed);
    if (failure.index != CheckOptions{}.first) command += " --first " + std::to_string(failure.index);
    if (!failure.candidate.empty()) command += " --force " + shell_quoted(failure.candidate);
    const CheckCase c = check_case(options, failure.index);
    if (c.without_dot) command += " --without-dot";
    if (c.without_workgroup8) command += " --without-workgroup8";
    if (c.multiprocessors != 0) command += fmt::format(" --multiprocessors {}", c.multiprocessors);
    if (c.max_scratch_bytes) command += fmt::format(" --max-scratch {}", *c.max_scratch_bytes);
    if (options.few_pipelines || c.few_pipelines) command += " --few-pipelines";
    if (options.repeat > 1) command += fmt::format(" --repeat {}", options.repeat);
  }
  if (!options.device.empty()) command += " --device " + shell_quoted(options.device);
  if (!options.device_class.empty()) command += " --device-class " + shell_quoted(options.device_class);
  if (options.no_protect) command += " --no-protect";
  return command;
}

std::string junit_xml(const CheckOptions& options, const CheckReport& report) {
  std::map<std::uint64_t, const Failure*> failed;
  for (const Failure& failure : report.failures) failed.emplace(failure.index, &failure);
  std::map<std::uint64_t, std::string> skipped(report.skipped.begin(), report.skipped.end());
  const std::string operation =
      options.problem.empty() ? options.operation : std::string(operation_of(case_problem(options, options.first)));
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  xml += fmt::format(
      "<testsuite name=\"sectile check {}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" time=\"{:.3f}\" "
      "hostname=\"{}\">\n",
      operation, report.cases, failed.size(), skipped.size(), report.seconds, markup_text(report.device));
  for (std::uint64_t at = 0; at < report.cases; ++at) {
    const std::uint64_t index = options.first + at;
    const Problem problem = case_problem(options, index);
    xml += fmt::format("  <testcase classname=\"check.{}\" name=\"{}: {}\"", operation, index,
                       markup_text(print(problem)));
    if (const auto failure = failed.find(index); failure != failed.end()) {
      xml += fmt::format(">\n    <failure message=\"{}\">{}\n{}</failure>\n  </testcase>\n",
                         markup_text(failure->second->message), markup_text(failure->second->candidate),
                         markup_text(reproduce_command(options, *failure->second)));
    } else if (const auto skip = skipped.find(index); skip != skipped.end()) {
      xml += fmt::format("><skipped message=\"{}\"/></testcase>\n", markup_text(skip->second));
    } else {
      xml += "/>\n";
    }
  }
  return xml + "</testsuite>\n";
}

Command add_check(CLI::App& parent) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* app =
      parent.add_subcommand("check", "Run generated problems and compare all that they write with the reference");
  auto* operation = app->add_option("--op", options->operation, "The operation of generated problems")
                        ->capture_default_str()
                        ->check(CLI::IsMember(checked_operations()));
  app->add_option("--seed", options->seed, "Seed of the problems and their data")->capture_default_str();
  app->add_option("--cases", options->cases, "Number of cases")->capture_default_str();
  app->add_option("--first", options->first, "Number of the first case")->capture_default_str();
  app->add_option(
      "--device", options->device,
      "vulkan:N, cuda:N, a UUID or part of a name; several with commas between are compared with each other");
  app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--junit", options->junit, "Write the results to this file, as JUnit XML");
  app->add_option("--modules", options->modules, "Write the names of the kernels that ran to this file, one a line");
  app->add_flag("--words", options->words, "Problems for a device without accesses of 1 and 2 bytes");
  auto* problem = app->add_option("--problem", options->problem, "This one problem instead of generated ones");
  app->add_option("--filter", options->filter,
                  "Only generated cases for candidates with this in their names or, behind a !, without it")
      ->excludes(problem);
  auto* force =
      app->add_option("--force", options->force, "Only this candidate; a case that does not admit it is skipped");
  app->add_flag("--all-candidates", options->all_candidates,
                "Every admissible candidate, not just the chosen one and one more")
      ->excludes(force);
  app->add_flag("--few-pipelines", options->few_pipelines, kFewPipelinesHelp);
  app->add_flag("--without-dot", options->without_dot, "Plan --problem as for a device without products of four bytes")
      ->needs(problem);
  app->add_flag("--without-workgroup8", options->without_workgroup8,
                "Plan --problem as for a device without accesses of 8 bits in workgroup memory")
      ->needs(problem);
  app->add_option("--multiprocessors", options->multiprocessors,
                  "Plan --problem as for a device with so many, so that K is split")
      ->needs(problem);
  app->add_option("--max-scratch", options->max_scratch_bytes,
                  "Plan --problem with at most so many bytes of scratch, so that images are in parts")
      ->needs(problem);
  app->add_option("--siblings", options->siblings,
                  "Run so many further problems with the kernels of each generated case: other sizes, padding, strides")
      ->capture_default_str()
      ->check(CLI::Range(0, 64))
      ->excludes(problem);
  auto* big =
      app->add_flag("--big", options->big, "Test operands over 4 GiB, and indices and bytes at 2^31 and 2^32, instead")
          ->excludes(operation)
          ->excludes(problem);
  app->add_flag("--no-protect", options->no_protect, "No protected pages behind operands on CPU devices");
  app->add_flag("--no-validation", options->no_validation, "Without the validation layer");
  auto* in_process = app->add_flag("--in-process", options->in_process, "Without child processes, for a debugger");
  app->add_option("--batch", options->batch, "Cases in one submission")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  app->add_option("--repeat", options->repeat, "Runs of each case, which all have to leave the same bits")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000))
      ->excludes(big);
  app->add_option("--jobs", options->jobs,
                  "Processes side by side that share the cases; default: one for each processor, as far as memory, the "
                  "device and the number of cases allow")
      ->check(CLI::Range(1, 256))
      ->excludes(in_process);
  app->add_option("--timeout", options->timeout_seconds, "Seconds without a sign of life until a worker is ended")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  app->add_option("--test-progress", options->progress_seconds, "Seconds between lines that say how far it is")
      ->group("")
      ->check(number_in(0, 1e6));
  app->add_option("--test-spoil", options->spoil, "Spoil the result of this case")->group("");
  app->add_option("--test-kill", options->kill, "Let this case kill its worker")->group("");
  app->add_option("--test-hang", options->hang, "Let this case never end")->group("");
  app->add_flag("--json", options->json, "JSON on standard output");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
