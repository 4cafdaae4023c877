// Running a sweep, and what its options mean.
#include "sweep.hpp"

#include "data.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/text.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace sectile::tools {
namespace {

// One operation's part: a case measured.
class Sweeper {
 public:
  Sweeper(Machine& machine, const BenchOptions& options, const Rivals& rivals)
      : machine_(machine), options_(options), rivals_(rivals), steady_(machine, options.warmup), permutes_(machine, options_, steady_) {}

  // Rows are told and kept as they come; those whose reference drifted are measured again at the end.
  void run(const std::vector<SweepCase>& cases, SweepReport& report, auto&& done) {
    Progress bar("sweep", cases.size());
    const auto one = [&](std::size_t i) {
      bar.show(i, print(cases[i].problem));
      SweepRow row = std::visit([&](const auto& p) { return measure(cases[i], p); }, cases[i].problem);
      row.group = cases[i].group;
      row.type = cases[i].type;
      row.problem = print(cases[i].problem);
      add_rivals(row, rivals_, row.problem);
      return row;
    };
    for (std::size_t i = 0; i < cases.size(); ++i) {
      report.rows.push_back(one(i));
      report.bytes_per_second = steady_.best_rate(Reference::copy);
      done(report, report.rows.back());
    }
    measure_drifted_again(steady_, report.rows, one);
    report.bytes_per_second = steady_.best_rate(Reference::copy);
  }

 private:
  SweepRow measure(const SweepCase& c, const PermuteProblem& problem) {
    BenchRow row{row_name(problem), problem};
    if (c.neighbour) row.neighbour = std::get<PermuteProblem>(*c.neighbour);
    const RowResult result = permutes_.run(row);
    SweepRow out;
    out.reference = result.reference;
    out.error = result.error;
    if (!out.error.empty()) return out;
    out.candidate = result.candidate;
    set_times(out, result.ours);
    out.copy = result.copy().median;
    out.bytes = static_cast<double>(result.src_bytes + result.dst_bytes);
    if (c.neighbour) {
      out.neighbour = print(*c.neighbour);
      out.neighbour_seconds = result.neighbour.median;
    }
    for (const CandidateTime& candidate : result.candidates) {
      if (!candidate.error.empty())
        out.error = candidate.name + ": " + candidate.error;
      else
        take_best(out, candidate.name, candidate.time);
    }
    return out;
  }

  SweepRow measure(const SweepCase& c, const MatmulProblem& problem) {
    MatmulRow row = matmul_row(problem);
    if (c.neighbour) row.contenders.push_back({"neighbour", std::get<MatmulProblem>(*c.neighbour), ""});
    const MatmulResult result = bench_matmul(machine_, options_, steady_, row);
    SweepRow out;
    out.reference = result.reference;
    out.error = result.error;
    if (!out.error.empty()) return out;
    out.bytes = operand_bytes_of(Problem(problem));
    for (std::size_t i = 0; i < result.times.size(); ++i) {
      const MatmulTime& time = result.times[i];
      if (!time.error.empty())
        out.error = time.candidate + ": " + time.error;
      else if (i == 0) {
        out.candidate = time.candidate;
        out.operations = time.operations;
        set_times(out, time.time);
      } else if (i == 1 && c.neighbour) {
        out.neighbour = time.problem;
        out.neighbour_seconds = time.time.median;
      }
      if (time.error.empty() && options_.all_candidates && !(i == 1 && c.neighbour))
        take_best(out, time.candidate, time.time);
    }
    return out;
  }

  static void set_times(SweepRow& out, const Spread& spread) {
    out.ours = spread.median;
    out.p10 = spread.p10;
    out.p90 = spread.p90;
  }
  static void take_best(SweepRow& out, const std::string& name, const Spread& spread) {
    if (spread.samples == 0 || (out.best_seconds > 0 && spread.median >= out.best_seconds)) return;
    out.best = name;
    out.best_seconds = spread.median;
  }

  Machine& machine_;
  const BenchOptions options_;
  const Rivals& rivals_;
  Steady steady_;
  RowBench permutes_;
};

nlohmann::json list_json(const std::vector<SweepCase>& cases, const std::string& operation) {
  nlohmann::json list;
  if (operation == "permute") {
    std::vector<BenchRow> rows;
    for (const SweepCase& c : cases) rows.push_back({print(c.problem), std::get<PermuteProblem>(c.problem)});
    list = rows_json(rows);
  } else {
    std::vector<MatmulRow> rows;
    for (const SweepCase& c : cases) rows.push_back(matmul_row(std::get<MatmulProblem>(c.problem)));
    list = matmul_rows_json(rows);
  }
  for (std::size_t i = 0; i < cases.size(); ++i) list["rows"][i]["class"] = cases[i].group;
  return list;
}

// What a report is told as, and where to.
int finish(const BenchOptions& options, SweepReport& report) {
  const std::string json = to_json(report).dump(1) + "\n";
  fmt::print("{}", options.json ? json : print_sweep(report));
  if (!options.json_file.empty())
    if (auto written = write_atomically(options.json_file, json); !written)
      return tools::report(written.error(), options.json);
  if (!options.html_file.empty())
    if (auto written = write_atomically(options.html_file, to_html(page_of(report))); !written)
      return tools::report(written.error(), options.json);
  const bool broken = std::ranges::any_of(report.rows, [](const SweepRow& row) { return !row.error.empty(); });
  return broken ? kFailure : kOk;
}

}  // namespace

int run_sweep(const BenchOptions& options, SweepOptions sweep) {
  const auto rivals = read_rivals(options.rivals_file);
  if (!rivals) return report(rivals.error(), options.json);
  const auto machine = options.list && options.device.empty() ? Result<std::unique_ptr<Machine>>(nullptr)
                                                              : Machine::open(options.device);
  if (!machine) return report(machine.error(), options.json);
  sweep.cpu = *machine != nullptr && (*machine)->profile().kind == DeviceKind::cpu;
  const auto cases = sweep_cases(sweep);
  if (!cases) return report(cases.error(), options.json);
  if (options.list) {
    const std::string json = list_json(*cases, sweep.operation).dump(1) + "\n";
    if (!options.json_file.empty()) {
      if (auto written = write_atomically(options.json_file, json); !written)
        return report(written.error(), options.json);
    } else if (options.json) {
      fmt::print("{}", json);
    } else {
      for (const SweepCase& c : *cases) fmt::print("{:12} {:6} {}\n", c.group, c.type, print(c.problem));
    }
    return kOk;
  }
  SweepReport report{.operation = sweep.operation,
                     .device = (*machine)->name(),
                     .driver = (*machine)->driver(),
                     .planner = std::string(planner_version()),
                     .date = utc_now(),
                     .command = command_line(),
                     .seed = sweep.seed,
                     .rows = {}};
  Sweeper(**machine, options, *rivals).run(*cases, report, [&](const SweepReport& so_far, const SweepRow& row) {
    const SweepRatio ratio = ratio_of(so_far, row);
    if (!row.error.empty())
      fmt::print(stderr, "{}: {}\n", row.problem, row.error);
    else
      fmt::print(stderr, "{}: {} {:.2f} us, {:.3f} of {}\n", row.problem, row.candidate, row.ours * 1e6, ratio.value,
                 ratio.name);
    if (!options.json_file.empty()) write_so_far(options.json_file, to_json(so_far).dump(1) + "\n");
  });
  return finish(options, report);
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
