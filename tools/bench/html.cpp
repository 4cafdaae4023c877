// A benchmark's page as HTML. Bars are elements of the page, so that they and their text fit any width; the roofline is
// SVG whose x are percentages, so that its text is not scaled. Nothing is loaded from anywhere, and nothing runs.
#include "cli/text.hpp"
#include "page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {
namespace {

// What a series looks like; the numbers are those of its classes in the style and of its shape below.
constexpr std::size_t kOurSeries = 0, kOwn = 7, kRivals = 6;
// SVG around its center: Sectile, six rivals, and Sectile's other plans.
constexpr std::array<std::string_view, kOwn + 1> kShapes = {
    "<circle r=\"4.5\"/>",
    "<path d=\"M-4-4h8v8h-8z\"/>",
    "<path d=\"M0-5.5l5 9h-10z\"/>",
    "<path d=\"M0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z\"/>",
    "<path d=\"M-4-4l8 8m0-8l-8 8\"/>",
    "<path d=\"M-5 0h10m-5-5v10\"/>",
    "<path d=\"M0 5.5l5-9h-10z\"/>",
    "<circle r=\"2.5\"/>",
};
// With all candidates a row has hundreds of them: the rest stands in the table.
constexpr std::size_t kOwnBars = 12;

constexpr std::string_view kStyle = R"css(
:root{color-scheme:light dark;--bg:#fff;--ink:#1b1d20;--soft:#565c64;--line:#d5d9de;--track:#f1f3f5;--bad:#a3201b;
--good:#1f6b2a;
--s0:#3f87b5;--s1:#c45f12;--s2:#4f7f33;--s3:#8a4bc9;--s4:#b8403d;--s5:#7a6055;--s6:#17808a;--s7:#3f87b5}
@media (prefers-color-scheme:dark){:root{--bg:#15181b;--ink:#e8eaed;--soft:#a7aeb6;--line:#3a4047;--track:#22272c;
--bad:#ff9c94;--good:#8fd694;
--s0:#4a9bcf;--s1:#f0a05a;--s2:#9ccc65;--s3:#c79bf2;--s4:#f08a86;--s5:#c3aca2;--s6:#5fc8d2;--s7:#4a9bcf}}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,sans-serif;max-width:1100px;margin:0 auto;padding:1em;background:var(--bg);
color:var(--ink);overflow-wrap:anywhere}
h1{font-size:1.5em;margin:.2em 0 .5em}h2{font-size:1.2em;margin:1.8em 0 .4em}h3{font-size:1em;margin:1.4em 0 .2em}
h4{font-size:.95em;margin:1em 0 .1em}
p{margin:.4em 0}h4+p{margin:0 0 .2em;font-size:13px}.soft{color:var(--soft)}.good{color:var(--good)}
.bad{color:var(--bad)}.mark{font-weight:600;white-space:nowrap}.tag{border:1px solid;border-radius:3px;padding:0 .3em}
dl{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.1em .9em;margin:0 0 .8em}dt{color:var(--soft)}
dd{margin:0}
.o{display:inline-block;max-width:100%}
code{font:.92em ui-monospace,monospace}
.b{display:grid;grid-template-columns:minmax(0,20em) minmax(0,1fr) 4.2em;gap:0 .6em;align-items:center;font-size:13px;
line-height:1.25;padding:1px 0}
.b>:first-child{text-align:right}.ours{font-weight:600}.more{font-size:13px}
.b>:last-child{font-variant-numeric:tabular-nums}
.t{position:relative;height:13px;background:var(--track)}
.one .t::after{content:"";position:absolute;left:var(--one);top:-1px;bottom:-1px;border-left:1px solid var(--ink)}
.f{position:absolute;left:0;top:0;bottom:0;border-right:1px solid var(--ink)}
.w{position:absolute;top:2px;bottom:2px;min-width:1px;border:solid var(--ink);border-width:0 2px;
outline:1px solid var(--bg)}
.w::after{content:"";position:absolute;left:0;right:0;top:50%;margin-top:-1px;border-top:2px solid var(--ink)}
.axis .t{background:none;height:1.3em}.one .axis .t::after{content:none}.axis .t span{position:absolute;
transform:translateX(-50%);white-space:nowrap;color:var(--soft)}
.f0{background:var(--s0)}
.f1{background:repeating-linear-gradient(45deg,var(--s1) 0 3px,transparent 3px 6px)}
.f2{background:repeating-linear-gradient(90deg,var(--s2) 0 2px,transparent 2px 5px)}
.f3{background:repeating-linear-gradient(-45deg,var(--s3) 0 2px,transparent 2px 7px)}
.f4{background:radial-gradient(circle,var(--s4) 32%,transparent 36%) 0 0/6px 6px}
.f5{background:repeating-linear-gradient(0deg,var(--s5) 0 2px,transparent 2px 4px)}
.f6{background:repeating-linear-gradient(90deg,var(--s6) 0 7px,transparent 7px 9px)}
.f7{border:1px solid var(--s7);border-right-color:var(--ink)}
.m0{fill:var(--s0);stroke:var(--bg)}.m1{stroke:var(--s1)}.m2{stroke:var(--s2)}.m3{stroke:var(--s3)}
.m4{stroke:var(--s4)}.m5{stroke:var(--s5)}.m6{stroke:var(--s6)}.m7{stroke:var(--s7)}
.m1,.m2,.m3,.m4,.m5,.m6,.m7{fill:none;stroke-width:1.7}
.plot{display:block;margin-left:46px;width:calc(100% - 66px);height:340px;overflow:visible;font-size:12px}
.plot svg,.key svg{overflow:visible}.plot text{fill:var(--ink)}.plot .grid{stroke:var(--line)}
.plot .ceiling{stroke:var(--ink);stroke-width:1.5}
.key{list-style:none;display:flex;flex-wrap:wrap;gap:.1em 1.2em;padding:0;margin:.4em 0;font-size:13px}
.key svg{width:18px;height:12px;vertical-align:-1px}
.key .ceiling{stroke:var(--ink);stroke-width:1.5}
.scroll{overflow-x:auto;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;font-size:13px;line-height:1.3;overflow-wrap:normal}
td,th{padding:2px 9px;text-align:left;vertical-align:top;border-top:1px solid var(--line);font-weight:400}
thead th{font-weight:600;white-space:nowrap}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.wide{min-width:14em}.goal{min-width:8em}
tbody tr.more td{border-top:0}
@media (max-width:640px){.b{grid-template-columns:minmax(0,9em) minmax(0,1fr) 3.4em;font-size:12px}.wide{min-width:9em}
td,th{padding:2px 6px}}
)css";

// "0.953", "12.3", "3919": three figures or more.
std::string figure(double value) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  return size >= 1000 ? fmt::format("{:.0f}", value)
         : size >= 1  ? fmt::format("{:.4g}", value)
                      : fmt::format("{:.3g}", value);
}

std::string microseconds(double seconds) {
  return seconds > 0 && std::isfinite(seconds * 1e6) ? fmt::format("{:.2f}", seconds * 1e6) : "–";
}

bool timed(const PageSeries& series) {
  return series.error.empty() && series.seconds > 0 && std::isfinite(series.seconds);
}

double work_of(const PageRow& row, const PageSeries& series) { return series.work > 0 ? series.work : row.work; }

// Work a second, at `seconds` or at the median.
double rate(const PageRow& row, const PageSeries& series, double seconds) {
  return seconds > 0 ? work_of(row, series) / seconds : 0;
}

// Text whose options stay whole: a browser may break a line after each dash of "--min-time".
std::string options_markup(std::string_view text) {
  std::string html;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (at > 0) html += ' ';
    html += word.starts_with("--") ? fmt::format("<span class=\"o\">{}</span>", markup_text(word)) : markup_text(word);
    at = end + 1;
  }
  return html;
}

