// Running a sweep, and what its options mean.
#include "sweep.hpp"

#include "cli/command.hpp"
#include "cli/files.hpp"
#include "operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace sectile::tools {
namespace {

SweepRow sweep_row(const SweepCase& c, const RowResult& result) {
  SweepRow row{.group = c.group,
               .type = c.type,
               .problem = print(c.problem),
               .candidate = {},
               .error = result.error,
               .rivals = result.rivals,
               .neighbour = {},
               .best = {},
               .reference = result.reference,
               .unsteady = result.unsteady};
  if (!row.error.empty()) return row;
  const ContenderTime& own = result.own();
  row.candidate = own.candidate;
  row.ours = own.time.median;
  row.p10 = own.time.p10;
  row.p90 = own.time.p90;
  row.copy = result.copy().median;
  row.bytes = own.work.bytes();
  row.operations = own.work.operations;
  if (c.neighbour) {
    row.neighbour = print(*c.neighbour);
    row.neighbour_seconds = result.neighbour.median;
  }
  for (const ContenderTime& time : result.contenders)
    if (!time.error.empty()) row.error = time.candidate + ": " + time.error;
  const auto candidates = result.candidates();
  if (!candidates.empty() && candidates.front()->time.samples > 0) {
    row.best = candidates.front()->candidate;
    row.best_seconds = candidates.front()->time.median;
  }
  return row;
}

// A name is the problem's text: rivals' files and --merge have no other.
std::vector<BenchRow> rows_of(const std::vector<SweepCase>& cases) {
  std::vector<BenchRow> rows;
  rows.reserve(cases.size());
  for (const SweepCase& c : cases)
    rows.push_back({.name = print(c.problem), .problem = c.problem, .neighbour = c.neighbour});
  return rows;
}

int list_cases(const BenchOptions& options, const std::vector<SweepCase>& cases) {
  nlohmann::json list = rows_json(rows_of(cases));
  for (std::size_t i = 0; i < cases.size(); ++i) list["rows"][i]["class"] = cases[i].group;
  if (!options.json_file.empty()) return write_reports(options, list.dump(1) + "\n", {});
  if (options.json) fmt::print("{}\n", list.dump(1));
  for (std::size_t i = 0; i < cases.size() && !options.json; ++i)
    fmt::print("{:12} {:6} {}\n", cases[i].group, cases[i].type, print(cases[i].problem));
  return kOk;
}

// Prints a report and writes its files.
int finish(const BenchOptions& options, const SweepReport& report) {
  const std::string json = to_json(report).dump(1) + "\n";
  fmt::print("{}", options.json ? json : print_sweep(report));
  const int written = write_reports(options, json, [&] { return to_html(page_of(report)); });
  const bool broken = std::ranges::any_of(report.rows, [](const SweepRow& row) { return !row.error.empty(); });
  return broken ? kFailure : written;
}

}  // namespace

SweepReport sweep_report(const SweepOptions& sweep, const BenchReport& report, std::span<const SweepCase> cases) {
  SweepReport out{.operation = sweep.operation,
                  .device = report.device,
                  .driver = report.driver,
                  .planner = report.planner,
                  .date = report.date,
                  .command = report.command,
                  .seed = sweep.seed,
                  .bytes_per_second = report.bytes_per_second,
                  .rows = {},
                  .profile = report.profile,
                  .device_class = report.device_class};
  for (std::size_t i = 0; i < report.rows.size(); ++i) out.rows.push_back(sweep_row(cases[i], report.rows[i]));
  return out;
}

int run_sweep(const BenchOptions& options, SweepOptions sweep) {
  const auto rivals = read_rivals(options.rivals_file);
  if (!rivals) return report(rivals.error(), options.json);
  const auto machine = options.list && options.device.empty()
                           ? Result<std::unique_ptr<Machine>>(nullptr)
                           : Machine::open(options.device, {.device_class = options.device_class});
  if (!machine) return report(machine.error(), options.json);
  sweep.cpu = *machine != nullptr && (*machine)->profile().kind == DeviceKind::cpu;
  const auto cases = sweep_cases(sweep);
  if (!cases) return report(cases.error(), options.json);
  if (options.list) return list_cases(options, *cases);
  const auto done = [&](const BenchReport& bench, std::size_t i) {
    const SweepReport so_far = sweep_report(sweep, bench, *cases);
    const SweepRow& row = so_far.rows[i];
    const SweepRatio ratio = ratio_of(so_far, row);
    if (!row.error.empty())
      fmt::print(stderr, "{}: {}\n", row.problem, row.error);
    else
      fmt::print(stderr, "{}: {} {:.2f} us, {:.3f} of {}\n", row.problem, row.candidate, row.ours * 1e6, ratio.value,
                 ratio.name);
    if (!options.json_file.empty()) write_so_far(options.json_file, to_json(so_far).dump(1) + "\n");
  };
  const BenchReport bench = run_rows(**machine, options, *rivals, rows_of(*cases), done);
  return finish(options, sweep_report(sweep, bench, *cases));
}

int run_merge(const BenchOptions& options, const std::vector<std::string>& files) {
  std::vector<SweepReport> reports;
  for (const std::string& file : files) {
    const auto text = read_text(file);
    if (!text) return report(text.error(), options.json);
    auto one = sweep_from_json(*text);
    if (!one)
      return report(Error{one.error().kind, file, one.error().message(), "the JSON of bench --sweep"}, options.json);
    reports.push_back(std::move(*one));
  }
  auto merged = merge_sweeps(std::move(reports));
  if (!merged) return report(merged.error(), options.json);
  const auto rivals = read_rivals(options.rivals_file);
  if (!rivals) return report(rivals.error(), options.json);
  for (SweepRow& row : merged->rows) add_rivals(row, *rivals, row.problem);
  return finish(options, *merged);
}

}  // namespace sectile::tools
