// sectile bench: our plans and what they are compared with, in one run.
#include "bench.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "cli/tuned.hpp"
#include "operation.hpp"
#include "page.hpp"
#include "sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace sectile::tools {

BenchReport run_rows(Machine& machine, const BenchOptions& options, const Rivals& rivals,
                     std::span<const BenchRow> rows,
                     const std::function<void(const BenchReport& so_far, std::size_t row)>& done) {
  BenchReport report{machine.name(),
                     machine.driver(),
                     options.preset,
                     std::string(planner_version()),
                     options.min_time,
                     options.warmup,
                     options.cycle_mb,
                     {},
                     utc_now(),
                     command_line(),
                     0,
                     to_json(machine.profile()),
                     device_class_text(machine)};
  Progress bar("bench", rows.size());
  Steady steady(machine, options.warmup);
  RowBench bench(machine, options, steady);
  const auto one = [&](std::size_t i) {
    RowResult result = bench.run(rows[i]);
    add_rivals(result, rivals, rows[i].name);
    report.bytes_per_second = steady.best_rate(Reference::copy);
    return result;
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bar.show(i, rows[i].name);
    report.rows.push_back(one(i));
    done(report, i);
  }
  measure_drifted_again(steady, report.rows, [&](std::size_t i) {
    bar.show(i, rows[i].name + ", again");
    report.rows[i] = one(i);
    done(report, i);
    return report.rows[i];
  });
  return report;
}

int write_reports(const BenchOptions& options, const std::string& json, const std::function<std::string()>& html) {
  const auto write = [&](const std::string& path, const std::string& text) {
    const auto written = write_atomically(path, text);
    if (!written) return report(written.error(), options.json);
    fmt::print(stderr, "sectile: wrote {}\n", path);
    return kOk;
  };
  int code = options.json_file.empty() ? kOk : write(options.json_file, json);
  if (code == kOk && !options.html_file.empty() && html) code = write(options.html_file, html());
  return code;
}

namespace {

int write_list(const BenchOptions& options, const nlohmann::json& json, const std::string& text) {
  if (!options.json_file.empty()) return write_reports(options, json.dump(1) + "\n", {});
  fmt::print("{}", options.json ? json.dump(1) + "\n" : text);
  return kOk;
}

int run_host(const BenchOptions& options) {
  if (options.list) {
    std::string text;
    for (const std::string& name : host_figures()) text += name + "\n";
    return write_list(options, {{"rows", host_figures()}}, text);
  }
  const auto host = bench_host(options);
  if (!host) return report(host.error(), options.json);
  fmt::print("{}", options.json ? host->dump(2) + "\n" : print_host(*host));
  return write_reports(options, host->dump(2) + "\n", {});
}

int list_rows(const BenchOptions& options, const std::vector<BenchRow>& rows) {
  std::string text;
  for (const BenchRow& row : rows) {
    const std::string problem = print(row.problem);
    text += row.name == problem ? problem + "\n" : fmt::format("{}: {}\n", row.name, problem);
  }
  return write_list(options, rows_json(rows), text);
}

Result<BenchReport> measure(const BenchOptions& options, const std::vector<BenchRow>& rows) {
  const auto rivals = read_rivals(options.rivals_file);
  if (!rivals) return std::unexpected(rivals.error());
  const auto machine = Machine::open(
      options.device, {.executable_statistics = options.statistics, .device_class = options.device_class});
  if (!machine) return std::unexpected(machine.error());
  BenchReport report = run_rows(**machine, options, *rivals, rows, [&](const BenchReport& so_far, std::size_t i) {
    const RowResult& row = so_far.rows[i];
    if (!options.json && options.all_candidates && row.error.empty()) fmt::print("{}\n", print_candidates(row));
    std::fflush(stdout);
    fmt::print(stderr, "{}", print_line(row));
    // As soon as a row is done: the file of a run that is cut short has all rows that it finished.
    if (!options.json_file.empty()) write_so_far(options.json_file, to_json(so_far).dump(2) + "\n");
  });
  if (options.preset == "cpu" && !options.no_numpy) time_numpy(report);
  return report;
}

int run_bench(const BenchOptions& options) {
  const auto rows = rows_of(options, {"host"});
  if (!rows) return report(rows.error(), options.json);
  if (options.list) return list_rows(options, *rows);
  const auto result = measure(options, *rows);
  if (!result) return report(result.error(), options.json);
  const std::string json = to_json(*result).dump(2) + "\n";
  fmt::print("{}", options.json ? json : print_table(*result));
  const int written = write_reports(options, json, [&] { return to_html(page_of(*result)); });
  return std::ranges::any_of(result->rows, &RowResult::broken) ? kFailure : written;
}

int run(BenchOptions options, const SweepOptions& sweep, const std::vector<std::string>& merged) {
  // `--json` is a flag that once took a file: what is a problem after it was never meant to be one.
  if (!options.json_file.empty() && parse_problem(options.json_file)) {
    options.problems.push_back(std::exchange(options.json_file, {}));
    options.json = true;
  }
  const auto tuned = read_tuned(options.tuned_file);
  options.tuned = tuned.get();
  for (const std::string& path : {options.json_file, options.html_file}) {
    if (path.empty()) continue;
    if (auto place = check_place(path); !place) return report(place.error(), options.json);
  }
  if (!options.replan.empty()) return run_replan(options);
  if (!merged.empty()) return run_merge(options, merged);
  if (!sweep.operation.empty()) {
    options.all_candidates = options.regret;
    return run_sweep(options, sweep);
  }
  return options.preset == "host" ? run_host(options) : run_bench(options);
}

void add_sweep_options(CLI::App& app, BenchOptions& options, SweepOptions& sweep, std::vector<std::string>& merged) {
  auto* operation = app.add_option("--sweep", sweep.operation,
                                   "Problems of an operation drawn from a seed, in classes (docs/reference/sweep.md)")
                        ->check(CLI::IsMember(sweep_operations()));
  app.add_option("--seed", sweep.seed, "--sweep: the seed")->capture_default_str()->needs(operation);
  app.add_option("--cases", sweep.cases, "--sweep: how many")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000))
      ->needs(operation);
  app.add_option("--first", sweep.first, "--sweep: number of the first case, to share a sweep among processes")
      ->capture_default_str()
      ->needs(operation);
  app.add_option("--class", sweep.only_class, "--sweep: only this class, by letter or name")->needs(operation);
  app.add_option("--type", sweep.only_type, "--sweep: only this element type")->needs(operation);
  app.add_option("--min-mb", sweep.min_mb,
                 "--sweep permute: 10^6 bytes of the larger operand, at least; at most 16 times as many (default: 32, "
                 "on CPUs 4)")
      ->check(number_in(0.001, 1e5))
      ->needs(operation);
  app.add_option("--max-gflop", sweep.max_gflop,
                 "--sweep matmul, conv2d: 10^9 operations, at most (default: no bound, on CPUs 2)")
      ->check(number_in(0.001, 1e6))
      ->needs(operation);
  app.add_flag("--regret", options.regret, "--sweep: time every admissible candidate of each problem as well")
      ->needs(operation);
  auto* merge = app.add_option("--merge", merged, "Reports that --sweep wrote as JSON, as one")->excludes(operation);
  app.add_option("--replan", options.replan,
                 "Reports in JSON: name the rows that are planned otherwise now, for the same device profile")
      ->excludes(operation)
      ->excludes(merge);
}

}  // namespace

