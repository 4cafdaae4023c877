// What a benchmark found, as a table and as JSON.
#include "cli/text.hpp"
#include "operation.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace sectile::tools {

std::string estimate_text(std::int64_t picoseconds) {
  return fmt::format("{:.4g}", static_cast<double>(picoseconds) * 1e-6);
}
namespace {

nlohmann::json seconds_json(const Spread& spread) {
  return {{"median_s", spread.median}, {"p10_s", spread.p10}, {"p90_s", spread.p90}, {"samples", spread.samples}};
}

double rate_of(const RateUnit& unit, const Work& work, double seconds) {
  return seconds > 0 ? (unit.operations ? work.operations : work.bytes()) / seconds : 0;
}

std::string rate_text(const RateUnit& unit, const Work& work, double seconds) {
  return fmt::format("{:.{}f}", rate_of(unit, work, seconds) / unit.scale, unit.digits);
}

std::string microseconds_text(double seconds) { return fmt::format("{:.2f}", seconds * 1e6); }

std::string spread_text(const Spread& spread) {
  return microseconds_text(spread.p10) + "-" + microseconds_text(spread.p90);
}

nlohmann::json contender_json(const ContenderTime& time, const ContenderTime& own) {
  nlohmann::json object = {
      {"label", time.label}, {"problem", time.problem}, {"candidate", time.candidate}, {"plan", time.plan}};
  if (!time.statistics.empty()) object["statistics"] = time.statistics;
  if (!time.error.empty()) {
    object["error"] = time.error;
    return object;
  }
  object.update(seconds_json(time.time));
  if (time.time.median <= 0) return object;
  object.update({{"bytes_per_second", time.work.bytes() / time.time.median},
                 {"times_first", own.time.median / time.time.median}});
  if (time.work.operations > 0) object["flops"] = time.work.operations / time.time.median;
  return object;
}

nlohmann::json candidate_json(const ContenderTime& time) {
  nlohmann::json object = {{"name", time.candidate},
                           {"plan", time.plan},
                           {"chosen", time.chosen},
                           {"cost", time.cost},
                           {"eligibility", name(time.eligibility)}};
  if (time.error.empty())
    object["time"] = seconds_json(time.time);
  else
    object["error"] = time.error;
  return object;
}

// What a row that is compared with a copy of its bytes has more.
void add_copies(nlohmann::json& object, const RowResult& result) {
  object.update({{"copy_buffer", seconds_json(result.copy_buffer)},
                 {"copy_kernel", seconds_json(result.copy_kernel)},
                 {"empty", seconds_json(result.empty)},
                 {"copy", std::string(result.copy_name())},
                 {"fraction_of_copy", result.fraction()}});
}

nlohmann::json row_json(const RowResult& result) {
  nlohmann::json object = {{"name", result.row.name},
                           {"problem", print(result.row.problem)},
                           {"reference", reference_json(result.reference)},
                           {"unsteady", result.unsteady}};
  for (const ContenderTime& time : result.contenders)
    object["contenders"].push_back(contender_json(time, result.own()));
  if (!result.error.empty()) {
    object["error"] = result.error;
    return object;
  }
  const ContenderTime& own = result.own();
  object.update({{"candidate", own.candidate},
                 {"plan", own.plan},
                 {"src_bytes", static_cast<std::uint64_t>(own.work.read)},
                 {"dst_bytes", static_cast<std::uint64_t>(own.work.written)},
                 {"ours", seconds_json(own.time)},
                 {"rivals_s", result.rivals}});
  if (own.time.median > 0) object["bytes_per_second"] = own.work.bytes() / own.time.median;
  if (bench_operation(result.row.problem).beside_copy()) add_copies(object, result);
  if (const Goal goal = goal_of(result); !goal.text.empty()) {
    object["goal"] = goal.text;
    if (goal.least) object["goal"] = *goal.least;
    if (goal.met) object["goal_met"] = *goal.met;
  }
  if (const auto rival = result.best_rival()) {
    object["best_rival"] = rival->first;
    object["times_best_rival"] = rival->second / own.time.median;
  }
  for (const ContenderTime* candidate : result.candidates()) object["candidates"].push_back(candidate_json(*candidate));
  return object;
}

// The rows of one operation.
class RowTable {
 public:
  RowTable(const BenchOperation& operation, const std::vector<const RowResult*>& rows)
      : unit_(operation.unit()),
        beside_copy_(operation.beside_copy()),
        several_(std::ranges::any_of(rows,
                                     [](const RowResult* row) {
                                       return std::ranges::count(row->contenders, false, &ContenderTime::listed) > 1;
                                     })),
        table_(heads()) {
    for (const RowResult* row : rows) add(*row);
  }
  std::string print() const { return table_.print(); }

