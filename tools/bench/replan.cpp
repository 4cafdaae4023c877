// Reports beside today's planner: figures of plans that are no longer chosen say nothing about today's.
#include "bench.hpp"
#include "cli/command.hpp"
#include "cli/files.hpp"
#include "cli/target.hpp"

#include <sectile/planner.hpp>
#include <sectile/profile.hpp>

#include <fmt/format.h>

namespace sectile::tools {
namespace {

struct Changed {
  std::string row, problem, was, now;
};

struct Replanned {
  std::size_t rows = 0;  // that were timed
  std::vector<Changed> changed;
};

std::string planned_now(const std::string& text, const DeviceProfile& profile, bool few_pipelines) {
  const auto problem = parse_problem(text);
  if (!problem) return problem.error().message();
  const auto plan = make_plan(*problem, profile, {.explain = true, .few_pipelines = few_pipelines});
  return plan ? chosen_name(*plan) : plan.error().message();
}

// Errors: parse; missing (a report without a profile, as Sectile wrote them once).
Result<Replanned> replan(const std::string& text, const BenchOptions& options) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array())
    return fail(ErrorKind::parse, "report", "no object with rows", "what bench --json-file writes");
  if (!json.contains("profile")) return fail(ErrorKind::missing, "profile", "none in the report", "a report with one");
  auto profile = profile_from_json(json["profile"].dump());
  if (profile) profile = with_device_class(std::move(*profile), options.device_class);
  if (!profile) return std::unexpected(profile.error());
  Replanned out;
  try {
    for (const auto& row : json["rows"]) {
      const std::string problem = row.value("problem", ""), was = row.value("candidate", "");
      if (was.empty()) continue;  // it failed
      ++out.rows;
      if (std::string now = planned_now(problem, *profile, options.few_pipelines); now != was)
        out.changed.push_back({row.value("name", problem), problem, was, std::move(now)});
    }
  } catch (const nlohmann::json::exception& error) {
    return fail(ErrorKind::parse, "report", error.what());
  }
  return out;
}

nlohmann::json json_of(const Replanned& replanned) {
  nlohmann::json changed = nlohmann::json::array();
  for (const Changed& row : replanned.changed)
    changed.push_back({{"row", row.row}, {"problem", row.problem}, {"was", row.was}, {"now", row.now}});
  return {{"rows", replanned.rows}, {"changed", changed}};
}

}  // namespace

int run_replan(const BenchOptions& options) {
  const bool json = options.json;
  nlohmann::json all = nlohmann::json::object();
  for (const std::string& file : options.replan) {
    const auto text = read_text(file);
    if (!text) return report(text.error(), json);
    const auto replanned = replan(*text, options);
    if (!replanned) return report(Error{replanned.error().kind, file, replanned.error().message(), {}}, json);
    all[file] = json_of(*replanned);
    if (json) continue;
    for (const Changed& row : replanned->changed) fmt::print("{}: {}, now {}\n", row.row, row.was, row.now);
    fmt::print("{}: {} of {} rows are planned otherwise now\n", file, replanned->changed.size(), replanned->rows);
  }
  if (json) fmt::print("{}\n", nlohmann::json{{"planner", std::string(planner_version())}, {"files", all}}.dump(1));
  return kOk;
}

}  // namespace sectile::tools
