#include "matmul.hpp"

#include "data.hpp"

#include "lib/matmul.abi.h"
#include "reference/matmul.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint32_t kPoisonOfNans = 0xffffffff;
constexpr double kLongRun = 0.5;                // seconds: a contender that takes longer is timed once
constexpr std::uint64_t kMostMatmulSlots = 256;
constexpr int kSamples = 64;                    // elements that are compared with the reference before timing

// Operands of one problem in several slots, so that no run finds its data in a cache.
struct Slots {
  MatmulProblem problem;
  std::vector<OperandSpec> specs;
  std::vector<MemoryPtr> memory;
  std::vector<std::uint64_t> pitch;
  std::vector<std::vector<std::byte>> host;     // what slot 0 holds of sources
  std::vector<std::byte> first;                 // what the first contender made of it
  std::uint64_t count = 0, turn = 0;
};

struct Contestant {
  std::size_t contender = 0;
  Slots* slots = nullptr;
  Plan plan;
  ProgramPtr program;
  MemoryPtr scratch;
  double rough = 0;                             // seconds of its second run
};

class Bench {
 public:
  Bench(Machine& machine, const BenchOptions& options, Steady& steady) : machine_(machine), options_(options), steady_(steady) {}
  Result<void> run(MatmulResult& result);

 private:
  Result<Slots*> slots_for(const MatmulProblem& problem);
  Result<void> make_slots(Slots& slots);
  Result<Plan> add(MatmulResult& result, const MatmulContender& contender);
  void add_twins(MatmulResult& result, const Plan& chosen);
  void add_candidates(MatmulResult& result, const Plan& chosen);
  std::string run_first(const Contestant& runner);
  std::string verify(const Contestant& runner);
  Result<double> time_once(const Contestant& runner);
  Result<void> choose_reference(MatmulResult& result);
  Result<void> time(MatmulResult& result);
  Launch launch(const Contestant& runner, std::uint64_t slot) const;

  Machine& machine_;
  const BenchOptions& options_;
  Steady& steady_;
  std::size_t fixed_ = 0;                       // contenders that are timed however slow they are
  std::vector<std::unique_ptr<Slots>> slots_;
  std::vector<Contestant> runners_;
};

Result<void> Bench::make_slots(Slots& slots) {
  auto specs = operands_of(Problem(slots.problem));
  if (!specs) return std::unexpected(specs.error());
  slots.specs = std::move(*specs);
  std::uint64_t all = 0;
  for (const auto& spec : slots.specs) {
    slots.pitch.push_back((spec.bytes + 255) / 256 * 256);
    all += spec.bytes;
  }
  const double cycle = std::max(options_.cycle_mb * 1e6, 8 * static_cast<double>(machine_.profile().l2_bytes.value_or(0)));
  const double wanted = std::ceil(cycle / static_cast<double>(std::max<std::uint64_t>(all, 1)));
  slots.count = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 2, kMostMatmulSlots);
  const reference::MatmulDefinition definition(slots.problem);
  for (std::size_t i = 0; i < slots.specs.size(); ++i) {
    const auto& spec = slots.specs[i];
    auto memory = machine_.make_memory(std::max<std::uint64_t>(256, slots.count * slots.pitch[i]));
    if (!memory) return std::unexpected(memory.error());
    slots.host.emplace_back(static_cast<std::size_t>(spec.bytes));
    if (!spec.written || slots.problem.c_is_d) {   // C is what D held
      fill_numbers(definition.operand(spec.name).type, slots.host[i], kBenchSeed + i);
      if (auto sent = machine_.upload(**memory, 0, slots.host[i]); !sent) return sent;
      std::vector<Launch> copies;
      for (std::uint64_t slot = 1; slot < slots.count && spec.bytes > 0; ++slot)   // none where K is 0
        copies.push_back({nullptr, {{memory->get(), 0, spec.bytes}, {memory->get(), slot * slots.pitch[i], spec.bytes}}});
      if (auto copied = machine_.run(copies, [](std::size_t, const Error&) {}); !copied) return copied;
    }
    slots.memory.push_back(std::move(*memory));
  }
  return {};
}

Result<Slots*> Bench::slots_for(const MatmulProblem& problem) {
  for (const auto& slots : slots_)
    if (slots->problem == problem) return slots.get();
  auto slots = std::make_unique<Slots>();
  slots->problem = problem;
  if (auto made = make_slots(*slots); !made) return std::unexpected(made.error());
  slots_.push_back(std::move(slots));
  return slots_.back().get();
}

