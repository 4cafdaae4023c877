// Running generated cases: plan, place, fill, submit, compare.
#include "check.hpp"
#include "check_arena.hpp"

#include "reference/generate.hpp"
#include "reference/permute.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <memory>
#include <optional>
#include <map>
#include <set>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint64_t kArenaBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMostPipelines = 600;  // before those that no one uses any more are destroyed

// One candidate of one case, placed once.
struct Attempt {
  std::uint64_t index = 0;
  PermuteProblem problem;
  std::string candidate;
  Placement placement = Placement::exact;
  std::uint64_t data_seed = 0;
  ProgramPtr program;
  Placed src, dst;
};

std::string describe(const Attempt& attempt) {
  return fmt::format("{} | {} | {}", print(Problem(attempt.problem)), attempt.candidate, name(attempt.placement));
}

// What the library says of a problem, against the reference: shape, bytes, and its own string form.
std::string check_words(const PermuteProblem& problem, const reference::PermuteDefinition& definition) {
  const std::string text = print(Problem(problem));
  const auto again = parse_problem(text);
  if (!again) return "its own string is refused: " + again.error().message();
  if (*again != Problem(problem)) return "its own string is read as another problem";
  const auto json = problem_from_json(to_json(Problem(problem)));
  if (!json || *json != Problem(problem)) return "its JSON is read as another problem";
  if (const auto valid = validate(problem); !valid) return "refused: " + valid.error().message();
  const auto shape = dst_shape(problem);
  if (!shape || *shape != definition.dst_shape()) return "dst_shape differs from the reference's";
  const auto bytes = operand_bytes(problem);
  if (!bytes || bytes->src != definition.src_bytes() || bytes->dst != definition.dst_bytes()) {
    return "operand_bytes differ from the reference's";
  }
  return {};
}

}  // namespace

PermuteProblem case_problem(const CheckOptions& options, std::uint64_t index) {
  if (options.problem.empty()) return reference::generate_permute(options.seed, index);
  const auto problem = parse_problem(options.problem);
  return problem ? std::get<PermuteProblem>(*problem) : PermuteProblem{};
}

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
  std::optional<Arena> arena;
  std::vector<Attempt> attempts;   // placed, not yet run
  std::set<std::uint64_t> broken;  // cases with a failure already told: one is enough
  std::uint64_t runs = 0;
  std::vector<std::byte> want_src, want_dst;
  bool compare = false;                       // with other devices
  std::map<std::uint64_t, Outcome> outcomes;

  Impl(Machine& m, const CheckOptions& o, CheckSink& s) : machine(m), options(o), sink(s), validation(m) {
    compare = device_list(o.device).size() > 1;
    import = !compare && !o.no_protect && m.profile().kind == DeviceKind::cpu && m.import_alignment() != 0;
  }

  void fail_case(std::uint64_t index, const PermuteProblem& problem, std::string candidate, std::string message) {
    if (broken.insert(index).second)
      sink.failed({index, print(Problem(problem)), std::move(candidate), std::move(message)});
  }

  Result<void> add_case(std::uint64_t index, bool alone);
  std::vector<std::string> choose(std::uint64_t index, const PermuteProblem& problem);
  std::vector<Placement> placements(std::uint64_t index, std::size_t attempt) const;
  Result<void> add_attempt(Attempt attempt, const Plan& plan);
  Result<void> flush();
  Result<void> submit();
  void verify(const Attempt& attempt);
  std::string compare_src(const Attempt& attempt);
  std::string compare_dst(const Attempt& attempt, const reference::PermuteDefinition& definition);
  bool is_poison(const Attempt& attempt, std::uint64_t dst_byte);
};

