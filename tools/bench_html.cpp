// The benchmark as one HTML page: plots are SVG drawn here, and nothing is loaded from anywhere.
#include "bench.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <set>

namespace sectile::tools {
namespace {

constexpr std::array<std::string_view, 6> kColors = {"#2a6f97", "#e07a2f", "#6a994e", "#9d4edd", "#bc4749", "#8d6e63"};

// Ours is 0; each rival, and the copies, keep one color over all plots.
std::vector<std::string> rival_names(const BenchReport& report) {
  std::set<std::string> names;
  for (const RowResult& result : report.rows) {
    for (const auto& [name, seconds] : result.rivals) names.insert(name);
  }
  return {names.begin(), names.end()};
}

std::string_view color_of(std::size_t series) {
  return kColors[series % kColors.size()];
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text, std::string_view extra = "") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" {}>{}</text>\n", x, y, anchor, extra,
                     markup_text(text));
}

std::string legend(const std::vector<std::string>& rivals, double x, double y) {
  std::string out;
  for (std::size_t i = 0; i <= rivals.size(); ++i) {
    out += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"11\" height=\"11\" fill=\"{}\"/>\n", x, y - 10,
                       color_of(i));
    const std::string label = i == 0 ? "Sectile" : rivals[i - 1];
    out += text_at(x + 16, y, "start", label);
    x += 40 + 7.2 * static_cast<double>(label.size());
  }
  return out;
}

// One group of bars a row: the rate as a fraction of the copy's.
std::string bars(const BenchReport& report, const std::vector<std::string>& rivals) {
  constexpr double left = 330, width = 560, bar = 11;
  double most = 1.1;
  std::size_t rows = 0;
  for (const RowResult& result : report.rows) {
    if (!result.error.empty()) continue;
    ++rows;
    most = std::max(most, result.fraction());
    for (const auto& [name, seconds] : result.rivals) most = std::max(most, result.copy().median / seconds);
  }
  most = std::min(most, 1.6);
  const double group = bar * static_cast<double>(rivals.size() + 1) + 9;
  const double height = 50 + group * static_cast<double>(rows) + 20;
  const auto x_of = [&](double fraction) { return left + width * std::min(fraction, most) / most; };
  std::string svg = fmt::format(
      "<svg viewBox=\"0 0 960 {:.0f}\" role=\"img\" aria-label=\"rate as a fraction of a copy\">\n", height);
  svg += legend(rivals, left, 16);
  for (int tick = 0; tick * 0.2 <= most + 1e-9; ++tick) {
    const double x = x_of(tick * 0.2);
    const bool copy = tick == 5;
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"34\" y2=\"{1:.1f}\" stroke=\"{2}\"/>\n", x,
                       height - 18, copy ? "#222" : "#ddd");
    svg += text_at(x, height - 4, "middle", copy ? "copy" : fmt::format("{:.1f}", tick * 0.2));
  }
  double y = 40;
  for (const RowResult& result : report.rows) {
    if (!result.error.empty()) continue;
    svg += text_at(left - 8, y + bar, "end", result.row.name);
    const auto add = [&](std::size_t series, double fraction, double seconds) {
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{:.3f} of the copy, "
          "{:.2f} us</title></rect>\n",
          left, y, x_of(fraction) - left, bar - 1.5, color_of(series), fraction, seconds * 1e6);
      svg += text_at(x_of(fraction) + 4, y + bar - 2, "start", fmt::format("{:.2f}", fraction),
                     "font-size=\"9\" paint-order=\"stroke\" stroke=\"#fff\" stroke-width=\"3\"");
      y += bar;
    };
    add(0, result.fraction(), result.ours.median);
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      const auto found = result.rivals.find(rivals[i]);
      if (found != result.rivals.end())
        add(i + 1, result.copy().median / found->second, found->second);
      else
        y += bar;
    }
    y += 9;
  }
  return svg + "</svg>\n";
}

struct Axis {
  double low, high, from, to;  // logarithmic
  double at(double value) const { return from + (to - from) * std::log(value / low) / std::log(high / low); }
};

