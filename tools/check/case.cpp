// Running generated cases: plan, place, fill, submit, compare.
#include "arena.hpp"
#include "check.hpp"
#include "operation.hpp"

#include "reference/extra_rows.hpp"
#include "reference/products.hpp"
#include "reference/random.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::size_t kMostPipelines = 600;  // before those that no one uses any more are destroyed

// One candidate of one case, placed once.
struct Attempt {
  std::uint64_t index = 0;
  std::shared_ptr<CheckedProblem> checked;
  std::string candidate;
  Placement placement = Placement::exact;
  std::uint64_t data_seed = 0;  // the same for all candidates of a case: what is right is worked out once
  ProgramPtr program;
  std::vector<std::string> modules;  // of its steps
  std::vector<PlanOperand> operands;
  std::vector<Placed> placed;  // one an operand

  const Problem& problem() const { return checked->problem(); }
  std::size_t destination() const {
    const auto at = std::ranges::find(operands, OperandRole::destination, &PlanOperand::role);
    return static_cast<std::size_t>(at - operands.begin());
  }
  // Of the bytes that an operand's region holds before the run.
  std::uint64_t stream(std::size_t operand) const {
    return operand == 0 ? data_seed : operand == 1 ? ~data_seed : reference::mix(data_seed + operand);
  }
};

std::string describe(const Attempt& attempt) {
  return fmt::format("{} | {} | {}", print(attempt.problem()), attempt.candidate, name(attempt.placement));
}

std::span<std::byte> inside(std::span<std::byte> region, const Placed& placed) {
  return region.subspan(static_cast<std::size_t>(placed.operand - placed.begin),
                        static_cast<std::size_t>(placed.bytes));
}

// Where a region differs from what it held, outside of its operand: bytes from the operand's address.
std::optional<std::ptrdiff_t> spoiled_guard(std::span<const std::byte> was, std::span<const std::byte> is,
                                            const Placed& placed) {
  const auto first = static_cast<std::ptrdiff_t>(placed.operand - placed.begin);
  const auto last = first + static_cast<std::ptrdiff_t>(placed.bytes);
  const auto before = std::mismatch(was.begin(), was.begin() + first, is.begin());
  if (before.first != was.begin() + first) return before.first - was.begin() - first;
  const auto behind = std::mismatch(was.begin() + last, was.end(), is.begin() + last);
  if (behind.first != was.end()) return behind.first - was.begin() - first;
  return {};
}

// A plan's operands are the problem's, and scratch behind them.
std::string check_operands(const Plan& plan) {
  const auto specs = operands_of(plan.problem);
  if (!specs) return specs.error().message();
  for (std::size_t i = 0; i < plan.operands.size(); ++i) {
    const PlanOperand& operand = plan.operands[i];
    if (i >= specs->size() ? operand.role == OperandRole::scratch
                           : operand.name == (*specs)[i].name && operand.bytes == (*specs)[i].bytes &&
                                 operand.align == (*specs)[i].align &&
                                 operand.role == ((*specs)[i].written ? OperandRole::destination : OperandRole::source))
      continue;
    return fmt::format("the plan's operand {} is none of the problem's, or stands elsewhere", operand.name);
  }
  return plan.operands.size() < specs->size() ? "the plan lacks operands of the problem" : std::string();
}

}  // namespace

std::string ValidationWatch::fresh() {
  const auto messages = machine_->validation_messages();
  std::string text;
  for (; seen_ < messages.size(); ++seen_) text += (text.empty() ? "" : "\n") + messages[seen_];
  return text;
}