std::string chosen_name(const Plan& plan) {
  for (const Candidate& candidate : plan.candidates)
    if (candidate.chosen) return candidate.name;
  return plan.steps.empty() ? "" : plan.steps[0].kernel.stem;
}

// A runner for it, or the reason why not in its time's error.
Result<Plan> Bench::add(MatmulResult& result, const MatmulContender& contender) {
  const auto& p = contender.problem;
  result.times.push_back({.label = contender.label, .problem = print(Problem(p)), .candidate = contender.force, .plan = {}, .statistics = {}, .error = {},
                          .operations = operations_of(p),
                          .time = {}});
  MatmulTime& told = result.times.back();
  const auto failed = [&](const Error& error) {
    told.error = error.message();
    return std::unexpected(error);
  };
  auto plan = make_plan(Problem(p), machine_.profile(), {.explain = true, .force = contender.force, .tuned = options_.tuned});
  if (!plan) return failed(plan.error());
  told.candidate = chosen_name(*plan);
  told.plan = print(*plan);
  auto program = machine_.prepare(*plan);
  if (!program) return failed(program.error());
  if (options_.statistics) told.statistics = machine_.statistics(**program);
  auto slots = slots_for(p);
  if (!slots) return failed(slots.error());
  Contestant runner{result.times.size() - 1, *slots, *plan, std::move(*program), nullptr};
  for (const PlanOperand& operand : plan->operands) {
    if (operand.role != OperandRole::scratch) continue;
    auto scratch = machine_.make_memory(std::max<std::uint64_t>(operand.bytes, 256));
    if (!scratch) return failed(scratch.error());
    runner.scratch = std::move(*scratch);
  }
  // A driver may compile at a kernel's first run: that run is verified, and is never a sample.
  told.error = options_.no_verify ? run_first(runner) : verify(runner);
  if (!told.error.empty()) return *plan;
  auto took = time_once(runner);
  if (!took) return failed(took.error());
  runner.rough = *took;
  runners_.push_back(std::move(runner));
  return *plan;
}

Launch Bench::launch(const Contestant& runner, std::uint64_t slot) const {
  Launch launch{runner.program.get(), {}};
  const Slots& s = *runner.slots;
  for (std::size_t i = 0; i < runner.plan.operands.size(); ++i) {
    const auto bytes = runner.plan.operands[i].bytes;
    if (runner.plan.operands[i].role == OperandRole::scratch) launch.parts.push_back({runner.scratch.get(), 0, bytes});
    else launch.parts.push_back({s.memory[i].get(), slot * s.pitch[i], bytes});
  }
  return launch;
}

// How far from what is right an element may be: rounding of the result, and of the sums.
double tolerance_of(const MatmulProblem& p, double want) {
  if (p.acc == DType::i32) return 0;
  const double bits = p.out == DType::f16 ? 0x1p-10 : p.out == DType::bf16 ? 0x1p-7 : 0x1p-22;
  const double sums = static_cast<double>(p.k) * (p.acc == DType::f16 ? 0x1p-10 : 0x1p-22);
  return bits * std::abs(want) + sums * std::max(1.0, std::abs(static_cast<double>(p.alpha)));
}

// Every element of two results, each of which may be off by as much.
std::string difference(const reference::MatmulDefinition& definition, std::span<const std::byte> first, std::span<const std::byte> other) {
  if (std::ranges::equal(first, other)) return {};
  const MatmulProblem& p = definition.problem();
  const auto& d = definition.operand("d");
  for (std::int64_t b = 0; b < p.batch; ++b)
    for (std::int64_t m = 0; m < p.m; ++m)
      for (std::int64_t n = 0; n < p.n; ++n) {
        const std::int64_t at = d.index(b, m, n);
        const double x = d.at(first, at), y = d.at(other, at);
        if (!(std::abs(x - y) <= 2 * tolerance_of(p, x))) return fmt::format("WRONG RESULT: d[{},{},{}] is {}, the planner's own choice makes it {}", b, m, n, y, x);
      }
  return {};
}

