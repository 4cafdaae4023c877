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
#include <optional>
#include <utility>

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sectile::tools {
namespace {

// ---- in the worker

// Tells the parent by a pipe, one JSON object a line, and by the shared state.
class PipeSink final : public CheckSink {
 public:
  PipeSink(int pipe, WorkerState& state, SharedCases& shared) : pipe_(pipe), state_(state), shared_(shared) {}

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
    state_.started.fetch_add(1);
  }
  void finished(std::uint64_t runs) override {
    shared_.done.fetch_add(state_.end - state_.begin);
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
  SharedCases& shared_;
};

// Cases of a batch that ended its worker, which run again one by one.
struct Again {
  std::uint64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

// The next `count` cases that no one has taken, or those that are left.
Again take(SharedCases& shared, std::uint64_t count, std::uint64_t total) {
  std::uint64_t at = shared.next.load();
  while (at < total && !shared.next.compare_exchange_weak(at, at + std::min(count, total - at))) {
  }
  return at < total ? Again{at, at + std::min(count, total - at)} : Again{};
}

Result<void> work(const CheckOptions& options, PipeSink& sink, const Again& again, SharedCases& shared) {
  auto runners = CaseRunners::open(options, sink);
  if (!runners) return std::unexpected(runners.error());
  sink.tell({{"device", runners->names()}, {"note", runners->note()}});
  const std::uint64_t total = total_cases(options);
  const auto run = [&](const Again& cases, bool alone) {
    if (options.big) return runners->run_big(cases.begin, cases.end);
    sink.starting(cases.begin, cases.end);
    return runners->run(options.first + cases.begin, options.first + cases.end, alone);
  };
  for (std::uint64_t at = again.begin; at < again.end; ++at)
    if (auto ran = run({at, at + 1}, true); !ran) return ran;
  const std::uint64_t batch = options.big ? 1 : options.batch;
  for (Again next = take(shared, batch, total); !next.empty(); next = take(shared, batch, total))
    if (auto ran = run(next, false); !ran) return ran;
  return {};
}

[[noreturn]] void worker_process(const CheckOptions& options, WorkerState& state, SharedCases& shared, int pipe,
                                 const Again& again) {
  PipeSink sink(pipe, state, shared);
  int code = 0;
  try {
    if (const auto done = work(options, sink, again, shared); !done) {
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

// Whether a child process has; it is still there to be waited for.
bool has_ended(pid_t process) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process;
}

class Supervisor {
 public:
  Supervisor(const CheckOptions& options, SharedCases& shared, bool shown)
      : options_(options),
        total_(total_cases(options)),
        shared_(shared),
        bar_("check", shown ? total_ : 0, options.progress_seconds) {}
  Result<CheckReport> run();

 private:
  Result<Ended> run_worker();
  void listen(int pipe, pid_t worker, Ended& ended);
  void take_line(const std::string& line, Ended& ended);
  void take_failure(Failure failure);
  // That no worker can go on with the next case.
  void take_end(const std::string& why);
  Problem problem_at(std::uint64_t at) const { return case_problem(options_, options_.first + at); }
  void take_death(const Ended& ended);

  const CheckOptions& options_;
  std::uint64_t total_;
  SharedCases& shared_;
  Progress bar_;
  Shared<WorkerState> state_;
  Again again_;
  CheckReport report_;
};

void Supervisor::take_failure(Failure failure) {
  fmt::print(stderr, "FAILED case {}: {}\n  candidate: {}\n  {}\n  again: {}\n", failure.index, failure.problem,
             failure.candidate, failure.message, reproduce_command(options_, failure));
  report_.failures.push_back(std::move(failure));
  shared_.failed.fetch_add(1);
}

void Supervisor::take_end(const std::string& why) {
  const std::uint64_t at = std::min(again_.empty() ? shared_.next.load() : again_.begin, total_ - 1);
  take_failure({options_.first + at, print(problem_at(at)), "", why});
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

// Until the worker has closed its end of the pipe, or is dead, whoever else may have inherited that end.
void Supervisor::listen(int pipe, pid_t worker, Ended& ended) {
  std::string text;
  bool killed = false;
  std::array<char, 4096> piece{};
  std::uint64_t beats = 0;
  double last_beat = now_seconds();
  while (true) {
    pollfd waiting{pipe, POLLIN, 0};
    const int ready = ::poll(&waiting, 1, 200);
    bar_.show(shared_.done.load(), fmt::format("{} failed", shared_.failed.load()));
    if (const std::uint64_t now = state_->beats.load(); now != beats) {
      beats = now;
      last_beat = now_seconds();
    } else if (now_seconds() - last_beat > options_.timeout_seconds) {
      ended.how = fmt::format("no sign of life for {} s", options_.timeout_seconds);
      ::kill(worker, SIGKILL);
      killed = true;
      last_beat = now_seconds();
    }
    if (ready <= 0 && killed && has_ended(worker)) return;
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

Result<Ended> Supervisor::run_worker() {
  state_->begin = state_->end = 0;
  state_->started = 0;
  int ends[2];
  if (::pipe(ends) != 0) return fail(ErrorKind::device, "pipe", std::strerror(errno));
  std::fflush(nullptr);  // or what is buffered would be printed by both
  const pid_t self = ::getpid();
  const pid_t worker = ::fork();
  if (worker < 0) {
    const int error = errno;
    ::close(ends[0]);
    ::close(ends[1]);
    return fail(ErrorKind::device, "fork", std::strerror(error));
  }
  if (worker == 0) {
    die_with(self);
    ::close(ends[0]);
    worker_process(options_, *state_.get(), shared_, ends[1], again_);
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
void Supervisor::take_death(const Ended& ended) {
  // Between two batches, after the last one most likely: there is no case at fault but the one before.
  const std::uint64_t end = state_->end.load();
  const bool idle = state_->begin.load() == end;
  const std::uint64_t begin = idle ? end - 1 : state_->begin.load();
  const bool was_alone = begin >= again_.begin && begin < again_.end;
  if (!idle && end > begin + 1 && !was_alone) {
    again_ = {begin, end};
    return;
  }
  const std::string what(state_->what, ::strnlen(state_->what, sizeof state_->what));
  const std::size_t bar = what.find(" | ");
  const std::string rest = bar == std::string::npos ? "" : what.substr(bar + 3);
  take_failure({options_.first + begin, print(problem_at(begin)), rest.substr(0, rest.find(" | ")),
                "its worker ended: " + ended.how + " while at: " + what});
  if (!idle) shared_.done.fetch_add(1);
  again_ = {begin + 1, was_alone ? again_.end : begin + 1};
}

Result<CheckReport> Supervisor::run() {
  if (state_.get() == nullptr) return fail(ErrorKind::device, "mmap", std::strerror(errno));
  const double started = now_seconds();
  std::optional<std::pair<std::uint64_t, std::string>> unexplained;  // a batch that died, until a case of it does
  for (bool any = false; !again_.empty() || shared_.next.load() < total_ || !any;) {
    const std::size_t failures = report_.failures.size();
    auto ended = run_worker();
    if (!ended && !any) return std::unexpected(ended.error());
    if (!ended) {
      take_end("no other worker could be started: " + ended.error().message());
      break;
    }
    if (ended->fine) break;
    // It died before its first case: no device, or one that cannot be used. No case is at fault.
    if (state_->started == 0) {
      const Error error = ended->error.value_or(Error{ErrorKind::device, "worker", ended->how, ""});
      if (!any) return std::unexpected(error);
      take_end("the device cannot be opened again: " + error.message());
      break;
    }
    any = true;
    const std::uint64_t before = again_.end;
    take_death(*ended);
    if (report_.failures.size() > failures)
      unexplained.reset();
    else if (again_.end != before)
      unexplained = {again_.begin, ended->how};
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

}  // namespace

void hang() noexcept {
  // So does a process that the driver might have started.
  ::alarm(120);
  (void)!::fork();
  while (true) ::pause();
}

void die_with(int parent) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It may have ended before that was set.
  if (::getppid() != parent) ::_exit(1);
}

void* make_shared_memory(std::size_t bytes) noexcept {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

void free_shared_memory(void* place, std::size_t bytes) noexcept {
  if (place != nullptr) ::munmap(place, bytes);
}

Result<CheckReport> supervise_workers(const CheckOptions& options, SharedCases& shared, bool shown) {
  return Supervisor(options, shared, shown).run();
}

Result<CheckReport> supervise(const CheckOptions& given) {
  if (given.in_process) return check_in_process(given);
  CheckOptions options = given;
  if (options.jobs == 0) options.jobs = default_jobs(options);
  if (options.cases <= 1 || !options.problem.empty()) options.jobs = 1;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0)
    if (auto enough = check_open_files(files.rlim_cur, options.jobs); !enough) return std::unexpected(enough.error());
  (void)check_case(options, options.first);  // what the generator makes once is made before a process is forked
  if (options.jobs > 1) return supervise_parts(options);
  const Shared<SharedCases> shared;
  if (shared.get() == nullptr) return fail(ErrorKind::device, "mmap", std::strerror(errno));
  return supervise_workers(options, *shared.get(), true);
}

}  // namespace sectile::tools