// What the row's bars are relative to; 0: nothing was timed.
double reference_rate(const PageRow& row) {
  if (row.reference_seconds > 0) return row.work / row.reference_seconds;
  double best = 0;
  for (const PageSeries& series : row.series)
    if (timed(series)) best = std::max(best, rate(row, series, series.seconds));
  return best;
}

// Rivals in the order in which they first appear. The looks repeat after six: labels stand beside every bar.
class Looks {
 public:
  explicit Looks(const Page& page) {
    for (const PagePart& part : page.parts)
      for (const PageRow& row : part.rows)
        for (std::size_t i = 1; i < row.series.size(); ++i) add(row.series[i]);
  }
  std::size_t of(const PageRow& row, const PageSeries& series) const {
    if (&series == &row.series.front()) return kOurSeries;
    return series.own ? kOwn
                      : of_rival(static_cast<std::size_t>(std::ranges::find(rivals_, series.name) - rivals_.begin()));
  }
  static std::size_t of_rival(std::size_t rival) { return 1 + rival % kRivals; }
  const std::vector<std::string>& rivals() const { return rivals_; }
  bool own() const { return own_; }

 private:
  void add(const PageSeries& series) {
    own_ = own_ || series.own;
    if (!series.own && std::ranges::find(rivals_, series.name) == rivals_.end()) rivals_.push_back(series.name);
  }

