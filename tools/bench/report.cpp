// What a benchmark found, as a table, as JSON, and beside its rivals.
#include "bench.hpp"
#include "cli/files.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace sectile::tools {
namespace {

nlohmann::json seconds_json(const Spread& spread) {
  return {{"median_s", spread.median}, {"p10_s", spread.p10}, {"p90_s", spread.p90}, {"samples", spread.samples}};
}

nlohmann::json row_json(const RowResult& result) {
  nlohmann::json object = {{"name", result.row.name}, {"problem", print(Problem(result.row.problem))}};
  if (!result.error.empty()) {
    object["error"] = result.error;
    return object;
  }
  const Goal goal = goal_of(result);
  object.update({{"candidate", result.candidate},
                 {"plan", result.plan},
                 {"src_bytes", result.src_bytes},
                 {"dst_bytes", result.dst_bytes},
                 {"ours", seconds_json(result.ours)},
                 {"copy_buffer", seconds_json(result.copy_buffer)},
                 {"copy_kernel", seconds_json(result.copy_kernel)},
                 {"empty", seconds_json(result.empty)},
                 {"copy", std::string(result.copy_name())},
                 {"bytes_per_second", result.bytes_per_second(result.ours.median)},
                 {"fraction_of_copy", result.fraction()},
                 {"goal", goal.text},
                 {"goal_met", goal.met},
                 {"rivals_s", result.rivals},
                 {"reference", reference_json(result.reference)},
                 {"unsteady", result.unsteady}});
  if (const auto rival = result.best_rival()) {
    object["best_rival"] = rival->first;
    object["times_best_rival"] = rival->second / result.ours.median;
  }
  for (const CandidateTime& candidate : result.candidates) {
    nlohmann::json entry = {
        {"name", candidate.name}, {"plan", candidate.plan}, {"chosen", candidate.chosen}, {"cost", candidate.cost}, {"fallback", candidate.fallback}};
    if (candidate.error.empty())
      entry["time"] = seconds_json(candidate.time);
    else
      entry["error"] = candidate.error;
    object["candidates"].push_back(std::move(entry));
  }
  return object;
}

}  // namespace

nlohmann::json reference_json(const ReferenceTimes& reference) {
  return {{"kind", std::string(name(reference.reference))}, {"before_s", reference.before}, {"after_s", reference.after}, {"agreed", reference.agreed}};
}

nlohmann::json to_json(const BenchReport& report) {
  nlohmann::json rows = nlohmann::json::array();
  for (const RowResult& result : report.rows) rows.push_back(row_json(result));
  return {{"device", report.device},       {"driver", report.driver},
          {"preset", report.preset},       {"planner", report.planner},
          {"min_time_s", report.min_time}, {"warmup_s", report.warmup},
          {"cycle_mb", report.cycle_mb},   {"date", report.date},
          {"command", report.command},     {"rows", rows}};
}

std::string print_table(const BenchReport& report) {
  Table table({"row", "kernel", "us", "p10-p90", "GB/s", "copy GB/s", "by", "of copy", "goal", "met", "rival", "us",
               "x rival"});
  std::string errors;
  std::size_t met = 0, timed = 0;
  for (const RowResult& result : report.rows) {
    if (!result.error.empty()) {
      errors += fmt::format("{}: {}\n", result.row.name, result.error);
      continue;
    }
    const Goal goal = goal_of(result);
    ++timed;
    if (goal.met) ++met;
    const auto rival = result.best_rival();
    table.add({result.row.name + (result.unsteady ? " (unsteady)" : ""), result.candidate, fmt::format("{:.2f}", result.ours.median * 1e6),
               fmt::format("{:.2f}-{:.2f}", result.ours.p10 * 1e6, result.ours.p90 * 1e6),
               fmt::format("{:.1f}", result.bytes_per_second(result.ours.median) / 1e9),
               fmt::format("{:.1f}", result.bytes_per_second(result.copy().median) / 1e9),
               std::string(result.copy_name()), fmt::format("{:.3f}", result.fraction()), goal.text,
               goal.met ? "yes" : "NO", rival ? rival->first : "-",
               rival ? fmt::format("{:.2f}", rival->second * 1e6) : "-",
               rival ? fmt::format("{:.2f}", rival->second / result.ours.median) : "-"});
  }
  return table.print() + errors + fmt::format("{} of {} rows reach their goal on {}\n", met, timed, report.device);
}