struct CaseRunner::Impl {
  Machine& machine;
  const CheckOptions& options;
  CheckSink& sink;
  ValidationWatch validation;
  bool import = false;
  std::optional<Arena> arena;  // reserve() makes it
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): an attempt has been placed, after its reserve()
  Arena& placed_in() { return *arena; }
  std::vector<Attempt> attempts;   // placed, not yet run
  std::set<std::uint64_t> broken;  // cases with a failure already told: one is enough
  std::set<std::string> modules;   // that have run
  std::uint64_t runs = 0;
  std::vector<std::vector<std::byte>> before;  // one an operand: its region as it was before the run
  bool compare = false;                        // with other devices
  std::map<std::uint64_t, Outcome> outcomes;

  Impl(Machine& m, const CheckOptions& o, CheckSink& s) : machine(m), options(o), sink(s), validation(m) {
    compare = device_list(o.device).size() > 1;
    import = !compare && !o.no_protect && m.profile().kind == DeviceKind::cpu && m.import_alignment() != 0;
  }

  void fail_case(std::uint64_t index, const Problem& problem, std::string candidate, std::string message) {
    if (broken.insert(index).second) sink.failed({index, print(problem), std::move(candidate), std::move(message)});
  }
  void fail_attempt(const Attempt& attempt, std::string message) {
    fail_case(attempt.index, attempt.problem(), attempt.candidate, std::move(message));
  }

  Result<void> add_case(std::uint64_t index, bool alone);
  std::vector<std::string> choose(std::uint64_t index, const CheckCase& wanted);
  DeviceProfile profile_for(const CheckCase& wanted) const;
  PlanOptions planned(const CheckCase& given, const std::string& candidate) const {
    return planned_with(options, given, candidate);
  }
  std::vector<Placement> placements(std::uint64_t index, std::size_t attempt) const;
  std::vector<std::uint64_t> data_sets(std::uint64_t index, const CheckedProblem& checked, const Plan& plan) const;
  Result<void> add_attempt(Attempt attempt, const Plan& plan);
  Result<void> add_siblings(std::uint64_t index, const CheckCase& given, const std::string& candidate, const Plan& plan,
                            bool alone);
  Result<void> flush();
  Result<void> reserve(const Attempt& attempt);
  Result<void> submit(unsigned run = 1);
  Result<void> repeat();
  void fill(const Attempt& attempt, std::size_t operand, std::span<std::byte> region) const;
  // What the last run left in the destination.
  std::span<std::byte> result(const Attempt& attempt) {
    const Placed& placed = attempt.placed[attempt.destination()];
    return placed_in().bytes(placed.operand, placed.operand + placed.bytes);
  }
  void verify(const Attempt& attempt);
  std::string find_wrong(const Attempt& attempt);
};

// The names of the candidates to run: the chosen one first.
std::vector<std::string> CaseRunner::Impl::choose(std::uint64_t index, const CheckCase& wanted) {
  const Problem& problem = wanted.problem;
  if (!options.force.empty()) return {options.force};
  PlanOptions all = planned(wanted, "");
  all.explain = true;
  const auto plan = reference::plan_with_extra_rows(problem, profile_for(wanted), all);
  if (plan) {
    auto names = candidates_to_run(options, index, wanted, *plan, machine.profile());
    // Of a permute in parts, candidates are those of its first part: what cannot move the whole is not forced.
    const auto moves_whole = [&](const std::string& name) {
      return reference::plan_with_extra_rows(problem, profile_for(wanted), planned(wanted, name)).has_value();
    };
    const bool in_parts = plan->steps.size() > 1 && std::holds_alternative<PermuteProblem>(problem);
    if (in_parts && std::erase_if(names, std::not_fn(moves_whole)) != 0) names.insert(names.begin(), "");
    return names;
  }
  const std::string lack = check_operation(problem).lack(problem, machine.profile());
  if (plan.error().kind == ErrorKind::unsupported && !lack.empty())
    sink.skipped(index, lack);
  else
    fail_case(index, problem, "", "no plan: " + plan.error().message());
  return {};
}

DeviceProfile CaseRunner::Impl::profile_for(const CheckCase& wanted) const {
  return compare ? machine.profile() : planned_device(wanted, machine.profile());
}

std::vector<Placement> CaseRunner::Impl::placements(std::uint64_t index, std::size_t attempt) const {
  if (!import) return {Placement::exact};
  // A case that is looked at alone is looked at from every side.
  if (!options.problem.empty()) return {Placement::behind, Placement::before, Placement::exact};
  switch (reference::mix(index * 64 + attempt) % 8) {
    case 0:
    case 1:
      return {Placement::before};
    case 2:
    case 3:
      return {Placement::exact};
    default:
      return {Placement::behind};
  }
}