  std::vector<std::string> rivals_;
  bool own_ = false;
};

std::string heading(const Page& page) {
  const std::string title = markup_text(page.title);
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n<title>{}</title>\n<style>{}</style></head><body>\n"
      "<h1>{}</h1>\n<dl>",
      title, kStyle, title);
  const auto add = [&](std::string_view what, const std::string& value, bool code = false) {
    if (value.empty()) return;
    html += fmt::format("<dt>{}</dt><dd>{}{}{}</dd>\n", what, code ? "<code>" : "", options_markup(value),
                        code ? "</code>" : "");
  };
  add("Date", page.date);
  add("Device", page.device);
  add("Driver", page.driver);
  add("Planner", page.planner);
  add("Command", page.command, true);
  html += "</dl>\n";
  if (!page.notes.empty()) html += fmt::format("<p>{}</p>\n", markup_text(page.notes));
  return html;
}

// "0.95", ">= 1.2 us", "3 of 4": what begins with a word that is a number.
bool is_number(std::string_view text) {
  if (text.empty() || text == "–") return true;
  const std::size_t from = text.find_first_not_of("<>=~+- ");
  if (from == std::string_view::npos) return false;
  const std::string_view word = text.substr(from, text.find(' ', from) - from);
  return word.find_first_not_of("0123456789.,%") == std::string_view::npos;
}

