// Parent and workers of `sectile check`.
#include "check.hpp"
#include "cli/target.hpp"
#include "cli/text.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sectile::tools {
namespace {

std::uint64_t total_cases(const CheckOptions& options) { return options.problem.empty() ? options.cases : 1; }

// ---- in the worker

// Tells the parent by a pipe, one JSON object a line, and by the shared state.
class PipeSink final : public CheckSink {
 public:
  PipeSink(int pipe, WorkerState& state) : pipe_(pipe), state_(state) {}

  void doing(std::string_view what) override {
    const std::size_t length = std::min(what.size(), sizeof state_.what - 1);
    std::memcpy(state_.what, what.data(), length);
    state_.what[length] = '\0';
    state_.beats.fetch_add(1);
  }
  void failed(const Failure& failure) override {
    tell({{"failed", failure.index},
          {"problem", failure.problem},
          {"candidate", failure.candidate},
          {"message", failure.message}});
  }
  void skipped(std::uint64_t index, std::string_view why) override {
    tell({{"skipped", index}, {"why", std::string(why)}});
  }
  void ran(std::string_view module) override { tell({{"ran", std::string(module)}}); }
  void starting(std::uint64_t first, std::uint64_t last) override {
    state_.end = last;
    state_.begin = first;
  }
  void finished(std::uint64_t runs) override {
    state_.begin.store(state_.end);
    state_.runs.fetch_add(runs);
    state_.beats.fetch_add(1);
  }
  void tell(const nlohmann::json& object) {
    const std::string line = object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    for (std::size_t at = 0; at < line.size();) {
      const ssize_t written = ::write(pipe_, line.data() + at, line.size() - at);
      if (written < 0 && errno != EINTR) return;
      if (written > 0) at += static_cast<std::size_t>(written);
    }
  }

