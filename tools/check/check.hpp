// The parts of `sectile check`. The parent process makes no Vulkan call: workers, which it forks, do, so
// that a case that kills its process (a read past the end of memory) is named and the rest goes on.
#pragma once

#include "machine/machine.hpp"
#include "operation.hpp"

#include <sectile/planner.hpp>
#include <sectile/problem.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sectile::tools {

struct CheckOptions {
  std::uint64_t seed = 1, cases = 1000, first = 0;
  std::string device;                 // or several, with commas between: their results are compared as well
  std::string device_class;           // --device-class: a file
  std::string operation = "permute";  // of generated problems
  std::string junit, problem, force;
  std::string filter;                 // of generated problems: a text of the candidate's name; !TEXT: not in it
  bool words = false;                 // generated for a device without accesses of 1 and 2 bytes
  bool without_dot = false;           // of `problem`: see CheckCase
  bool without_workgroup8 = false;    // the same
  std::uint32_t multiprocessors = 0;  // the same
  std::optional<std::uint64_t> max_scratch_bytes;  // the same
  std::string modules;                             // a file for the names of the kernels that ran
  bool all_candidates = false, no_protect = false, no_validation = false, in_process = false, big = false, json = false;
  bool few_pipelines = false;
  unsigned siblings = 0;  // further problems for the kernels of each generated case
  unsigned batch = 64;
  unsigned repeat = 1;             // runs of each case; all have to leave the same bits
  unsigned jobs = 0;               // processes side by side that share the cases; 0: default_jobs
  unsigned timeout_seconds = 300;  // of one batch
  double progress_seconds = 10;    // between lines that say how far it is, where no terminal shows it
  // For tests of the check itself: the case whose result is spoiled, the one that kills its worker, and the one that
  // never ends.
  std::optional<std::uint64_t> spoil, kill, hang;
};

// Case `index`: generated, or the one that the user gave.
CheckCase check_case(const CheckOptions& options, std::uint64_t index);
Problem case_problem(const CheckOptions& options, std::uint64_t index);
// Whether a generated case that asks for the candidate is run (--filter).
bool passes_filter(std::string_view filter, std::string_view candidate);

// Whether the driver dies of an address that differs from lane to lane (src/device/quirks.cpp): "far" rows form such.
bool dies_of_far_rows(const DeviceProfile& profile);
// The device and the options that a case is planned for.
DeviceProfile planned_device(const CheckCase& wanted, DeviceProfile profile);
PlanOptions planned_with(const CheckOptions& options, const CheckCase& wanted, const std::string& candidate);
// The names of the candidates to run, the chosen one first. `plan`: of the case, with `explain`.
std::vector<std::string> candidates_to_run(const CheckOptions& options, std::uint64_t index, const CheckCase& wanted,
                                           const Plan& plan, const DeviceProfile& profile);
// Further problems for the kernels of a case's plan; `forced`: the options that it was made with.
std::vector<Problem> siblings_of(const CheckOptions& options, std::uint64_t index, const Plan& plan,
                                 const DeviceProfile& profile, const PlanOptions& forced);

struct Failure {
  std::uint64_t index = 0;
  std::string problem, candidate, message;
};

void* make_shared_memory(std::size_t bytes) noexcept;
void free_shared_memory(void* place, std::size_t bytes) noexcept;

// What a worker tells while it runs.
class CheckSink {
 public:
  virtual ~CheckSink() = default;
  virtual void starting(std::uint64_t first, std::uint64_t last) = 0;  // cases [first, last), counted from 0
  virtual void doing(std::string_view what) = 0;                       // before anything that might kill the process
  virtual void failed(const Failure& failure) = 0;
  virtual void skipped(std::uint64_t index, std::string_view why) = 0;
  virtual void ran(std::string_view module) = 0;  // "stem.variant", each once
  virtual void finished(std::uint64_t runs) = 0;  // what was started, in so many runs
};

// What a case left in its destination, and how far its operands stand behind their regions' first bytes: data belongs
// to a place in the region, so that two devices' results can be compared where these agree.
struct Outcome {
  std::shared_ptr<CheckedProblem> checked;
  std::vector<std::uint64_t> at;  // one an operand of the problem
  std::vector<std::byte> dst;
};

// Runs cases on a device, many in one submission.
class CaseRunner {
 public:
  CaseRunner(Machine& machine, const CheckOptions& options, CheckSink& sink);
  ~CaseRunner();
  // Cases [first, last), by their number. With `alone`, one submission for each run, so that `doing` names a culprit.
  // Errors: only such as no further case can be run after.
  Result<void> run(std::uint64_t first, std::uint64_t last, bool alone);

