#include "text.hpp"

#include "system.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <utility>

namespace sectile::tools {
namespace {

// Letters outside ASCII take several bytes and one column.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

bool is_number(std::string_view text) {
  return text.empty() || text == "-" || (text[0] >= '0' && text[0] <= '9') || (text.size() > 1 && text[0] == '-');
}

}  // namespace

std::string format_seconds(double seconds) {
  if (seconds < 1e-6) return fmt::format("{:.0f} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.2f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string format_bytes(double bytes) {
  static constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < units.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::string format_rate(double bytes_per_second) {
  const double rate = bytes_per_second / 1e9;
  return rate < 100 ? fmt::format("{:.2f} GB/s", rate) : fmt::format("{:.0f} GB/s", rate);
}

std::string Table::print() const {
  std::vector<std::size_t> widths(rows_[0].size(), 0);
  std::vector<bool> right(rows_[0].size(), rows_.size() > 1);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < rows_[r].size() && c < widths.size(); ++c) {
      widths[c] = std::max(widths[c], columns(rows_[r][c]));
      if (r > 0 && !is_number(rows_[r][c])) right[c] = false;
    }
  }
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t c = 0; c < row.size() && c < widths.size(); ++c) {
      const std::string space(widths[c] - columns(row[c]), ' ');
      if (c > 0) line += "  ";
      line += right[c] ? space + row[c] : row[c] + space;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string markup_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      // XML 1.0 knows no other control characters.
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

double now_seconds() noexcept {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string utc_now() {
  using namespace std::chrono;
  const auto now = floor<minutes>(system_clock::now());
  const auto day = floor<days>(now);
  const year_month_day date(day);
  const hh_mm_ss time(now - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count());
}

std::string command_line() {
  std::string out;
  for (std::string word : command_words()) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";
    if (word.empty() || word.find_first_not_of(plain) != std::string::npos) {
      for (std::size_t at = 0; (at = word.find('\'', at)) != std::string::npos; at += 4) word.replace(at, 1, "'\\''");
      word = fmt::format("'{}'", word);
    }
    out += (out.empty() ? "" : " ") + word;
  }
  // A file's name need not be UTF-8, and JSON is.
  const nlohmann::json text = out;
  return nlohmann::json::parse(text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)).get<std::string>();
}

Progress::Progress(std::string what, std::uint64_t total, double line_seconds)
    : what_(std::move(what)),
      total_(total),
      started_(now_seconds()),
      line_seconds_(line_seconds),
      terminal_(error_is_terminal()) {
  if (!terminal_) last_ = started_;
}

Progress::~Progress() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(std::uint64_t done, std::string_view note) {
  const double now = now_seconds();
  if (total_ == 0 || (!terminal_ && line_seconds_ <= 0)) return;
  if (now - last_ < (terminal_ ? 0.1 : line_seconds_)) return;
  last_ = now;
  const double elapsed = now - started_;
  const std::string left =
      done > 0 && elapsed > 1 ? fmt::format(", {:.0f} s left", elapsed / static_cast<double>(done) *
                                                                   static_cast<double>(total_ - std::min(done, total_)))
                              : "";
  if (!terminal_) {
    fmt::print(stderr, "{}: {}/{} after {:.0f} s{}{}{}\n", what_, done, total_, elapsed, left, note.empty() ? "" : ", ",
               note);
    return;
  }
  drawn_ = true;
  constexpr std::uint64_t cells = 30;
  const auto full = static_cast<std::size_t>(std::min(done, total_) * cells / total_);
  fmt::print(stderr, "\r\033[K{} [{}{}] {}/{}{} {}", what_, std::string(full, '#'), std::string(cells - full, '.'),
             done, total_, left, note);
  std::fflush(stderr);
}

bool parse_list(std::string_view text, std::vector<std::int64_t>& out) {
  out.clear();
  const char* at = text.data();
  const char* const last = at + text.size();
  while (true) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(at, last, value);
    if (error != std::errc()) return false;
    out.push_back(value);
    if (end == last) return true;
    if (*end != ',') return false;
    at = end + 1;
  }
}

}  // namespace sectile::tools