std::string table(const PageTable& table) {
  std::vector<bool> number(table.head.size(), !table.rows.empty());
  for (const auto& row : table.rows)
    for (std::size_t i = 0; i < row.size() && i < number.size(); ++i) number[i] = number[i] && is_number(row[i]);
  const auto place = [&](std::size_t i) { return number[i] ? " class=\"n\"" : ""; };
  std::string html =
      fmt::format("<h2>{}</h2>\n<div class=\"scroll\" tabindex=\"0\"><table><thead><tr>", markup_text(table.title));
  for (std::size_t i = 0; i < table.head.size(); ++i)
    html += fmt::format("<th{}>{}</th>", place(i), markup_text(table.head[i]));
  html += "</tr></thead><tbody>\n";
  for (const auto& row : table.rows) {
    html += "<tr>";
    for (std::size_t i = 0; i < table.head.size(); ++i)
      html += fmt::format("<td{}>{}</td>", place(i), i < row.size() ? options_markup(row[i]) : "");
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string histogram(const PageHistogram& histogram) {
  const std::size_t bins = std::min(histogram.bins.size(), histogram.counts.size());
  std::size_t most = 1;
  for (std::size_t i = 0; i < bins; ++i) most = std::max(most, histogram.counts[i]);
  std::string html = fmt::format("<h2>{}</h2>\n", markup_text(histogram.title));
  for (std::size_t i = 0; i < bins; ++i) {
    const double part = 100 * static_cast<double>(histogram.counts[i]) / static_cast<double>(most);
    html += fmt::format("<div class=\"b\"><span>{}</span><span class=\"t\">", markup_text(histogram.bins[i]));
    if (histogram.counts[i] > 0) html += fmt::format("<span class=\"f f0\" style=\"width:{:.2f}%\"></span>", part);
    html += fmt::format("</span><span>{}</span></div>\n", histogram.counts[i]);
  }
  return html;
}

std::string group_heading(const PageRow& row, std::string& group) {
  if (row.group == group) return "";
  group = row.group;
  return group.empty() ? "" : fmt::format("<h3>{}</h3>\n", markup_text(group));
}

std::string unsteady_mark(const PageRow& row) {
  return row.unsteady ? " <span class=\"mark tag\">unsteady</span>" : "";
}

// In words, and in colors beside them.
std::string goal_mark(const PageRow& row) {
  if (row.goal.empty()) return "";
  const std::string_view met = !row.goal_met   ? ""
                               : *row.goal_met ? " <span class=\"good\">met</span>"
                                               : " <span class=\"bad mark\">not met</span>";
  return markup_text(row.goal) + std::string(met);
}

std::string bar(const PageRow& row, const PageSeries& series, std::size_t look, double most) {
  std::string html = fmt::format("<div class=\"b\"><span{}>{}</span>", look == kOurSeries ? " class=\"ours\"" : "",
                                 markup_text(series.name));
  if (!timed(series)) {
    const std::string why = series.error.empty() ? "not timed" : markup_text(series.error);
    return html + fmt::format("<span class=\"bad\">{}</span><span>–</span></div>\n", why);
  }
  const double reference = reference_rate(row);
  const auto ratio = [&](double seconds) { return reference > 0 ? rate(row, series, seconds) / reference : 0; };
  const auto percent = [&](double value) { return 100 * std::min(value, most) / most; };
  const double at = ratio(series.seconds);
  html += fmt::format("<span class=\"t\"><span class=\"f f{}\" style=\"width:{:.2f}%\"></span>", look, percent(at));
  if (series.p10 > 0 && series.p90 > 0) {
    const double slow = percent(ratio(series.p90)), fast = percent(ratio(series.p10));
    html +=
        fmt::format("<span class=\"w\" style=\"left:{:.2f}%;width:{:.2f}%\"></span>", slow, std::max(fast - slow, 0.0));
  }
  return html + fmt::format("</span><span>{:.2f}{}</span></div>\n", at, at > most ? " ▸" : "");
}

std::string bars_of(const PageRow& row, const Looks& looks, double most) {
  const std::string goal = goal_mark(row);
  std::string html = fmt::format("<h4>{}{}</h4>\n", markup_text(row.name), unsteady_mark(row));
  if (!goal.empty()) html += fmt::format("<p class=\"soft\">goal: {}</p>\n", goal);
  if (!row.error.empty()) html += fmt::format("<p class=\"bad\">error: {}</p>\n", markup_text(row.error));
  std::size_t own = 0;
  for (const PageSeries& series : row.series) {
    if (series.own && &series != &row.series.front() && ++own > kOwnBars) continue;
    html += bar(row, series, looks.of(row, series), most);
  }
  if (own > kOwnBars)
    html += fmt::format("<p class=\"soft more\">{} more plans stand in the figures below</p>\n", own - kOwnBars);
  return html;
}

// `text` is markup.
std::string heading_of(const PagePart& part, const std::string& text) {
  return fmt::format("<h2>{}{}</h2>\n", part.title.empty() ? "" : markup_text(part.title) + ": ", text);
}

// A group of bars a row, all over one scale.
std::string bars(const PagePart& part, const Looks& looks) {
  double most = 1.1;
  bool unsteady = false, referred = false;
  for (const PageRow& row : part.rows) {
    unsteady = unsteady || row.unsteady;
    referred = referred || row.reference_seconds > 0;
    for (const PageSeries& series : row.series) {
      const double reference = reference_rate(row);
      if (!timed(series) || reference <= 0) continue;
      most = std::max(most, rate(row, series, series.p10 > 0 ? series.p10 : series.seconds) / reference);
    }
  }
  most = std::min(most, 2.0);
  const std::string name = part.reference_name.empty() ? "the reference" : markup_text(part.reference_name);
  std::string html =
      heading_of(part, referred ? fmt::format("Rate relative to {}", name) : "Rate relative to each row's best");
  html += fmt::format(
      "<p class=\"soft\">The line is 1: {}. Bars are medians; whiskers go from the 10th to the 90th "
      "percentile.{}{}</p>\n",
      referred ? name + ", or where a row has none, the row's best" : "the row's best",
      most >= 2 ? " ▸: the bar is cut off." : "", unsteady ? " Unsteady: the reference had drifted, twice." : "");
  html += fmt::format(
      "<div class=\"one\" style=\"--one:{:.2f}%\">\n<div class=\"b axis\"><span></span><span class=\"t\">", 100 / most);
  for (const double tick : {0.0, 0.5, 1.0, 1.5, 2.0})
    if (tick <= most) html += fmt::format("<span style=\"left:{:.2f}%\">{:g}</span>", 100 * tick / most, tick);
  html += "</span><span></span></div>\n";
  std::string group;
  for (const PageRow& row : part.rows) html += group_heading(row, group) + bars_of(row, looks, most);
  return html + "</div>\n";
}

// A logarithmic axis; `at` is from 0 to 1. Values so far from 1 that products with them may leave the range of a double
// are not drawn.
struct Axis {
  double low = 0, high = 0;
  static bool takes(double value) { return value >= 1e-60 && value <= 1e60; }
  void take(double value) {
    if (!takes(value)) return;
    low = low > 0 ? std::min(low, value) : value;
    high = std::max(high, value);
  }
  void widen(double by) {
    low /= by;
    high *= by;
  }
  double at(double value) const { return std::log(value / low) / std::log(high / low); }
};

// Round numbers inside the axis: the finest kind of which there are no more than `most`.
std::vector<double> ticks(const Axis& axis, bool binary, std::size_t most) {
  static const std::vector<std::vector<double>> fine = {{1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 2, 5}, {1}};
  for (int kind = 0;; ++kind) {
    std::vector<double> found;
    const int coarse = binary ? kind + 1 : std::max(kind - 1, 1);
    const double base = std::pow(binary ? 2.0 : 10.0, coarse);
    const auto& steps = fine[binary ? 2 : static_cast<std::size_t>(std::min(kind, 2))];
    // NOLINTNEXTLINE(clang-analyzer-security.FloatLoopCounter): it is multiplied, so its rounding does not add up
    for (double unit = std::pow(base, std::floor(std::log(axis.low) / std::log(base))); unit <= axis.high; unit *= base)
      for (const double step : steps)
        if (unit * step >= axis.low && unit * step <= axis.high) found.push_back(unit * step);
    if (found.size() <= most) return found;
  }
}

std::string bytes_label(double bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:g} {}", bytes, units[unit]);
}

struct Segment {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
};

// What is drawn of the ceiling. None of a single point.
std::vector<Segment> ceiling_of(const PagePart& part) {
  std::vector<Segment> segments;
  for (std::size_t i = 1; i < part.ceiling.size(); ++i) {
    const auto& [x1, y1] = part.ceiling[i - 1];
    const auto& [x2, y2] = part.ceiling[i];
    if (!Axis::takes(x1) || !Axis::takes(y1) || !Axis::takes(x2) || !Axis::takes(y2)) continue;
    if (x1 != x2 || y1 != y2) segments.push_back({x1, y1, x2, y2});
  }
  return segments;
}

std::string key(const PagePart& part, const Looks& looks) {
  std::string html = "<ul class=\"key\">\n";
  const auto add = [&](std::string_view look, std::string_view mark, std::string_view name) {
    html +=
        fmt::format("<li><svg class=\"{}\" viewBox=\"-9 -6 18 12\">{}</svg> {}</li>\n", look, mark, markup_text(name));
  };
  add("m0", kShapes[kOurSeries], "Sectile");
  if (looks.own()) add("m7", kShapes[kOwn], "its other plans");
  for (std::size_t i = 0; i < looks.rivals().size(); ++i) {
    const std::size_t look = Looks::of_rival(i);
    add(fmt::format("m{}", look), kShapes[look], looks.rivals()[i]);
  }
  if (!ceiling_of(part).empty() && !part.ceiling_name.empty())
    add("ceiling", "<path d=\"M-9 0h18\"/>", part.ceiling_name);
  return html + "</ul>\n";
}

constexpr double kPlotTop = 24, kPlotBottom = 296;

std::string grid(const PagePart& part, const Axis& x, const Axis& y) {
  std::string svg;
  const auto height = [&](double value) { return kPlotBottom + (kPlotTop - kPlotBottom) * y.at(value); };
  for (const double value : ticks(y, false, 8)) {
    svg += fmt::format("<line class=\"grid\" x1=\"0\" x2=\"100%\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>", height(value));
    svg += fmt::format("<text x=\"-6\" y=\"{:.1f}\" text-anchor=\"end\">{:g}</text>\n", height(value) + 4,
                       value / part.unit_scale);
  }
  for (const double value : ticks(x, part.x_bytes, part.x_bytes ? 5 : 8)) {
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.2f}%\" x2=\"{0:.2f}%\" y1=\"{1}\" y2=\"{2}\"/>",
                       100 * x.at(value), kPlotTop, kPlotBottom);
    svg += fmt::format("<text x=\"{:.2f}%\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", 100 * x.at(value),
                       kPlotBottom + 16, part.x_bytes ? bytes_label(value) : fmt::format("{:g}", value));
  }
  svg += fmt::format("<text x=\"50%\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kPlotBottom + 36,
                     markup_text(part.x_label));
  svg += fmt::format("<text x=\"-40\" y=\"12\">{}</text>\n", markup_text(part.y_label));
  for (const auto& [x1, y1, x2, y2] : ceiling_of(part))
    svg += fmt::format("<line class=\"ceiling\" x1=\"{:.2f}%\" y1=\"{:.1f}\" x2=\"{:.2f}%\" y2=\"{:.1f}\"/>\n",
                       100 * x.at(x1), height(y1), 100 * x.at(x2), height(y2));
  return svg;
}

