// What the page of a benchmark shows, whatever was timed. Reports fill a Page; html.cpp draws it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sectile::tools {

// One bar of a row. Seconds are those of one run; its rate is work / seconds.
struct PageSeries {
  std::string name;         // of one name: one color, pattern and marker over the whole page
  double seconds = 0;       // median; 0: not timed
  double p10 = 0, p90 = 0;  // seconds; 0: no whisker
  double work = 0;          // where it did another amount than the row says; 0: the row's
  bool own = false;         // another plan of Sectile's; not a rival
  std::string kernel;       // that ran; may be empty
  std::string error;        // why there is no time; empty where nothing went wrong
};

struct PageRow {
  std::string name;
  std::string group;      // a heading stands wherever it changes; empty: none
  std::string detail;     // such as the whole problem; may be empty, or the name again
  std::string kernel;     // that Sectile ran
  std::string plan;       // the kernel's parameters; its tooltip
  std::string error;      // why there are no times, or what else went wrong
  std::string reference;  // what the reference was in this row: a series' name or another; empty: as PagePart says
  double reference_seconds = 0;   // of one run that does `work`; 0: bars are relative to the row's own best
  double work = 0;                // bytes or operations of one run
  double intensity_or_bytes = 0;  // x of the roofline; 0: not drawn there
  bool unsteady = false;          // the reference had drifted, twice
  std::string goal;               // ">= 0.95"; empty: none
  std::optional<bool> goal_met;
  std::vector<PageSeries> series;  // [0] is Sectile
};

struct PageHistogram {
  std::string title;
  std::vector<std::string> bins;  // what each bar counts, from top to bottom
  std::vector<std::size_t> counts;
};

// Columns of numbers are set to the right.
struct PageTable {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

// Rows whose rates have one unit.
struct PagePart {
  std::string title;                               // is shown where there are several
  std::string work_unit;                           // "GB/s", "TFLOP/s"
  double unit_scale = 1;                           // work a second that makes one unit: 1e9 of GB/s
  std::string reference_name;                      // "the copy", "cuBLAS (torch)"; empty: no row has a reference
  std::string x_label, y_label;                    // of the roofline
  bool x_bytes = false;                            // x counts bytes: ticks are KiB, MiB and so on
  std::vector<std::pair<double, double>> ceiling;  // x, and work a second; drawn from one to the next
  std::string ceiling_name;
  std::vector<PageRow> rows;
};

// Nothing in it is markup: all text is escaped when it is drawn.
struct Page {
  std::string title;
  std::string command;  // as typed
  std::string date;     // UTC, ISO 8601
  std::string device, driver, planner;
  std::string notes;  // a sentence or two on how it was timed
  std::vector<PageTable> tables;
  std::vector<PageHistogram> histograms;
  std::vector<PagePart> parts;
};

// A page's head, of any report that has device, driver, planner, date and command.
template <class Report>
Page page_about(const Report& report, std::string title) {
  Page page;
  page.title = std::move(title);
  page.command = report.command;
  page.date = report.date;
  page.device = report.device;
  page.driver = report.driver;
  page.planner = report.planner;
  return page;
}

class BenchOperation;
// A part without rows, as an operation's rates are expressed.
PagePart part_about(const BenchOperation& operation);

// One HTML page: no scripts, and nothing from outside it.
std::string to_html(const Page& page);

}  // namespace sectile::tools