Result<void> CaseRunner::Impl::add_case(std::uint64_t index, bool alone) {
  const CheckCase given = check_case(options, index);
  const auto checked = check_operation(given.problem).checked(given.problem);
  const Problem& problem = checked->problem();
  if (!options.filter.empty() && !passes_filter(options.filter, given.candidate)) {
    sink.skipped(index, "left out by --filter");
    return {};
  }
  if (dies_of_far_rows(machine.profile()) && check_operation(given.problem).far_addresses(given.problem)) {
    sink.skipped(index, "the driver dies of addresses that differ from lane to lane, as those of q4's scales do");
    return {};
  }
  sink.doing(print(problem) + " | planning");
  if (auto wrong = checked->check_words(); !wrong.empty()) {
    fail_case(index, problem, "", std::move(wrong));
    return {};
  }
  std::size_t number = 0;
  for (const std::string& candidate : choose(index, given)) {
    const auto plan = reference::plan_with_extra_rows(problem, profile_for(given), planned(given, candidate));
    if (!plan) {
      if (!options.force.empty())
        sink.skipped(index, plan.error().message());
      else
        fail_case(index, problem, candidate, "no plan: " + plan.error().message());
      continue;
    }
    if (checked->empty()) {
      if (!plan->steps.empty()) fail_case(index, problem, candidate, "a plan with steps, for no element");
      continue;
    }
    for (const std::uint64_t data : data_sets(index, *checked, *plan))
      for (const Placement placement : placements(index, number)) {
        if (auto added = add_attempt({index, checked, candidate, placement, data, {}, {}, {}, {}}, *plan); !added)
          return added;
        if (!alone) continue;
        if (auto flushed = flush(); !flushed) return flushed;
      }
    if (auto added = add_siblings(index, given, candidate, *plan, alone); !added) return added;
    ++number;
  }
  return {};
}

// Where devices are compared, all of them have the same data, whatever each one's plan is.
std::vector<std::uint64_t> CaseRunner::Impl::data_sets(std::uint64_t index, const CheckedProblem& checked,
                                                       const Plan& plan) const {
  const Problem& problem = checked.problem();
  const bool ends = !check_operation(problem).mixes_inputs(problem, compare ? nullptr : &plan);
  return checked.data_sets(reference::mix(options.seed) ^ (index * 64), !options.problem.empty(), ends);
}

// Further problems for kernels that are compiled now. Those of a compared case would stand elsewhere on each device.
Result<void> CaseRunner::Impl::add_siblings(std::uint64_t index, const CheckCase& given, const std::string& candidate,
                                            const Plan& plan, bool alone) {
  if (compare || broken.contains(index)) return {};
  const DeviceProfile profile = profile_for(given);
  const PlanOptions forced = planned(given, candidate);
  std::size_t number = 64;  // of placements: apart from the case's own
  for (const Problem& problem : siblings_of(options, index, plan, profile, forced)) {
    const auto other = reference::plan_with_extra_rows(problem, profile, forced);
    if (!other) continue;  // it had one
    const auto checked = std::shared_ptr(check_operation(problem).checked(problem));
    if (auto wrong = checked->check_words(); !wrong.empty()) {
      fail_case(index, problem, candidate, std::move(wrong));
      return {};
    }
    // Each kind of data in turn.
    const auto data = data_sets(index, *checked, *other);
    for (const Placement placement : placements(index, number)) {
      Attempt attempt{index, checked, candidate, placement, data.at(number % data.size()), {}, {}, {}, {}};
      if (auto added = add_attempt(std::move(attempt), *other); !added) return added;
      if (!alone) continue;
      if (auto flushed = flush(); !flushed) return flushed;
    }
    ++number;
  }
  return {};
}

