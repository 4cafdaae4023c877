// Fits a class to measurements: the numbers of its formulas and the rates of its rows (search.hpp), then corrections
// for what the formulas leave over (regression.hpp), one operation after another.
#include "fit.hpp"

#include "bench/sweep.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "regression.hpp"
#include "search.hpp"

#include "plan/cost/device_class.hpp"
#include "plan/cost/number_names.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>

namespace sectile::tools {

namespace {

using detail::CostTable;

bool of_operation(CostTable table, std::string_view operation) {
  if (operation == "permute") return table < CostTable::matmul_coopmat;
  if (operation == "matmul") return table >= CostTable::matmul_coopmat && table <= CostTable::matmul_direct;
  return table >= CostTable::conv2d_coopmat;
}

detail::FittedTo fitted_to(std::string_view operation) {
  using enum detail::FittedTo;
  return operation == "permute" ? permutes : operation == "matmul" ? matmuls : convolutions;
}

std::vector<FittedNumber> fitted_numbers(detail::ClassNumbers& all, detail::ClassRows& all_rows, bool cpu,
                                         std::string_view operation) {
  std::vector<CostTable> tables;
  for (std::size_t t = 0; t < detail::kCostTables; ++t)
    if (of_operation(static_cast<CostTable>(t), operation)) tables.push_back(static_cast<CostTable>(t));
  std::vector<FittedNumber> numbers;
  detail::for_each_group(all, cpu, [&](const char* group, auto&& each) {
    each([&](const char* key, std::uint32_t& number, const detail::NumberRule& rule) {
      if (rule.fitted == fitted_to(operation))
        numbers.push_back({.name = fmt::format("{}.{}", group, key),
                           .value = &number,
                           .least = rule.least,
                           .most = 1u << 28,
                           .tables = tables});
    });
  });
  for (const CostTable table : tables) {
    if (!detail::has_rates(table)) continue;
    auto& rows = all_rows.rows[static_cast<std::size_t>(table)];
    for (std::uint32_t row = 0; row < rows.size(); ++row)
      numbers.push_back({.name = fmt::format("rows.{} {}", detail::stem_of(table), detail::cost_rows(table)[row]),
                         .value = &rows[row].rate,
                         .most = 1u << 20,
                         .of_row = true,
                         .row_table = table,
                         .row = row});
  }
  return numbers;
}

// What no measurement is fitted to, such as limits of a device, is derived.
void derive_others(DeviceClass& c) {
  const DeviceClass& base = detail::base_class(c.devices.api, c.devices.cpu);
  std::vector<std::uint32_t> known;  // in the order of for_each_group()
  detail::for_each_group(base.numbers, c.devices.cpu, [&](const char*, auto&& each) {
    each([&](const char*, const std::uint32_t& number, const detail::NumberRule&) { known.push_back(number); });
  });
  std::size_t next = 0;
  detail::for_each_group(c.numbers, c.devices.cpu, [&](const char*, auto&& each) {
    each([&](const char*, std::uint32_t& number, const detail::NumberRule& rule) {
      if (rule.fitted == detail::FittedTo::nothing) number = known[next];
      ++next;
    });
  });
}

// Corrections are fitted anew.
void forget_corrections(DeviceClass& c, std::string_view operation) {
  for (std::size_t t = 0; t < detail::kCostTables; ++t) {
    if (!of_operation(static_cast<CostTable>(t), operation)) continue;
    c.rows.corrections[t] = {};
    for (detail::RowNumbers& row : c.rows.rows[t]) {
      row.offset = 0;
      row.int8_rate = 0;
    }
  }
}

detail::CostModel model_of(const DeviceClass& c) { return {c.numbers, &c.rows, c.name, c.id, c.measured, 0}; }

// Time of the choices over that of the fastest measured, of one part's problems.
struct Regret {
  std::size_t problems = 0;
  double mean = 1, p95 = 1, most = 1;  // geometric mean
  std::vector<std::pair<double, std::string>> worst;
  std::map<std::string, std::vector<double>> by_class;
};

Regret regret_of(const Samples& samples, const detail::CostModel& model, RawPart part, std::set<std::string>* chosen) {
  Regret regret;
  std::vector<double> ratios;
  for (const SampledProblem& problem : samples.problems) {
    if (problem.part != part) continue;
    const Sample* choice = nullptr;
    std::int32_t least = 0;
    std::int64_t best = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = problem.first; i < problem.first + problem.count; ++i) {
      const Sample& sample = samples.all[i];
      best = std::min(best, sample.ps);
      if (sample.candidate.eligibility != Eligibility::candidate) continue;
      const std::int32_t estimate = estimate_now(sample, model);
      if (choice != nullptr && estimate >= least) continue;
      choice = &sample;
      least = estimate;
    }
    if (choice == nullptr) continue;
    if (chosen != nullptr) chosen->insert(row_name(choice->candidate.name));
    const double ratio = static_cast<double>(choice->ps) / static_cast<double>(best);
    ratios.push_back(ratio);
    regret.by_class[problem.group].push_back(ratio);
    regret.worst.emplace_back(ratio, fmt::format("{}: {}", problem.text, choice->candidate.name));
  }
  if (ratios.empty()) return regret;
  const SweepSummary summary = summary_of(ratios);
  regret.problems = summary.rows;
  regret.mean = summary.mean;
  regret.most = summary.most;
  std::ranges::sort(ratios);
  regret.p95 = ratios[(ratios.size() * 95 + 99) / 100 - 1];
  std::ranges::sort(regret.worst, std::greater());
  return regret;
}

std::string print(const Regret& regret) {
  return fmt::format("{:.3f} (95th percentile {:.2f}, worst {:.2f}, {} problems)", regret.mean, regret.p95, regret.most,
                     regret.problems);
}

// What the command says of one operation.
struct OperationReport {
  std::string operation;
  std::size_t problems = 0, measurements = 0;
  SearchResult search;
  RegressionResult regression;
  Regret before, after, before_fitted, after_fitted;
  std::vector<std::string> never_chosen, skipped;
  std::string kept;  // the class whose numbers stay, with an addition to its corrections
  double anew = 0;   // the error of a fit without it, which was not taken
};

// A slow candidate weighs little, so its estimate may be far too low: then it is chosen. Such a one weighs as much as
// the fastest, and the fit is made again. Returns how many there were.
constexpr int kRounds = 4;
std::size_t weigh_wrong_choices(Samples& samples, const detail::CostModel& model) {
  constexpr double kWrong = 1.1;
  std::size_t wrong = 0;
  for (const SampledProblem& problem : samples.problems) {
    if (problem.part != RawPart::fit) continue;
    const auto own = std::span(samples.all).subspan(problem.first, problem.count);
    const auto best = std::ranges::min_element(own, {}, &Sample::ps);
    const std::int32_t estimate = estimate_now(*best, model);
    for (Sample& sample : own) {
      if (static_cast<double>(sample.ps) <= kWrong * static_cast<double>(best->ps)) continue;
      if (sample.weight >= 1000 || estimate_now(sample, model) > estimate) continue;
      sample.weight = 1000;
      ++wrong;
    }
  }
  return wrong;
}

std::vector<std::string> never_chosen(const Samples& samples, const std::set<std::string>& chosen) {
  std::set<std::string> never;
  for (const Sample& sample : samples.all) {
    const std::string name = row_name(sample.candidate.name);
    if (!chosen.contains(name)) never.insert(name);
  }
  return {never.begin(), never.end()};
}

// One way to fit an operation, and what came out.
struct Fit {
  DeviceClass c;
  SearchResult search;
  RegressionResult regression, first;  // of the last round; of the first, in which weights are those of times alone
};

// What of the class stays. nothing: the formulas' numbers and the rows' rates are searched for, and corrections begin
// at 0. numbers: corrections begin at 0. all: what the measurements say is added to the corrections.
enum class Stays : std::uint8_t { nothing, numbers, all };

Fit fit_once(Samples& samples, const DeviceClass& start, const std::string& operation, Stays stays) {
  Fit fit{.c = start, .search = {}, .regression = {}, .first = {}};
  const auto free = [&](CostTable table) { return of_operation(table, operation); };
  std::vector<std::int64_t> weights;
  for (const Sample& sample : samples.all) weights.push_back(sample.weight);
  detail::CostModel model = model_of(fit.c);
  std::vector<FittedNumber> numbers = fitted_numbers(model, fit.c.rows, start.devices.cpu, operation);
  for (int round = 0; round < kRounds; ++round) {
    if (stays == Stays::all)
      fit.c.rows = start.rows;
    else
      forget_corrections(fit.c, operation);
    if (stays == Stays::nothing) {
      const SearchResult found = search(samples, model, numbers);
      if (round == 0) fit.search.before = found.before;
      fit.search.after = found.after;
      fit.search.evaluations += found.evaluations;
    }
    fit.regression =
        fit_corrections(samples, model, fit.c.rows, free, stays == Stays::all ? Corrections::known : Corrections::none);
    if (round == 0) fit.first = fit.regression;
    if (round + 1 < kRounds && weigh_wrong_choices(samples, model) == 0) break;
  }
  fit.c.numbers = model;
  for (std::size_t i = 0; i < weights.size(); ++i) samples.all[i].weight = weights[i];
  return fit;
}

// known: the class that it begins with was measured on devices like this one.
Result<OperationReport> fit_operation(const RawCalibration& raw, const std::string& operation, bool known,
                                      DeviceClass& c) {
  OperationReport report;
  report.operation = operation;
  DeviceProfile profile = raw.header.profile;
  profile.device_class = std::make_shared<const DeviceClass>(c);
  auto samples = samples_of(raw, operation, profile);
  if (!samples) return std::unexpected(samples.error());
  report.problems = samples->problems.size();
  report.measurements = samples->all.size();
  report.skipped = samples->skipped;
  const detail::CostModel start = model_of(*profile.device_class);
  report.before = regret_of(*samples, start, RawPart::check, nullptr);
  report.before_fitted = regret_of(*samples, start, RawPart::fit, nullptr);
  Fit fit = fit_once(*samples, *profile.device_class, operation, Stays::nothing);
  if (known) {
    Fit kept = fit_once(*samples, *profile.device_class, operation, Stays::all);
    // The class as it is, not with the addition: corrections alone make up for wrong numbers where problems are like
    // those that were measured, and for others they do not.
    if (kept.first.plain < fit.first.error) {
      report.anew = fit.first.error;
      report.kept = c.name;
      fit = std::move(kept);
    }
  }
  if (report.kept.empty()) {
    // The search lessens errors, which are not what choices lose: other numbers may choose better once they are
    // corrected.
    Fit corrected = fit_once(*samples, *profile.device_class, operation, Stays::numbers);
    const auto lost = [&](const Fit& f) { return regret_of(*samples, model_of(f.c), RawPart::fit, nullptr).mean; };
    if (lost(corrected) < lost(fit)) fit = std::move(corrected);
  }
  c = std::move(fit.c);
  report.search = fit.search;
  report.regression = fit.regression;
  const detail::CostModel model = model_of(c);
  std::set<std::string> chosen;
  report.after_fitted = regret_of(*samples, model, RawPart::fit, &chosen);
  report.after = regret_of(*samples, model, RawPart::check, &chosen);
  report.never_chosen = never_chosen(*samples, chosen);
  return report;
}

void print_report(const OperationReport& r) {
  fmt::print("{}: {} problems, {} measurements\n", r.operation, r.problems, r.measurements);
  fmt::print("  regret of problems that were not fitted: {} before, {} after\n", print(r.before), print(r.after));
  fmt::print("  of problems that were fitted: {} before, {} after\n", print(r.before_fitted), print(r.after_fitted));
  if (r.search.evaluations > 0)
    fmt::print("  search: the sum fell from {} to {} in {} steps\n", r.search.before, r.search.after,
               r.search.evaluations);
  fmt::print("  corrections: {:.3f} to {:.3f} of log2, drawn by {}\n", r.regression.plain, r.regression.error,
             r.regression.shrinkage);
  if (!r.kept.empty())
    fmt::print("  numbers of {} stay, with an addition to its corrections; of a fit anew the error is {:.3f}\n", r.kept,
               r.anew);
  for (const auto& [group, ratios] : r.after.by_class)
    fmt::print("    {:20} {:.3f} of {} problems\n", group, summary_of(ratios).mean, ratios.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(5, r.after.worst.size()); ++i)
    fmt::print("    {:.2f} {}\n", r.after.worst[i].first, r.after.worst[i].second);
  fmt::print("  never chosen, of these problems: {}\n", fmt::join(r.never_chosen, ", "));
  if (!r.skipped.empty())
    fmt::print(stderr, "sectile: note: {} measurements are not fitted: the planner has no such candidate, as {}\n",
               r.skipped.size(), r.skipped.front());
}

nlohmann::json json_of(const Regret& regret) {
  return {{"problems", regret.problems}, {"mean", regret.mean}, {"p95", regret.p95}, {"worst", regret.most}};
}

nlohmann::json json_of(const OperationReport& r) {
  return {{"operation", r.operation},
          {"problems", r.problems},
          {"measurements", r.measurements},
          {"before", json_of(r.before)},
          {"after", json_of(r.after)},
          {"before_of_fitted", json_of(r.before_fitted)},
          {"after_of_fitted", json_of(r.after_fitted)},
          {"error_log2", r.regression.error},
          {"kept", r.kept},
          {"never_chosen", r.never_chosen}};
}

// "NVIDIA H200" on CUDA: "nvidia-h200-cuda".
std::string name_for(const DeviceProfile& profile) {
  std::string name;
  for (const char c : profile.name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    if (letter || capital)
      name += static_cast<char>(capital ? c - 'A' + 'a' : c);
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return profile.api == Api::cuda ? name + "-cuda" : name;
}

// The class is of devices like the one that was measured.
void set_identity(DeviceClass& c, const RawCalibration& raw, std::size_t measurements) {
  const RawHeader& header = raw.header;
  const DeviceProfile& p = header.profile;
  c.name = name_for(p);
  c.devices = {};
  c.devices.api = p.api;
  c.devices.cpu = p.kind == DeviceKind::cpu;
  c.devices.vendor = p.vendor;
  if (p.api == Api::cuda)
    c.devices.cuda_architecture = p.cuda_architecture;
  else if (p.device_id != 0 && !c.devices.cpu)
    c.devices.first_device_id = c.devices.last_device_id = p.device_id;
  else
    c.devices.names = {p.name};
  if (c.devices.cpu) c.devices.subgroup_size = p.subgroup_size;
  c.provenance = {.device = p.name,
                  .driver = p.driver,
                  .dates = header.date.substr(0, 10),
                  .command = header.command,
                  .planner = std::string(planner_version()),
                  .measurements = static_cast<std::uint32_t>(measurements),
                  .copies = {},
                  .empty_dispatch = {},
                  .second_step = {}};
  if (raw.base) {
    const auto number = [](std::int64_t ps) { return static_cast<std::uint64_t>(ps); };
    for (const RawCopy& copy : raw.base->copies) c.provenance.copies.push_back({copy.bytes, number(copy.ps)});
    c.provenance.empty_dispatch = number(raw.base->empty_ps);
    if (raw.base->second_step_ps) c.provenance.second_step = number(*raw.base->second_step_ps);
  }
  c.derived.clear();
  if (p.multiprocessors) c.numbers.measured_multiprocessors = *p.multiprocessors;
}

}  // namespace

int fit_and_write(const RawCalibration& raw, const CalibrateOptions& options) {
  const DeviceProfile& profile = raw.header.profile;
  const bool cpu = profile.kind == DeviceKind::cpu;
  const DeviceClass* const own = device_class_of(profile);
  DeviceClass c = own != nullptr ? *own : detail::base_class(profile.api, cpu);
  derive_others(c);
  std::size_t measurements = 0;
  std::vector<std::pair<std::string, std::string>> notes;
  nlohmann::json reports = nlohmann::json::array();
  // Convolutions stand on permutes and matmuls.
  for (const char* const operation : {"permute", "matmul", "conv2d"}) {
    if (std::ranges::none_of(raw.problems, [&](const RawProblem& p) { return p.operation == operation; })) continue;
    const auto fitted = fit_operation(raw, operation, own != nullptr, c);
    if (!fitted) return report(fitted.error(), options.json);
    measurements += fitted->measurements;
    if (!fitted->kept.empty())
      notes.emplace_back(operation, fmt::format("numbers of {} with an addition: {}", fitted->kept, c.measured));
    if (options.json)
      reports.push_back(json_of(*fitted));
    else
      print_report(*fitted);
  }
  if (options.json) fmt::print("{}\n", reports.dump(1));
  c.notes = std::move(notes);
  set_identity(c, raw, measurements);
  if (!options.output.empty()) {
    if (const auto written = write_atomically(options.output, to_json(c)); !written)
      return report(written.error(), options.json);
    fmt::print(stderr, "sectile: wrote {}\n", options.output);
  }
  return kOk;
}

}  // namespace sectile::tools