// The names of the candidates to run: the chosen one first.
std::vector<std::string> CaseRunner::Impl::choose(std::uint64_t index, const PermuteProblem& problem) {
  if (!options.force.empty()) return {options.force};
  const auto plan = make_plan(problem, machine.profile(), {.explain = true, .force = {}});
  if (!plan) {
    fail_case(index, problem, "", "no plan: " + plan.error().message());
    return {};
  }
  std::string chosen;
  std::vector<std::string> others;
  for (const Candidate& candidate : plan->candidates) {
    if (candidate.chosen)
      chosen = candidate.name;
    else if (candidate.refusal.empty())
      others.push_back(candidate.name);
  }
  if (compare) return {chosen};   // operands then stand alike on all devices
  if (!options.all_candidates && others.size() > 1) {
    reference::Random random(options.seed ^ reference::mix(index));
    others = {others[random.below(others.size())]};
  }
  others.insert(others.begin(), chosen);
  return others;
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
  const PermuteProblem problem = case_problem(options, index);
  const reference::PermuteDefinition definition(problem);
  sink.doing(print(Problem(problem)) + " | planning");
  if (auto wrong = check_words(problem, definition); !wrong.empty()) {
    fail_case(index, problem, "", std::move(wrong));
    return {};
  }
  std::size_t number = 0;
  for (const std::string& candidate : choose(index, problem)) {
    const auto plan = make_plan(problem, machine.profile(), {.explain = false, .force = candidate});
    if (!plan) {
      if (!options.force.empty())
        sink.skipped(index, plan.error().message());
      else
        fail_case(index, problem, candidate, "no plan: " + plan.error().message());
      continue;
    }
    if (definition.empty()) {
      if (!plan->steps.empty()) fail_case(index, problem, candidate, "a plan with steps, for no element");
      continue;
    }
    for (const Placement placement : placements(index, number)) {
      Attempt attempt{index, problem, candidate, placement, reference::mix(options.seed) ^ (index * 64 + number),
                      {},    {},      {}};
      if (auto added = add_attempt(std::move(attempt), *plan); !added) return added;
      if (!alone) continue;
      if (auto flushed = flush(); !flushed) return flushed;
    }
    ++number;
  }
  return {};
}

Result<void> CaseRunner::Impl::add_attempt(Attempt attempt, const Plan& plan) {
  sink.doing(describe(attempt) + " | preparing");
  auto program = machine.prepare(plan);
  if (!program) {
    fail_case(attempt.index, attempt.problem, attempt.candidate, "prepare: " + program.error().message());
    return {};
  }
  if (auto said = validation.fresh(); !said.empty()) {
    fail_case(attempt.index, attempt.problem, attempt.candidate, "validation layer, while preparing: " + said);
  }
  attempt.program = std::move(*program);

  const auto bytes = operand_bytes(attempt.problem);
  if (!bytes) return std::unexpected(bytes.error());
  const std::uint64_t room =
      Arena::room_for(bytes->src, attempt.problem.src_align) + Arena::room_for(bytes->dst, attempt.problem.dst_align);
  if (!arena || arena->used() + room > arena->size()) {
    if (auto flushed = flush(); !flushed) return flushed;
    if (!arena || room > arena->size()) {
      arena.reset();
      auto made = Arena::make(machine, std::max(room, kArenaBytes), import);
      if (!made) return std::unexpected(made.error());
      arena = std::move(*made);
    }
  }
  if (!arena->place(attempt.placement, bytes->src, attempt.problem.src_align, attempt.src) ||
      !arena->place(attempt.placement, bytes->dst, attempt.problem.dst_align, attempt.dst)) {
    return fail(ErrorKind::too_small, "arena", std::to_string(arena->size()), std::to_string(room));
  }
  attempts.push_back(std::move(attempt));
  return {};
}

Result<void> CaseRunner::Impl::submit() {
  for (const Attempt& attempt : attempts) {
    reference::fill_data(arena->bytes(attempt.src.begin, attempt.src.end), attempt.data_seed);
    reference::fill_data(arena->bytes(attempt.dst.begin, attempt.dst.end), ~attempt.data_seed);
  }
  if (auto sent = arena->to_device(); !sent) return sent;
  sink.doing(attempts.size() == 1 ? describe(attempts[0]) : fmt::format("a batch of {} runs", attempts.size()));
  std::vector<Launch> launches;
  for (const Attempt& attempt : attempts)
    launches.push_back({attempt.program.get(),
                        {&arena->memory(), attempt.src.operand, attempt.src.bytes},
                        {&arena->memory(), attempt.dst.operand, attempt.dst.bytes}});
  const auto done = machine.run(launches, [&](std::size_t i, const Error& error) {
    fail_case(attempts[i].index, attempts[i].problem, attempts[i].candidate, "record: " + error.message());
  });
  if (!done) return done;
  if (auto back = arena->from_device(); !back) return back;
  for (const Attempt& attempt : attempts) {
    if (options.spoil == attempt.index) arena->bytes(attempt.dst.operand, attempt.dst.operand + 1)[0] ^= std::byte{1};
    if (options.kill == attempt.index) std::raise(SIGSEGV);
  }
  return {};
}