// Rate over bytes or over operations a byte, both logarithmic, under the ceiling.
std::string roofline(const PagePart& part, const Looks& looks) {
  Axis x, y;
  struct Point {
    const PageRow* row;
    const PageSeries* series;
    double rate;
  };
  std::vector<Point> points;
  for (const PageRow& row : part.rows) {
    for (const PageSeries& series : row.series) {
      const double fast = rate(row, series, series.seconds);
      if (!timed(series) || !Axis::takes(fast) || !Axis::takes(row.intensity_or_bytes)) continue;
      points.push_back({&row, &series, fast});
      x.take(row.intensity_or_bytes);
      y.take(fast);
    }
  }
  if (points.empty()) return "";
  for (const auto& [at, most] : part.ceiling) {
    x.take(at);
    y.take(most);
  }
  x.widen(1.5);
  y.widen(1.5);
  std::string html = heading_of(part, "Roofline") +
                     fmt::format("{}<svg class=\"plot\" role=\"img\" aria-label=\"{} over {}\">\n", key(part, looks),
                                 markup_text(part.y_label), markup_text(part.x_label)) +
                     grid(part, x, y);
  // Sectile's last: they lie on top.
  std::ranges::stable_sort(points, [](const Point& a, const Point& b) {
    return &a.row->series.front() != a.series && &b.row->series.front() == b.series;
  });
  for (const auto& [row, series, fast] : points) {
    const std::size_t look = looks.of(*row, *series);
    html += fmt::format("<svg class=\"m{}\" x=\"{:.2f}%\" y=\"{:.1f}\">{}<title>{}, {}: {} {}</title></svg>\n", look,
                        100 * x.at(row->intensity_or_bytes), kPlotBottom + (kPlotTop - kPlotBottom) * y.at(fast),
                        kShapes[look], markup_text(row->name), markup_text(series->name),
                        figure(fast / part.unit_scale), markup_text(part.work_unit));
  }
  return html + "</svg>\n";
}