 private:
  std::vector<std::string> heads() const {
    std::vector<std::string> heads = {"row"};
    if (several_) heads.emplace_back("");
    const std::string unit(unit_.unit);
    heads.insert(heads.end(), {"kernel", "us", "p10-p90", unit});
    if (several_) heads.emplace_back("x first");
    if (beside_copy_) heads.insert(heads.end(), {"copy " + unit, "by", "of copy"});
    heads.insert(heads.end(), {"rival", "us", "x rival", "goal", "met"});
    return heads;
  }

  void add(const RowResult& result) {
    for (const ContenderTime& time : result.contenders) {
      const bool first = &time == &result.own();
      if ((time.listed && !first) || !time.error.empty() || time.time.samples == 0) continue;
      std::vector<std::string> cells = {!first ? "" : result.row.name + (result.unsteady ? " (unsteady)" : "")};
      if (several_) cells.push_back(time.label);
      cells.insert(cells.end(), {time.candidate, microseconds_text(time.time.median), spread_text(time.time),
                                 rate_text(unit_, time.work, time.time.median)});
      if (several_) cells.push_back(fmt::format("{:.3f}", result.own().time.median / time.time.median));
      if (beside_copy_ && first)
        cells.insert(cells.end(), {rate_text(unit_, time.work, result.copy().median), std::string(result.copy_name()),
                                   fmt::format("{:.3f}", result.fraction())});
      else if (beside_copy_)
        cells.insert(cells.end(), {"-", "-", "-"});
      const auto rival = first ? result.best_rival() : std::nullopt;
      const Goal goal = first ? goal_of(result) : Goal();
      cells.insert(cells.end(), {rival ? rival->first : "-", rival ? microseconds_text(rival->second) : "-",
                                 rival ? fmt::format("{:.3f}", rival->second / time.time.median) : "-",
                                 goal.text.empty() ? "-" : goal.text,
                                 !goal.met   ? "-"
                                 : *goal.met ? "yes"
                                             : "NO"});
      table_.add(std::move(cells));
    }
  }

  const RateUnit& unit_;
  bool beside_copy_, several_;
  Table table_;
};

std::string statistics_of(const RowResult& result) {
  std::string text;
  for (const ContenderTime& time : result.contenders)
    if (!time.statistics.empty()) text += fmt::format("{}: {}\n{}", result.row.name, time.candidate, time.statistics);
  return text;
}

// Of its candidates only the row's own: the others' stand in print_candidates.
std::string errors_of(const RowResult& result) {
  std::string text = result.error.empty() ? "" : fmt::format("{}: {}\n", result.row.name, result.error);
  for (const ContenderTime& time : result.contenders)
    if (!time.error.empty() && time.error != result.error)
      text += fmt::format("{}: {}: {}\n", result.row.name, time.candidate, time.error);
  return text;
}

}  // namespace

std::optional<std::pair<std::string, double>> RowResult::best_rival() const {
  std::optional<std::pair<std::string, double>> best;
  for (const auto& [name, seconds] : rivals) {
    if (name.starts_with("copy")) continue;
    if (!best || seconds < best->second) best = {name, seconds};
  }
  return best;
}

std::vector<const ContenderTime*> RowResult::candidates() const {
  std::vector<const ContenderTime*> listed;
  for (const ContenderTime& time : contenders)
    if (time.listed) listed.push_back(&time);
  std::ranges::stable_sort(listed, [](const ContenderTime* a, const ContenderTime* b) {
    if (a->error.empty() != b->error.empty()) return a->error.empty();
    return a->time.median < b->time.median;
  });
  return listed;
}

