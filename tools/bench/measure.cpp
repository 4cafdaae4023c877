// Timing one row: our plan, the copies that it is judged by and, where asked for, every candidate.
// Their samples alternate in one run, and every run takes the next of several buffers, so that none
// finds its data in a cache.
#include "bench.hpp"

#include "data.hpp"

#include "reference/permute.hpp"
#include "reference/stream.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint32_t kPoison = 0xdeadbeef;
constexpr std::uint64_t kMostSlots = 4096;

// What is timed, in this order; candidates follow.
enum Place : std::size_t { kOurs, kCopyKernel, kCopyCommand, kFirstOther };

Result<std::vector<Spread>> spreads_of(const Result<std::vector<std::vector<double>>>& timings) {
  if (!timings) return std::unexpected(timings.error());
  std::vector<Spread> spreads;
  for (const auto& seconds : *timings) spreads.push_back(spread_of(seconds));
  return spreads;
}

// Something to time.
struct Runner {
  std::string name, plan;
  ProgramPtr program;  // null: the API's own copy
  bool chosen = false;
  std::int64_t cost = 0;
  bool fallback = false;
  std::uint64_t src_bytes = 0, dst_bytes = 0;
  std::vector<PlanOperand> more = {};   // operands behind them: a stage's, scratch
  bool candidate = false;               // may be left out where it is hopeless
};

// Bytes that are read and written; the gaps of strided operands are not counted.
OperandBytes moved_bytes(const PermuteProblem& problem, const Runner& runner) {
  const auto dense = [](const std::vector<std::int64_t>& shape, DType type) {
    std::uint64_t bytes = size_bytes(type);
    for (const std::int64_t size : shape) bytes *= static_cast<std::uint64_t>(size);
    return bytes;
  };
  OperandBytes moved{runner.src_bytes, runner.dst_bytes};
  if (!problem.src_strides.empty()) moved.src = std::min(moved.src, dense(problem.shape, problem.type));
  const auto result = dst_shape(problem);
  if (!problem.dst_strides.empty() && result) moved.dst = std::min(moved.dst, dense(*result, out_type(problem)));
  return moved;
}

}  // namespace

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

std::optional<std::pair<std::string, double>> RowResult::best_rival() const {
  std::optional<std::pair<std::string, double>> best;
  for (const auto& [name, seconds] : rivals) {
    if (name.starts_with("copy")) continue;
    if (!best || seconds < best->second) best = {name, seconds};
  }
  return best;
}

Goal goal_of(const RowResult& result) {
  constexpr std::uint64_t mb = 1 << 20;
  const std::uint64_t bytes = std::max(result.src_bytes, result.dst_bytes);
  if (result.on_cpu) return {">= 0.40", result.fraction() >= 0.40};
  if (bytes >= 8 * mb) {
    const double least = bytes >= 32 * mb ? 0.95 : 0.90;
    return {fmt::format(">= {:.2f}", least), result.fraction() >= least};
  }
  const double most = 1.5 * (result.empty.median + result.copy().median);
  return {fmt::format("<= {:.2f} us", most * 1e6), result.ours.median <= most};
}

struct RowBench::Impl {
  Machine& machine;
  const BenchOptions& options;
  Steady& steady;
  MemoryPtr src, dst;
  std::vector<MemoryPtr> more;   // what follows src and dst in plans, one for all slots; grown as plans ask
  std::uint64_t src_pitch = 0, dst_pitch = 0, slots = 0, turn = 0;
  Spread empty;
  std::vector<CandidateTime> failed;   // candidates that could not even be prepared

  Impl(Machine& m, const BenchOptions& o, Steady& s) : machine(m), options(o), steady(s) {}

  Result<void> make_slots(std::uint64_t src_bytes, std::uint64_t dst_bytes);
  Result<void> fill_slots(std::uint64_t src_bytes);
  Result<Runner> prepare(const PermuteProblem& problem, const std::string& force);
  Result<Runner> prepare_plan(const Plan& plan);
  Result<std::vector<Runner>> prepare_row(const BenchRow& row);
  Launch launch(const Runner& runner, std::uint64_t slot) const;
  Result<std::vector<Spread>> time(const std::vector<Runner>& runners, ReferenceTimes& reference);
  std::string verify(const Runner& runner, const PermuteProblem& problem);
  Result<void> time_empty();
  Result<void> run(RowResult& result);
};

