// sectile tune: every admissible candidate of a list of problems, measured; the winners stored.
#include "backend/platform.hpp"
#include "bench/operation.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/text.hpp"
#include "cli/tuned.hpp"

#include <sectile/planner.hpp>
#include <sectile/tune.hpp>

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

namespace sectile::tools {
namespace {

struct TuneOptions {
  std::string store;
  BenchOptions bench;  // how candidates are timed
};

struct TuneRow {
  std::string problem, error;
  TunedChoice choice;
  std::vector<std::string> left_out;  // candidates that failed, and how
};

// What one problem's candidates took, the planner's own choice first.
struct Measurements {
  std::vector<MeasuredCandidate> candidates;
  std::vector<std::string> left_out;

  void add(const std::string& name, const std::string& error, const Spread& time) {
    if (!error.empty())
      left_out.push_back(name + ": " + error);
    else
      candidates.push_back({name, static_cast<std::int64_t>(std::llround(time.median * 1e12))});
  }
};

Result<Measurements> measure(RowBench& bench, const BenchRow& row) {
  const std::string text = print(row.problem);
  // Results of candidates are compared with each other, or a wrong one might win.
  if (const std::string why = bench_operation(row.problem).unverified(row.problem); !why.empty())
    return fail(ErrorKind::unsupported, "tune", text,
                "a problem whose results the benchmark compares; of this one " + why);
  const RowResult result = bench.run({.name = row.name, .problem = row.problem});
  if (!result.error.empty()) return fail(ErrorKind::device, text, result.error);
  Measurements out;
  for (const ContenderTime& time : result.contenders) out.add(time.candidate, time.error, time.time);
  return out;
}

Result<TuneRow> tune(Machine& machine, RowBench& bench, const BenchRow& row) {
  const Problem& problem = row.problem;
  const auto plan = make_plan(problem, machine.profile(), {.explain = true, .force = {}});
  if (!plan) return std::unexpected(plan.error());
  if (plan->candidates.empty())
    return fail(ErrorKind::unsupported, "tune", print(problem), "a problem with something to do");
  auto measured = measure(bench, row);
  if (!measured) return std::unexpected(measured.error());
  auto choice = fastest_of(measured->candidates);
  if (!choice) return fail(ErrorKind::device, print(problem), "a candidate without a time");
  return TuneRow{print(problem), {}, std::move(*choice), std::move(measured->left_out)};
}

double ratio(const TunedChoice& choice) {
  return static_cast<double>(choice.model_picoseconds) / static_cast<double>(choice.picoseconds);
}

void tell(const TuneRow& row) {
  if (!row.error.empty()) {
    fmt::print(stderr, "{}: {}\n", row.problem, row.error);
    return;
  }
  fmt::print(stderr, "{}: {} {:.2f} us; {} {:.2f} us: {:.3f}\n", row.problem, row.choice.model,
             static_cast<double>(row.choice.model_picoseconds) * 1e-6, row.choice.candidate,
             static_cast<double>(row.choice.picoseconds) * 1e-6, ratio(row.choice));
  for (const std::string& why : row.left_out) fmt::print(stderr, "{}: left out: {}\n", row.problem, why);
}

std::string print_table(const std::vector<TuneRow>& rows) {
  Table table({"problem", "the model's choice", "us", "winner", "us", "ratio", "measured"});
  std::string notes;
  for (const TuneRow& row : rows) {
    if (!row.error.empty()) {
      notes += fmt::format("{}: {}\n", row.problem, row.error);
      continue;
    }
    const TunedChoice& c = row.choice;
    table.add({row.problem, c.model, fmt::format("{:.2f}", static_cast<double>(c.model_picoseconds) * 1e-6),
               c.candidate, fmt::format("{:.2f}", static_cast<double>(c.picoseconds) * 1e-6),
               fmt::format("{:.3f}", ratio(c)), std::to_string(c.measured)});
    for (const std::string& why : row.left_out) notes += fmt::format("{}: left out: {}\n", row.problem, why);
  }
  return table.print() + notes;
}

nlohmann::json to_json(const Machine& machine, const TuneOptions& options, const std::vector<TuneRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const TuneRow& row : rows) {
    nlohmann::json object = {{"problem", row.problem}};
    if (!row.error.empty()) {
      object["error"] = row.error;
    } else {
      const TunedChoice& c = row.choice;
      object.update({{"model", c.model},
                     {"model_ps", c.model_picoseconds},
                     {"winner", c.candidate},
                     {"winner_ps", c.picoseconds},
                     {"ratio", ratio(c)},
                     {"measured", c.measured},
                     {"left_out", row.left_out}});
    }
    list.push_back(std::move(object));
  }
  return {{"device", machine.name()},
          {"driver", machine.driver()},
          {"planner", std::string(planner_version())},
          {"device_class", device_class_text(machine)},
          {"profile_hash", profile_hash_of(machine.profile())},
          {"store", options.store},
          {"rows", std::move(list)}};
}

// The store's place, whose folder is made where it is the cache's own.
Result<void> settle_store(TuneOptions& options) {
  // Before anything is measured: what is there and is no store stays.
  if (!options.store.empty()) return TuneStore::check_place(options.store);
  options.store = default_tuned_file();
  if (options.store.empty()) return fail(ErrorKind::missing, "store", "no HOME", "--store FILE");
  std::error_code code;
  std::filesystem::create_directories(backend::native_path(options.store).parent_path(), code);
  return TuneStore::check_place(options.store);
}

int run(TuneOptions options) {
  const bool json = options.bench.json;
  const auto benched = rows_of(options.bench);
  if (!benched) return report(benched.error(), json);
  if (auto place = settle_store(options); !place) return report(place.error(), json);
  const auto machine = Machine::open(options.bench.device, {.device_class = options.bench.device_class});
  if (!machine) return report(machine.error(), json);
  TuneStore store = TuneStore::load(options.store);
  if (!store.warning().empty()) fmt::print(stderr, "sectile: warning: {}\n", store.warning());
  const std::string profile = profile_hash_of((*machine)->profile());
  std::vector<TuneRow> rows;
  bool broken = false;
  Progress bar("tune", benched->size());
  Steady steady(**machine, options.bench.warmup);
  RowBench bench(**machine, options.bench, steady);
  for (const BenchRow& one : *benched) {
    const std::string problem = print(one.problem);
    bar.show(rows.size(), problem);
    auto row = tune(**machine, bench, one);
    if (!row) row = TuneRow{problem, row.error().message(), {}, {}};
    tell(*row);
    broken = broken || !row->error.empty() || !row->left_out.empty();
    rows.push_back(*row);
    if (!row->error.empty()) continue;
    // As soon as it is known: a run that is cut short has then stored all it measured.
    store.put(one.problem, profile, row->choice);
    if (auto saved = store.save(options.store); !saved) return report(saved.error(), json);
  }
  if (json)
    fmt::print("{}\n", to_json(**machine, options, rows).dump(2));
  else
    fmt::print("{}", print_table(rows));
  fmt::print(stderr, "sectile: {} holds {} problems of this device\n", options.store, store.size(profile));
  return broken ? kFailure : kOk;
}

}  // namespace

