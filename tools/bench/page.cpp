// Reports of permutes and of matrix multiplications as pages.
#include "data.hpp"
#include "page.hpp"

#include "bench.hpp"
#include "matmul.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace sectile::tools {
namespace {

std::string title_of(const std::string& preset) {
  return preset.empty() ? "sectile bench" : "sectile bench " + preset;
}

PageSeries series_of(std::string name, const Spread& spread) {
  PageSeries series;
  series.name = std::move(name);
  series.seconds = spread.median;
  series.p10 = spread.p10;
  series.p90 = spread.p90;
  return series;
}

void add_rivals(PageRow& row, const std::map<std::string, double>& rivals) {
  for (const auto& [name, seconds] : rivals) row.series.push_back(series_of(name, {.median = seconds}));
}

PageRow row_of(const RowResult& result) {
  PageRow row;
  row.name = result.row.name;
  row.detail = print(Problem(result.row.problem));
  row.kernel = result.candidate;
  row.plan = result.plan;
  row.error = result.error;
  row.unsteady = result.unsteady;
  if (!result.error.empty()) return row;
  const Goal goal = goal_of(result);
  row.goal = goal.text;
  row.goal_met = goal.met;
  row.reference = result.copy_name() == "kernel" ? "copy kernel" : std::string(result.copy_name());
  row.reference_seconds = result.copy().median;
  row.work = static_cast<double>(result.src_bytes + result.dst_bytes);
  row.intensity_or_bytes = static_cast<double>(std::max(result.src_bytes, result.dst_bytes));
  row.series.push_back(series_of("Sectile", result.ours));
  add_rivals(row, result.rivals);
  for (const CandidateTime& candidate : result.candidates) {
    if (candidate.name == result.candidate) continue;
    PageSeries other = series_of(candidate.name, candidate.time);
    other.own = true;
    other.error = candidate.error;
    row.series.push_back(std::move(other));
  }
  return row;
}

PageSeries series_of(const MatmulTime& time, bool first) {
  // Of all candidates the label tells the planner's cost, which names nothing.
  const bool named = !time.label.starts_with("cost ") && time.label != "fallback";
  PageSeries series = series_of(first ? "Sectile" : named ? time.label : time.candidate, time.time);
  series.own = !first;
  series.work = time.operations;
  if (!first && named) series.kernel = time.candidate;
  series.error = time.error;
  return series;
}

PageRow row_of(const MatmulResult& result, double goal) {
  PageRow row;
  row.name = result.row.name;
  row.error = result.error;
  row.unsteady = result.unsteady;
  for (const MatmulTime& time : result.times) row.series.push_back(series_of(time, &time == &result.times.front()));
  add_rivals(row, result.rivals);
  if (result.times.empty()) return row;
  const MatmulTime& first = result.times.front();
  row.kernel = first.candidate;
  row.plan = first.plan;
  row.detail = first.problem;
  row.work = first.operations;
  const double bytes = operand_bytes_of(Problem(result.row.contenders.front().problem));
  if (bytes > 0) row.intensity_or_bytes = row.work / bytes;
  if (goal > 0) row.goal = fmt::format(">= {:.2f} of the best rival", goal);
  if (const auto* rival = result.best_rival()) {
    row.reference = rival->first;
    row.reference_seconds = rival->second;
    if (goal > 0 && first.time.median > 0) row.goal_met = rival->second / first.time.median >= goal;
  }
  return row;
}

// The most operations a second and the most bytes a second that anything on the page reached.
void add_ceiling(Page& page) {
  double most = 0, bytes = 0, low = 0, high = 0;
  for (const PageRow& row : page.rows) {
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
  page.ceiling = {{low, low * bytes}, {most / bytes, most}, {high, most}};
  page.ceiling_name = fmt::format("the best seen on this page: {:.4g} TFLOP/s, {:.4g} GB/s", most / 1e12, bytes / 1e9);
}

}  // namespace

Page page_of(const BenchReport& report) {
  Page page = page_about(report, title_of(report.preset), report.planner);
  std::string copy = "the API's own copy";
  for (const RowResult& result : report.rows)
    if (!result.copy_command.empty()) copy = result.copy_command;
  page.notes = fmt::format(
      "Medians of device time; before each row a reference ran until its time was stable ({:g} s at most); {:g} s of "
      "samples for each kernel, ours and the copies in turn; every run takes other memory, {:g} MB a round, so that no "
      "cache helps. The copy is the faster of {} and a kernel of 16 bytes an invocation, in the same run. Rivals were timed by themselves.",
      report.warmup, report.min_time, report.cycle_mb, copy);
  page.work_unit = "GB/s";
  page.unit_scale = 1e9;
  page.reference_name = page.ceiling_name = "the copy";
  page.x_label = "bytes of the larger operand";
  page.y_label = "GB/s, read + written";
  page.x_bytes = true;
  for (const RowResult& result : report.rows) {
    page.rows.push_back(row_of(result));
    const PageRow& row = page.rows.back();
    if (row.reference_seconds > 0) page.ceiling.emplace_back(row.intensity_or_bytes, row.work / row.reference_seconds);
  }
  std::ranges::sort(page.ceiling);
  return page;
}

Page page_of(const MatmulReport& report) {
  Page page = page_about(report, title_of(report.preset), std::string(planner_version()));
  page.notes = fmt::format(
      "Medians of device time; before each row a reference ran until its time was stable ({:g} s at most); {:g} s of "
      "samples for each kernel, those of a row in turn; runs rotate over {:g} MB at least, so that no cache helps. A "
      "multiplication and an addition are two operations; bytes are those of every operand, once. Rivals were timed by themselves.",
      report.warmup, report.min_time, report.cycle_mb);
  page.work_unit = "TFLOP/s";
  page.unit_scale = 1e12;
  page.x_label = "operations a byte";
  page.y_label = "TFLOP/s";
  for (const MatmulResult& result : report.rows) {
    page.rows.push_back(row_of(result, report.cuda ? result.row.goal_cuda : result.row.goal_vulkan));
    if (page.rows.back().reference_seconds > 0) page.reference_name = "the best rival";
  }
  add_ceiling(page);
  return page;
}

}  // namespace sectile::tools