// One line of a row's figures, from its second cell on.
std::string cells(const PagePart& part, const PageRow& row, const PageSeries& series, std::string_view goal) {
  const bool first = !row.series.empty() && &series == &row.series.front();
  const std::string& kernel = first && series.kernel.empty() ? row.kernel : series.kernel;
  const std::string plan = first && !row.plan.empty() ? fmt::format(" title=\"{}\"", markup_text(row.plan)) : "";
  const std::string html = fmt::format("<td>{}</td>", markup_text(series.name));
  const std::string last =
      fmt::format("<td class=\"goal\">{}</td><td class=\"wide\"{}>{}</td></tr>\n", goal, plan, markup_text(kernel));
  if (!timed(series)) {
    const std::string why = series.error.empty() ? "not timed" : series.error;
    return html + fmt::format("<td colspan=\"4\" class=\"bad\">{}</td>{}", markup_text(why), last);
  }
  const double fast = rate(row, series, series.seconds), reference = reference_rate(row);
  const std::string spread =
      series.p10 > 0 && series.p90 > 0 ? microseconds(series.p10) + " – " + microseconds(series.p90) : "–";
  return html +
         fmt::format("<td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>{}",
                     microseconds(series.seconds), spread, figure(fast / part.unit_scale),
                     reference > 0 ? fmt::format("{:.3f}", fast / reference) : "–", last);
}

