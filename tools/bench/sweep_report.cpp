// What a sweep found: by class and in all, as text and as JSON.
#include "sweep.hpp"

#include "cli/text.hpp"
#include "numbers.hpp"
#include "operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::size_t kWorst = 20;
constexpr double kNeighbourGoal = 1.05;

// The rate of arithmetic that a type reached at its best.
double best_operations(const SweepReport& report, const std::string& type) {
  double best = 0;
  for (const SweepRow& row : report.rows)
    if (row.type == type && row.error.empty() && row.ours > 0) best = std::max(best, row.operations / row.ours);
  return best;
}

struct Group {
  std::string name;
  std::vector<double> ratios, neighbours, regrets;
  std::size_t unsteady = 0, errors = 0;
  void add(const SweepReport& report, const SweepRow& row) {
    if (!row.error.empty()) {
      ++errors;
      return;
    }
    if (const double ratio = ratio_of(report, row).value; ratio > 0) ratios.push_back(ratio);
    if (row.neighbour_seconds > 0) neighbours.push_back(row.ours / row.neighbour_seconds);
    if (row.best_seconds > 0) regrets.push_back(row.ours / row.best_seconds);
    unsteady += row.unsteady ? 1 : 0;
  }
};

// Classes in their order, then all of them.
std::vector<Group> groups_of(const SweepReport& report) {
  std::vector<Group> groups;
  Group all{.name = "all", .ratios = {}, .neighbours = {}, .regrets = {}};
  for (const SweepRow& row : report.rows) {
    auto found = std::ranges::find(groups, row.group, &Group::name);
    if (found == groups.end()) {
      groups.push_back({.name = row.group, .ratios = {}, .neighbours = {}, .regrets = {}});
      found = groups.end() - 1;
    }
    found->add(report, row);
    all.add(report, row);
  }
  std::ranges::sort(groups, {}, &Group::name);
  groups.push_back(std::move(all));
  return groups;
}

std::string number(double value) { return value > 0 ? fmt::format("{:.3f}", value) : "-"; }

nlohmann::json summary_json(const SweepSummary& s) {
  return {{"rows", s.rows}, {"least", s.least},        {"p10", s.p10}, {"median", s.median}, {"p90", s.p90},
          {"most", s.most}, {"geometric_mean", s.mean}};
}

// Tenths, and what is beyond 1.2.
std::array<std::size_t, 13> histogram(const std::vector<double>& values) {
  std::array<std::size_t, 13> counts{};
  for (const double value : values) ++counts[static_cast<std::size_t>(std::clamp(value * 10, 0.0, 12.0))];
  return counts;
}

std::string bin_name(std::size_t i) {
  return i == 12 ? ">= 1.2"
                 : fmt::format("{:.1f}-{:.1f}", 0.1 * static_cast<double>(i), 0.1 * static_cast<double>(i + 1));
}

std::string print_histogram(const std::vector<double>& values) {
  const auto counts = histogram(values);
  const std::size_t most = std::max<std::size_t>(1, *std::ranges::max_element(counts));
  std::string text;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    text += fmt::format("  {:8} {:4} {}\n", bin_name(i), counts[i],
                        std::string(std::max<std::size_t>(1, counts[i] * 50 / most), '#'));
  }
  return text;
}

// Rows with a ratio, the worst first.
std::vector<std::pair<double, const SweepRow*>> worst_of(const SweepReport& report) {
  std::vector<std::pair<double, const SweepRow*>> rows;
  for (const SweepRow& row : report.rows) {
    const double ratio = row.error.empty() ? ratio_of(report, row).value : 0;
    if (ratio > 0) rows.emplace_back(ratio, &row);
  }
  std::ranges::stable_sort(rows, {}, [](const auto& pair) { return pair.first; });
  if (rows.size() > kWorst) rows.resize(kWorst);
  return rows;
}

std::string repeat(const SweepReport& report, const SweepRow& row) {
  return fmt::format("sectile bench \"{}\" --all-candidates --device \"{}\"", row.problem, report.device);
}

const std::vector<std::string> kClassHead = {
    "class", "rows",      "least",           "p10",  "median",   "geo mean", "x neighbour p90",
    "most",  "over 1.05", "regret geo mean", "most", "unsteady", "errors"};