Result<void> CaseRunner::Impl::add_attempt(Attempt attempt, const Plan& plan) {
  sink.doing(describe(attempt) + " | preparing");
  if (auto wrong = check_operands(plan); !wrong.empty()) {
    fail_attempt(attempt, std::move(wrong));
    return {};
  }
  auto program = machine.prepare(plan);
  if (!program) {
    fail_attempt(attempt, "prepare: " + program.error().message());
    return {};
  }
  if (auto said = validation.fresh(); !said.empty())
    fail_attempt(attempt, "validation layer, while preparing: " + said);
  attempt.program = std::move(*program);
  attempt.operands = plan.operands;
  for (const Step& step : plan.steps) attempt.modules.push_back(step.kernel.stem + "." + step.kernel.variant);
  if (auto room = reserve(attempt); !room) return room;
  for (const PlanOperand& operand : attempt.operands)
    if (!placed_in().place(attempt.placement, operand.bytes, operand.align, attempt.placed.emplace_back()))
      return fail(ErrorKind::too_small, "arena", std::to_string(placed_in().size()), operand.name);
  attempts.push_back(std::move(attempt));
  return {};
}

// Room for all of the attempt's operands: what is placed already is run first where there is too little.
Result<void> CaseRunner::Impl::reserve(const Attempt& attempt) {
  std::uint64_t room = 0;
  for (const PlanOperand& operand : attempt.operands) room += Arena::room_for(operand.bytes, operand.align);
  if (arena && arena->used() + room <= arena->size()) return {};
  if (auto flushed = flush(); !flushed) return flushed;
  if (arena && room <= arena->size()) return {};
  arena.reset();
  auto made = Arena::make(machine, std::max(room, kArenaBytes), import);
  if (!made) return std::unexpected(made.error());
  arena = std::move(*made);
  return {};
}

// What a region holds before the run: sources their data, a destination and scratch poison, guard bands whatever.
void CaseRunner::Impl::fill(const Attempt& attempt, std::size_t operand, std::span<std::byte> region) const {
  reference::fill_data(region, attempt.stream(operand));
  // NaNs as floats of any type.
  if (attempt.operands[operand].role == OperandRole::scratch)
    reference::make_nans(DType::bf16, inside(region, attempt.placed[operand]));
  attempt.checked->fill(attempt.operands[operand].name, inside(region, attempt.placed[operand]), attempt.data_seed);
}

Result<void> CaseRunner::Impl::submit(unsigned run) {
  for (const Attempt& attempt : attempts)
    for (std::size_t i = 0; i < attempt.placed.size(); ++i)
      fill(attempt, i, placed_in().bytes(attempt.placed[i].begin, attempt.placed[i].end));
  if (auto sent = placed_in().to_device(); !sent) return sent;
  sink.doing(attempts.size() == 1 ? describe(attempts[0]) : fmt::format("a batch of {} runs", attempts.size()));
  std::vector<Launch> launches;
  for (const Attempt& attempt : attempts) {
    Launch& launch = launches.emplace_back(attempt.program.get(), std::vector<Part>{});
    for (const Placed& placed : attempt.placed)
      launch.parts.push_back({&placed_in().memory(), placed.operand, placed.bytes});
  }
  const auto done = machine.run(
      launches, [&](std::size_t i, const Error& error) { fail_attempt(attempts[i], "record: " + error.message()); });
  if (!done) return done;
  if (auto back = placed_in().from_device(); !back) return back;
  for (const Attempt& attempt : attempts) {
    if (options.spoil == attempt.index && run == options.repeat) attempt.checked->spoil(result(attempt));
    if (options.kill == attempt.index) std::raise(SIGSEGV);
    if (options.hang == attempt.index) hang();
  }
  return {};
}

// Runs all attempts again, from the same bytes, and compares what they leave with what the first run left.
Result<void> CaseRunner::Impl::repeat() {
  std::vector<std::vector<std::byte>> first;
  for (const Attempt& attempt : attempts) {
    const auto bytes = result(attempt);
    first.emplace_back(bytes.begin(), bytes.end());
  }
  for (unsigned run = 2; run <= options.repeat; ++run) {
    if (auto done = submit(run); !done) return done;
    for (std::size_t i = 0; i < attempts.size(); ++i) {
      const auto now = result(attempts[i]);
      const auto differs = std::mismatch(first[i].begin(), first[i].end(), now.begin()).first;
      if (differs != first[i].end())
        fail_attempt(attempts[i], fmt::format("run {} of {} left another byte {} than the first", run, options.repeat,
                                              differs - first[i].begin()));
    }
  }
  return {};
}

