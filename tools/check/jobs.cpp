// `sectile check --jobs N`: N processes that share the cases, each of which watches a worker of its own. Compilers that
// use one thread are what takes a check's time.
#include "check.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sectile::tools {
namespace {

struct CheckPart {
  pid_t process = -1;
  int pipe = -1;
  std::string told;
};

constexpr std::uint64_t kBatchesOfPart = 8;  // at least, so that no part is left with the slowest cases

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

Result<CheckPart> start(const CheckOptions& options, SharedCases& shared, std::span<const CheckPart> others) {
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorKind::device, "pipe", std::strerror(errno));
  std::fflush(nullptr);  // or what is buffered would be printed by both
  const pid_t self = ::getpid();
  CheckPart part{::fork(), ends[0], {}};
  if (part.process < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(ErrorKind::device, "fork", std::strerror(error));
  }
  if (part.process == 0) {
    die_with(self);
    ::close(ends[0]);
    for (const CheckPart& other : others) ::close(other.pipe);
    const nlohmann::json told = json_of(supervise_workers(options, shared, false));
    write_all(ends[1], told.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    std::fflush(nullptr);
    ::_exit(0);  // the parent's own objects must not be destroyed twice
  }
  ::close(ends[1]);
  return part;
}

// Until all have told what they found.
void listen(std::span<CheckPart> parts, const CheckOptions& options, const SharedCases& shared) {
  Progress bar("check", options.cases, options.progress_seconds);
  std::vector<pollfd> open;
  for (const CheckPart& part : parts) open.push_back({part.pipe, POLLIN, 0});
  char piece[4096];
  while (std::ranges::any_of(open, [](const pollfd& one) { return one.fd >= 0; })) {
    const int ready = ::poll(open.data(), open.size(), 200);
    bar.show(shared.done.load(), fmt::format("{} failed", shared.failed.load()));
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (open[i].fd < 0 || open[i].revents == 0) continue;
      const ssize_t got = ::read(open[i].fd, piece, sizeof piece);
      if (got > 0)
        parts[i].told.append(piece, static_cast<std::size_t>(got));
      else if (got == 0 || errno != EINTR)
        open[i].fd = -1;
    }
  }
}

// What a part found; an error where it ran no case.
Result<void> take(const CheckPart& part, int status, CheckReport& report) {
  const auto told = nlohmann::json::parse(part.told, nullptr, false);
  if (told.contains("kind"))
    return std::unexpected(
        Error{static_cast<ErrorKind>(told["kind"].get<int>()), told["what"], told["value"], told["limit"]});
  if (!told.contains("runs"))
    return fail(ErrorKind::device, "a process that watches its worker ended",
                WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                                    : fmt::format("exit code {}", WEXITSTATUS(status)));
  if (report.device.empty()) {
    report.device = told["device"];
    report.note = told["note"];
  }
  report.runs += told["runs"].get<std::uint64_t>();
  for (const auto& module : told["modules"]) report.modules.insert(module.get<std::string>());
  for (const auto& f : told["failures"]) report.failures.push_back({f[0], f[1], f[2], f[3]});
  for (const auto& s : told["skipped"]) report.skipped.emplace_back(s[0], s[1]);
  return {};
}

}  // namespace

Result<CheckReport> supervise_parts(const CheckOptions& given) {
  const double started = now_seconds();
  CheckOptions options = given;
  const std::uint64_t most = options.cases / (std::uint64_t{options.jobs} * kBatchesOfPart);
  options.batch = static_cast<unsigned>(std::clamp<std::uint64_t>(most, 1, options.batch));
  const Shared<SharedCases> shared;
  if (shared.get() == nullptr) return fail(ErrorKind::device, "mmap", std::strerror(errno));
  std::vector<CheckPart> parts;
  for (std::uint64_t j = 0; j < std::min<std::uint64_t>(options.jobs, options.cases); ++j) {
    auto part = start(options, *shared.get(), parts);
    if (!part) {
      // The others would run all cases first.
      for (const CheckPart& other : parts) {
        ::kill(other.process, SIGKILL);
        ::waitpid(other.process, nullptr, 0);
        ::close(other.pipe);
      }
      return std::unexpected(part.error());
    }
    parts.push_back(std::move(*part));
  }
  listen(parts, options, *shared.get());
  CheckReport report;
  report.cases = options.cases;
  std::vector<Error> errors;
  bool lost = false;
  for (const CheckPart& part : parts) {
    ::close(part.pipe);
    int status = 0;
    while (::waitpid(part.process, &status, 0) < 0 && errno == EINTR) {
    }
    lost = lost || WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
    if (auto taken = take(part, status, report); !taken) errors.push_back(taken.error());
  }
  // The others have run the cases of one that could not open its device.
  if (errors.size() == parts.size()) return std::unexpected(errors.front());
  const std::uint64_t next = std::min(shared->next.load(), options.cases);
  if (lost || next < options.cases)
    report.failures.push_back(
        {options.first + std::min(next, options.cases - 1), "", "",
         errors.empty() ? "not all cases were run" : "not all cases were run: " + errors[0].message()});
  else if (!errors.empty())
    report.note += fmt::format("{}{} of {} processes ran no case: {}", report.note.empty() ? "" : "; ", errors.size(),
                               parts.size(), errors[0].message());
  report.seconds = now_seconds() - started;
  return report;
}

}  // namespace sectile::tools
