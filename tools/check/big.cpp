// The cases that need gigabytes: a tensor over 4 GiB, and elements at indices 2^31 - 1, 2^31 and
// 2^31 + 1, where a signed 32-bit index ends, and at byte 2^32, where an unsigned one does.
#include "big.hpp"
#include "check.hpp"
#include "operation.hpp"

#include <sectile/planner.hpp>

#include <fmt/format.h>

#include <set>
#include <utility>

namespace sectile::tools {
namespace {

constexpr std::uint64_t kTail = 256;  // guard band behind the destination

const std::vector<Problem>& cases() {
  static const std::vector<Problem> all = all_big_cases();
  return all;
}

bool is_out_of_memory(const Error& error) {
  return error.kind == ErrorKind::device || error.kind == ErrorKind::limit_exceeded;
}

// The chosen plan, and one of every other stem where each forms addresses in its own way.
Result<std::vector<Plan>> plans_of(const Problem& problem, const DeviceProfile& profile) {
  auto chosen = make_plan(problem, profile, {.explain = true});
  if (!chosen) return std::unexpected(chosen.error());
  std::vector<Plan> plans;
  const auto stem = [](const std::string& name) { return name.substr(0, name.find(' ')); };
  std::set<std::string> seen;
  for (const Candidate& candidate : chosen->candidates)
    if (candidate.chosen) seen.insert(stem(candidate.name));
  const bool others = check_operation(problem).each_stem_alone();
  for (const Candidate& candidate : chosen->candidates) {
    if (!others || !candidate.refusal.empty() || !seen.insert(stem(candidate.name)).second) continue;
    auto other = make_plan(problem, profile, {.force = candidate.name});
    if (!other) return std::unexpected(other.error());
    plans.push_back(std::move(*other));
  }
  plans.insert(plans.begin(), std::move(*chosen));
  return plans;
}

Result<std::vector<MemoryPtr>> make_memories(Machine& machine, const Plan& plan) {
  std::vector<MemoryPtr> memories;
  for (const PlanOperand& operand : plan.operands) {
    const std::uint64_t tail = operand.role == OperandRole::destination ? kTail : 0;
    auto memory = machine.make_memory(up4(operand.bytes) + tail);
    if (!memory) return std::unexpected(memory.error());
    memories.push_back(std::move(*memory));
  }
  return memories;
}

// What is wrong with one plan; empty where nothing is.
Result<std::string> run_plan(Machine& machine, BigCase& big, const Plan& plan, std::span<const MemoryPtr> memories,
                             CheckSink& sink, const std::string& text) {
  const auto program = machine.prepare(plan);
  if (!program) return std::unexpected(program.error());
  sink.doing(text + " | filling");
  if (auto filled = big.fill(machine, memories); !filled) return std::unexpected(filled.error());
  const Memory& destination = *memories[big.destination()];
  if (auto filled = big.poison(machine, destination, destination.size()); !filled)
    return std::unexpected(filled.error());
  sink.doing(text + " | running");
  Launch launch{program->get(), {}};
  for (std::size_t i = 0; i < memories.size(); ++i)
    launch.parts.push_back({memories[i].get(), 0, plan.operands[i].bytes});
  if (const auto done = machine.run(launch); !done) return std::unexpected(done.error());
  sink.doing(text + " | reading back");
  std::vector<std::byte> got(static_cast<std::size_t>(up4(big.destination_bytes()) + kTail));
  if (auto down = machine.download(destination, 0, got); !down) return std::unexpected(down.error());
  sink.doing(text + " | comparing");
  return big.compare(got);
}

// All plans of one case. An error stands for a device that cannot go on.
Result<void> run_case(Machine& machine, ValidationWatch& validation, std::uint64_t index, CheckSink& sink) {
  const Problem& problem = cases()[static_cast<std::size_t>(index)];
  const std::string text = print(problem);
  sink.doing(text + " | planning");
  const auto plans = plans_of(problem, machine.profile());
  if (!plans) {
    if (plans.error().kind == ErrorKind::limit_exceeded || plans.error().kind == ErrorKind::unsupported)
      sink.skipped(index, plans.error().message());
    else
      sink.failed({index, text, "", "no plan: " + plans.error().message()});
    sink.finished(1);
    return {};
  }
  std::unique_ptr<BigCase> big;  // its data takes gigabytes of the host: once the device is known to have them
  std::uint64_t runs = 0;
  for (const Plan& plan : *plans) {
    const auto memories = make_memories(machine, plan);
    // Over its limit of one allocation the runtime asks the driver all the same, which the layer warns of.
    validation.fresh();
    if (!memories && is_out_of_memory(memories.error())) {
      sink.skipped(index, memories.error().message());
      break;
    }
    if (!memories) return std::unexpected(memories.error());
    if (!big) big = check_operation(problem).big(problem);
    auto wrong = run_plan(machine, *big, plan, *memories, sink, text + " | " + print(plan));
    if (!wrong) return std::unexpected(wrong.error());
    ++runs;
    if (auto said = validation.fresh(); !said.empty() && wrong->empty()) *wrong = "validation layer: " + said;
    if (wrong->empty()) continue;
    sink.failed({index, text, print(plan), *wrong});
    break;
  }
  sink.finished(runs);
  return {};
}

}  // namespace

std::uint64_t big_case_count() noexcept { return cases().size(); }
Problem big_case(std::uint64_t index) { return cases().at(static_cast<std::size_t>(index)); }

Result<void> check_big(Machine& machine, std::uint64_t offset, std::uint64_t first, std::uint64_t last,
                       CheckSink& sink) {
  ValidationWatch validation(machine);
  for (std::uint64_t at = first; at < last; ++at) {
    sink.starting(at, at + 1);
    if (auto ran = run_case(machine, validation, offset + at, sink); !ran) return ran;
  }
  return {};
}

}  // namespace sectile::tools