// Rate over size, both logarithmic, under the ceiling that the copies draw.
std::string roofline(const BenchReport& report, const std::vector<std::string>& rivals) {
  double low = 1e300, high = 0, slow = 1e300, fast = 0;
  std::vector<std::pair<double, double>> ceiling;
  for (const RowResult& result : report.rows) {
    if (!result.error.empty()) continue;
    const double bytes = static_cast<double>(std::max(result.src_bytes, result.dst_bytes));
    low = std::min(low, bytes);
    high = std::max(high, bytes);
    const auto take = [&](double seconds) {
      slow = std::min(slow, result.bytes_per_second(seconds));
      fast = std::max(fast, result.bytes_per_second(seconds));
    };
    take(result.ours.median);
    take(result.copy().median);
    for (const auto& [name, seconds] : result.rivals) take(seconds);
    ceiling.emplace_back(bytes, result.bytes_per_second(result.copy().median));
  }
  if (ceiling.empty()) return "";
  std::sort(ceiling.begin(), ceiling.end());
  const Axis x{low / 2, high * 2, 70, 930}, y{slow / 1.5, fast * 1.5, 370, 40};
  std::string svg =
      "<svg viewBox=\"0 0 960 420\" role=\"img\" aria-label=\"rate over size\">\n" + legend(rivals, 70, 16);
  for (double decade = std::pow(10, std::floor(std::log10(y.low))); decade <= y.high; decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = decade * step;
      if (value < y.low || value > y.high) continue;
      svg += fmt::format("<line x1=\"70\" x2=\"930\" y1=\"{0:.1f}\" y2=\"{0:.1f}\" stroke=\"#ddd\"/>\n", y.at(value));
      svg += text_at(64, y.at(value) + 4, "end", fmt::format("{:g}", value / 1e9));
    }
  }
  for (double value = 1024; value <= x.high; value *= 4) {
    if (value < x.low) continue;
    svg += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"40\" y2=\"370\" stroke=\"#eee\"/>\n", x.at(value));
    const bool mega = value >= 1024 * 1024;
    svg += text_at(x.at(value), 386, "middle",
                   fmt::format("{:g} {}", value / (mega ? 1048576.0 : 1024.0), mega ? "MiB" : "KiB"));
  }
  svg += text_at(500, 410, "middle", "bytes of the larger operand") + text_at(70, 32, "start", "GB/s, read + written");
  std::string path;
  for (const auto& [bytes, rate] : ceiling)
    path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "M" : " L", x.at(bytes), y.at(rate));
  svg += fmt::format(
      "<path d=\"{}\" fill=\"none\" stroke=\"#222\" stroke-dasharray=\"5 3\"><title>the copy</title></path>\n", path);
  const auto dot = [&](std::size_t series, const RowResult& result, double seconds, const std::string& who) {
    const double bytes = static_cast<double>(std::max(result.src_bytes, result.dst_bytes));
    svg += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\" fill-opacity=\"0.8\"><title>{}, {}: {:.1f} "
        "GB/s</title></circle>\n",
        x.at(bytes), y.at(result.bytes_per_second(seconds)), color_of(series), markup_text(result.row.name),
        markup_text(who), result.bytes_per_second(seconds) / 1e9);
  };
  for (const RowResult& result : report.rows) {
    if (!result.error.empty()) continue;
    for (std::size_t i = 0; i < rivals.size(); ++i) {
      const auto found = result.rivals.find(rivals[i]);
      if (found != result.rivals.end()) dot(i + 1, result, found->second, rivals[i]);
    }
    dot(0, result, result.ours.median, "Sectile");
  }
  return svg + "</svg>\n";
}

std::string table(const BenchReport& report, const std::vector<std::string>& rivals) {
  std::string html =
      "<table><tr><th>row</th><th>kernel</th><th>us</th><th>p10 – p90</th><th>GB/s</th><th>copy GB/s</th><th>of "
      "copy</th><th>goal</th>";
  for (const std::string& rival : rivals) html += fmt::format("<th>{} us</th>", markup_text(rival));
  html += "</tr>\n";
  for (const RowResult& result : report.rows) {
    if (!result.error.empty()) {
      html += fmt::format("<tr><td>{}</td><td colspan=\"{}\" class=\"bad\">{}</td></tr>\n",
                          markup_text(result.row.name), 7 + rivals.size(), markup_text(result.error));
      continue;
    }
    const Goal goal = goal_of(result);
    html += fmt::format(
        "<tr><td title=\"{}\">{}</td><td title=\"{}\">{}</td><td>{:.2f}</td><td>{:.2f} – "
        "{:.2f}</td><td>{:.1f}</td><td>{:.1f} ({})</td><td>{:.3f}</td><td class=\"{}\">{}</td>",
        markup_text(print(Problem(result.row.problem))), markup_text(result.row.name), markup_text(result.plan),
        markup_text(result.candidate), result.ours.median * 1e6, result.ours.p10 * 1e6, result.ours.p90 * 1e6,
        result.bytes_per_second(result.ours.median) / 1e9, result.bytes_per_second(result.copy().median) / 1e9,
        result.copy_name(), result.fraction(), goal.met ? "good" : "bad", markup_text(goal.text));
    for (const std::string& rival : rivals) {
      const auto found = result.rivals.find(rival);
      html += found == result.rivals.end() ? "<td>–</td>" : fmt::format("<td>{:.2f}</td>", found->second * 1e6);
    }
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

}  // namespace

std::string to_html(const BenchReport& report) {
  const auto rivals = rival_names(report);
  std::string html =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>sectile bench</title>\n<style>\n"
      "body{font:14px/1.45 system-ui,sans-serif;max-width:1100px;margin:2em auto;padding:0 1em;color:#222}\n"
      "svg{width:100%;height:auto;font:11px system-ui,sans-serif}\n"
      "table{border-collapse:collapse;font-size:12px}td,th{padding:2px 8px;border-bottom:1px solid "
      "#ddd;text-align:right}\n"
      "td:nth-child(-n+2),th:nth-child(-n+2){text-align:left}.good{color:#2b7a2b}.bad{color:#b3261e}\n"
      "</style></head><body>\n";
  html += fmt::format("<h1>sectile bench{}</h1>\n", report.preset.empty() ? "" : " " + markup_text(report.preset));
  html += fmt::format(
      "<p>{} ({}), planner {}. Medians of GPU time; {:g} s of work right before each timed part, {:g} s of samples "
      "for each kernel, ours and its rivals in turn; every run takes other memory, {:g} MB a round, so that no cache "
      "helps. The copy is the faster of vkCmdCopyBuffer and a kernel of 16 bytes an invocation, in the same run.</p>\n",
      markup_text(report.device), markup_text(report.driver), markup_text(report.planner), report.warmup,
      report.min_time, report.cycle_mb);
  html += "<h2>Rate as a fraction of the copy's</h2>\n" + bars(report, rivals);
  html += "<h2>Rate over size, under the copy's</h2>\n" + roofline(report, rivals);
  html += "<h2>Figures</h2>\n" + table(report, rivals);
  return html + "</body></html>\n";
}

}  // namespace sectile::tools