bool RowResult::broken() const {
  return !error.empty() ||
         std::ranges::any_of(contenders, [](const ContenderTime& time) { return !time.error.empty(); });
}

Goal goal_of(const RowResult& result) { return bench_operation(result.row.problem).goal(result); }

nlohmann::json reference_json(const ReferenceTimes& reference) {
  return {{"kind", std::string(name(reference.reference))},
          {"before_s", reference.before},
          {"after_s", reference.after},
          {"agreed", reference.agreed}};
}

void add_profile(nlohmann::json& report, const std::string& profile) {
  if (auto json = nlohmann::json::parse(profile, nullptr, false); json.is_object()) report["profile"] = std::move(json);
}

nlohmann::json to_json(const BenchReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RowResult& result : report.rows) rows.push_back(row_json(result));
  nlohmann::json json = {{"device", report.device},
                         {"driver", report.driver},
                         {"preset", report.preset},
                         {"planner", report.planner},
                         {"min_time_s", report.min_time},
                         {"warmup_s", report.warmup},
                         {"cycle_mb", report.cycle_mb},
                         {"date", report.date},
                         {"command", report.command},
                         {"device_class", report.device_class},
                         {"rows", rows}};
  add_profile(json, report.profile);
  return json;
}

std::string print_table(const BenchReport& report) {
  std::string text;
  for (const std::string& name : bench_operations()) {
    const BenchOperation* const operation = bench_operation(name);
    std::vector<const RowResult*> rows;
    for (const RowResult& result : report.rows)
      if (result.error.empty() && &bench_operation(result.row.problem) == operation) rows.push_back(&result);
    if (!rows.empty()) text += (text.empty() ? "" : "\n") + RowTable(*operation, rows).print();
  }
  std::size_t met = 0, with_goal = 0;
  for (const RowResult& result : report.rows) {
    text += statistics_of(result);
    const Goal goal = result.error.empty() ? goal_of(result) : Goal();
    if (!goal.met) continue;
    ++with_goal;
    met += *goal.met ? 1 : 0;
  }
  for (const RowResult& result : report.rows) text += errors_of(result);
  if (with_goal > 0) text += fmt::format("{} of {} rows reach their goal on {}\n", met, with_goal, report.device);
  return text;
}

std::string print_candidates(const RowResult& result) {
  const BenchOperation& operation = bench_operation(result.row.problem);
  const RateUnit& unit = operation.unit();
  const bool beside_copy = operation.beside_copy();
  Table table({"  candidate", "us", std::string(unit.unit), beside_copy ? "of copy" : "x chosen", "estimate, us", ""});
  for (const ContenderTime* candidate : result.candidates()) {
    const std::string cost = candidate->eligibility == Eligibility::candidate
                                 ? estimate_text(candidate->cost)
                                 : std::string(name(candidate->eligibility));
    if (!candidate->error.empty()) {
      table.add({"  " + candidate->candidate, "-", "-", "-", cost, candidate->error});
      continue;
    }
    const double against = beside_copy ? result.copy().median : result.own().time.median;
    table.add({"  " + candidate->candidate, microseconds_text(candidate->time.median),
               rate_text(unit, candidate->work, candidate->time.median),
               fmt::format("{:.3f}", against / candidate->time.median), cost, candidate->chosen ? "chosen" : ""});
  }
  return result.row.name + "\n" + table.print();
}

std::string print_line(const RowResult& result) {
  if (!result.error.empty()) return fmt::format("{}: {}\n", result.row.name, result.error);
  const BenchOperation& operation = bench_operation(result.row.problem);
  std::string text;
  for (const ContenderTime& time : result.contenders) {
    const bool first = &time == &result.own();
    if (time.listed && !first) continue;
    text += result.row.name + ": ";
    if (!first) text += time.label + ": ";
    text += time.candidate;
    if (!time.error.empty())
      text += ": " + time.error;
    else
      text += fmt::format(" {} us, {} {}", microseconds_text(time.time.median),
                          rate_text(operation.unit(), time.work, time.time.median), operation.unit().unit);
    if (first && operation.beside_copy()) text += fmt::format(", {:.3f} of the copy", result.fraction());
    text += '\n';
  }
  return text;
}

}  // namespace sectile::tools