// Into memory that holds what C is, or poison.
std::string Bench::run_first(const Contestant& runner) {
  Slots& s = *runner.slots;
  const auto prepared = s.problem.c_is_d ? machine_.upload(*s.memory[2], 0, s.host[2]) : machine_.fill(*s.memory[2], 0, s.pitch[2], kPoisonOfNans);
  if (!prepared) return prepared.error().message();
  const auto ran = machine_.run(launch(runner, 0));
  return ran ? std::string() : ran.error().message();
}

// What says whether it is worth many samples: the host has just worked, and a clock may be low.
Result<double> Bench::time_once(const Contestant& runner) {
  const LaunchSource once = [&] { return launch(runner, 0); };
  const auto ran = machine_.time(std::span(&once, 1), {.repeats = 1, .inner = 1, .warmup_seconds = 0});
  if (!ran) return std::unexpected(ran.error());
  return ran->front().front();
}

// The first run, some of its elements against the definition, the corners among them; `sectile check` compares all.
std::string Bench::verify(const Contestant& runner) {
  if (auto wrong = run_first(runner); !wrong.empty()) return wrong;
  Slots& s = *runner.slots;
  const MatmulProblem& p = s.problem;
  std::vector<std::byte> got(static_cast<std::size_t>(s.specs[2].bytes));
  if (auto down = machine_.download(*s.memory[2], 0, got); !down) return down.error().message();
  const reference::MatmulDefinition definition(p);
  reference::MatmulData data;
  for (std::size_t i = 0; i < s.specs.size(); ++i)
    if (!s.specs[i].written) data[s.specs[i].name] = s.host[i];
  const auto& d = definition.operand("d");
  const auto pick = [](std::int64_t n, int i, std::uint64_t by) {
    return i < 2 ? (i == 0 ? 0 : n - 1) : static_cast<std::int64_t>((static_cast<std::uint64_t>(i) * by) % static_cast<std::uint64_t>(n));
  };
  for (int i = 0; i < kSamples; ++i) {
    const std::int64_t b = pick(p.batch, i, 7919), m = pick(p.m, i, 104729), n = pick(p.n, i, 1299709);
    const auto want = definition.element(data, s.host[2], b, m, n);
    const double have = d.at(got, d.index(b, m, n));
    if (!(std::abs(have - want.value) <= want.tolerance))
      return fmt::format("WRONG RESULT: d[{},{},{}] is {}, not {} within {}", b, m, n, have, want.value, want.tolerance);
  }
  if (!options_.compare_outputs) return {};
  if (!s.first.empty()) return difference(definition, s.first, got);
  s.first = std::move(got);
  return {};
}

// The tile of a plan's first step, as its constants say.
std::uint32_t constant_of(const Plan& plan, std::uint32_t id) {
  for (const Constant& constant : plan.steps.at(0).constants)
    if (constant.id == id) return constant.value;
  return 1;
}

// The same pipeline where nothing is ragged.
MatmulProblem rounded_up(const MatmulProblem& problem, const Plan& plan) {
  MatmulProblem p = problem;
  p.m = round_up(p.m, constant_of(plan, MATMUL_SPEC_TILE_M));
  p.n = round_up(p.n, constant_of(plan, MATMUL_SPEC_TILE_N));
  p.k = round_up(p.k, constant_of(plan, MATMUL_SPEC_TILE_K));
  return p;
}

void Bench::add_twins(MatmulResult& result, const Plan& chosen) {
  const MatmulProblem& p = result.row.contenders.front().problem;
  const std::string mine = chosen_name(chosen);
  (void)add(result, {"planned, rounded up", rounded_up(p, chosen), mine});
  // A tile that has a twin: the planned one, or one that has.
  std::string base = kTwinTile;
  for (const Candidate& candidate : chosen.candidates)
    if (candidate.name == mine + " checked" && candidate.refusal.empty()) base = mine;
  if (base != mine) {
    const auto plan = add(result, {"local padding", p, base});
    if (plan) (void)add(result, {"local padding, rounded up", rounded_up(p, *plan), base});
  }
  (void)add(result, {"checks in the compute stage", p, base + " checked"});
}

