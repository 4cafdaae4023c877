// Tables, units and a progress bar for people at a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sectile::tools {

std::string format_seconds(double seconds);        // "12.3 us"
std::string format_bytes(double bytes);            // "64.0 MiB"
std::string format_rate(double bytes_per_second);  // "3647 GB/s", of 10^9 bytes

// Rows of cells, printed with their columns aligned. A column whose cells are all numbers is set to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> heads) : rows_{std::move(heads)} {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// A bar on standard error, where that is a terminal; elsewhere a line every `line_seconds`, or nothing where that is 0.
class Progress {
 public:
  Progress(std::string what, std::uint64_t total, double line_seconds = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::uint64_t done, std::string_view note = {});

 private:
  std::string what_;
  std::uint64_t total_;
  double started_, last_ = 0, line_seconds_;
  bool terminal_, drawn_ = false;
};

// As text or an attribute's value of XML or HTML.
std::string markup_text(std::string_view text);

double now_seconds() noexcept;  // of a steady clock
std::string utc_now();          // "2026-11-23T12:34Z"
std::string command_line();     // of this process, quoted as a shell takes it

// "0,3,1" as integers; nothing where it is no such list.
bool parse_list(std::string_view text, std::vector<std::int64_t>& out);

}  // namespace sectile::tools