// Every series of a row on a line of its own, and the reference where it is none of them.
std::string figures_of(const PagePart& part, const PageRow& row) {
  std::vector<std::string> lines;
  lines.reserve(row.series.size() + 1);
  const std::string goal = goal_mark(row);
  for (const PageSeries& series : row.series) lines.push_back(cells(part, row, series, lines.empty() ? goal : ""));
  const bool among =
      std::ranges::any_of(row.series, [&](const PageSeries& series) { return series.name == row.reference; });
  if (row.reference_seconds > 0 && !among) {
    PageSeries reference;
    reference.name = row.reference.empty() ? part.reference_name : row.reference;
    reference.seconds = row.reference_seconds;
    lines.push_back(cells(part, row, reference, ""));
  }
  if (!row.error.empty() || lines.empty()) {
    const std::string why = row.error.empty() ? "not timed" : row.error;
    lines.push_back(fmt::format("<td colspan=\"7\" class=\"bad\">{}</td></tr>\n", markup_text(why)));
  }
  std::string html = fmt::format("<tr><td rowspan=\"{}\" class=\"wide\">{}{}", lines.size(), markup_text(row.name),
                                 unsteady_mark(row));
  if (!row.detail.empty() && row.detail != row.name)
    html += fmt::format("<br><span class=\"soft\">{}</span>", markup_text(row.detail));
  html += "</td>";
  for (std::size_t i = 0; i < lines.size(); ++i) html += (i > 0 ? "<tr class=\"more\">" : "") + lines[i];
  return html;
}

std::string figures(const PagePart& part) {
  std::string html = heading_of(part, "Figures") +
                     fmt::format(
                         "<div class=\"scroll\" tabindex=\"0\"><table><thead><tr><th>row</th><th>by</th>"
                         "<th class=\"n\">µs</th><th class=\"n\">p10 – p90 µs</th><th class=\"n\">{}</th>"
                         "<th class=\"n\">relative</th><th>goal</th><th>kernel</th></tr></thead><tbody>\n",
                         markup_text(part.work_unit));
  std::string group;
  for (const PageRow& row : part.rows) {
    if (row.group != group && !row.group.empty())
      html += fmt::format("<tr><th colspan=\"8\"><b>{}</b></th></tr>\n", markup_text(row.group));
    group = row.group;
    html += figures_of(part, row);
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string to_html(const Page& page) {
  std::string html = heading(page);
  for (const PageTable& one : page.tables) html += table(one);
  for (const PageHistogram& one : page.histograms) html += histogram(one);
  const Looks looks(page);
  bool rows = false;
  for (const PagePart& part : page.parts) {
    if (part.rows.empty()) continue;
    rows = true;
    html += bars(part, looks) + roofline(part, looks) + figures(part);
  }
  if (!rows && page.tables.empty() && page.histograms.empty()) html += "<p>There are no rows.</p>\n";
  return html + "</body></html>\n";
}

}  // namespace sectile::tools
