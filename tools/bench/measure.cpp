// Timing one row: our plan, what it is compared with and, with --all-candidates, every candidate. Their samples
// alternate in one run.
#include "bench.hpp"

#include "data.hpp"
#include "operation.hpp"
#include "slots.hpp"

#include "reference/extra_rows.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace sectile::tools {

Spread spread_of(std::vector<double> seconds) {
  Spread spread;
  spread.samples = seconds.size();
  if (seconds.empty()) return spread;
  std::sort(seconds.begin(), seconds.end());
  const auto at = [&](double part) {
    return seconds[static_cast<std::size_t>(std::llround(part * static_cast<double>(seconds.size() - 1)))];
  };
  spread.median = at(0.5);
  spread.p10 = at(0.1);
  spread.p90 = at(0.9);
  return spread;
}

std::string chosen_name(const Plan& plan) {
  for (const Candidate& candidate : plan.candidates)
    if (candidate.chosen) return candidate.name;
  std::string stems;
  for (const Step& step : plan.steps) stems += (stems.empty() ? "" : ", ") + step.kernel.stem;
  return stems;
}

namespace {

constexpr double kLongRun = 0.5;  // seconds: what takes longer is timed once
constexpr double kLongRound = 2;  // seconds of one run of each: few samples then
constexpr std::uint64_t kEmptyBytes = 16;

// A memory's piece of each slot.
struct Piece {
  const Memory* memory = nullptr;
  std::uint64_t pitch = 0, bytes = 0;
};

// Something to time.
struct Runner {
  ProgramPtr program;  // null: the API's own copy
  Slots* slots = nullptr;
  std::vector<Piece> pieces;
  std::vector<MemoryPtr> scratch;
  std::optional<std::size_t> contender;  // whose time it is
  bool candidate = false;                // is timed once where it is hopeless
  double rough = 0;                      // seconds of a run
  Spread time;

  Launch launch(std::uint64_t slot) const {
    Launch launch{program.get(), {}};
    for (const Piece& piece : pieces) launch.parts.push_back({piece.memory, slot * piece.pitch, piece.bytes});
    return launch;
  }
};

// One row. What a whole call shares is RowBench's.
class RowRun {
 public:
  RowRun(Machine& machine, const BenchOptions& options, Steady& steady, RowResult& result)
      : machine_(machine),
        options_(options),
        steady_(steady),
        operation_(bench_operation(result.row.problem)),
        result_(result) {}
  // `empty`: a dispatch that has next to nothing to do; measured where it has not been.
  Result<void> run(Spread& empty);

 private:
  Result<Slots*> slots_for(const Problem& problem);
  Result<Plan> add(const Contender& contender, const Candidate* listed = nullptr);
  Result<void> start(Runner& runner, bool verified);
  void add_listed(const Plan& chosen);
  Result<std::vector<Runner>> copies(std::uint64_t bytes);
  std::uint64_t copied_bytes();
  Spread whole_copy(const Spread& copied);
  Result<void> choose_reference();
  Result<void> time(std::vector<Runner*> runners, ReferenceTimes& reference);
  Result<void> time_empty(Spread& empty);