Command add_bench(CLI::App& parent) {
  auto options = std::make_shared<BenchOptions>();
  auto sweep = std::make_shared<SweepOptions>();
  auto merged = std::make_shared<std::vector<std::string>>();
  CLI::App* app = parent.add_subcommand(
      "bench",
      "Time plans: permutes beside a copy of the same bytes, matmuls and convolutions beside each other and rivals");
  app->add_option("problems", options->problems, "Such as \"permute f32 8192x8192 axes=1,0\"");
  app->add_option("--preset", options->preset, preset_names({"host"}));
  app->add_option("--only", options->only, "Only rows whose name contains this");
  app->add_option("--device", options->device, "vulkan:N, cuda:N, a UUID or part of a name");
  app->add_option("--device-class", options->device_class, kDeviceClassHelp);
  app->add_option("--html", options->html_file, "Write one self-contained page with plots to this file");
  app->add_option("--rivals", options->rivals_file, "Times of rivals: JSON of tools/python/rivals.py");
  app->add_option("--cache", options->cache_file, "--preset host: the pipeline cache's file");
  auto* force = app->add_option("--force", options->force, "Time this candidate instead of the chosen one");
  app->add_flag("--few-pipelines", options->few_pipelines, kFewPipelinesHelp);
  app->add_flag("--all-candidates", options->all_candidates, "Time every admissible candidate, fastest first")
      ->excludes(force);
  add_sweep_options(*app, *options, *sweep, *merged);
  app->add_option("--limit", options->limit, "--all-candidates: only the N cheapest by the planner's cost");
  app->add_option("--tuned", options->tuned_file, kTunedHelp);
  app->add_option("--min-time", options->min_time, "Seconds of samples for each kernel")
      ->capture_default_str()
      ->check(number_in(0.001, 60));
  app->add_option("--warmup", options->warmup, kWarmupHelp)->capture_default_str()->check(number_in(0, 60));
  app->add_option("--cycle-mb", options->cycle_mb, "Megabytes that the runs rotate over, at least")
      ->capture_default_str()
      ->check(number_in(0, 1e6));
  app->add_flag("--no-verify", options->no_verify, "Do not compare results before timing");
  app->add_flag("--no-numpy", options->no_numpy, "--preset cpu: leave NumPy out");
  app->add_flag("--large", options->large, "--preset gemm-ladder: n = 16384, the seed's own size");
  app->add_flag("--statistics", options->statistics, "What the driver says of each pipeline");
  app->add_flag("--list", options->list, "List the rows and time nothing");
  app->add_option("--json-file", options->json_file, "Write the figures as JSON to this file, row by row");
  auto file = std::make_shared<std::string>();
  CLI::Option* json =
      app->add_option("--json", *file, "JSON on standard output (with a file behind it, as once: --json-file)")
          ->expected(0, 1);
  return {app, [options, sweep, merged, file, json] {
            if (!file->empty()) options->json_file = *file;
            options->json = json->count() > 0 && file->empty();
            return run(*options, *sweep, *merged);
          }};
}

}  // namespace sectile::tools
