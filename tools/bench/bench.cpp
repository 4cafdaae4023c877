// sectile bench: our plans and their rivals, in one run.
#include "bench.hpp"
#include "matmul.hpp"
#include "page.hpp"
#include "sweep.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"
#include "cli/tuned.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace sectile::tools {
namespace {

std::unexpected<Error> no_rows(const BenchOptions& options) {
  if (options.only.empty()) return fail(ErrorKind::missing, "rows", "none", "a problem, or --preset seeds-permute, images, cpu, host, matmul, gemm-ladder or dietcode");
  return fail(ErrorKind::missing, "--only", options.only, "a part of a row's name, as --list shows them");
}

Result<std::vector<BenchRow>> rows_of(const BenchOptions& options) {
  std::vector<BenchRow> rows;
  if (!options.preset.empty()) {
    auto preset = preset_rows(options.preset);
    if (!preset) return fail(ErrorKind::missing, "preset", options.preset, "seeds-permute, images, cpu, host, matmul, gemm-ladder or dietcode");
    rows = std::move(*preset);
  }
  for (const std::string& text : options.problems) {
    const auto problem = parse_problem(text);
    if (!problem) return std::unexpected(problem.error());
    if (auto valid = validate(*problem); !valid) return std::unexpected(valid.error());
    if (auto timed = check_timed(*problem); !timed) return std::unexpected(timed.error());
    const auto* permute = std::get_if<PermuteProblem>(&*problem);
    if (permute == nullptr) return fail(ErrorKind::unsupported, "bench", text, "a permute");
    rows.push_back({row_name(*permute), *permute});
  }
  std::erase_if(rows, [&](const BenchRow& row) { return row.name.find(options.only) == std::string::npos; });
  if (rows.empty()) return no_rows(options);
  return rows;
}

// The matmuls that are asked for; nothing where it is not matmuls.
Result<std::optional<std::vector<MatmulRow>>> matmuls_of(const BenchOptions& options) {
  auto rows = matmul_preset(options.preset, options.large);
  std::string permute;
  for (const std::string& text : options.problems) {
    const auto problem = parse_problem(text);
    if (!problem) return std::unexpected(problem.error());
    const auto* matmul = std::get_if<MatmulProblem>(&*problem);
    if (matmul == nullptr) {
      permute = text;
      continue;
    }
    if (auto valid = validate(*problem); !valid) return std::unexpected(valid.error());
    if (auto timed = check_timed(*problem); !timed) return std::unexpected(timed.error());
    if (!rows) rows.emplace();
    rows->push_back(matmul_row(*matmul));
  }
  if (!rows) return std::nullopt;
  if (!permute.empty()) return fail(ErrorKind::unsupported, "bench", permute, "a matmul beside matmuls");
  std::erase_if(*rows, [&](const MatmulRow& row) { return row.name.find(options.only) == std::string::npos; });
  if (rows->empty()) return no_rows(options);
  return rows;
}

void tell_row(const BenchOptions& options, const RowResult& row) {
  if (!options.json && !row.candidates.empty()) fmt::print("{}\n", print_candidates(row));
  if (row.error.empty()) {
    fmt::print(stderr, "{}: {} {:.2f} us, {:.3f} of the copy\n", row.row.name, row.candidate, row.ours.median * 1e6,
               row.fraction());
  } else {
    fmt::print(stderr, "{}: {}\n", row.row.name, row.error);
  }
  std::fflush(stdout);
}

Result<BenchReport> measure(const BenchOptions& options, const std::vector<BenchRow>& rows) {
  const auto rivals = read_rivals(options.rivals_file);
  if (!rivals) return std::unexpected(rivals.error());
  const auto machine = Machine::open(options.device);
  if (!machine) return std::unexpected(machine.error());
  BenchReport report{(*machine)->name(), (*machine)->driver(), options.preset,   std::string(planner_version()),
                     options.min_time,      options.warmup,          options.cycle_mb, {},
                     utc_now(),             command_line()};
  Progress bar("bench", rows.size());
  Steady steady(**machine, options.warmup);
  RowBench bench(**machine, options, steady);
  const auto one = [&](std::size_t i) {
    RowResult result = bench.run(rows[i]);
    add_rivals(result, *rivals, rows[i].name);
    tell_row(options, result);
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
  if (options.preset == "cpu" && !options.no_numpy) {
    bar.show(rows.size(), "numpy");
    time_numpy(report);
  }
  return report;
}

int write_files(const BenchOptions& options, const std::string& json, const std::string& html) {
  for (const auto& [path, text] : {std::pair(options.json_file, json), std::pair(options.html_file, html)}) {
    if (path.empty()) continue;
    if (auto written = write_atomically(path, text); !written) return report(written.error(), options.json);
    fmt::print(stderr, "sectile: wrote {}\n", path);
  }
  return kOk;
}

int list_host(const BenchOptions& options) {
  const std::vector<std::string> names = host_figures();
  const std::string json = nlohmann::json{{"rows", names}}.dump(1) + "\n";
  if (!options.json_file.empty()) return write_files(options, json, "");
  if (options.json)
    fmt::print("{}", json);
  else
    for (const std::string& name : names) fmt::print("{}\n", name);
  return kOk;
}

int run_host(const BenchOptions& options) {
  if (options.list) return list_host(options);
  const auto host = bench_host(options);
  if (!host) return report(host.error(), options.json);
  fmt::print("{}", options.json ? host->dump(2) + "\n" : print_host(*host));
  return write_files(options, host->dump(2) + "\n", "");
}

int run(BenchOptions options, const SweepOptions& sweep, const std::vector<std::string>& merged) {
  // `--json` is a flag that once took a file: what is a problem behind it was never meant to be one.
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
  if (!merged.empty()) return run_merge(options, merged);
  if (!sweep.operation.empty()) {
    options.all_candidates = options.regret;
    return run_sweep(options, sweep);
  }
  if (options.preset == "host") return run_host(options);
  const auto matmuls = matmuls_of(options);
  if (!matmuls) return report(matmuls.error(), options.json);
  if (*matmuls) return run_matmul_bench(options, **matmuls);
  const auto rows = rows_of(options);
  if (!rows) return report(rows.error(), options.json);
  if (options.list) {
    if (!options.json_file.empty()) return write_files(options, rows_json(*rows).dump(1) + "\n", "");
    if (options.json)
      fmt::print("{}\n", rows_json(*rows).dump(1));
    else
      for (const BenchRow& row : *rows) fmt::print("{}: {}\n", row.name, print(Problem(row.problem)));
    return kOk;
  }
  const auto result = measure(options, *rows);
  if (!result) return report(result.error(), options.json);
  const std::string json = to_json(*result).dump(2) + "\n";
  if (options.json) {
    fmt::print("{}", json);
  } else {
    fmt::print("{}", print_table(*result));
  }
  const int written = write_files(options, json, to_html(page_of(*result)));
  const bool broken = std::any_of(result->rows.begin(), result->rows.end(), [](const RowResult& row) {
    return !row.error.empty() || std::any_of(row.candidates.begin(), row.candidates.end(),
                                             [](const CandidateTime& c) { return !c.error.empty(); });
  });
  return broken ? kFailure : written;
}

void add_sweep_options(CLI::App& app, BenchOptions& options, SweepOptions& sweep, std::vector<std::string>& merged) {
  auto* operation = app.add_option("--sweep", sweep.operation, "Problems drawn from a seed, in classes (docs/reference/sweep.md): permute or matmul")
                        ->check(CLI::IsMember({"permute", "matmul"}));
  app.add_option("--seed", sweep.seed, "--sweep: of the draw")->capture_default_str()->needs(operation);
  app.add_option("--cases", sweep.cases, "--sweep: how many")->capture_default_str()->check(CLI::Range(1, 1000000))->needs(operation);
  app.add_option("--first", sweep.first, "--sweep: the first case's number; for several processes")->capture_default_str()->needs(operation);
  app.add_option("--class", sweep.only_class, "--sweep: only this class, by letter or name")->needs(operation);
  app.add_option("--type", sweep.only_type, "--sweep: only this element type")->needs(operation);
  app.add_option("--min-mb", sweep.min_mb, "--sweep permute: 10^6 bytes of the larger operand, at least; at most 16 times as many (default: 32, on CPUs 4)")
      ->check(number_in(0.001, 1e5))
      ->needs(operation);
  app.add_option("--max-gflop", sweep.max_gflop, "--sweep matmul: 10^9 operations, at most (default: no bound, on CPUs 2)")
      ->check(number_in(0.001, 1e6))
      ->needs(operation);
  app.add_flag("--regret", options.regret, "--sweep: time every admissible candidate of each problem as well")->needs(operation);
  app.add_option("--merge", merged, "Reports that --sweep wrote as JSON, as one")->excludes(operation);
}

}  // namespace

Command add_bench(CLI::App& parent) {
  auto options = std::make_shared<BenchOptions>();
  auto sweep = std::make_shared<SweepOptions>();
  auto merged = std::make_shared<std::vector<std::string>>();
  CLI::App* app = parent.add_subcommand("bench", "Time plans against a plain copy of the same bytes, or matmuls against each other and rivals");
  app->add_option("problems", options->problems, "Such as \"permute f32 8192x8192 axes=1,0\"");
  app->add_option("--preset", options->preset, "seeds-permute, images, cpu, host, matmul, gemm-ladder or dietcode");
  app->add_option("--only", options->only, "Only rows whose name contains this");
  app->add_option("--device", options->device, "vulkan:N, cuda:N, a UUID or part of a name");
  app->add_option("--html", options->html_file, "Write one self-contained page with plots to this file");
  app->add_option("--rivals", options->rivals_file, "Times of others: JSON of tools/python/rivals.py");
  app->add_option("--cache", options->cache_file, "--preset host: the pipeline cache's file");
  auto* force = app->add_option("--force", options->force, "Time this candidate instead of the chosen one");
  app->add_flag("--all-candidates", options->all_candidates, "Time every admissible candidate, fastest first")
      ->excludes(force);
  add_sweep_options(*app, *options, *sweep, *merged);
  app->add_option("--limit", options->limit, "--all-candidates: the so many cheapest by the planner's cost");
  app->add_option("--tuned", options->tuned_file, kTunedHelp);
  app->add_option("--min-time", options->min_time, "Seconds of samples for each kernel")
      ->capture_default_str()
      ->check(number_in(0.001, 60));
  app->add_option("--warmup", options->warmup, kWarmupHelp)
      ->capture_default_str()
      ->check(number_in(0, 60));
  app->add_option("--cycle-mb", options->cycle_mb, "Megabytes that the runs rotate over, at least")
      ->capture_default_str()
      ->check(number_in(0, 1e6));
  app->add_flag("--no-verify", options->no_verify, "Do not compare results before timing");
  app->add_flag("--no-numpy", options->no_numpy, "--preset cpu: leave NumPy out");
  app->add_flag("--large", options->large, "--preset gemm-ladder: n = 16384, the seed's own size");
  app->add_flag("--statistics", options->statistics, "matmul: what the driver tells of each pipeline");
  app->add_flag("--list", options->list, "Only name the rows");
  app->add_option("--json-file", options->json_file, "Write the figures as JSON to this file, row by row");
  auto file = std::make_shared<std::string>();
  CLI::Option* json =
      app->add_option("--json", *file, "JSON on standard output (with a file behind it, as once: --json-file)")->expected(0, 1);
  return {app, [options, sweep, merged, file, json] {
            if (!file->empty()) options->json_file = *file;
            options->json = json->count() > 0 && file->empty();
            return run(*options, *sweep, *merged);
          }};
}

}  // namespace sectile::tools