Result<void> RowBench::Impl::make_slots(std::uint64_t src_bytes, std::uint64_t dst_bytes) {
  src_pitch = round_up(src_bytes, 4096);
  dst_pitch = round_up(dst_bytes, 4096);
  // A cache several times smaller than what one round touches keeps nothing until the round is over.
  const double l2 = static_cast<double>(machine.profile().l2_bytes.value_or(0));
  const double cycle = std::max(options.cycle_mb * 1e6, 8 * l2);
  const auto wanted = static_cast<std::uint64_t>(std::ceil(cycle / static_cast<double>(src_bytes + dst_bytes)));
  slots = std::clamp<std::uint64_t>(wanted, 2, kMostSlots);
  for (; slots > 0; slots /= 2) {
    src.reset();
    dst.reset();
    auto first = machine.make_memory(slots * src_pitch);
    if (first) {
      auto second = machine.make_memory(slots * dst_pitch);
      if (second) {
        src = std::move(*first);
        dst = std::move(*second);
        return fill_slots(src_bytes);
      }
      if (slots == 1) return std::unexpected(second.error());
    } else if (slots == 1) {
      return std::unexpected(first.error());
    }
  }
  return fail(ErrorKind::device, "memory", std::to_string(src_bytes + dst_bytes));
}

// Random data in every slot: pages that were never written may all be one and the same, and in cache.
Result<void> RowBench::Impl::fill_slots(std::uint64_t src_bytes) {
  std::vector<std::byte> data(static_cast<std::size_t>(src_bytes));
  reference::fill_data(data, kBenchSeed);
  if (auto sent = machine.upload(*src, 0, data); !sent) return sent;
  if (auto filled = machine.fill(*dst, 0, slots * dst_pitch, kPoison); !filled) return filled;
  std::vector<Launch> copies;
  for (std::uint64_t slot = 1; slot < slots; ++slot)
    copies.push_back({nullptr, {{src.get(), 0, src_bytes}, {src.get(), slot * src_pitch, src_bytes}}});
  return machine.run(copies, [](std::size_t, const Error&) {});
}

Result<Runner> RowBench::Impl::prepare(const PermuteProblem& problem, const std::string& force) {
  const auto plan = make_plan(problem, machine.profile(), {.explain = true, .force = force, .tuned = options.tuned});
  if (!plan) return std::unexpected(plan.error());
  auto runner = prepare_plan(*plan);
  if (!runner) return runner;
  for (const Candidate& candidate : plan->candidates) {
    if (!candidate.chosen) continue;
    runner->name = candidate.name;
    runner->cost = candidate.cost;
    runner->fallback = candidate.fallback;
  }
  return runner;
}

Result<Runner> RowBench::Impl::prepare_plan(const Plan& plan) {
  auto program = machine.prepare(plan);
  if (!program) return std::unexpected(program.error());
  Runner runner{.name = {},
                .plan = print(plan),
                .program = std::move(*program),
                .src_bytes = plan.operands[0].bytes,
                .dst_bytes = plan.operands[1].bytes,
                .more = {plan.operands.begin() + 2, plan.operands.end()}};
  for (std::size_t i = 0; i < runner.more.size(); ++i) {
    if (more.size() <= i) more.emplace_back();
    const std::uint64_t bytes = std::max<std::uint64_t>(runner.more[i].bytes, 16);
    if (more[i] != nullptr && more[i]->size() >= bytes) continue;
    auto memory = machine.make_memory(bytes);
    if (!memory) return std::unexpected(memory.error());
    if (auto filled = machine.fill(**memory, 0, bytes / 4 * 4, 0); !filled) return std::unexpected(filled.error());
    more[i] = std::move(*memory);
  }
  return runner;
}

