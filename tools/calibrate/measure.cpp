#include "measure.hpp"

#include "bench/bench.hpp"
#include "bench/data.hpp"
#include "bench/operation.hpp"
#include "bench/sweep.hpp"
#include "cli/text.hpp"
#include "machine/steady.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace sectile::tools {
namespace {

constexpr double kMinTime = 0.004;  // seconds of samples of each candidate
// Seconds that the reference runs before a problem, at most, and of one of its windows. A clock that is high stays so
// from one problem to the next: three short windows see that.
constexpr double kWarmupGpu = 1, kWindowGpu = 0.03, kWarmupCpu = 0.1, kWindowCpu = 0.02;
constexpr double kCycleGpu = 512, kCycleCpu = 32;  // 10^6 bytes that one round over the operands touches
// Sweeps of permutes begin at 32 MB. A third of a calibration's have 1 to 16 MB, in all classes and types.
constexpr double kSmallMbGpu = 1;
constexpr bool is_small(std::uint64_t index, std::uint64_t classes) {
  return (index % classes + index / classes) % 3 == 2;
}
// So that a CPU measures some problems in seconds. A kind of problems of which none is so small has the sweep's bound.
constexpr double kMinMbCpu = 0.125, kMaxGflopCpu = 0.125;
constexpr std::uint64_t kEmptyCopy = 16, kLeastCopy = 1 << 12, kMostCopyGpu = 1 << 28, kMostCopyCpu = 1 << 24;
// Candidates of a problem. On a GPU a problem's data and the warm-up take longer than most of its candidates.
constexpr std::size_t kMostGpu = 32, kMostCpu = 16;
constexpr std::size_t kMostKernels = 4096;  // more are dropped where no program uses them
constexpr std::size_t kMostSkipped = 500;   // problems in a row that are not measured
// A problem whose choice is estimated to run longer is not measured: some 100 runs of a problem would take minutes.
constexpr double kLongProblem = 0.25;
constexpr const char* kListed = "listed";  // the class of a problem of MeasureOptions::problems
constexpr unsigned kMostEnds = 2;          // runs that ended while a problem was measured; then it is left out
constexpr double kAgainSeconds = 5;  // a problem that took longer is not measured again where the reference drifted

BenchOptions bench_options(bool cpu) {
  BenchOptions options;
  options.min_time = kMinTime;
  options.warmup = cpu ? kWarmupCpu : kWarmupGpu;
  options.cycle_mb = cpu ? kCycleCpu : kCycleGpu;
  return options;
}

// A plan with its steps twice, the second time after a barrier.
Plan twice(Plan plan) {
  const std::vector<Step> steps = plan.steps;
  for (Step step : steps) {
    step.barrier_before = true;
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

class Measuring {
 public:
  Measuring(Machine& machine, const MeasureOptions& options, RawCalibration& raw, RawWriter& writer,
            const std::function<void(const MeasureProgress&)>& progress)
      : machine_(machine),
        options_(options),
        raw_(raw),
        writer_(writer),
        progress_(progress),
        cpu_(machine.profile().kind == DeviceKind::cpu),
        compile_ahead_(!cpu_ && machine.profile().api == Api::vulkan && raw.begun.empty()),
        bench_options_(bench_options(cpu_)),
        steady_(machine, bench_options_.warmup, cpu_ ? kWindowCpu : kWindowGpu),
        bench_(machine, bench_options_, steady_) {
    for (const RawProblem& problem : raw.problems) count(problem);
  }

  Result<void> measure_base();
  Result<void> measure_operation(const std::string& operation);
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  using Place = std::pair<RawPart, std::uint64_t>;

  // A problem with the candidates that are measured of it.
  struct Drawn {
    Problem problem;
    RawProblem out;
    std::future<Result<std::vector<ProgramPtr>>> compiled = {};  // nothing until compile()
  };

  void count(const RawProblem& problem);
  Result<std::optional<SweepCase>> draw(const BenchOperation& operation, const std::string& name, const Deal& deal);
  void note_left_out(const BenchOperation& operation, const std::string& name, std::size_t skipped);
  std::optional<Drawn> draw_candidates_of(const std::string& operation, const SweepCase& c, const Deal& deal);
  void compile(Drawn& drawn);
  Result<void> measure_problem(Drawn& drawn);
  bool attempt(const Problem& problem, RawProblem& out);
  void take(const RowResult& result, const std::vector<RawCandidate*>& of, RawProblem& out);
  bool alive();
  std::string key(const RawProblem& problem, const RawCandidate& c) const { return problem.operation + " " + c.name; }

  Machine& machine_;
  const MeasureOptions& options_;
  RawCalibration& raw_;
  RawWriter& writer_;
  const std::function<void(const MeasureProgress&)>& progress_;
  bool cpu_;
  // Kernels of the next problem are compiled while one is timed. Not on a CPU device, where that slows down what is
  // timed; not on CUDA, whose launches wait for a module that is being loaded; and not where a run ended, since it
  // would not be known at which of two problems.
  bool compile_ahead_;
  BenchOptions bench_options_;
  Steady steady_;
  RowBench bench_;
  std::map<std::string, RowCounts> counts_;  // by operation
  std::set<std::string> verified_;           // by key(), in this run
  // Cases of one operation modulo its kinds: those of which none is within the bounds, or within kMaxGflopCpu.
  std::set<std::uint64_t> outside_, large_;
  std::size_t long_problems_ = 0;   // of one operation, that were left out
  std::vector<std::string> ended_;  // the same, for runs that ended
  bool lost_ = false;
  std::vector<std::string> notes_;
};

// What failed counts too: it is not to be tried before all others again and again.
void Measuring::count(const RawProblem& problem) {
  for (const RawCandidate& c : problem.candidates) ++counts_[problem.operation][row_name(c.name)];
}

bool Measuring::alive() {
  const auto memory = machine_.make_memory(256);
  if (!memory) return false;
  std::array<std::byte, 256> bytes{};
  return machine_.fill(**memory, 0, bytes.size(), 1) && machine_.download(**memory, 0, bytes) &&
         bytes[0] == std::byte{1};
}

// Copies of 2^12 bytes and more, an empty dispatch, a second step.
Result<void> Measuring::measure_base() {
  if (raw_.base) return {};
  RawBase base;
  for (std::uint64_t bytes = kLeastCopy; bytes <= (cpu_ ? kMostCopyCpu : kMostCopyGpu); bytes *= 4) {
    BenchRow row{.name = "copy", .problem = copy_problem(bytes)};
    // In turn with the smallest copy: what these three take differs by little.
    if (base.copies.empty()) {
      row.contenders.push_back({.label = "empty", .problem = copy_problem(kEmptyCopy), .verify = false});
      if (auto plan = make_plan(row.problem, machine_.profile()); plan && plan->steps.size() == 1)
        row.contenders.push_back(
            {.label = "twice", .problem = row.problem, .plan = twice(std::move(*plan)), .verify = false});
    }
    const RowResult result = bench_.run(row);
    if (!result.error.empty()) {
      // A device may have no room for the largest.
      if (!base.copies.empty() && alive()) break;
      return fail(ErrorKind::device, print(row.problem), result.error);
    }
    const double once = result.own().time.median;
    base.copies.push_back({bytes, raw_picoseconds(once)});
    if (row.contenders.empty()) continue;
    const ContenderTime& empty = result.contenders.at(1);
    if (!empty.error.empty()) return fail(ErrorKind::device, "an empty dispatch", empty.error);
    base.empty_ps = raw_picoseconds(empty.time.median);
    if (result.contenders.size() < 3) continue;
    const ContenderTime& two = result.contenders[2];
    if (two.error.empty() && two.time.median > once) base.second_step_ps = raw_picoseconds(two.time.median - once);
  }
  if (auto added = writer_.add(base); !added) return added;
  raw_.base = std::move(base);
  return {};
}

// Nothing where no problem of its kind is within the bounds.
Result<std::optional<SweepCase>> Measuring::draw(const BenchOperation& operation, const std::string& name,
                                                 const Deal& deal) {
  const std::uint64_t kinds = operation.sweep_classes().size() * operation.sweep_types().size();
  const std::uint64_t kind = deal.index % kinds;
  if (outside_.contains(kind)) return std::nullopt;
  SweepOptions sweep;
  sweep.operation = name;
  sweep.seed = part_seed(deal.part, options_.seed);
  sweep.cases = 1;
  sweep.first = deal.index;
  sweep.cpu = cpu_;
  sweep.min_mb = options_.min_mb > 0                                      ? options_.min_mb
                 : cpu_                                                   ? kMinMbCpu
                 : is_small(deal.index, operation.sweep_classes().size()) ? kSmallMbGpu
                                                                          : 0;
  sweep.max_gflop = options_.max_gflop;
  if (cpu_ && options_.max_gflop == 0 && !large_.contains(kind)) {
    sweep.max_gflop = kMaxGflopCpu;
    auto small = sweep_cases(sweep);
    if (small) return std::move(small->front());
    large_.insert(kind);
    sweep.max_gflop = 0;
  }
  auto cases = sweep_cases(sweep);
  if (cases) return std::move(cases->front());
  if (cases.error().kind != ErrorKind::limit_exceeded) return std::unexpected(cases.error());
  outside_.insert(kind);
  if (outside_.size() == kinds)
    return fail(ErrorKind::limit_exceeded, name, "no problem of any class is within the bounds", cases.error().limit);
  return std::nullopt;
}

void Measuring::take(const RowResult& result, const std::vector<RawCandidate*>& of, RawProblem& out) {
  for (std::size_t i = 0; i < of.size(); ++i) {
    const ContenderTime& timed = result.contenders.at(i);
    RawCandidate& c = *of[i];
    c.error = timed.error;
    if (!c.error.empty()) continue;
    verified_.insert(key(out, c));
    c.ps = raw_picoseconds(timed.time.median);
    c.p10_ps = raw_picoseconds(timed.time.p10);
    c.p90_ps = raw_picoseconds(timed.time.p90);
    c.samples = timed.time.samples;
    c.once = c.samples == 1;
    if (c.ps <= 0) c.error = "it took no time that the device's clock shows";
  }
  if (const double copy = result.copy().median; copy > 0) out.copy_ps = raw_picoseconds(copy);
  out.unsteady = steady_.drifted(result.reference);
}

// Times all candidates that have no error so far, in one run. A candidate that fails does not keep the others from
// being timed, the first neither. False: the device is lost.
bool Measuring::attempt(const Problem& problem, RawProblem& out) {
  std::vector<Plan> plans;
  std::vector<RawCandidate*> left;
  for (RawCandidate& c : out.candidates) {
    if (!c.error.empty()) continue;
    auto plan = make_plan(problem, machine_.profile(), {.force = c.name});
    if (!plan) {
      c.error = plan.error().message();
      continue;
    }
    plans.push_back(std::move(*plan));
    left.push_back(&c);
  }
  const auto compiled =
      machine_.prepare_all(plans);  // side by side; a refusal is reported where each is prepared alone
  while (!left.empty()) {
    BenchRow row{.name = out.problem, .problem = problem, .verify = !verified_.contains(key(out, *left[0]))};
    bench_options_.force = left[0]->name;
    for (std::size_t j = 1; j < left.size(); ++j)
      row.contenders.push_back({.label = left[j]->name,
                                .problem = problem,
                                .plan = plans[j],
                                .verify = !verified_.contains(key(out, *left[j]))});
    const RowResult result = bench_.run(row);
    bench_options_.force.clear();
    if (result.error.empty()) {
      take(result, left, out);
      const bool failed = std::ranges::any_of(left, [](const RawCandidate* c) { return !c->error.empty(); });
      return !failed || alive();
    }
    const bool first = !result.contenders.empty() && !result.own().error.empty();
    const bool lives = alive();
    if (first) {
      left[0]->error = result.own().error;
      left.erase(left.begin());
      plans.erase(plans.begin());
      if (lives) continue;
    }
    for (RawCandidate* const c : left) c->error = lives ? result.error : "device: lost before this was measured";
    return lives;
  }
  return true;
}

// Nothing where the device does not take the problem, or has nothing to do for it.
std::optional<Measuring::Drawn> Measuring::draw_candidates_of(const std::string& operation, const SweepCase& c,
                                                              const Deal& deal) {
  const auto plan = make_plan(c.problem, machine_.profile(), {.explain = true, .force = {}});
  if (!plan) return std::nullopt;
  const auto chosen = std::ranges::find(plan->candidates, true, &Candidate::chosen);
  if (chosen != plan->candidates.end() && static_cast<double>(chosen->cost) > kLongProblem * 1e12) {
    ++long_problems_;
    return std::nullopt;
  }
  RawProblem out{.operation = operation,
                 .group = c.group,
                 .problem = print(c.problem),
                 .part = deal.part,
                 .index = deal.index,
                 .copy_ps = {},
                 .candidates = {}};
  const std::size_t own = options_.most != 0 ? options_.most : cpu_ ? kMostCpu : kMostGpu;
  const std::size_t most = deal.part == RawPart::fit ? own : own * 5 / 2;
  for (const std::size_t i : draw_candidates(plan->candidates, most, counts_[operation], options_.seed, out.problem)) {
    const Candidate& one = plan->candidates[i];
    out.candidates.push_back({.name = one.name,
                              .detail = one.detail,
                              .eligibility = one.eligibility,
                              .chosen = one.chosen,
                              .cost_ps = one.cost,
                              .error = {}});
  }
  if (out.candidates.empty()) return std::nullopt;
  if (const auto ends = raw_.begun.find(out.problem); ends != raw_.begun.end() && ends->second >= kMostEnds) {
    ended_.push_back(out.problem);
    return std::nullopt;
  }
  count(out);  // before it is measured, since the next problem may be drawn meanwhile
  return Drawn{.problem = c.problem, .out = std::move(out)};
}

// Begins to compile on other threads. A refusal is reported where each is prepared alone.
void Measuring::compile(Drawn& drawn) {
  std::vector<Plan> plans;
  for (const RawCandidate& c : drawn.out.candidates)
    if (auto plan = make_plan(drawn.problem, machine_.profile(), {.force = c.name})) plans.push_back(std::move(*plan));
  drawn.compiled =
      std::async(std::launch::async, [this, plans = std::move(plans)] { return machine_.prepare_all(plans); });
}

Result<void> Measuring::measure_problem(Drawn& drawn) {
  const double started = now_seconds();
  RawProblem& out = drawn.out;
  // A driver may end the process: the next run reads where.
  if (auto begun = writer_.begin(out.problem); !begun) return begun;
  lost_ = !attempt(drawn.problem, out);
  if (!lost_ && out.unsteady && now_seconds() - started < kAgainSeconds) lost_ = !attempt(drawn.problem, out);
  return {};
}

void Measuring::note_left_out(const BenchOperation& operation, const std::string& name, std::size_t skipped) {
  const auto note = [&](std::string text) { notes_.push_back(name + ": " + std::move(text)); };
  if (!outside_.empty())
    note(
        fmt::format("{} of {} kinds of problems, a kind being a class and a type, have none within --min-mb and "
                    "--max-gflop",
                    outside_.size(), operation.sweep_classes().size() * operation.sweep_types().size()));
  if (long_problems_ > 0)
    note(fmt::format("{} problems were left out: a run is estimated to take over {} s", long_problems_, kLongProblem));
  if (!ended_.empty())
    note(fmt::format("{} problems were left out: {} runs ended while each was measured; the first: {}", ended_.size(),
                     kMostEnds, ended_.front()));
  if (const std::size_t others = long_problems_ + ended_.size(); skipped > others)
    note(fmt::format("{} problems were left out: there is no plan for the device", skipped - others));
}

Result<void> Measuring::measure_operation(const std::string& name) {
  const BenchOperation* const operation = bench_operation(name);
  if (operation == nullptr || operation->sweep_classes().empty())
    return fail(ErrorKind::missing, "--op", name, fmt::format("{}", fmt::join(sweep_operations(), ", ")));
  outside_.clear();
  large_.clear();
  long_problems_ = 0;
  ended_.clear();
  MeasureProgress done{.operation = name};
  std::set<Place> there;
  std::set<std::string> listed;
  double spent = 0;
  const auto add = [&](const RawProblem& problem) {
    if (problem.group == kListed)
      listed.insert(problem.problem);
    else
      there.emplace(problem.part, problem.index);
    spent += problem.spent;
    ++done.problems;
    done.candidates += problem.candidates.size();
    done.seconds_left = std::max(0.0, options_.minutes * 60 - spent);
  };
  for (const RawProblem& problem : raw_.problems)
    if (problem.operation == name) add(problem);
  if (done.problems > 0) progress_(done);
  std::size_t skipped = 0, skipped_in_a_row = 0, listed_next = 0;
  std::uint64_t position = 0;
  // Nothing where there is none left.
  const auto next = [&]() -> Result<std::optional<Drawn>> {
    while (listed_next < options_.problems.size()) {
      const std::size_t i = listed_next++;
      const Problem& problem = options_.problems[i];
      if (&bench_operation(problem) != operation || listed.contains(print(problem))) continue;
      const SweepCase c{.group = kListed, .type = {}, .problem = problem, .neighbour = {}};
      if (auto drawn = draw_candidates_of(name, c, {RawPart::fit, i})) return drawn;
      ++skipped;
    }
    for (;; ++position) {
      const Deal deal = deal_at(position);
      if (there.contains({deal.part, deal.index})) continue;
      const auto c = draw(*operation, name, deal);
      if (!c) return std::unexpected(c.error());
      if (!*c) continue;
      if (auto drawn = draw_candidates_of(name, **c, deal)) {
        skipped_in_a_row = 0;
        ++position;
        return drawn;
      }
      ++skipped;
      if (++skipped_in_a_row < kMostSkipped) continue;
      notes_.push_back(fmt::format("{}: given up after {} problems in a row that were left out", name, kMostSkipped));
      return std::nullopt;
    }
  };
  const double seconds = options_.minutes * 60;
  std::optional<Drawn> now;
  while (now || spent < seconds) {
    if (!now) {
      auto drawn = next();
      if (!drawn) return std::unexpected(drawn.error());
      if (!*drawn) break;
      now = std::move(*drawn);
    }
    const double started = now_seconds();
    if (now->compiled.valid()) now->compiled.wait();
    if (machine_.kernel_count() > kMostKernels) machine_.trim();  // nothing is being compiled here
    std::optional<Drawn> ahead;
    // Not where the time will be over after this problem, if it takes as long as others.
    const double mean = spent / static_cast<double>(std::max<std::size_t>(done.problems, 1));
    if (compile_ahead_ && spent + mean < seconds) {
      auto drawn = next();
      if (!drawn) return std::unexpected(drawn.error());
      ahead = std::move(*drawn);
      if (ahead) compile(*ahead);
    }
    if (auto measured = measure_problem(*now); !measured) return measured;
    RawProblem& problem = now->out;
    problem.spent = now_seconds() - started;
    if (auto added = writer_.add(problem); !added) return added;
    add(problem);
    progress_(done);
    raw_.problems.push_back(std::move(problem));
    if (lost_)
      return fail(ErrorKind::device, raw_.problems.back().problem, "the device was lost while this was measured");
    now = std::move(ahead);
  }
  note_left_out(*operation, name, skipped);
  return {};
}

}  // namespace

RawHeader raw_header(const Machine& machine, std::uint64_t seed) {
  return {.api = machine.profile().api == Api::cuda ? "cuda" : "vulkan",
          .device = machine.name(),
          .driver = machine.driver(),
          .planner = std::string(planner_version()),
          .seed = seed,
          .date = utc_now(),
          .command = command_line(),
          .profile = machine.profile()};
}

Result<std::vector<std::string>> measure(Machine& machine, const MeasureOptions& options, RawCalibration& raw,
                                         RawWriter& writer,
                                         const std::function<void(const MeasureProgress&)>& progress) {
  Measuring measuring(machine, options, raw, writer, progress);
  if (auto based = measuring.measure_base(); !based) return std::unexpected(based.error());
  for (const std::string& operation : options.operations.empty() ? sweep_operations() : options.operations)
    if (auto measured = measuring.measure_operation(operation); !measured) return std::unexpected(measured.error());
  return measuring.take_notes();
}

std::vector<std::string> wrong_candidates(const RawCalibration& raw) {
  std::set<std::string> names;
  for (const RawProblem& problem : raw.problems)
    for (const RawCandidate& c : problem.candidates)
      if (c.error.find(kWrongResult) != std::string::npos) names.insert(c.name);
  return {names.begin(), names.end()};
}

std::vector<std::string> raw_warnings(const RawCalibration& raw) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> unsteady;  // by operation: of how many
  std::vector<std::string> warnings;
  std::size_t failed = 0;
  std::string example;
  for (const RawProblem& problem : raw.problems) {
    auto& [drifted, all] = unsteady[problem.operation];
    drifted += problem.unsteady ? 1 : 0;
    ++all;
    for (const RawCandidate& c : problem.candidates) {
      if (c.error.empty() || c.error.find(kWrongResult) != std::string::npos) continue;
      if (failed++ == 0) example = fmt::format("{}, {}: {}", problem.problem, c.name, c.error);
    }
  }
  for (const auto& [operation, counts] : unsteady)
    if (3 * counts.first > counts.second)
      warnings.push_back(
          fmt::format("{}: the device was unsteady in {} of {} problems: other work or its clocks changed "
                      "what it reached; measure again when it is idle",
                      operation, counts.first, counts.second));
  if (failed > 0) warnings.push_back(fmt::format("{} measurements failed, the first: {}", failed, example));
  return warnings;
}

}  // namespace sectile::tools