 private:
  int pipe_;
  WorkerState& state_;
};

// Cases from `first` on; those before `alone_until` one by one.
Result<void> work(const CheckOptions& options, PipeSink& sink, std::uint64_t first, std::uint64_t alone_until) {
  auto runners = CaseRunners::open(options, sink);
  if (!runners) return std::unexpected(runners.error());
  sink.tell({{"device", runners->names()}, {"note", runners->note()}});
  const std::uint64_t total = total_cases(options);
  if (options.big) return runners->run_big(first, total);
  for (std::uint64_t at = first; at < total;) {
    const std::uint64_t last = std::min<std::uint64_t>(total, at < alone_until ? at + 1 : at + options.batch);
    sink.starting(at, last);
    if (auto ran = runners->run(options.first + at, options.first + last, at < alone_until); !ran) return ran;
    at = last;
  }
  return {};
}

[[noreturn]] void worker_process(const CheckOptions& options, WorkerState& state, int pipe, std::uint64_t first,
                                 std::uint64_t alone_until) {
  PipeSink sink(pipe, state);
  int code = 0;
  try {
    if (const auto done = work(options, sink, first, alone_until); !done) {
      const Error& error = done.error();
      sink.tell({{"error", error.message()},
                 {"kind", static_cast<int>(error.kind)},
                 {"what", error.what},
                 {"value", error.value},
                 {"limit", error.limit}});
      code = 1;
    }
  } catch (const std::exception& error) {
    sink.tell({{"error", std::string("exception: ") + error.what()},
               {"kind", static_cast<int>(ErrorKind::device)},
               {"what", "exception"},
               {"value", error.what()},
               {"limit", ""}});
    code = 1;
  }
  ::close(pipe);
  ::_exit(code);  // the parent's own objects must not be destroyed twice
}

// ---- in the parent

struct Ended {
  bool fine = false;
  std::string how;             // "killed by signal 11 (Segmentation fault)"
  std::optional<Error> error;  // what the worker said before it ended
};

class Supervisor {
 public:
  explicit Supervisor(const CheckOptions& options)
      : options_(options), total_(total_cases(options)), bar_(options.name, total_, options.progress_seconds) {
    void* memory = ::mmap(nullptr, sizeof(WorkerState), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    state_ = memory == MAP_FAILED ? nullptr : new (memory) WorkerState;
  }
  ~Supervisor() {
    if (state_ != nullptr) ::munmap(state_, sizeof(WorkerState));
  }
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  Result<CheckReport> run();

 private:
  Result<Ended> run_worker(std::uint64_t first, std::uint64_t alone_until);
  void listen(int pipe, pid_t worker, Ended& ended);
  void take_line(const std::string& line, Ended& ended);
  void take_failure(Failure failure);
  Problem problem_at(std::uint64_t at) const { return case_problem(options_, options_.first + at); }
  void take_death(const Ended& ended, std::uint64_t& next, std::uint64_t& alone_until);

  const CheckOptions& options_;
  std::uint64_t total_;
  Progress bar_;
  WorkerState* state_ = nullptr;
  CheckReport report_;
};

void Supervisor::take_failure(Failure failure) {
  fmt::print(stderr, "FAILED case {}: {}\n  candidate: {}\n  {}\n  again: {}\n", failure.index, failure.problem,
             failure.candidate, failure.message, reproduce_command(options_, failure));
  report_.failures.push_back(std::move(failure));
}

void Supervisor::take_line(const std::string& line, Ended& ended) {
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object()) return;
  if (object.contains("failed")) {
    // A batch that dies runs again one by one, and tells again what it told before.
    const std::uint64_t index = object["failed"];
    if (std::any_of(report_.failures.begin(), report_.failures.end(),
                    [&](const Failure& f) { return f.index == index; }))
      return;
    take_failure({index, object["problem"], object["candidate"], object["message"]});
  } else if (object.contains("skipped")) {
    report_.skipped.emplace_back(object["skipped"], object["why"]);
  } else if (object.contains("ran")) {
    report_.modules.insert(object["ran"]);
  } else if (object.contains("device")) {
    report_.device = object["device"];
    report_.note = object["note"];
  } else if (object.contains("error")) {
    ended.error =
        Error{static_cast<ErrorKind>(object["kind"].get<int>()), object["what"], object["value"], object["limit"]};
  }
}

void Supervisor::listen(int pipe, pid_t worker, Ended& ended) {
  std::string text;
  std::array<char, 4096> piece{};
  std::uint64_t beats = 0;
  double last_beat = now_seconds();
  while (true) {
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, 200);
    bar_.show(state_->begin.load(), fmt::format("{} failed", report_.failures.size()));
    if (const std::uint64_t now = state_->beats.load(); now != beats) {
      beats = now;
      last_beat = now_seconds();
    } else if (now_seconds() - last_beat > options_.timeout_seconds) {
      ended.how = fmt::format("no sign of life for {} s", options_.timeout_seconds);
      ::kill(worker, SIGKILL);
      last_beat = now_seconds();
    }
    if (ready <= 0) continue;
    const ssize_t got = ::read(pipe, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    text.append(piece.data(), static_cast<std::size_t>(got));
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      take_line(text.substr(0, end), ended);
      text.erase(0, end + 1);
    }
  }
}

Result<Ended> Supervisor::run_worker(std::uint64_t first, std::uint64_t alone_until) {
  state_->begin = state_->end = first;
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorKind::device, "pipe", std::strerror(errno));
  std::fflush(nullptr);  // or what is buffered would be printed by both
  const pid_t self = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) return fail(ErrorKind::device, "fork", std::strerror(errno));
  if (worker == 0) {
    die_with(self);
    ::close(ends[0]);
    worker_process(options_, *state_, ends[1], first, alone_until);
  }
  ::close(ends[1]);
  Ended ended;
  listen(ends[0], worker, ended);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  ended.fine = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (WIFSIGNALED(status) && ended.how.empty()) {
    ended.how = fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  } else if (ended.how.empty()) {
    ended.how = ended.error ? ended.error->message() : fmt::format("exit code {}", WEXITSTATUS(status));
  }
  return ended;
}

// A worker died: where it ran one case, that one failed; where it ran a batch, the batch runs again one by one.
void Supervisor::take_death(const Ended& ended, std::uint64_t& next, std::uint64_t& alone_until) {
  // Between two batches, after the last one most likely: there is no case at fault but the one before.
  const std::uint64_t end = state_->end.load();
  const bool idle = state_->begin.load() == end;
  const std::uint64_t begin = idle ? end - 1 : state_->begin.load();
  if (!idle && end > begin + 1 && begin >= alone_until) {
    next = begin;
    alone_until = end;
    return;
  }
  const std::string what(state_->what, ::strnlen(state_->what, sizeof state_->what));
  const std::size_t bar = what.find(" | ");
  const std::string rest = bar == std::string::npos ? "" : what.substr(bar + 3);
  take_failure({options_.first + begin, print(problem_at(begin)), rest.substr(0, rest.find(" | ")),
                "its worker ended: " + ended.how + " while at: " + what});
  next = begin + 1;
}