void Bench::add_candidates(MatmulResult& result, const Plan& chosen) {
  const std::string mine = chosen_name(chosen);
  std::vector<const Candidate*> others;
  for (const Candidate& candidate : chosen.candidates)
    if (candidate.refusal.empty() && candidate.name != mine) others.push_back(&candidate);
  std::ranges::stable_sort(others, {}, &Candidate::cost);
  if (options_.limit != 0 && others.size() >= options_.limit) others.resize(options_.limit - 1);
  const MatmulProblem& problem = result.row.contenders.front().problem;
  // All kernels are compiled side by side before one is asked for alone; what is refused is told then.
  std::vector<Plan> plans;
  for (const Candidate* candidate : others)
    if (auto plan = make_plan(Problem(problem), machine_.profile(), {.force = candidate->name}))
      plans.push_back(std::move(*plan));
  const auto compiled = machine_.prepare_all(plans);
  for (const Candidate* candidate : others)
    (void)add(result, {candidate->fallback ? "fallback" : fmt::format("cost {}", candidate->cost), problem, candidate->name});
}

// By what bounds the row's own problem.
Result<void> Bench::choose_reference(MatmulResult& result) {
  const MatmulProblem& p = result.row.contenders.front().problem;
  const auto reference = steady_.reference_for(operand_bytes_of(Problem(p)), operations_of(p), size_bytes(p.type) <= 2);
  if (!reference) return std::unexpected(reference.error());
  result.reference.reference = *reference;
  return steady_.prepare(*reference);
}

// All that is close to the fastest in turn, behind the reference; then what is long, once each.
Result<void> Bench::time(MatmulResult& result) {
  if (runners_.empty()) return {};
  if (auto chosen = choose_reference(result); !chosen) return chosen;
  std::vector<LaunchSource> close, slow;
  std::vector<std::size_t> close_places, slow_places;
  double fastest = kLongRun, sum = 0;
  for (Contestant& runner : runners_) {
    const bool candidate = runner.contender >= fixed_;
    const bool is_long = runner.rough > kLongRun || (candidate && runner.rough > kHopeless * runners_.front().rough);
    auto& list = is_long ? slow : close;
    (is_long ? slow_places : close_places).push_back(runner.contender);
    list.emplace_back([this, &runner] { return launch(runner, runner.slots->turn++ % runner.slots->count); });
    if (is_long) continue;
    fastest = std::min(fastest, runner.rough);
    sum += runner.rough;
  }
  const auto take = [&](const std::vector<std::vector<double>>& seconds, const std::vector<std::size_t>& places) {
    for (std::size_t i = 0; i < places.size(); ++i) result.times[places[i]].time = spread_of(seconds[i]);
  };
  const auto settle = [&] { return steady_.settle(result.reference); };
  if (!close.empty()) {
    const double each = sum / static_cast<double>(close.size());
    const auto inner = static_cast<unsigned>(std::clamp(std::ceil(kSampleSeconds / std::max(fastest, 1e-7)), 1.0, 256.0));
    const auto repeats = static_cast<unsigned>(std::clamp(std::ceil(options_.min_time / std::max(each * inner, 1e-7)), 5.0, 400.0));
    const auto fine = machine_.time(close, {.repeats = repeats, .inner = inner, .warmup_seconds = 0, .ready = settle});
    if (!fine) return std::unexpected(fine.error());
    take(*fine, close_places);
  }
  if (!slow.empty()) {
    TimingWish once{.repeats = 1, .inner = 1, .warmup_seconds = 0};
    if (close.empty()) once.ready = settle;
    const auto timed = machine_.time(slow, once);
    if (!timed) return std::unexpected(timed.error());
    take(*timed, slow_places);
  }
  return steady_.confirm(result.reference);
}

Result<void> Bench::run(MatmulResult& result) {
  for (const MatmulContender& contender : result.row.contenders)
    if (auto timed = check_timed(Problem(contender.problem)); !timed) return timed;
  std::optional<Plan> first;
  for (MatmulContender contender : result.row.contenders) {
    if (contender.force.empty()) contender.force = options_.force;
    auto plan = add(result, contender);
    if (!first && !plan) return std::unexpected(plan.error());
    if (!first) first = std::move(*plan);
  }
  if (result.row.twins) add_twins(result, *first);
  fixed_ = result.times.size();
  if (options_.all_candidates) add_candidates(result, *first);
  return time(result);
}

}  // namespace

MatmulResult bench_matmul(Machine& machine, const BenchOptions& options, Steady& steady, const MatmulRow& row) {
  MatmulResult result;
  result.row = row;
  if (auto ran = Bench(machine, options, steady).run(result); !ran) result.error = ran.error().message();
  return result;
}

}  // namespace sectile::tools