Result<void> CaseRunner::Impl::flush() {
  if (attempts.empty()) return {};
  if (auto done = submit(); !done) return done;
  for (const Attempt& attempt : attempts) {
    verify(attempt);
    if (!compare) continue;
    const auto got = arena->bytes(attempt.dst.operand, attempt.dst.operand + attempt.dst.bytes);
    outcomes[attempt.index] = {attempt.src.operand - attempt.src.begin, attempt.dst.operand - attempt.dst.begin, {got.begin(), got.end()}};
  }
  runs += attempts.size();
  if (auto said = validation.fresh(); !said.empty()) {
    const Attempt& first = attempts.front();
    const std::string which =
        attempts.size() == 1 ? "" : fmt::format(" (in cases {} to {})", first.index, attempts.back().index);
    fail_case(first.index, first.problem, first.candidate, "validation layer" + which + ": " + said);
  }
  attempts.clear();
  arena->clear();
  if (machine.kernel_count() > kMostPipelines) machine.trim();
  return {};
}

std::string CaseRunner::Impl::compare_src(const Attempt& attempt) {
  const auto got = arena->bytes(attempt.src.begin, attempt.src.end);
  want_src.resize(got.size());
  reference::fill_data(want_src, attempt.data_seed);
  if (std::memcmp(want_src.data(), got.data(), got.size()) == 0) return {};
  const auto at = std::mismatch(want_src.begin(), want_src.end(), got.begin()).first - want_src.begin();
  const auto offset = at - static_cast<std::ptrdiff_t>(attempt.src.operand - attempt.src.begin);
  return fmt::format("the source, or a guard band of it, was written at byte {}", offset);
}

// Whether the element there still holds what it held before the run.
bool CaseRunner::Impl::is_poison(const Attempt& attempt, std::uint64_t dst_byte) {
  const std::uint64_t size = size_bytes(attempt.problem.type);
  const std::uint64_t at = attempt.dst.operand - attempt.dst.begin + dst_byte / size * size;
  std::array<std::byte, 16> poison{};
  const std::span was(poison.data(), static_cast<std::size_t>(size));
  reference::SourceData{{}, ~attempt.data_seed}.read(at, was);
  const auto now = arena->bytes(attempt.dst.begin + at, attempt.dst.begin + at + size);
  return std::equal(was.begin(), was.end(), now.begin());
}

std::string CaseRunner::Impl::compare_dst(const Attempt& attempt, const reference::PermuteDefinition& definition) {
  const auto got = arena->bytes(attempt.dst.begin, attempt.dst.end);
  want_dst.resize(got.size());
  reference::fill_data(want_dst, ~attempt.data_seed);
  const auto inside = [](std::span<std::byte> region, const Placed& placed) {
    return region.subspan(static_cast<std::size_t>(placed.operand - placed.begin),
                          static_cast<std::size_t>(placed.bytes));
  };
  const auto src = inside(want_src, attempt.src);
  const auto want = inside(want_dst, attempt.dst);
  reference::permute(definition, src, want);
  if (std::memcmp(want_dst.data(), got.data(), got.size()) != 0) {
    if (const auto wrong = reference::compare(definition, want, inside(got, attempt.dst))) {
      return wrong->message() + (is_poison(attempt, wrong->dst_byte) ? ", the poison: never written" : "");
    }
    const auto at = std::mismatch(want_dst.begin(), want_dst.end(), got.begin()).first - want_dst.begin();
    const auto offset = at - static_cast<std::ptrdiff_t>(attempt.dst.operand - attempt.dst.begin);
    return fmt::format("a guard band of the destination was written at byte {} of its {}", offset, attempt.dst.bytes);
  }
  const auto sample = reference::check_samples(definition, {src, 0}, inside(got, attempt.dst), attempt.data_seed, 64);
  return sample ? "by the definition: " + sample->message() : std::string();
}

void CaseRunner::Impl::verify(const Attempt& attempt) {
  if (broken.contains(attempt.index)) return;
  const reference::PermuteDefinition definition(attempt.problem);
  std::string wrong = compare_src(attempt);
  if (wrong.empty()) wrong = compare_dst(attempt, definition);
  if (!wrong.empty()) {
    fail_case(attempt.index, attempt.problem, attempt.candidate,
              fmt::format("{} ({})", wrong, name(attempt.placement)));
  }
}

CaseRunner::CaseRunner(Machine& machine, const CheckOptions& options, CheckSink& sink)
    : impl_(std::make_unique<Impl>(machine, options, sink)) {}

CaseRunner::~CaseRunner() = default;

const std::map<std::uint64_t, Outcome>& CaseRunner::outcomes() const noexcept {
  return impl_->outcomes;
}

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
