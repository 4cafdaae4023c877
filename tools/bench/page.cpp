// A benchmark's report as a page: a part for each operation that has rows.
#include "page.hpp"

#include "operation.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace sectile::tools {
namespace {

PageSeries series_of(std::string name, const Spread& spread) {
  PageSeries series;
  series.name = std::move(name);
  series.seconds = spread.median;
  series.p10 = spread.p10;
  series.p90 = spread.p90;
  return series;
}

double work_of(const RateUnit& unit, const Work& work) { return unit.operations ? work.operations : work.bytes(); }

PageSeries series_of(const RateUnit& unit, const ContenderTime& time, bool first) {
  PageSeries series = series_of(first ? "Sectile" : time.listed ? time.candidate : time.label, time.time);
  series.own = !first;
  series.work = work_of(unit, time.work);
  if (!first && !time.listed) series.kernel = time.candidate;
  series.error = time.error;
  return series;
}

PageRow row_of(const BenchOperation& operation, const RowResult& result) {
  const RateUnit& unit = operation.unit();
  PageRow row;
  row.name = result.row.name;
  row.detail = print(result.row.problem);
  row.error = result.error;
  row.unsteady = result.unsteady;
  if (result.contenders.empty()) return row;
  const ContenderTime& own = result.own();
  row.kernel = own.candidate;
  row.plan = own.plan;
  if (!result.error.empty()) return row;
  row.work = work_of(unit, own.work);
  if (!unit.operations)
    row.intensity_or_bytes = std::max(own.work.read, own.work.written);
  else if (own.work.bytes() > 0)
    row.intensity_or_bytes = row.work / own.work.bytes();
  const Goal goal = goal_of(result);
  row.goal = goal.of.empty() ? goal.text : goal.text + " of " + goal.of;
  row.goal_met = goal.met;
  if (operation.beside_copy()) {
    row.reference = result.copy_name() == "kernel" ? "copy kernel" : std::string(result.copy_name());
    row.reference_seconds = result.copy().median;
  } else if (const auto rival = result.best_rival()) {
    row.reference = rival->first;
    row.reference_seconds = rival->second;
  }
  for (const ContenderTime& time : result.contenders) row.series.push_back(series_of(unit, time, &time == &own));
  for (const auto& [name, seconds] : result.rivals) row.series.push_back(series_of(name, {.median = seconds}));
  return row;
}

// The most operations a second and the most bytes a second that anything on the page reached.
void add_best_rates(PagePart& part) {
  double most = 0, bytes = 0, low = 0, high = 0;
  for (const PageRow& row : part.rows) {
    const double x = row.intensity_or_bytes;
    if (x <= 0) continue;
    for (const PageSeries& series : row.series) {
      if (series.seconds <= 0 || !series.error.empty()) continue;
      const double rate = (series.work > 0 ? series.work : row.work) / series.seconds;
      most = std::max(most, rate);
      bytes = std::max(bytes, rate / x);
      low = low > 0 ? std::min(low, x) : x;
      high = std::max(high, x);
    }
  }
  if (most <= 0) return;
  part.ceiling = {{low, low * bytes}, {most / bytes, most}, {high, most}};
  part.ceiling_name = fmt::format("the best seen on this page: {:.4g} TFLOP/s, {:.4g} GB/s", most / 1e12, bytes / 1e9);
}

// What the copy reached at each size.
void add_copy_rates(PagePart& part) {
  for (const PageRow& row : part.rows)
    if (row.reference_seconds > 0) part.ceiling.emplace_back(row.intensity_or_bytes, row.work / row.reference_seconds);
  std::ranges::sort(part.ceiling);
  part.ceiling_name = "the copy";
}

PagePart part_of(const BenchOperation& operation, const std::vector<const RowResult*>& rows) {
  PagePart part = part_about(operation);
  for (const RowResult* row : rows) part.rows.push_back(row_of(operation, *row));
  if (operation.beside_copy()) {
    part.reference_name = "the copy";
    add_copy_rates(part);
  } else {
    for (const PageRow& row : part.rows)
      if (row.reference_seconds > 0) part.reference_name = "the best rival";
    add_best_rates(part);
  }
  return part;
}

}  // namespace

PagePart part_about(const BenchOperation& operation) {
  const RateUnit& unit = operation.unit();
  PagePart part;
  part.work_unit = unit.unit;
  part.unit_scale = unit.scale;
  part.x_label = unit.operations ? "operations a byte" : "bytes of the larger operand";
  part.y_label = unit.axis;
  part.x_bytes = !unit.operations;
  return part;
}

Page page_of(const BenchReport& report) {
  Page page = page_about(report, report.preset.empty() ? "sectile bench" : "sectile bench " + report.preset);
  page.notes = fmt::format(
      "Medians of device time; before each row a reference ran until its time was stable ({:g} s at most); {:g} s of "
      "samples for each kernel, those of a row in turn; every run takes other memory, {:g} MB a round at least, so "
      "that no "
      "cache helps. Rivals were timed by themselves.",
      report.warmup, report.min_time, report.cycle_mb);
  for (const std::string& name : bench_operations()) {
    const BenchOperation* const operation = bench_operation(name);
    std::vector<const RowResult*> rows;
    std::string copy = "the API's own copy";
    for (const RowResult& result : report.rows) {
      if (&bench_operation(result.row.problem) != operation) continue;
      rows.push_back(&result);
      if (!result.copy_command.empty()) copy = result.copy_command;
    }
    if (rows.empty()) continue;
    if (operation->beside_copy())
      page.notes +=
          fmt::format(" The copy is the faster of {} and a kernel of 16 bytes an invocation, in the same run.", copy);
    // Operations may share a note.
    const auto& note = operation->unit().note;
    if (!note.empty() && page.notes.find(note) == std::string::npos) page.notes.append(" ").append(note);
    page.parts.push_back(part_of(*operation, rows));
    page.parts.back().title = name;
  }
  if (page.parts.size() == 1) page.parts.front().title.clear();
  return page;
}

}  // namespace sectile::tools