std::vector<std::string> class_cells(const Group& group) {
  const SweepSummary r = summary_of(group.ratios), n = summary_of(group.neighbours), g = summary_of(group.regrets);
  const auto over = std::ranges::count_if(group.neighbours, [](double v) { return v > kNeighbourGoal; });
  return {group.name,
          std::to_string(r.rows),
          number(r.least),
          number(r.p10),
          number(r.median),
          number(r.mean),
          number(n.p90),
          number(n.most),
          n.rows > 0 ? fmt::format("{}/{}", over, n.rows) : "-",
          number(g.mean),
          number(g.most),
          std::to_string(group.unsteady),
          std::to_string(group.errors)};
}

const std::vector<std::string> kWorstHead = {"ratio", "of", "us", "kernel", "repeat"};

std::vector<std::vector<std::string>> worst_cells(const SweepReport& report) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [ratio, row] : worst_of(report))
    rows.push_back({number(ratio), ratio_of(report, *row).name, fmt::format("{:.2f}", row->ours * 1e6),
                    row->candidate + (row->unsteady ? " (unsteady)" : ""), repeat(report, *row)});
  return rows;
}

nlohmann::json row_json(const SweepReport& report, const SweepRow& row) {
  nlohmann::json object = {{"class", row.group}, {"type", row.type}, {"problem", row.problem}};
  if (!row.error.empty()) object["error"] = row.error;
  if (row.ours <= 0) return object;
  const SweepRatio ratio = ratio_of(report, row);
  object.update({{"candidate", row.candidate},
                 {"median_s", row.ours},
                 {"p10_s", row.p10},
                 {"p90_s", row.p90},
                 {"bytes", row.bytes},
                 {"reference_times", reference_json(row.reference)},
                 {"unsteady", row.unsteady}});
  if (row.copy > 0) object["copy_s"] = row.copy;
  if (row.operations > 0) object["operations"] = row.operations;
  if (!row.rivals.empty()) object["rivals_s"] = row.rivals;
  if (ratio.value > 0) object.update({{"reference", ratio.name}, {"ratio", ratio.value}});
  if (row.neighbour_seconds > 0)
    object.update({{"neighbour", row.neighbour},
                   {"neighbour_s", row.neighbour_seconds},
                   {"times_neighbour", row.ours / row.neighbour_seconds}});
  if (row.best_seconds > 0)
    object.update({{"best", row.best}, {"best_s", row.best_seconds}, {"regret", row.ours / row.best_seconds}});
  return object;
}

Result<ReferenceTimes> reference_from_json(const nlohmann::json& object, const std::string& what) {
  ReferenceTimes times;
  const std::string kind = object.value("kind", std::string(name(times.reference)));
  for (const Reference reference : {Reference::copy, Reference::matmul_f32, Reference::matmul_f16})
    if (kind == name(reference)) times.reference = reference;
  times.agreed = object.value("agreed", false);
  FileNumbers numbers(object, what);
  numbers.seconds("before_s", times.before);
  numbers.seconds("after_s", times.after);
  if (auto read = numbers.finish(); !read) return std::unexpected(read.error());
  return times;
}

// Members of another kind than text throw. Errors: those of FileNumbers.
Result<SweepRow> row_from_json(const nlohmann::json& object, const std::string& what) {
  SweepRow row;
  row.group = object.value("class", "");
  row.type = object.value("type", "");
  row.problem = object.value("problem", "");
  row.candidate = object.value("candidate", "");
  row.error = object.value("error", "");
  row.neighbour = object.value("neighbour", "");
  row.best = object.value("best", "");
  row.unsteady = object.value("unsteady", false);
  FileNumbers numbers(object, what);
  numbers.seconds("median_s", row.ours);
  numbers.seconds("p10_s", row.p10);
  numbers.seconds("p90_s", row.p90);
  numbers.seconds("copy_s", row.copy);
  numbers.seconds("neighbour_s", row.neighbour_seconds);
  numbers.seconds("best_s", row.best_seconds);
  numbers.count("bytes", row.bytes);
  numbers.count("operations", row.operations);
  numbers.seconds_by_name("rivals_s", row.rivals);
  if (auto read = numbers.finish(); !read) return std::unexpected(read.error());
  const auto times = object.find("reference_times");
  if (times == object.end()) return row;
  auto reference = reference_from_json(*times, what + ".reference_times");
  if (!reference) return std::unexpected(reference.error());
  row.reference = *reference;
  return row;
}