  // With `compare`: what the chosen candidates of the last run() wrote, by case.
  const std::map<std::uint64_t, Outcome>& outcomes() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The tensors over 4 GiB and the indices at 2^31, of every operation; each a case of its own, skipped where memory
// lacks. Cases [offset + first, offset + last) of all big ones; `first` and `last` as in CheckSink.
Result<void> check_big(Machine& machine, std::uint64_t offset, std::uint64_t first, std::uint64_t last,
                       CheckSink& sink);
std::uint64_t big_case_count() noexcept;
Problem big_case(std::uint64_t index);

// The validation layer's messages since the last call, one text.
class ValidationWatch {
 public:
  explicit ValidationWatch(const Machine& machine) : machine_(&machine) {}
  std::string fresh();

 private:
  const Machine* machine_;
  std::size_t seen_ = 0;
};

// Opens the device, with the validation layer where it is there; `note` says where it is not, and what a class warns
// of.
Result<std::unique_ptr<Machine>> open_for_check(const CheckOptions& options, const std::string& device,
                                                std::string& note);

// The devices that `device` lists.
std::vector<std::string> device_list(const std::string& device);

// Runs cases on every device and compares what they wrote: bit for bit, or where numbers are rounded, within tolerance.
class CaseRunners {
 public:
  // Errors: such as open_for_check's, of the first device that has one.
  static Result<CaseRunners> open(const CheckOptions& options, CheckSink& sink);
  ~CaseRunners();
  CaseRunners(CaseRunners&&) noexcept;
  Result<void> run(std::uint64_t first, std::uint64_t last, bool alone);
  Result<void> run_big(std::uint64_t first, std::uint64_t last);
  std::string names() const;  // of the devices, with their drivers
  const std::string& note() const noexcept;

 private:
  struct Impl;
  explicit CaseRunners(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// ---- parent and worker

struct CheckReport {
  std::string device, note;
  std::vector<Failure> failures;
  std::vector<std::pair<std::uint64_t, std::string>> skipped;
  std::set<std::string> modules;  // "stem.variant" of the kernels that ran
  std::uint64_t cases = 0, runs = 0;
  double seconds = 0;
};

// Where a worker stands, in memory that parent and worker share.
struct WorkerState {
  std::atomic<std::uint64_t> begin{0}, end{0};  // under way, counted from 0; equal: none
  std::atomic<std::uint64_t> started{0};        // batches, by this worker
  std::atomic<std::uint64_t> runs{0};
  std::atomic<std::uint64_t> beats{0};  // grows while the worker lives
  char what[1024] = {};                 // problem and candidate under way
};

// What all processes of one check share: whichever is free takes the next batch.
struct SharedCases {
  std::atomic<std::uint64_t> next{0};             // the first case that no one has taken, counted from 0
  std::atomic<std::uint64_t> done{0}, failed{0};  // to show how far it is
};

// Memory that forked processes share, with one object in it.
template <class T>
class Shared {
 public:
  Shared() : place_(make_shared_memory(sizeof(T))), object_(place_ == nullptr ? nullptr : new(place_) T) {}
  ~Shared() { free_shared_memory(place_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T* get() const noexcept { return object_; }  // nullptr: there is no memory, see errno
  T* operator->() const noexcept { return object_; }

 private:
  void* place_;
  T* object_;
};

// The number of cases that are asked for.
std::uint64_t total_cases(const CheckOptions& options);
// Runs all cases in this process.
Result<CheckReport> check_in_process(const CheckOptions& options);
[[noreturn]] void hang() noexcept;  // for a test: never ends
// Runs all cases in workers, or as check_in_process where that is asked for. Errors: such as no case could be run at
// all.
Result<CheckReport> supervise(const CheckOptions& options);
// In this process and its workers those cases that no other process has taken. `shown`: how far all of them are.
Result<CheckReport> supervise_workers(const CheckOptions& options, SharedCases& shared, bool shown);
Result<CheckReport> supervise_parts(const CheckOptions& options);  // in `jobs` processes

// ---- how many processes

// What bounds them.
struct JobFacts {
  std::uint64_t cases = 0;
  unsigned processors = 1;
  std::uint64_t free_bytes = 0;  // of the host's memory; 0: unknown
  bool gpu = false;              // one of the devices is none of the CPU
};
unsigned jobs_for(const JobFacts& facts) noexcept;
// By this machine, and by SECTILE_JOBS where it is set, in place of the number of processors.
unsigned default_jobs(const CheckOptions& options);
// Files that each process may have open. Errors: limit_exceeded, where they do not suffice.
Result<void> check_open_files(std::uint64_t limit, unsigned jobs);

// In a process just forked by `parent`: it dies when that does, however that ends.
void die_with(int parent) noexcept;

std::string reproduce_command(const CheckOptions& options, const Failure& failure);
std::string junit_xml(const CheckOptions& options, const CheckReport& report);

}  // namespace sectile::tools
