// `sectile check --jobs N`: the cases in N parts, each with a process of its own that watches its workers. A driver
// that compiles on one thread is what takes a check's time.
#include "check.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/wait.h>
#include <unistd.h>

namespace sectile::tools {
namespace {

struct Slice {
  CheckOptions options;
  pid_t process = -1;
  int pipe = -1;
};

nlohmann::json json_of(const Result<CheckReport>& result) {
  if (!result) {
    const Error& e = result.error();
    return {{"kind", static_cast<int>(e.kind)}, {"what", e.what}, {"value", e.value}, {"limit", e.limit}};
  }
  nlohmann::json failures = nlohmann::json::array(), skipped = nlohmann::json::array();
  for (const Failure& f : result->failures) failures.push_back({f.index, f.problem, f.candidate, f.message});
  for (const auto& [index, why] : result->skipped) skipped.push_back({index, why});
  return {{"device", result->device},   {"note", result->note}, {"runs", result->runs},
          {"modules", result->modules}, {"failures", failures}, {"skipped", skipped}};
}

void write_all(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(pipe, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_all(int pipe) {
  std::string text;
  char piece[4096];
  while (true) {
    const ssize_t got = ::read(pipe, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(piece, static_cast<std::size_t>(got));
  }
}

Result<void> start(Slice& slice) {
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorKind::device, "pipe", std::strerror(errno));
  std::fflush(nullptr);  // or what is buffered would be printed by both
  const pid_t self = ::getpid();
  slice.process = ::fork();
  if (slice.process < 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(ErrorKind::device, "fork", std::strerror(errno));
  }
  if (slice.process == 0) {
    die_with(self);
    ::close(ends[0]);
    write_all(ends[1],
              json_of(supervise(slice.options)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(nullptr);
    ::_exit(0);  // the parent's own objects must not be destroyed twice
  }
  ::close(ends[1]);
  slice.pipe = ends[0];
  return {};
}

// Its cases count as failed where a part ended without a word.
Result<void> take(const Slice& slice, const std::string& text, int status, CheckReport& report) {
  const auto told = nlohmann::json::parse(text, nullptr, false);
  if (told.contains("kind"))
    return std::unexpected(
        Error{static_cast<ErrorKind>(told["kind"].get<int>()), told["what"], told["value"], told["limit"]});
  if (!told.contains("runs")) {
    const std::string how = WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                                : fmt::format("exit code {}", WEXITSTATUS(status));
    for (std::uint64_t i = 0; i < slice.options.cases; ++i)
      report.failures.push_back({slice.options.first + i, print(case_problem(slice.options, slice.options.first + i)),
                                 "", "the process that watches its worker ended: " + how});
    return {};
  }
  report.device = told["device"];
  report.note = told["note"];
  report.runs += told["runs"].get<std::uint64_t>();
  for (const auto& module : told["modules"]) report.modules.insert(module.get<std::string>());
  for (const auto& f : told["failures"]) report.failures.push_back({f[0], f[1], f[2], f[3]});
  for (const auto& s : told["skipped"]) report.skipped.emplace_back(s[0], s[1]);
  return {};
}

}  // namespace

Result<CheckReport> supervise_parts(const CheckOptions& options) {
  const double started = now_seconds();
  const std::uint64_t jobs = std::min<std::uint64_t>(options.jobs, options.cases);
  std::vector<Slice> slices;
  Result<void> fine;
  for (std::uint64_t j = 0; j < jobs && fine; ++j) {
    // No product of the two: it may not fit.
    const auto part = [&](std::uint64_t at) { return options.cases / jobs * at + std::min(at, options.cases % jobs); };
    const std::uint64_t begin = part(j), end = part(j + 1);
    Slice slice{options};
    slice.options.jobs = 1;
    slice.options.progress_seconds *= static_cast<double>(jobs);  // as many lines as of one
    slice.options.first = options.first + begin;
    slice.options.cases = end - begin;
    slice.options.name =
        fmt::format("check of cases {} to {}", slice.options.first, slice.options.first + (end - begin - 1));
    fine = start(slice);
    if (fine) slices.push_back(std::move(slice));
  }
  CheckReport report;
  report.cases = options.cases;
  // All are waited for, whatever one says.
  for (const Slice& slice : slices) {
    const std::string text = read_all(slice.pipe);
    ::close(slice.pipe);
    int status = 0;
    while (::waitpid(slice.process, &status, 0) < 0 && errno == EINTR) {
    }
    auto taken = take(slice, text, status, report);
    if (fine) fine = std::move(taken);
  }
  if (!fine) return std::unexpected(fine.error());
  report.seconds = now_seconds() - started;
  return report;
}

}  // namespace sectile::tools