// What rates are fractions of; ratio_of says which it is in a row.
std::string reference_name(const SweepReport& report) {
  const BenchOperation* const operation = bench_operation(report.operation);
  return operation != nullptr && operation->beside_copy() ? "the copy" : "the best rival, or the best rate";
}

PageRow page_row(const SweepReport& report, const SweepRow& row, bool by_operations) {
  const SweepRatio ratio = ratio_of(report, row);
  PageRow out{.name = row.problem,
              .group = row.group,
              .detail = {},
              .kernel = row.candidate,
              .plan = {},
              .error = row.error,
              .reference = ratio.name,
              .reference_seconds = ratio.value * row.ours,
              .work = by_operations ? row.operations : row.bytes,
              .unsteady = row.unsteady,
              .goal = {},
              .goal_met = {},
              .series = {}};
  if (row.bytes > 0) out.intensity_or_bytes = by_operations ? row.operations / row.bytes : row.bytes;
  if (row.ours > 0)
    out.series.push_back(
        {.name = "Sectile", .seconds = row.ours, .p10 = row.p10, .p90 = row.p90, .kernel = row.candidate, .error = {}});
  if (row.best_seconds > 0)
    out.series.push_back(
        {.name = "best candidate", .seconds = row.best_seconds, .own = true, .kernel = row.best, .error = {}});
  for (const auto& [rival, seconds] : row.rivals)
    out.series.push_back({.name = rival, .seconds = seconds, .kernel = {}, .error = {}});
  return out;
}

}  // namespace

SweepSummary summary_of(std::vector<double> values) {
  SweepSummary s;
  std::erase_if(values, [](double value) { return !(value > 0); });
  s.rows = values.size();
  if (values.empty()) return s;
  std::ranges::sort(values);
  const auto at = [&](double part) {  // nearest rank
    const double rank = std::ceil(part * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(1.0, rank)) - 1];
  };
  s.least = values.front();
  s.p10 = at(0.1);
  s.median = at(0.5);
  s.p90 = at(0.9);
  s.most = values.back();
  double logs = 0;
  for (const double value : values) logs += std::log(value);
  s.mean = std::exp(logs / static_cast<double>(values.size()));
  return s;
}

SweepRatio ratio_of(const SweepReport& report, const SweepRow& row) {
  if (row.ours <= 0) return {};
  if (row.copy > 0) return {"the copy", row.copy / row.ours};
  const auto best = std::ranges::min_element(row.rivals, {}, [](const auto& rival) { return rival.second; });
  if (best != row.rivals.end()) return {best->first, best->second / row.ours};
  const double operations = best_operations(report, row.type);
  const double memory = report.bytes_per_second > 0 ? row.bytes / report.bytes_per_second : 0;
  const double arithmetic = operations > 0 ? row.operations / operations : 0;
  return {"the best rate", std::max(memory, arithmetic) / row.ours};
}

nlohmann::json to_json(const SweepReport& report) {
  nlohmann::json rows = nlohmann::json::array(), groups = nlohmann::json::object();
  for (const SweepRow& row : report.rows) rows.push_back(row_json(report, row));
  for (const Group& group : groups_of(report)) {
    auto& object = groups[group.name] = {
        {"ratio", summary_json(summary_of(group.ratios))}, {"errors", group.errors}, {"unsteady", group.unsteady}};
    if (!group.neighbours.empty()) object["times_neighbour"] = summary_json(summary_of(group.neighbours));
    if (!group.regrets.empty()) object["regret"] = summary_json(summary_of(group.regrets));
  }
  nlohmann::json json = {{"sweep", report.operation},
                         {"seed", report.seed},
                         {"device", report.device},
                         {"driver", report.driver},
                         {"planner", report.planner},
                         {"date", report.date},
                         {"command", report.command},
                         {"device_class", report.device_class},
                         {"bytes_per_second", report.bytes_per_second},
                         {"classes", groups},
                         {"rows", rows}};
  add_profile(json, report.profile);
  return json;
}