std::string print_candidates(const RowResult& result) {
  Table table({"  candidate", "us", "GB/s", "of copy", "planner's cost", ""});
  for (const CandidateTime& candidate : result.candidates) {
    const std::string cost = candidate.fallback ? "fallback" : std::to_string(candidate.cost);
    if (!candidate.error.empty()) {
      table.add({"  " + candidate.name, "-", "-", "-", cost, candidate.error});
      continue;
    }
    table.add({"  " + candidate.name, fmt::format("{:.2f}", candidate.time.median * 1e6),
               fmt::format("{:.1f}", result.bytes_per_second(candidate.time.median) / 1e9),
               fmt::format("{:.3f}", result.copy().median / candidate.time.median), cost,
               candidate.chosen ? "chosen" : ""});
  }
  return result.row.name + "\n" + table.print();
}

Result<Rivals> read_rivals(const std::string& file) {
  if (file.empty()) return Rivals();
  const auto text = read_text(file);
  if (!text) return std::unexpected(text.error());
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object()) return fail(ErrorKind::parse, "rivals", file, "{row name: {rival: seconds}}");
  Rivals rivals;
  for (const auto& [row, object] : json.items()) {
    if (!object.is_object()) continue;
    for (const auto& [rival, seconds] : object.items()) {
      if (!seconds.is_number() || seconds.get<double>() <= 0)
        return fail(ErrorKind::parse, "rivals: " + rival, seconds.dump(), "seconds");
      rivals[row][rival] = seconds.get<double>();
    }
  }
  return rivals;
}

void time_numpy(BenchReport& report) {
  // Best of some runs, each into fresh memory as a user of NumPy has it, with its input out of cache.
  static constexpr const char* script =
      "import sys,json,time\n"
      "import numpy as np\n"
      "out={}\n"
      "for row in json.load(sys.stdin)['rows']:\n"
      "    if row['axes'] is None: continue\n"
      "    size=row['bytes']\n"
      "    a=np.random.default_rng(1).integers(0,255,size=int(np.prod(row['shape']))*size,dtype=np.uint8)\n"
      "    a=a.view('V16' if size==16 else 'u%d'%size).reshape(row['shape'])\n"
      "    times=[]\n"
      "    for i in range(3):\n"
      "        t=time.perf_counter(); b=np.ascontiguousarray(a.transpose(row['axes'])); "
      "times.append(time.perf_counter()-t); del b\n"
      "    out[row['name']]=min(times)\n"
      "json.dump(out,sys.stdout)\n";
  std::vector<BenchRow> rows;
  for (const RowResult& result : report.rows) rows.push_back(result.row);
  nlohmann::json json = rows_json(rows);
  for (std::size_t i = 0; i < rows.size(); ++i) json["rows"][i]["bytes"] = size_bytes(rows[i].problem.type);
  const std::string folder = [] {
    std::array<char, 32> name{"/tmp/sectile-numpy-XXXXXX"};
    return std::string(::mkdtemp(name.data()) != nullptr ? name.data() : "");
  }();
  if (folder.empty()) return;
  const std::string program = folder + "/time_numpy.py", input = folder + "/rows.json", output = folder + "/times.json";
  if (write_atomically(program, script) && write_atomically(input, json.dump())) {
    const std::string command = "python3 " + program + " < " + input + " > " + output + " 2> /dev/null";
    if (std::system(command.c_str()) == 0) {
      const auto text = read_text(output);
      const auto times = text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
      for (RowResult& result : report.rows) {
        if (times.contains(result.row.name)) result.rivals["numpy"] = times[result.row.name].get<double>();
      }
    }
  }
  for (const std::string& file : {program, input, output, folder}) std::remove(file.c_str());
}

}  // namespace sectile::tools
