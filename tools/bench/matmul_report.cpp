// What a benchmark of matrix multiplications found, and how it is run from the command line.
#include "matmul.hpp"
#include "page.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/text.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace sectile::tools {
namespace {

double goal_of(const MatmulReport& report, const MatmulRow& row) { return report.cuda ? row.goal_cuda : row.goal_vulkan; }

nlohmann::json time_json(const MatmulTime& time, const MatmulTime& first) {
  nlohmann::json object = {{"label", time.label}, {"problem", time.problem}, {"candidate", time.candidate}, {"plan", time.plan}};
  if (!time.statistics.empty()) object["statistics"] = time.statistics;
  if (!time.error.empty()) {
    object["error"] = time.error;
    return object;
  }
  object.update({{"median_s", time.time.median}, {"p10_s", time.time.p10}, {"p90_s", time.time.p90}, {"samples", time.time.samples},
                 {"flops", time.rate()}});
  if (time.time.median > 0) object["times_first"] = first.time.median / time.time.median;
  return object;
}

nlohmann::json row_json(const MatmulReport& report, MatmulResult result) {
  nlohmann::json object = {{"name", result.row.name}, {"reference", reference_json(result.reference)}, {"unsteady", result.unsteady}};
  if (!result.error.empty()) object["error"] = result.error;
  for (const MatmulTime& time : result.times) object["contenders"].push_back(time_json(time, result.times.front()));
  if (const auto* rival = result.best_rival(); rival != nullptr && !result.times.empty() && result.times.front().time.median > 0) {
    const double ratio = rival->second / result.times.front().time.median;
    object.update({{"rivals_s", result.rivals}, {"best_rival", rival->first}, {"times_best_rival", ratio}});
    if (const double goal = goal_of(report, result.row); goal > 0) object.update({{"goal", goal}, {"goal_met", ratio >= goal}});
  }
  return object;
}

void tell(const MatmulResult& result) {
  if (!result.error.empty()) fmt::print(stderr, "{}: {}\n", result.row.name, result.error);
  for (const MatmulTime& time : result.times) {
    const std::string figure = time.error.empty() ? fmt::format("{:.2f} us, {:.3f} TFLOP/s", time.time.median * 1e6, time.rate() / 1e12) : time.error;
    fmt::print(stderr, "{}: {}: {}: {}\n", result.row.name, time.label, time.candidate, figure);
  }
}

}  // namespace

const std::pair<const std::string, double>* MatmulResult::best_rival() const noexcept {
  const auto best = std::min_element(rivals.begin(), rivals.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == rivals.end() ? nullptr : &*best;
}

nlohmann::json to_json(const MatmulReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const MatmulResult& result : report.rows) rows.push_back(row_json(report, result));
  return {{"device", report.device},       {"driver", report.driver},
          {"preset", report.preset},       {"planner", std::string(planner_version())},
          {"min_time_s", report.min_time}, {"warmup_s", report.warmup},
          {"cycle_mb", report.cycle_mb},   {"date", report.date},
          {"command", report.command},     {"rows", rows}};
}

std::string print_table(const MatmulReport& report) {
  Table table({"row", "", "kernel", "us", "p10-p90", "TFLOP/s", "x first", "rival", "us", "x rival", "goal", "met"});
  std::string errors, statistics;
  for (const MatmulResult& result : report.rows) {
    if (!result.error.empty()) errors += fmt::format("{}: {}\n", result.row.name, result.error);
    for (const MatmulTime& time : result.times) {
      const bool first = &time == &result.times.front();
      if (!time.statistics.empty()) statistics += fmt::format("{}: {}\n{}", result.row.name, time.candidate, time.statistics);
      if (!time.error.empty()) {
        errors += fmt::format("{}: {}: {}\n", result.row.name, time.candidate, time.error);
        continue;
      }
      if (time.time.samples == 0) continue;
      const auto* rival = first ? result.best_rival() : nullptr;
      const double ratio = rival != nullptr ? rival->second / time.time.median : 0, goal = first ? goal_of(report, result.row) : 0;
      table.add({!first ? "" : result.row.name + (result.unsteady ? " (unsteady)" : ""), time.label, time.candidate, fmt::format("{:.2f}", time.time.median * 1e6),
                 fmt::format("{:.2f}-{:.2f}", time.time.p10 * 1e6, time.time.p90 * 1e6), fmt::format("{:.3f}", time.rate() / 1e12),
                 fmt::format("{:.3f}", result.times.front().time.median / time.time.median), rival != nullptr ? rival->first : "-",
                 rival != nullptr ? fmt::format("{:.2f}", rival->second * 1e6) : "-", rival != nullptr ? fmt::format("{:.3f}", ratio) : "-",
                 goal > 0 ? fmt::format(">= {:.2f}", goal) : "-", goal > 0 && rival != nullptr ? (ratio >= goal ? "yes" : "NO") : "-"});
    }
  }
  return table.print() + statistics + errors;
}

int run_matmul_bench(const BenchOptions& options, const std::vector<MatmulRow>& rows) {
  if (options.list) {
    const std::string json = matmul_rows_json(rows).dump(1) + "\n";
    if (!options.json_file.empty()) {
      if (auto written = write_atomically(options.json_file, json); !written) return tools::report(written.error(), options.json);
    } else if (options.json) {
      fmt::print("{}", json);
    } else {
      for (const MatmulRow& row : rows) fmt::print("{}\n", row.name);
    }
    return kOk;
  }
  const auto rivals = read_rivals(options.rivals_file);
  if (!rivals) return tools::report(rivals.error(), options.json);
  const auto machine = Machine::open(options.device, {.validation = false, .executable_statistics = options.statistics, .cache = {}});
  if (!machine) return tools::report(machine.error(), options.json);
  MatmulReport report{(*machine)->name(), (*machine)->driver(), options.preset, (*machine)->profile().api == Api::cuda, {},
                      utc_now(), command_line(), options.min_time, options.warmup, options.cycle_mb};
  Progress bar("bench", rows.size());
  Steady steady(**machine, options.warmup);
  const auto one = [&](std::size_t i) {
    MatmulResult result = bench_matmul(**machine, options, steady, rows[i]);
    add_rivals(result, *rivals, rows[i].name);
    tell(result);
    return result;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bar.show(i, rows[i].name);
    report.rows.push_back(one(i));
    // As soon as a row is done: a run that is cut short has then told all it measured.
    if (!options.json_file.empty()) write_so_far(options.json_file, to_json(report).dump(2) + "\n");
  }
  measure_drifted_again(steady, report.rows, [&](std::size_t i) {
    bar.show(i, rows[i].name + ", again");
    return one(i);
  });
  bool broken = false;
  for (const MatmulResult& row : report.rows) {
    broken = broken || !row.error.empty();
    for (const MatmulTime& time : row.times) broken = broken || !time.error.empty();
  }
  const std::string json = to_json(report).dump(2) + "\n";
  fmt::print("{}", options.json ? json : print_table(report));
  for (const auto& [path, text] : {std::pair(options.json_file, json), std::pair(options.html_file, to_html(page_of(report)))}) {
    if (path.empty()) continue;
    if (auto written = write_atomically(path, text); !written) return tools::report(written.error(), options.json);
    fmt::print(stderr, "sectile: wrote {}\n", path);
  }
  return broken ? kFailure : kOk;
}

}  // namespace sectile::tools