Result<void> CaseRunner::Impl::flush() {
  if (attempts.empty()) return {};
  if (auto done = submit(); !done) return done;
  for (const Attempt& attempt : attempts) {
    verify(attempt);
    for (const std::string& module : attempt.modules)
      if (modules.insert(module).second) sink.ran(module);
    if (!compare) continue;
    const auto got = result(attempt);
    Outcome& outcome = outcomes[attempt.index];
    outcome = {attempt.checked, {}, {got.begin(), got.end()}};
    // Scratch, which the devices' plans may or may not have, holds no data.
    for (std::size_t i = 0; i < attempt.placed.size(); ++i)
      if (attempt.operands[i].role != OperandRole::scratch)
        outcome.at.push_back(attempt.placed[i].operand - attempt.placed[i].begin);
  }
  if (options.repeat > 1)
    if (auto same = repeat(); !same) return same;
  runs += attempts.size() * options.repeat;
  if (auto said = validation.fresh(); !said.empty()) {
    const Attempt& first = attempts.front();
    const std::string which =
        attempts.size() == 1 ? "" : fmt::format(" (in cases {} to {})", first.index, attempts.back().index);
    fail_attempt(first, "validation layer" + which + ": " + said);
  }
  attempts.clear();
  placed_in().clear();
  if (machine.kernel_count() > kMostPipelines) machine.trim();
  return {};
}

// What is wrong with what the run left behind; empty where nothing is.
std::string CaseRunner::Impl::find_wrong(const Attempt& attempt) {
  OperandData data;
  before.resize(attempt.placed.size());
  for (std::size_t i = 0; i < attempt.placed.size(); ++i) {
    const Placed& placed = attempt.placed[i];
    before[i].resize(static_cast<std::size_t>(placed.end - placed.begin));
    fill(attempt, i, before[i]);
    data[attempt.operands[i].name] = inside(before[i], placed);
    if (attempt.operands[i].role != OperandRole::source) continue;
    const auto got = placed_in().bytes(placed.begin, placed.end);
    if (std::memcmp(before[i].data(), got.data(), got.size()) == 0) continue;
    const auto at = std::mismatch(before[i].begin(), before[i].end(), got.begin()).first - before[i].begin();
    return fmt::format("{}, or a guard band of it, was written at byte {}", attempt.operands[i].name,
                       at - static_cast<std::ptrdiff_t>(placed.operand - placed.begin));
  }
  const std::size_t d = attempt.destination();
  const Placed& destination = attempt.placed[d];
  const auto got = placed_in().bytes(destination.begin, destination.end);
  if (auto wrong = attempt.checked->compare(data, attempt.data_seed, inside(got, destination)); !wrong.empty())
    return wrong;
  for (std::size_t i = 0; i < attempt.placed.size(); ++i) {
    const Placed& placed = attempt.placed[i];
    if (attempt.operands[i].role == OperandRole::source) continue;
    if (const auto at = spoiled_guard(before[i], placed_in().bytes(placed.begin, placed.end), placed))
      return fmt::format("a guard band of {} was written at byte {} of its {}", attempt.operands[i].name, *at,
                         placed.bytes);
  }
  return {};
}

void CaseRunner::Impl::verify(const Attempt& attempt) {
  if (broken.contains(attempt.index)) return;
  if (auto wrong = find_wrong(attempt); !wrong.empty())
    fail_attempt(attempt, fmt::format("{} ({})", wrong, name(attempt.placement)));
}

CaseRunner::CaseRunner(Machine& machine, const CheckOptions& options, CheckSink& sink)
    : impl_(std::make_unique<Impl>(machine, options, sink)) {}

CaseRunner::~CaseRunner() = default;

const std::map<std::uint64_t, Outcome>& CaseRunner::outcomes() const noexcept { return impl_->outcomes; }

Result<void> CaseRunner::run(std::uint64_t first, std::uint64_t last, bool alone) {
  impl_->runs = 0;
  impl_->outcomes.clear();
  for (std::uint64_t index = first; index < last; ++index) {
    if (auto added = impl_->add_case(index, alone); !added) return added;
  }
  if (auto flushed = impl_->flush(); !flushed) return flushed;
  impl_->sink.finished(impl_->runs);
  return {};
}

}  // namespace sectile::tools