Command add_tune(CLI::App& parent) {
  auto options = std::make_shared<TuneOptions>();
  BenchOptions& bench = options->bench;
  bench.all_candidates = bench.compare_outputs = true;
  CLI::App* app =
      parent.add_subcommand("tune", "Time the planner's candidates for problems, and store the fastest of each");
  app->add_option("problems", bench.problems, "Such as \"matmul f16 nt 960x2304x770\"");
  app->add_option("--preset", bench.preset, "The problems of a benchmark: " + preset_names());
  app->add_option("--device", bench.device, "vulkan:N, cuda:N, a UUID or part of a name");
  app->add_option("--device-class", bench.device_class, kDeviceClassHelp);
  app->add_option("--store", options->store,
                  "Store to write; its other entries stay (default: " + default_tuned_file() + ")");
  app->add_option("--limit", bench.limit, "Only the N cheapest candidates by the planner's cost");
  app->add_option("--min-time", bench.min_time, "Seconds of samples for each candidate")
      ->capture_default_str()
      ->check(number_in(0.001, 60));
  app->add_option("--warmup", bench.warmup, kWarmupHelp)->capture_default_str()->check(number_in(0, 60));
  app->add_option("--cycle-mb", bench.cycle_mb, "Megabytes that the runs rotate over, at least")
      ->capture_default_str()
      ->check(number_in(0, 1e6));
  app->add_flag("--json", bench.json, "The figures as JSON on standard output");
  return {app, [options] { return run(*options); }};
}

}  // namespace sectile::tools