  Machine& machine_;
  const BenchOptions& options_;
  Steady& steady_;
  const BenchOperation& operation_;
  RowResult& result_;
  std::vector<std::unique_ptr<Slots>> slots_;
  std::vector<Runner> runners_;
};

Result<Slots*> RowRun::slots_for(const Problem& problem) {
  for (const auto& slots : slots_)
    if (slots->problem() == problem) return slots.get();
  auto slots = Slots::make(machine_, options_, problem);
  if (!slots) return std::unexpected(slots.error());
  slots_.push_back(std::move(*slots));
  return slots_.back().get();
}

// A driver may compile at a kernel's first run: that run is verified, and is never a sample. Then the time of a run,
// which says whether it is worth many samples: the host has just worked, and a clock may be low.
Result<void> RowRun::start(Runner& runner, bool verified) {
  if (auto restored = runner.slots->restore_result(); !restored) return restored;
  if (auto ran = machine_.run(runner.launch(0)); !ran) return ran;
  if (verified)
    if (const std::string wrong = runner.slots->verify(options_.compare_outputs); !wrong.empty())
      return fail(ErrorKind::device, wrong);
  const LaunchSource source = [&] { return runner.launch(runner.slots->take_turn()); };
  for (const unsigned repeats : {1u, 2u}) {
    const auto took = machine_.time(std::span(&source, 1), {.repeats = repeats, .inner = 1});
    if (!took) return std::unexpected(took.error());
    const double least = std::ranges::min(took->front());
    runner.rough = runner.rough > 0 ? std::min(runner.rough, least) : least;
    if (runner.rough > kLongRun) break;
  }
  return {};
}

// A runner for it, or the reason why not in its time's error.
Result<Plan> RowRun::add(const Contender& contender, const Candidate* listed) {
  const std::size_t place = result_.contenders.size();
  const BenchOperation& operation = bench_operation(contender.problem);
  result_.contenders.push_back({.label = contender.label,
                                .problem = print(contender.problem),
                                .candidate = contender.force,
                                .plan = {},
                                .statistics = {},
                                .error = {},
                                .chosen = place == 0,
                                .listed = listed != nullptr,
                                .work = operation.work(contender.problem),
                                .time = {}});
  ContenderTime& out = result_.contenders.back();
  if (listed != nullptr) {
    out.cost = listed->cost;
    out.eligibility = listed->eligibility;
  }
  const auto failed = [&](const Error& error) {
    out.error = error.message();
    return std::unexpected(error);
  };
  auto plan = contender.plan ? Result<Plan>(*contender.plan)
                             : reference::plan_with_extra_rows(contender.problem, machine_.profile(),
                                                               {.explain = true,
                                                                .force = contender.force,
                                                                .tuned = options_.tuned,
                                                                .few_pipelines = options_.few_pipelines});
  if (!plan) return failed(plan.error());
  out.candidate = chosen_name(*plan);
  out.plan = print(*plan);
  for (const Candidate& candidate : plan->candidates) {
    if (!candidate.chosen) continue;
    out.cost = candidate.cost;
    out.eligibility = candidate.eligibility;
  }
  auto program = machine_.prepare(*plan);
  if (!program) return failed(program.error());
  if (options_.statistics) out.statistics = machine_.statistics(**program);
  const auto slots = slots_for(contender.problem);
  if (!slots) return failed(slots.error());
  Runner runner{.program = std::move(*program),
                .slots = *slots,
                .pieces = {},
                .scratch = {},
                .contender = place,
                .candidate = listed != nullptr || contender.plan,
                .time = {}};
  for (std::size_t i = 0; i < plan->operands.size(); ++i) {
    const PlanOperand& operand = plan->operands[i];
    if (operand.role != OperandRole::scratch) {
      runner.pieces.push_back({&(*slots)->memory(i), (*slots)->pitch(i), operand.bytes});
      continue;
    }
    const std::uint64_t bytes = round_up(std::max<std::uint64_t>(operand.bytes, 256), std::uint64_t{4});
    auto scratch = machine_.make_memory(bytes);
    if (!scratch) return failed(scratch.error());
    if (contender.plan)
      if (auto zero = machine_.fill(**scratch, 0, bytes, 0); !zero) return failed(zero.error());
    runner.pieces.push_back({scratch->get(), 0, operand.bytes});
    runner.scratch.push_back(std::move(*scratch));
  }
  const bool verified = contender.verify && !options_.no_verify && operation.unverified(contender.problem).empty();
  if (auto started = start(runner, verified); !started) return failed(started.error());
  runners_.push_back(std::move(runner));
  return plan;
}

void RowRun::add_listed(const Plan& chosen) {
  const std::string mine = chosen_name(chosen);
  std::vector<const Candidate*> others;
  for (const Candidate& candidate : chosen.candidates)
    if (candidate.refusal.empty() && candidate.name != mine) others.push_back(&candidate);
  std::ranges::stable_sort(others, {}, [](const Candidate* c) { return std::pair(c->eligibility, c->cost); });
  if (options_.limit != 0 && others.size() >= options_.limit) others.resize(options_.limit - 1);
  // All kernels are compiled side by side before each is prepared alone, where a refusal is reported.
  std::vector<Plan> plans;
  std::erase_if(others, [&](const Candidate* candidate) {
    auto plan = reference::plan_with_extra_rows(result_.row.problem, machine_.profile(),
                                                {.force = candidate->name, .few_pipelines = options_.few_pipelines});
    if (plan) plans.push_back(std::move(*plan));
    return !plan && chosen.steps.size() > 1;  // a candidate of the first step, which does not serve the whole
  });
  (void)machine_.prepare_all(plans);
  result_.contenders[0].listed = true;
  for (const Candidate* candidate : others) {
    const std::string label = candidate->eligibility == Eligibility::candidate
                                  ? fmt::format("estimate {} us", estimate_text(candidate->cost))
                                  : std::string(name(candidate->eligibility));
    (void)add({label, result_.row.problem, candidate->name}, candidate);
  }
}

// As many bytes as the row reads and writes, as far as a slot of source and result has them: fewer where the two
// operands differ in size.
std::uint64_t RowRun::copied_bytes() {
  const Slots& slots = *runners_[0].slots;
  const Work work = operation_.work(result_.row.problem);
  return std::min({static_cast<std::uint64_t>(work.bytes()) / 2, slots.pitch(0), slots.pitch(slots.result())});
}

// The time of a copy of all bytes that the row reads and writes, at the rate of those that were copied.
Spread RowRun::whole_copy(const Spread& copied) {
  const auto bytes = static_cast<double>(copied_bytes());
  const double times = bytes > 0 ? operation_.work(result_.row.problem).bytes() / 2 / bytes : 1;
  const auto whole = [&](double seconds) {
    return seconds + std::max(0.0, times - 1) * std::max(0.0, seconds - result_.empty.median);
  };
  return {whole(copied.median), whole(copied.p10), whole(copied.p90), copied.samples};
}

// The copy as a plan, and by the API's own command, from the row's first operand to its result.
Result<std::vector<Runner>> RowRun::copies(std::uint64_t bytes) {
  Slots* const slots = runners_[0].slots;
  const auto plan = make_plan(copy_problem(bytes), machine_.profile());
  if (!plan) return std::unexpected(plan.error());
  auto program = machine_.prepare(*plan);
  if (!program) return std::unexpected(program.error());
  std::vector<Runner> both(2);
  both[0].program = std::move(*program);
  for (Runner& runner : both) {
    runner.slots = slots;
    for (const std::size_t operand : {std::size_t{0}, slots->result()})
      runner.pieces.push_back({&slots->memory(operand), slots->pitch(operand), bytes});
    if (auto started = start(runner, false); !started) return std::unexpected(started.error());
  }
  return both;
}

// By what bounds the row's own problem.
Result<void> RowRun::choose_reference() {
  const Problem& problem = result_.row.problem;
  const Work work = operation_.work(problem);
  if (work.operations > 0) {
    const auto reference = steady_.reference_for(work.bytes(), work.operations, operation_.narrow_factors(problem));
    if (!reference) return std::unexpected(reference.error());
    result_.reference.reference = *reference;
  }
  return steady_.prepare(result_.reference.reference);
}

// All that is close to the fastest in turn, after the reference; then what is long or hopeless, once each.
Result<void> RowRun::time(std::vector<Runner*> runners, ReferenceTimes& reference) {
  std::vector<LaunchSource> close, slow;
  std::vector<Runner*> close_runners, slow_runners;
  double fastest = kLongRun, round = 0;
  for (Runner* const runner : runners) {
    const bool is_slow =
        runner->rough > kLongRun || (runner->candidate && runner->rough > kHopeless * runners.front()->rough);
    (is_slow ? slow_runners : close_runners).push_back(runner);
    (is_slow ? slow : close).emplace_back([runner] { return runner->launch(runner->slots->take_turn()); });
    if (is_slow) continue;
    fastest = std::min(fastest, runner->rough);
    round += runner->rough;
  }
  const auto take = [](const std::vector<std::vector<double>>& seconds, const std::vector<Runner*>& of) {
    for (std::size_t i = 0; i < of.size(); ++i) of[i]->time = spread_of(seconds[i]);
  };
  const auto settle = [&] { return steady_.settle(reference); };
  if (!close.empty()) {
    const auto inner =
        static_cast<unsigned>(std::clamp(std::ceil(kSampleSeconds / std::max(fastest, 1e-7)), 1.0, 256.0));
    const double each = round * inner / static_cast<double>(close.size());
    const auto repeats = static_cast<unsigned>(
        std::clamp(std::ceil(options_.min_time / std::max(each, 1e-7)), round > kLongRound ? 3.0 : 7.0, 400.0));
    const auto fine = machine_.time(close, {.repeats = repeats, .inner = inner, .ready = settle});
    if (!fine) return std::unexpected(fine.error());
    take(*fine, close_runners);
  }
  if (!slow.empty()) {
    TimingWish once{.repeats = 1, .inner = 1};
    if (close.empty()) once.ready = settle;
    const auto timed = machine_.time(slow, once);
    if (!timed) return std::unexpected(timed.error());
    take(*timed, slow_runners);
  }
  return steady_.confirm(reference);
}

Result<void> RowRun::time_empty(Spread& empty) {
  if (empty.samples > 0) return {};
  auto nothing = copies(kEmptyBytes);
  if (!nothing) return std::unexpected(nothing.error());
  ReferenceTimes reference;
  if (auto timed = time({&nothing->front()}, reference); !timed) return timed;
  empty = nothing->front().time;
  return {};
}

Result<void> RowRun::run(Spread& empty) {
  const BenchRow& row = result_.row;
  if (auto timed = check_timed(row.problem); !timed) return timed;
  const auto planned = add({.label = "planned", .problem = row.problem, .force = options_.force, .verify = row.verify});
  if (!planned) return std::unexpected(planned.error());
  const std::size_t neighbour = result_.contenders.size();
  if (row.neighbour) (void)add({"neighbour", *row.neighbour});
  for (const Contender& contender : row.contenders) (void)add(contender);
  if (row.more)
    for (const Contender& contender : row.more(*planned, machine_.profile())) (void)add(contender);
  if (options_.all_candidates) add_listed(*planned);
  std::vector<Runner> copied;
  if (operation_.beside_copy()) {
    result_.copy_command = machine_.copy_name();
    auto both = copies(copied_bytes());
    if (!both) return std::unexpected(both.error());
    copied = std::move(*both);
  }
  if (auto chosen = choose_reference(); !chosen) return chosen;
  if (operation_.beside_copy())
    if (auto timed = time_empty(empty); !timed) return timed;
  std::vector<Runner*> all;
  all.reserve(runners_.size() + copied.size());
  for (Runner& runner : runners_) all.push_back(&runner);
  for (std::size_t i = 0; i < copied.size(); ++i)
    all.insert(all.begin() + 1 + static_cast<std::ptrdiff_t>(i), &copied[i]);
  if (auto timed = time(all, result_.reference); !timed) return timed;
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): add() gives each of runners_ one
  for (const Runner& runner : runners_) result_.contenders[*runner.contender].time = runner.time;
  if (row.neighbour) result_.neighbour = result_.contenders[neighbour].time;
  if (copied.empty()) return {};
  result_.empty = empty;
  result_.copy_kernel = whole_copy(copied[0].time);
  result_.copy_buffer = whole_copy(copied[1].time);
  return {};
}

}  // namespace

struct RowBench::Impl {
  Machine& machine;
  const BenchOptions& options;
  Steady& steady;
  Spread empty = {};  // on this device
};

RowBench::RowBench(Machine& machine, const BenchOptions& options, Steady& steady)
    : impl_(std::make_unique<Impl>(machine, options, steady)) {}
RowBench::~RowBench() = default;

RowResult RowBench::run(const BenchRow& row) {
  RowResult result;
  result.row = row;
  result.on_cpu = impl_->machine.profile().kind == DeviceKind::cpu;
  result.on_cuda = impl_->machine.profile().api == Api::cuda;
  if (auto ran = RowRun(impl_->machine, impl_->options, impl_->steady, result).run(impl_->empty); !ran)
    result.error = ran.error().message();
  return result;
}

}  // namespace sectile::tools