// Ours first, then the two copies, then what --all-candidates adds.
Result<std::vector<Runner>> RowBench::Impl::prepare_row(const BenchRow& row) {
  std::vector<Runner> runners;
  auto ours = prepare(row.problem, options.force);
  if (!ours) return std::unexpected(ours.error());
  ours->chosen = true;
  const OperandBytes moved = moved_bytes(row.problem, *ours);
  const std::uint64_t half = (moved.src + moved.dst) / 2;
  const std::uint64_t copied = std::min({half, src_pitch, dst_pitch});
  auto kernel = prepare(copy_problem(copied), "");
  if (!kernel) return std::unexpected(kernel.error());
  runners.push_back(std::move(*ours));
  runners.push_back(std::move(*kernel));
  runners.push_back({.name = std::string(machine.copy_name()),
                     .plan = {},
                     .program = nullptr,
                     .src_bytes = copied,
                     .dst_bytes = copied,
                     .more = {}});
  if (row.neighbour) {
    auto neighbour = prepare(*row.neighbour, "");
    if (!neighbour) return std::unexpected(neighbour.error());
    runners.push_back(std::move(*neighbour));
  }
  if (has_stage(row.problem) && !row.problem.axes.empty()) {
    const auto plan = separate_passes(row.problem, machine.profile());
    if (!plan) return std::unexpected(plan.error());
    auto passes = prepare_plan(*plan);
    if (!passes) return std::unexpected(passes.error());
    passes->name = "two passes, the stage in the second";
    passes->candidate = true;
    runners.push_back(std::move(*passes));
  }
  if (!options.all_candidates) return runners;
  const auto explained = make_plan(row.problem, machine.profile(), {.explain = true, .force = {}});
  if (!explained) return std::unexpected(explained.error());
  std::vector<Candidate> others = explained->candidates;
  std::erase_if(others, [&](const Candidate& c) { return !c.refusal.empty() || c.name == runners[0].name; });
  std::ranges::stable_sort(others, {}, &Candidate::cost);
  if (options.limit != 0 && others.size() >= options.limit) others.resize(options.limit - 1);
  failed.clear();
  for (const Candidate& candidate : others) {
    auto other = prepare(row.problem, candidate.name);
    if (!other) {
      failed.push_back({candidate.name, {}, false, candidate.cost, candidate.fallback, other.error().message(), {}});
      continue;
    }
    other->name = candidate.name;
    other->cost = candidate.cost;
    other->fallback = candidate.fallback;
    other->candidate = true;
    runners.push_back(std::move(*other));
  }
  return runners;
}

Launch RowBench::Impl::launch(const Runner& runner, std::uint64_t slot) const {
  Launch launch{runner.program.get(),
                {{src.get(), slot * src_pitch, runner.src_bytes}, {dst.get(), slot * dst_pitch, runner.dst_bytes}}};
  for (std::size_t i = 0; i < runner.more.size(); ++i) launch.parts.push_back({more[i].get(), 0, runner.more[i].bytes});
  return launch;
}

Result<std::vector<Spread>> RowBench::Impl::time(const std::vector<Runner>& runners, ReferenceTimes& reference) {
  std::vector<LaunchSource> functions;
  for (const Runner& runner : runners) {
    // All take their turn at the same slots: what one has just touched is not the next one's.
    functions.emplace_back([this, &runner] { return launch(runner, turn++ % slots); });
  }
  // What was not verified has not run yet, and a driver may compile at a kernel's first run: no sample of that.
  if (const auto first = machine.time(functions, {.repeats = 1, .inner = 1, .warmup_seconds = 0}); !first)
    return std::unexpected(first.error());
  const auto rough = spreads_of(machine.time(functions, {.repeats = 2, .inner = 1, .warmup_seconds = 0}));
  if (!rough) return rough;
  std::vector<Spread> spreads = *rough;
  const Spread& fastest = *std::min_element(spreads.begin(), spreads.end(),
                                            [](const Spread& x, const Spread& y) { return x.median < y.median; });
  const auto inner =
      static_cast<unsigned>(std::clamp(std::ceil(kSampleSeconds / std::max(fastest.median, 1e-7)), 1.0, 256.0));

  // A candidate that is hopeless keeps its rough time, or it would cost more of the clock than all others.
  std::vector<LaunchSource> close;
  std::vector<std::size_t> places;
  double all = 0;
  for (std::size_t i = 0; i < runners.size(); ++i) {
    if (runners[i].candidate && spreads[i].median > kHopeless * spreads[0].median) continue;
    close.push_back(functions[i]);
    places.push_back(i);
    all += spreads[i].median;
  }
  const double per_round = all * inner / static_cast<double>(close.size());
  const auto repeats = static_cast<unsigned>(
      std::clamp(std::ceil(options.min_time / std::max(per_round, 1e-7)), all > 2 ? 3.0 : 7.0, 400.0));
  const auto settle = [&] { return steady.settle(reference); };
  const auto fine = spreads_of(machine.time(close, {.repeats = repeats, .inner = inner, .warmup_seconds = 0, .ready = settle}));
  if (!fine) return fine;
  if (auto confirmed = steady.confirm(reference); !confirmed) return std::unexpected(confirmed.error());
  for (std::size_t i = 0; i < places.size(); ++i) spreads[places[i]] = (*fine)[i];
  return spreads;
}