Result<CheckReport> Supervisor::run() {
  if (state_ == nullptr) return fail(ErrorKind::device, "mmap", std::strerror(errno));
  const double started = now_seconds();
  std::uint64_t next = 0, alone_until = 0;
  std::optional<std::pair<std::uint64_t, std::string>> unexplained;  // a batch that died, until a case of it does
  while (next < total_) {
    const std::size_t failures = report_.failures.size();
    auto ended = run_worker(next, alone_until);
    if (!ended) return std::unexpected(ended.error());
    if (ended->fine) break;
    // It died before its first case: no device, or one that cannot be used. No case is at fault.
    if (state_->begin == state_->end && state_->end == next) {
      const Error error = ended->error.value_or(Error{ErrorKind::device, "worker", ended->how, ""});
      if (next == 0) return std::unexpected(error);
      take_failure({options_.first + next, print(problem_at(next)), "",
                    "the device cannot be opened again: " + error.message()});
      break;
    }
    const std::uint64_t before = alone_until;
    take_death(*ended, next, alone_until);
    if (alone_until != before)
      unexplained = {next, ended->how};
    else if (report_.failures.size() > failures)
      unexplained.reset();
  }
  if (unexplained) {
    take_failure({options_.first + unexplained->first, print(problem_at(unexplained->first)), "",
                  "a batch that begins with this case ended its worker (" + unexplained->second +
                      "), but none of its cases did alone"});
  }
  report_.cases = total_;
  report_.runs = state_->runs.load();
  report_.seconds = now_seconds() - started;
  return report_;
}

// Without workers, for a debugger: failures go straight into the report.
class DirectSink final : public CheckSink {
 public:
  explicit DirectSink(CheckReport& report) : report_(report) {}
  void starting(std::uint64_t, std::uint64_t) override {}
  void doing(std::string_view) override {}
  void failed(const Failure& failure) override {
    fmt::print(stderr, "FAILED case {}: {}\n  candidate: {}\n  {}\n", failure.index, failure.problem, failure.candidate,
               failure.message);
    report_.failures.push_back(failure);
  }
  void skipped(std::uint64_t index, std::string_view why) override {
    report_.skipped.emplace_back(index, std::string(why));
  }
  void ran(std::string_view module) override { report_.modules.emplace(module); }
  void finished(std::uint64_t runs) override { report_.runs += runs; }

 private:
  CheckReport& report_;
};

Result<CheckReport> run_in_process(const CheckOptions& options) {
  CheckReport report;
  report.cases = total_cases(options);
  DirectSink sink(report);
  auto runners = CaseRunners::open(options, sink);
  if (!runners) return std::unexpected(runners.error());
  report.device = runners->names();
  report.note = runners->note();
  if (options.big) {
    if (auto ran = runners->run_big(0, report.cases); !ran) return std::unexpected(ran.error());
    return report;
  }
  for (std::uint64_t at = 0; at < report.cases; at += options.batch) {
    const std::uint64_t last = std::min<std::uint64_t>(report.cases, at + options.batch);
    if (auto ran = runners->run(options.first + at, options.first + last, options.batch == 1); !ran)
      return std::unexpected(ran.error());
  }
  return report;
}

}  // namespace

void die_with(int parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have ended before that was set.
  if (::getppid() != parent) ::_exit(1);
}

Result<std::unique_ptr<Machine>> open_for_check(const CheckOptions& options, const std::string& device,
                                                std::string& note) {
  MachineOptions wanted;
  wanted.validation = !options.no_validation;
  wanted.any_profile = true;  // cases are planned for devices without some features, too
  auto machine = Machine::open(device, wanted);
  if (machine || options.no_validation || machine.error().kind != ErrorKind::missing) return machine;
  // The layer may be what is missing; where it is the device, this fails the same way.
  wanted.validation = false;
  auto plain = Machine::open(device, wanted);
  if (plain) note = "without the validation layer: " + machine.error().message();
  return plain;
}

Result<CheckReport> supervise(const CheckOptions& options) {
  if (options.in_process) return run_in_process(options);
  (void)check_case(options, options.first);  // what the generator makes once is made before a process is forked
  if (options.jobs > 1 && options.cases > 1 && options.problem.empty()) return supervise_parts(options);
  return Supervisor(options).run();
}

}  // namespace sectile::tools