Result<SweepReport> sweep_from_json(std::string_view text) {
  const auto bad = [](const std::string& why) { return fail(ErrorKind::parse, "sweep", why); };
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return bad("no JSON object");
  SweepReport report;
  // Whatever the file holds: a missing member is empty, one of another kind an error.
  try {
    report.operation = json.value("sweep", "");
    if (bench_operation(report.operation) == nullptr) return bad("sweep: " + report.operation);
    report.seed = json.value("seed", std::uint64_t{0});
    report.device = json.value("device", "");
    report.driver = json.value("driver", "");
    report.planner = json.value("planner", "");
    report.date = json.value("date", "");
    report.command = json.value("command", "");
    report.device_class = json.value("device_class", "");
    if (json.contains("profile")) report.profile = json["profile"].dump();
    FileNumbers numbers(json, "sweep");
    numbers.rate("bytes_per_second", report.bytes_per_second);
    if (auto read = numbers.finish(); !read) return std::unexpected(read.error());
    const nlohmann::json& rows = json.at("rows");
    if (!rows.is_array()) return bad("rows: no array");
    for (const auto& object : rows) {
      auto row = row_from_json(object, fmt::format("sweep.rows.{}", report.rows.size()));
      if (!row) return std::unexpected(row.error());
      report.rows.push_back(std::move(*row));
    }
  } catch (const nlohmann::json::exception& error) {
    return bad(error.what());
  }
  return report;
}

Result<SweepReport> merge_sweeps(std::vector<SweepReport> reports) {
  if (reports.empty()) return fail(ErrorKind::missing, "--merge", "no file");
  SweepReport merged = std::move(reports.front());
  for (std::size_t i = 1; i < reports.size(); ++i) {
    const SweepReport& other = reports[i];
    const std::pair<const std::string*, const std::string*> same[] = {{&merged.operation, &other.operation},
                                                                      {&merged.device, &other.device},
                                                                      {&merged.driver, &other.driver},
                                                                      {&merged.device_class, &other.device_class},
                                                                      {&merged.planner, &other.planner}};
    for (const auto& [mine, theirs] : same)
      if (*mine != *theirs) return fail(ErrorKind::invalid_problem, "--merge", *theirs, *mine);
    merged.bytes_per_second = std::max(merged.bytes_per_second, other.bytes_per_second);
    for (const SweepRow& row : other.rows) {
      const auto found = std::ranges::find(merged.rows, row.problem, &SweepRow::problem);
      if (found == merged.rows.end())
        merged.rows.push_back(row);
      else
        *found = row;
    }
  }
  return merged;
}

std::string print_sweep(const SweepReport& report) {
  const auto groups = groups_of(report);
  std::string text = fmt::format("sweep of {}s, seed {}, {} ({}), planner {}\n", report.operation, report.seed,
                                 report.device, report.driver, report.planner);
  Table table(kClassHead);
  for (const Group& group : groups) table.add(class_cells(group));
  text += table.print();
  text += fmt::format("\nrate as a fraction of {}\n{}", reference_name(report), print_histogram(groups.back().ratios));
  Table worst(kWorstHead);
  for (const auto& cells : worst_cells(report)) worst.add(cells);
  text += "\nthe worst\n" + worst.print();
  for (const SweepRow& row : report.rows)
    if (!row.error.empty()) text += fmt::format("{}: {}\n", row.problem, row.error);
  return text;
}

Page page_of(const SweepReport& report) {
  const BenchOperation* const operation = bench_operation(report.operation);
  Page page = page_about(report, fmt::format("sectile bench --sweep {}", report.operation));
  page.notes = fmt::format(
      "Problems drawn from seed {} in classes of equal weight. Medians of device time, behind a reference that ran "
      "until its time was stable. x neighbour: "
      "the time over that of the problem whose sizes above 64 are rounded up to multiples of 64. Regret: the time over "
      "the fastest candidate's.",
      report.seed);
  const auto groups = groups_of(report);
  PageTable classes{"By class", kClassHead, {}}, worst{"The worst", kWorstHead, worst_cells(report)};
  for (const Group& group : groups) classes.rows.push_back(class_cells(group));
  page.tables = {std::move(classes), std::move(worst)};
  PageHistogram ratios{"Rows by rate as a fraction of the reference", {}, {}};
  const auto counts = histogram(groups.back().ratios);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    ratios.bins.push_back(bin_name(i));
    ratios.counts.push_back(counts[i]);
  }
  page.histograms = {std::move(ratios)};
  if (operation == nullptr) return page;
  PagePart part = part_about(*operation);
  part.reference_name = reference_name(report);
  std::vector<SweepRow> sorted = report.rows;
  std::ranges::stable_sort(sorted, {}, &SweepRow::group);
  for (const SweepRow& row : sorted) part.rows.push_back(page_row(report, row, operation->unit().operations));
  page.parts = {std::move(part)};
  return page;
}

}  // namespace sectile::tools