// One run into poisoned memory, every element compared.
std::string RowBench::Impl::verify(const Runner& runner, const PermuteProblem& problem) {
  if (has_stage(problem)) return {};   // random bits are no numbers: `sectile check` looks at such problems
  const auto wrong = [](const Error& error) { return error.message(); };
  if (auto filled = machine.fill(*dst, 0, dst_pitch, kPoison); !filled) return wrong(filled.error());
  const auto done = machine.run(launch(runner, 0));
  if (!done) return wrong(done.error());
  std::vector<std::byte> got(static_cast<std::size_t>(runner.dst_bytes));
  if (auto down = machine.download(*dst, 0, got); !down) return wrong(down.error());
  const auto mismatch = reference::check_streamed(reference::PermuteDefinition(problem), kBenchSeed, got);
  return mismatch ? "WRONG RESULT: " + mismatch->message() : std::string();
}

// What a dispatch costs that has next to nothing to do.
Result<void> RowBench::Impl::time_empty() {
  if (empty.samples > 0) return {};
  auto runner = prepare(copy_problem(16), "");
  if (!runner) return std::unexpected(runner.error());
  const std::vector<Runner> one = {std::move(*runner)};
  ReferenceTimes reference;
  const auto spread = time(one, reference);
  if (!spread) return std::unexpected(spread.error());
  empty = spread->front();
  return {};
}

Result<void> RowBench::Impl::run(RowResult& result) {
  const auto bytes = operand_bytes(result.row.problem);
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->dst == 0)
    return fail(ErrorKind::invalid_problem, "shape", print(Problem(result.row.problem)), "at least one element");
  OperandBytes room = *bytes;
  if (result.row.neighbour) {
    const auto around = operand_bytes(*result.row.neighbour);
    if (!around) return std::unexpected(around.error());
    room = {std::max(room.src, around->src), std::max(room.dst, around->dst)};
  }
  if (auto made = make_slots(room.src, room.dst); !made) return made;
  if (auto prepared = steady.prepare(Reference::copy); !prepared) return prepared;
  const auto runners = prepare_row(result.row);
  if (!runners) return std::unexpected(runners.error());
  const Runner& ours = runners->front();
  result.candidate = ours.name;
  result.copy_command = machine.copy_name();
  result.plan = ours.plan;
  const OperandBytes moved = moved_bytes(result.row.problem, ours);
  result.src_bytes = moved.src;
  result.dst_bytes = moved.dst;
  std::vector<std::string> wrong(runners->size());
  for (std::size_t i = 0; i < runners->size() && !options.no_verify; ++i) {
    if (i == kCopyKernel || i == kCopyCommand) continue;
    wrong[i] = verify((*runners)[i], result.row.neighbour && i == kFirstOther ? *result.row.neighbour : result.row.problem);
  }
  if (!wrong[0].empty()) return fail(ErrorKind::device, ours.name, wrong[0]);
  if (auto timed = time_empty(); !timed) return timed;
  const auto spreads = time(*runners, result.reference);
  if (!spreads) return std::unexpected(spreads.error());
  result.ours = (*spreads)[kOurs];
  result.copy_kernel = (*spreads)[kCopyKernel];
  result.copy_buffer = (*spreads)[kCopyCommand];
  result.empty = empty;
  if (result.row.neighbour) {
    if (!wrong[kFirstOther].empty()) return fail(ErrorKind::device, (*runners)[kFirstOther].name, wrong[kFirstOther]);
    result.neighbour = (*spreads)[kFirstOther];
  }
  const auto is_candidate = [&](const Runner& runner) { return runner.candidate || &runner == &ours; };
  if (std::ranges::count_if(*runners, is_candidate) == 1 && !options.all_candidates) return {};
  for (std::size_t i = 0; i < runners->size(); ++i) {
    const Runner& runner = (*runners)[i];
    if (!is_candidate(runner)) continue;
    result.candidates.push_back({runner.name, runner.plan, runner.chosen, runner.cost, runner.fallback, wrong[i], (*spreads)[i]});
  }
  std::sort(result.candidates.begin(), result.candidates.end(),
            [](const CandidateTime& a, const CandidateTime& b) { return a.time.median < b.time.median; });
  result.candidates.insert(result.candidates.end(), failed.begin(), failed.end());
  return {};
}

RowBench::RowBench(Machine& machine, const BenchOptions& options, Steady& steady)
    : impl_(std::make_unique<Impl>(machine, options, steady)) {}
RowBench::~RowBench() = default;

RowResult RowBench::run(const BenchRow& row) {
  RowResult result;
  result.row = row;
  result.on_cpu = impl_->machine.profile().kind == DeviceKind::cpu;
  if (auto ran = impl_->run(result); !ran) result.error = ran.error().message();
  return result;
}

}  // namespace sectile::tools
